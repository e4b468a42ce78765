//! Copying between the memories of two processes, `process_vm_readv(2)`.

use crate::budget;
use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::remote_port::{self, Copier, Read, RemotePort, Write};
use crate::port::reach::under_way;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::fresh;
use ipcperf_sys::io::memory::turns::Turns;
use ipcperf_sys::io::peer;
use std::marker::PhantomData;

/// One process copies out of, or into, the memory of the other.
#[derive(Debug)]
pub struct Copied<C>(PhantomData<C>);

/// The receiver reads.
pub type ProcessVm = Copied<Read>;
/// The sender writes.
pub type ProcessVmWrite = Copied<Write>;

impl<C: Copier> Mechanism for Copied<C> {
    const SPEC: &'static Spec = &Spec {
        name: "process-vm",
        variant: if C::PULLS { None } else { Some("write") },
        wait: Wait::Block,
        default: C::PULLS,
        summary: if C::PULLS {
            "The receiver copies each message out of the sender's memory; turns are signalled in shared memory, with a futex to sleep."
        } else {
            "The sender copies each message into the receiver's memory; turns are signalled in shared memory, with a futex to sleep."
        },
        manual: &["process_vm_readv(2)", "ptrace(2)", "futex(2)"],
        pitfalls: &[
            "It needs the right to trace the other process, which Yama, other users and most containers refuse.",
            "The call moves bytes and wakes no one; an end that sleeps costs one futex call at each end.",
            "A process that may write into another may do anything to it: the ends are not protected from each other.",
            "An unread message is lost with its sender, and a sleeping end does not notice that its peer died.",
        ],
        payload: Payload::up_to(fresh::LARGEST, "memory; this program stops at 1 GiB"),
        direction: Direction::TwoWay,
        reach: Reach::Related,
        shares: Namespaces::PID_AND_USER,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Undetected,
        copies: 1,
        syscalls: if C::PULLS {
            Syscalls { send: Some(0.0), recv: Some(1.0) }
        } else {
            Syscalls { send: Some(1.0), recv: Some(0.0) }
        },
        needs: &["CONFIG_CROSS_MEMORY_ATTACH", "the right to trace the peer"],
        ..KERNEL_COPY
    };
    type Options = NoOptions;
    type Port = RemotePort<C>;
    const MEETS: bool = true;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Turns::create().map_err(crate::missing)?;
        peer::probe_memory(C::PULLS)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let bytes = remote_port::stride(shape.size).saturating_mul(2 * under_way(shape.size));
        budget::memory(bytes, "slots", "smaller messages")?;
        let [one, two] = Turns::create()?;
        Ok(Link::of_fds([one], [two]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [memory] = end.descriptors()?;
        let count = under_way(end.shape.size);
        RemotePort::new(Turns::attach(memory, end.seat, count)?, count, end.shape, end.meet)
    }
}
