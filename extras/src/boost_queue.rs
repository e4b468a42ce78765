//! Boost.Interprocess `message_queue`: a queue in shared memory with a lock, for each direction.

use crate::ffi::boost_queue::{self, Queue};
use crate::library::LIBRARY;
use ipcperf::prelude::*;
use ipcperf::tools::Buffer;
use ipcperf::tools::PosixMemory;
use ipcperf::tools::fault;

ipcperf::options! {
    /// Knobs of the queue.
    pub struct BoostQueueOptions {
        /// Messages that each of the two queues holds.
        pub depth: u64 = (10, "10", Count { min: 1, max: 1024 }),
    }
}

/// A `boost::interprocess::message_queue` for each direction.
#[derive(Debug)]
pub struct BoostQueue;

impl Mechanism for BoostQueue {
    const SPEC: &'static Spec = &Spec {
        name: "boost-queue",
        wait: Wait::Block,
        summary: "Two Boost.Interprocess message_queues in shared memory; an end sleeps on a condition, in a futex.",
        manual: &["shm_overview(7)", "pthread_mutexattr_setpshared(3)", "futex(7)"],
        pitfalls: &[
            "A process that is killed while it holds the lock leaves it locked: nobody can use the queue any more.",
            "Nothing tells of a dead peer; a receiver waits for ever, and the name stays until somebody removes it.",
            "Messages are sorted by priority: one of a higher priority overtakes those that wait.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        producers: Peers::Many,
        consumers: Peers::Many,
        on_death: OnClose::Undetected,
        on_restart: OnRestart::GoesOn,
        memory: Memory::Reused,
        copies: 2,
        needs: &["/dev/shm"],
        over: Some("shm-ring/futex"),
        ..LIBRARY
    };
    type Options = BoostQueueOptions;
    type Port = BoostQueuePort;

    fn probe(options: &BoostQueueOptions) -> Result<(), Missing> {
        let (_run, shape) = ipcperf::tools::trial()?;
        Self::open(&shape, options).map(drop).map_err(ipcperf::tools::missing)
    }

    fn open(shape: &Shape, options: &BoostQueueOptions) -> Result<Link, SetupError> {
        let mut link = Link::default().granted("depth", options.depth);
        for way in WAYS {
            let name = shape.name(way);
            let memory = PosixMemory::noted(shape.directory()?, &name)?;
            let made = boost_queue::create(&name, options.depth, shape.size);
            made.map_err(|code| SetupError::sys(format!("shm_open /{name}"), code))?;
            link = link.guarded(memory);
        }
        Ok(link)
    }

    fn attach(end: Attach<'_, BoostQueueOptions>) -> Result<BoostQueuePort, SetupError> {
        let open = |way: &str| {
            let name = end.shape.name(way);
            Queue::open(&name).map_err(|code| SetupError::sys(format!("shm_open /{name}"), code))
        };
        let [ping, pong] = WAYS;
        let (to, from) = match end.seat {
            Seat::Lead => (open(ping)?, open(pong)?),
            Seat::Follow => (open(pong)?, open(ping)?),
        };
        let buffer = Buffer::new(end.shape.size.max(1), end.shape.buffer_offset)?;
        Ok(BoostQueuePort { to, from, buffer, has_ended: false })
    }
}

/// From lead to follow, and back.
const WAYS: [&str; 2] = ["boost-ping", "boost-pong"];

/// Of messages; the end, of a lower one, comes after them.
const PRIORITY: u32 = 1;

/// One end: the queue to the peer, the queue from it, and the memory that messages are copied from and into.
pub struct BoostQueuePort {
    to: Queue,
    from: Queue,
    buffer: Buffer,
    has_ended: bool,
}

impl Port for BoostQueuePort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        self.to.send(out, PRIORITY).map_err(fault)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.has_ended {
            return Err(Fault::Closed);
        }
        // The queue refuses room for less than its longest message.
        let (received, priority) = self.from.receive(self.buffer.all_mut()).map_err(fault)?;
        if priority != PRIORITY {
            self.has_ended = true;
            return Err(Fault::Closed);
        }
        if received != len {
            return Err(Fault::Truncated);
        }
        take(self.buffer.get_mut(len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.to.send(&[], PRIORITY - 1).map_err(fault)
    }
}
