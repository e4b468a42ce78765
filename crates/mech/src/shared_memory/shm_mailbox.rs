//! Mailboxes in shared memory: one slot for each direction, which a message occupies until it is taken.

use crate::budget;
use crate::shared_memory::SHARED_MEMORY;
use crate::shared_memory::memory;
use crate::shared_memory::ring_port::{self, RingWait};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::memory::ring::{self, Layout};
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of mailboxes.
    pub struct ShmMailboxOptions {
        /// What the memory is: a memfd, a file in /dev/shm, System V memory, or a file in the run's directory.
        pub backing: String = ("memfd".into(), "memfd", Choice { words: &["memfd", "dev-shm", "sysv", "file"] }),
        /// Size of its pages where that is not the usual one: 2M needs vm.nr_hugepages, and a memfd or System V memory.
        pub huge: String = ("off".into(), "off", Choice { words: &["off", "2M"] }),
    }
}

/// Two mailboxes: rings of one slot.
#[derive(Debug)]
pub struct ShmMailbox<W>(PhantomData<W>);

impl<W: RingWait> Mechanism for ShmMailbox<W> {
    const SPEC: &'static Spec = &Spec {
        name: "shm-mailbox",
        variant: Some(W::VARIANT),
        wait: W::CLASS,
        default: matches!(W::CLASS, Wait::Block),
        summary: if matches!(W::CLASS, Wait::Block) {
            "One slot in shared memory for each direction; an end whose turn it is not sleeps in a futex."
        } else {
            "One slot in shared memory for each direction; both ends watch its turn word and never sleep."
        },
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)", "futex(2)"],
        pitfalls: &[
            "With one slot the ends take turns: a stream pays a hand-over for each message, where a ring runs ahead.",
            "Spinning needs a CPU for each end; on one CPU every message waits for the scheduler.",
            "The slot is free again once the receiver has copied the message, not once it has worked on it.",
            "A peer's death goes unnoticed, and a peer that writes wildly damages both.",
        ],
        payload: Payload::up_to(ring::MAX_MESSAGE, "the 32-bit length of a slot"),
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        syscalls: Syscalls { send: Some(0.0), recv: W::RECEIVE },
        needs: &["memfd_create (Linux 3.17)"],
        ..SHARED_MEMORY
    };
    type Options = ShmMailboxOptions;
    type Port = W::Port;

    fn probe(options: &ShmMailboxOptions) -> Result<(), Missing> {
        let kind = memory::kind(&options.backing, &options.huge);
        let (_run, shape) = crate::trial_where(kind.has_name())?;
        let layout = Layout::mailbox(1);
        let tried = ring::create(layout, kind, shape.directory.as_deref(), &shape.name("mailbox"));
        tried.map(drop).map_err(crate::missing)
    }

    fn lends(_: &ShmMailboxOptions) -> [Lends; 2] {
        [Lends::Shared, W::RECEIVES]
    }

    fn shares(options: &ShmMailboxOptions) -> Namespaces {
        memory::shares(&options.backing)
    }

    fn open(shape: &Shape, options: &ShmMailboxOptions) -> Result<Link, SetupError> {
        let layout = Layout::mailbox(shape.size);
        budget::memory(layout.bytes().saturating_mul(2), "two mailboxes", "smaller messages")?;
        let kind = memory::kind(&options.backing, &options.huge);
        let slots = ring::create(layout, kind, shape.directory.as_deref(), &shape.name("mailbox"))?;
        let link = memory::link(slots)?;
        Ok(link.granted("backing", &options.backing).granted("huge", &options.huge))
    }

    fn attach(end: Attach<'_, ShmMailboxOptions>) -> Result<W::Port, SetupError> {
        let kind = memory::kind(&end.options.backing, &end.options.huge);
        let layout = Layout::mailbox(end.shape.size);
        ring_port::attach::<W, _>(end, kind, layout)
    }
}
