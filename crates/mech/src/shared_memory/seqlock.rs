//! Latest-value cells in shared memory, guarded by a sequence number: one for each direction.

use crate::shared_memory::memory;
use crate::shared_memory::seqlock_port::CellPort;
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Exchange, Family, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::memory::segment::Kind;
use ipcperf_sys::io::memory::seqlock::{self, Cells};

/// Bytes that a number needs with which a reader finds its place again after any gap.
const PROOF: usize = 4;

/// Two cells.
#[derive(Debug)]
pub struct SeqLock;

impl Mechanism for SeqLock {
    const SPEC: &'static Spec = &Spec {
        name: "seqlock",
        variant: None,
        family: Family::SharedMemory,
        wait: Wait::Spin,
        default: true,
        summary: "One latest-value cell in shared memory for each direction, guarded by sequence numbers; readers block nobody.",
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)"],
        pitfalls: &[
            "A reader sees the newest value, not every value: a stream counts what it saw, and how many were overtaken.",
            "A read that meets a write is torn and made again; with a single slot a writer that never rests starves readers, so there are several.",
            "Values are copied in and out word by word through private buffers, since both ends may touch a slot at once.",
            "Fewer than 4 bytes cannot say which of many values was seen, so streams of such values are refused.",
            "A writer that dies leaves its last whole value, and nothing tells that no other will come.",
        ],
        payload: Payload::Message {
            max: Some(Limit {
                bytes: seqlock::MAX_VALUE,
                set_by: "the layout of a cell",
                raise: "",
            }),
        },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::Many,
        back_pressure: BackPressure::Overwrites,
        on_close: OnClose::Told,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        window: None,
        needs: &["memfd_create (Linux 3.17)"],
    };
    type Options = NoOptions;
    type Port = CellPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        seqlock::create(1, None, "ipcperf-trial").map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let skips = shape.pattern.facts().exchange == Exchange::OneWay;
        if skips && (1..PROOF).contains(&shape.size) {
            let what = "a reader that skips values cannot tell which of them a smaller one is";
            return Err(Missing::new(what, format!("values of {PROOF} bytes or more")).into());
        }
        memory::fits("two cells", seqlock::bytes(shape.size), "smaller values")?;
        let cells = seqlock::create(shape.size, Some(&shape.directory), &shape.name("cells"))?;
        memory::link(cells, Vec::new())
    }

    fn attach(
        mut wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        _: &NoOptions,
        _: &mut dyn Meet,
    ) -> Result<CellPort, SetupError> {
        let cells = memory::attach(Kind::DEFAULT, &mut wiring)?;
        CellPort::new(Cells::attach(cells, seat, shape.size)?, shape)
    }
}
