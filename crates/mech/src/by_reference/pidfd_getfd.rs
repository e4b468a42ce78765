//! Descriptors that the receiver takes out of the sender, `pidfd_getfd(2)`.

use crate::budget;
use crate::by_reference::BY_REFERENCE;
use crate::by_reference::taking_port::TakingPort;
use crate::port::reach::under_way;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::fresh;
use ipcperf_sys::io::memory::turns::Turns;
use ipcperf_sys::io::peer;

/// Files of the sender, taken over by the receiver.
#[derive(Debug)]
pub struct PidfdGetfd;

impl Mechanism for PidfdGetfd {
    const SPEC: &'static Spec = &Spec {
        name: "pidfd-getfd",
        wait: Wait::Block,
        summary: "Anonymous files of the sender; for each message the receiver takes that descriptor out of the sender, maps it, reads and closes.",
        manual: &["pidfd_getfd(2)", "pidfd_open(2)", "memfd_create(2)", "ptrace(2)"],
        pitfalls: &[
            "It needs the right to trace the other process (Yama, CAP_SYS_PTRACE); SCM_RIGHTS does the same with the sender's consent.",
            "The call wakes no one: turns are signalled in shared memory, and an end that sleeps costs one futex call at each end.",
            "The fresh mapping costs a page fault for each page that is read.",
            "A message that was not fetched is lost with its sender, and a sleeping end does not notice that its peer died.",
        ],
        payload: Payload::up_to(fresh::LARGEST, "memory; this program stops at 1 GiB"),
        direction: Direction::TwoWay,
        reach: Reach::Related,
        shares: Namespaces::PID_AND_USER,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Undetected,
        // It takes descriptors, but none travel with a message.
        descriptors: false,
        // The sender's memory serves again, but the receiver maps it for each message.
        memory: Memory::Fresh,
        copies: 0,
        // Nothing; pidfd_getfd, mmap, munmap, close.
        syscalls: Syscalls { send: Some(0.0), recv: Some(4.0) },
        needs: &["pidfd_getfd (Linux 5.6)", "the right to trace the peer"],
        ..BY_REFERENCE
    };
    type Options = NoOptions;
    type Port = TakingPort;
    const MEETS: bool = true;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        fresh::try_memfd().map_err(crate::missing)?;
        peer::probe_descriptors()
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        [Lends::Shared; 2]
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "an empty file cannot be mapped")?;
        let bytes = shape.size.saturating_mul(2 * under_way(shape.size));
        budget::memory(bytes, "files", "smaller messages")?;
        let [one, two] = Turns::create()?;
        Ok(Link::of_fds([one], [two]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [memory] = end.descriptors()?;
        let count = under_way(end.shape.size);
        TakingPort::new(Turns::attach(memory, end.seat, count)?, count, end.shape, end.meet)
    }
}
