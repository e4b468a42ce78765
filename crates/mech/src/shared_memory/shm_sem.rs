//! One buffer in shared memory for each direction, guarded by semaphores, `sem_overview(7)`.

use crate::shared_memory::memory;
use crate::shared_memory::sem_port::SemPort;
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Limit, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::memory::segment::Kind;
use ipcperf_sys::io::memory::shm_sem::{self, Ends};

/// Two buffers with two semaphores each.
#[derive(Debug)]
pub struct ShmSem;

impl Mechanism for ShmSem {
    const SPEC: &'static Spec = &Spec {
        name: "shm-sem",
        variant: None,
        family: Family::SharedMemory,
        wait: Wait::Block,
        default: true,
        summary: "One buffer in shared memory for each direction; POSIX semaphores say whether it is empty or full.",
        manual: &["sem_overview(7)", "sem_wait(3)", "shm_overview(7)", "memfd_create(2)"],
        pitfalls: &[
            "With one buffer the ends take turns: a stream pays a hand-over for each message.",
            "A semaphore makes a system call only where somebody sleeps on it; a System V semaphore makes one each time.",
            "A peer that dies between wait and post leaves the other waiting for ever: semaphores have no owner.",
        ],
        payload: Payload::Message {
            max: Some(Limit {
                bytes: shm_sem::MAX_MESSAGE,
                set_by: "the layout of a buffer",
                raise: "",
            }),
        },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 1,
        syscalls: Syscalls { send: Some(0.0), recv: None },
        window: None,
        needs: &["memfd_create (Linux 3.17)"],
    };
    type Options = NoOptions;
    type Port = SemPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        shm_sem::create(Kind::DEFAULT, 1, None, "ipcperf-trial").map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        memory::fits("two buffers", shm_sem::bytes(shape.size), "smaller messages")?;
        let (directory, name) = (Some(shape.directory.as_path()), shape.name("sem"));
        let buffers = shm_sem::create(Kind::DEFAULT, shape.size, directory, &name)?;
        memory::link(buffers, Vec::new())
    }

    fn attach(
        mut wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        _: &NoOptions,
        _: &mut dyn Meet,
    ) -> Result<SemPort, SetupError> {
        let buffers = memory::attach(Kind::DEFAULT, &mut wiring)?;
        SemPort::new(Ends::attach(buffers, seat, shape.size)?, shape)
    }
}
