//! Mailboxes in shared memory: one slot for each direction, which a message occupies until it is taken.

use crate::budget;
use crate::shared_memory::SHARED_MEMORY;
use crate::shared_memory::memory;
use crate::shared_memory::ring_port::RingPort;
use crate::wait;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::memory::ring::{self, Ends, Layout, Strategy};
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

/// How the ends of a mailbox wait.
pub trait MailboxWait: 'static {
    /// The variant's name.
    const VARIANT: &'static str;
    /// The class it is ranked in.
    const CLASS: Wait;
    /// One sentence.
    const SUMMARY: &'static str;
    /// System calls of one receive when nobody has to wait.
    const RECEIVE: Option<f64>;
    /// The ring's name for it.
    type Strategy: Strategy + Send;

    /// The waits for receiving and for sending.
    fn waits() -> [Self::Strategy; 2];
}

impl MailboxWait for wait::Futex {
    const VARIANT: &'static str = "futex";
    const CLASS: Wait = Wait::Block;
    const SUMMARY: &'static str = "One slot in shared memory for each direction; an end whose turn it is not sleeps in a futex.";
    const RECEIVE: Option<f64> = None;
    type Strategy = ring::Futex;

    fn waits() -> [ring::Futex; 2] {
        [ring::futex(0), ring::futex(0)]
    }
}

impl MailboxWait for wait::Spin {
    const VARIANT: &'static str = "spin";
    const CLASS: Wait = Wait::Spin;
    const SUMMARY: &'static str = "One slot in shared memory for each direction; both ends watch its turn word and never sleep.";
    const RECEIVE: Option<f64> = Some(0.0);
    type Strategy = ring::Spin;

    fn waits() -> [ring::Spin; 2] {
        [ring::Spin; 2]
    }
}

/// Two mailboxes: rings of one slot.
#[derive(Debug)]
pub struct ShmMailbox<W>(PhantomData<W>);

impl<W: MailboxWait> Mechanism for ShmMailbox<W> {
    const SPEC: &'static Spec = &Spec {
        name: "shm-mailbox",
        variant: Some(W::VARIANT),
        wait: W::CLASS,
        default: matches!(W::CLASS, Wait::Block),
        summary: W::SUMMARY,
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)", "futex(2)"],
        pitfalls: &[
            "With one slot the ends take turns: a stream pays a hand-over for each message, where a ring runs ahead.",
            "Spinning needs a CPU for each end; on one CPU every message waits for the scheduler.",
            "The slot is free again once the receiver has copied the message, not once it has worked on it.",
            "A peer that dies tells nobody, and one that writes wildly damages both.",
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
    type Port = RingPort<W::Strategy, true>;

    fn probe(options: &ShmMailboxOptions) -> Result<(), Missing> {
        let kind = memory::kind(&options.backing, &options.huge);
        let (_run, shape) = crate::trial()?;
        let layout = Layout::mailbox(1);
        let tried = ring::create(layout, kind, Some(&shape.directory), &shape.name("mailbox"));
        tried.map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, options: &ShmMailboxOptions) -> Result<Link, SetupError> {
        let layout = Layout::mailbox(shape.size);
        budget::memory(layout.bytes().saturating_mul(2), "two mailboxes", "smaller messages")?;
        let kind = memory::kind(&options.backing, &options.huge);
        let slots = ring::create(layout, kind, Some(&shape.directory), &shape.name("mailbox"))?;
        let link = memory::link(slots)?;
        Ok(link.granted("backing", &options.backing).granted("huge", &options.huge))
    }

    fn attach(mut end: Attach<'_, ShmMailboxOptions>) -> Result<Self::Port, SetupError> {
        let kind = memory::kind(&end.options.backing, &end.options.huge);
        let slots = memory::attach(kind, &mut end.wiring)?;
        RingPort::new(
            Ends::attach(slots, Layout::mailbox(end.shape.size), end.seat, W::waits())?,
            end.shape,
        )
    }
}
