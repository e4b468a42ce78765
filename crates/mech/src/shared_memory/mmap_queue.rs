//! Queues in mapped files, one for each direction, used under a lock.

use crate::budget;
use crate::shared_memory::SHARED_MEMORY;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::file::file_lock::{FileLock, Lock, RecordLock, RobustMutex};
use ipcperf_sys::io::file::file_queue::{self, Queue, QueueLayout};
use std::marker::PhantomData;
use std::path::Path;

ipcperf_core::options! {
    /// Knobs of queues in mapped files.
    pub struct MmapQueueOptions {
        /// About how large the file of each direction is; two messages always fit.
        pub bytes: u64 = (1 << 20, "1M", Bytes { min: 4096, max: 1 << 30 }),
    }
}

/// What guards a queue, and for how many messages at once.
pub trait Guarding: 'static {
    /// The variant's name.
    const VARIANT: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;
    /// The lock.
    type Lock: Lock;
    /// The motion.
    type Port: Port;

    /// One end in motion.
    ///
    /// # Errors
    /// There is no memory.
    fn port(
        rx: Queue<Self::Lock>,
        tx: Queue<Self::Lock>,
        shape: &Shape,
    ) -> Result<Self::Port, SetupError>;
}

macro_rules! guarding {
    ($(#[$doc:meta])* $name:ident { $variant:literal, $lock:ty, $amortised:literal, $summary:literal }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Guarding for $name {
            const VARIANT: &'static str = $variant;
            const SUMMARY: &'static str = $summary;
            type Lock = $lock;
            type Port = FileQueuePort<$lock, $amortised>;

            fn port(
                rx: Queue<$lock>,
                tx: Queue<$lock>,
                shape: &Shape,
            ) -> Result<Self::Port, SetupError> {
                FileQueuePort::new(rx, tx, shape)
            }
        }
    };
}

guarding! {
    /// A record lock for each message.
    Fcntl {
        "fcntl", RecordLock, false,
        "Two queues in mapped files; every send and every receive takes a record lock (F_SETLKW) and gives it back."
    }
}
guarding! {
    /// A record lock for many messages.
    FcntlAmortised {
        "fcntl-amortised", RecordLock, true,
        "Two queues in mapped files; one record lock serves up to 16 messages sent, or all that are there to receive."
    }
}
guarding! {
    /// A lock of the open file for each message.
    Flock {
        "flock", FileLock, false,
        "Two queues in mapped files; every send and every receive takes the lock of the open file and gives it back."
    }
}
guarding! {
    /// A mutex in the mapped file.
    Mutex {
        "robust-mutex", RobustMutex, false,
        "Two queues in mapped files; every send and every receive takes a robust mutex in the file and gives it back."
    }
}

/// Two queues in mapped files.
#[derive(Debug)]
pub struct MmapQueue<G>(PhantomData<G>);

fn layout(size: usize, options: &MmapQueueOptions) -> QueueLayout {
    QueueLayout::new(size, usize::try_from(options.bytes).unwrap_or(usize::MAX))
}

impl<G: Guarding> Mechanism for MmapQueue<G> {
    const SPEC: &'static Spec = &Spec {
        name: "mmap-queue",
        variant: Some(G::VARIANT),
        // An end that finds nothing lets go of the lock, yields the processor and asks again: it never sleeps for data.
        wait: Wait::Spin,
        default: matches!(G::VARIANT.as_bytes(), b"fcntl"),
        summary: G::SUMMARY,
        manual: &[
            "mmap(2)",
            "fcntl(2)",
            "flock(2)",
            "pthread_mutexattr_setrobust(3)",
            "sched_yield(2)",
        ],
        pitfalls: &[
            "An end that finds the queue full or empty yields the processor and looks again: it burns a CPU.",
            "Locks are not fair: an end that returns at once may take the lock again before the waiting one.",
            "Record locks belong to the process and fall when it closes any descriptor of the file.",
            "A robust mutex reports a dead peer only if it died holding the mutex; record locks are released silently.",
            "A batching sender holds messages back until its batch is full, it receives, or it flushes.",
            "The file is on disk only if the run directory is; dirty pages are written back meanwhile.",
        ],
        payload: Payload::up_to(file_queue::MAX_MESSAGE, "the layout of a queue"),
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        syscalls: Syscalls { send: Some(G::Lock::CALLS), recv: Some(G::Lock::CALLS) },
        needs: &["a file system with locks and shared mappings"],
        ..SHARED_MEMORY
    };
    type Options = MmapQueueOptions;
    type Port = G::Port;

    fn probe(options: &MmapQueueOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        let queue = shape.directory()?.join("queue");
        let tried = file_queue::create::<G::Lock>(queue, layout(1, options));
        tried.map(drop).map_err(crate::missing)
    }

    fn lends(_: &MmapQueueOptions) -> [Lends; 2] {
        [Lends::Shared, Lends::Buffer]
    }

    fn open(shape: &Shape, options: &MmapQueueOptions) -> Result<Link, SetupError> {
        let layout = layout(shape.size, options);
        let how = "smaller messages, or a smaller mmap-queue.bytes";
        budget::memory(layout.bytes().saturating_mul(2), "two queues", how)?;
        let [ping, pong] = [shape.path("ping")?, shape.path("pong")?];
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let wiring = |rx, tx| Wiring { names: vec![name(rx), name(tx)], ..Wiring::default() };
        let (lead, follow) = (wiring(&pong, &ping), wiring(&ping, &pong));
        let link = Link { lead, follow, ..Link::default() }
            .guarded(file_queue::create::<G::Lock>(ping, layout)?)
            .guarded(file_queue::create::<G::Lock>(pong, layout)?);
        Ok(link.granted("bytes", layout.bytes() as u64))
    }

    fn attach(end: Attach<'_, MmapQueueOptions>) -> Result<G::Port, SetupError> {
        let [rx, tx] = end.wiring.names.as_slice() else {
            return Err(SetupError::Protocol("two paths were expected".into()));
        };
        let layout = layout(end.shape.size, end.options);
        let (rx, tx) = (Path::new(rx), Path::new(tx));
        G::port(Queue::receiver(rx, layout)?, Queue::sender(tx, layout)?, end.shape)
    }
}

/// One end. `AMORTISED`: one lock serves all messages that are there, and several that are sent; otherwise each
/// message has its own.
pub struct FileQueuePort<L, const AMORTISED: bool> {
    rx: Queue<L>,
    tx: Queue<L>,
    buffer: Buffer,
}

impl<L: Lock, const AMORTISED: bool> FileQueuePort<L, AMORTISED> {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(rx: Queue<L>, tx: Queue<L>, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { rx, tx, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }
}

impl<L: Lock, const AMORTISED: bool> Port for FileQueuePort<L, AMORTISED> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if AMORTISED { self.tx.send_amortised(len, fill) } else { self.tx.send(len, fill) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        if AMORTISED {
            self.tx.flush()?;
            self.rx.receive_amortised(own)?;
        } else {
            self.rx.receive(own)?;
        }
        take(own)
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        if AMORTISED { self.tx.flush() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.tx.close()
    }
}
