//! POSIX message queues, `mq_overview(7)`: one for each direction.

use crate::port::message::{Carrier, MessagePort};
use crate::queue::QUEUE;
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::queue::mqueue::{self, Capacity};
use ipcperf_sys::io::{Buffer, duplicate};
use ipcperf_sys::sysctl;
use std::marker::PhantomData;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

ipcperf_core::options! {
    /// Knobs of POSIX message queues.
    pub struct PosixMqOptions {
        /// Messages each queue holds.
        pub depth: Option<u64> = (None, "10, or fs.mqueue.msg_max where that is less", Count { min: 1, max: 65536 }),
        /// Bytes of the largest message each queue takes.
        pub size: Option<u64> = (None, "the size of the cell", Bytes { min: 1, max: 16 << 20 }),
        /// Priority of every message: a receive takes the highest first, and of equal ones the oldest.
        pub priority: u64 = (0, "0", Count { min: 0, max: mqueue::HIGHEST_PRIORITY as u64 }),
    }
}

/// `fs.mqueue.msg_max`: 10 unless changed (`mq_overview(7)`).
fn deepest() -> u64 {
    sysctl::number("fs/mqueue/msg_max").unwrap_or(10)
}

/// `fs.mqueue.msgsize_max`: 8192 unless changed (`mq_overview(7)`).
fn largest() -> u64 {
    sysctl::number("fs/mqueue/msgsize_max").unwrap_or(8192)
}

impl PosixMqOptions {
    fn capacity(&self, size: usize) -> Capacity {
        Capacity {
            depth: self.depth.unwrap_or_else(|| deepest().min(10)),
            size: self.size.unwrap_or_else(|| size.max(1) as u64),
        }
    }
}

/// Makes a queue. The limits hold for the privileged too, so that a result does not depend on who measured it.
fn create(directory: &Path, name: &str, capacity: Capacity) -> Result<OwnedFd, SetupError> {
    for (asked, limit, sysctl) in [
        (capacity.depth, deepest(), "fs.mqueue.msg_max"),
        (capacity.size, largest(), "fs.mqueue.msgsize_max"),
    ] {
        if asked > limit {
            let what = format!("{asked} is above {sysctl} ({limit})");
            return Err(Missing::new(what, format!("sysctl {sysctl}={asked}")).into());
        }
    }
    mqueue::create(directory, name, capacity)
}

/// POSIX message queues.
#[derive(Debug, Default)]
pub struct PosixQueue {
    /// Of every message, up to [`mqueue::HIGHEST_PRIORITY`].
    priority: u32,
}

impl Carrier for PosixQueue {
    const ENDS: bool = false;

    fn room(rx: &OwnedFd, size: usize) -> Result<usize, SetupError> {
        let largest = usize::try_from(mqueue::capacity(rx)?.size).unwrap_or(usize::MAX);
        Ok(size.max(largest))
    }

    /// Everything: the kernel wants room for the largest message the queue takes, whatever arrives.
    #[inline(always)]
    fn offer(buffer: &mut Buffer, _: usize) -> Option<&mut [u8]> {
        Some(buffer.all_mut())
    }

    #[inline(always)]
    fn send(&self, tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        mqueue::send(tx, message, self.priority).map(|_| message.len())
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        mqueue::receive(rx, into)
    }

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // A queue has no end that could be closed: both processes hold the same object.
        Ok(())
    }
}

/// Two POSIX queues.
#[derive(Debug)]
pub struct PosixMq<W>(PhantomData<W>);

impl<W: Wait> Mechanism for PosixMq<W> {
    const SPEC: &'static Spec = &Spec {
        name: "posix-mq",
        summary: by_class(
            W::CLASS,
            "Two POSIX message queues, which order by priority; a receiver sleeps in mq_receive.",
            "Two POSIX message queues, not blocking; both ends ask again and again.",
            "Two POSIX message queues, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["mq_overview(7)", "mq_open(3)", "mq_send(3)"],
        pitfalls: &[
            "Ten messages of 8 KiB are all a queue holds by default.",
            "The highest priority comes first, so that a low one may wait for ever; here all messages have one, posix-mq.priority.",
            "Each priority in use adds a node to the tree that every send and receive searches, with a lock held.",
            "A receiver must offer room for the largest message the queue takes, whatever arrives.",
            "No end notices that the other is gone.",
            "That a queue is a descriptor, so that epoll can watch it, holds on Linux and not everywhere.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::IPC,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::Many,
        needs: &["CONFIG_POSIX_MQUEUE"],
        ..waiting::<W>(QUEUE)
    };
    type Options = PosixMqOptions;
    type Port = MessagePort<PosixQueue, W>;
    const SHARES: bool = true;

    fn probe(options: &PosixMqOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        // Both, as a channel has them: a limit may have room for one.
        let make = |what| create(shape.directory()?, &shape.name(what), options.capacity(1));
        let tried = make("ping").and_then(|ping| Ok((ping, make("pong")?)));
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(options: &PosixMqOptions) -> Option<Limit> {
        let largest = largest();
        let (bytes, set_by, raise) = match options.size {
            Some(size) if size < largest => (size, "posix-mq.size", "--set posix-mq.size=BYTES"),
            _ => (largest, "fs.mqueue.msgsize_max", "sysctl fs.mqueue.msgsize_max=BYTES"),
        };
        Some(Limit { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), set_by, raise })
    }

    fn open(shape: &Shape, options: &PosixMqOptions) -> Result<Link, SetupError> {
        let make =
            |what| create(shape.directory()?, &shape.name(what), options.capacity(shape.size));
        let (ping, pong) = (make("ping")?, make("pong")?);
        let granted = mqueue::capacity(&ping)?;
        Ok(Link::of_fds([duplicate(&pong)?, duplicate(&ping)?], [ping, pong])
            .granted("depth", granted.depth)
            .granted("size", granted.size)
            .granted("priority", options.priority))
    }

    fn attach(mut end: Attach<'_, PosixMqOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        let priority = u32::try_from(end.options.priority).unwrap_or(mqueue::HIGHEST_PRIORITY);
        MessagePort::carried_by(PosixQueue { priority }, rx, tx, end.shape)
    }
}
