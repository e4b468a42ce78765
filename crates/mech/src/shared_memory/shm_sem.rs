//! One buffer in shared memory for each direction, guarded by semaphores, `sem_overview(7)`.

use crate::budget;
use crate::shared_memory::{SHARED_MEMORY, memory};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::memory::shm_sem::{self, Ends};

ipcperf_core::options! {
    /// Knobs of buffers with semaphores.
    pub struct ShmSemOptions {
        /// What the memory is: a memfd, a file in /dev/shm, System V memory, or a file in the run's directory.
        pub backing: String = ("memfd".into(), "memfd", Choice { words: &["memfd", "dev-shm", "sysv", "file"] }),
    }
}

/// Two buffers with two semaphores each.
#[derive(Debug)]
pub struct ShmSem;

impl Mechanism for ShmSem {
    const SPEC: &'static Spec = &Spec {
        name: "shm-sem",
        wait: Wait::Block,
        summary: "One buffer in shared memory for each direction; POSIX semaphores say whether it is empty or full.",
        manual: &["sem_overview(7)", "sem_wait(3)", "shm_overview(7)", "memfd_create(2)"],
        pitfalls: &[
            "With one buffer the ends take turns: a stream pays a hand-over for each message.",
            "A POSIX semaphore makes a system call only if a process sleeps on it; a System V semaphore makes one each time.",
            "A peer that dies between wait and post leaves the other waiting for ever: semaphores have no owner.",
        ],
        payload: Payload::up_to(shm_sem::MAX_MESSAGE, "the layout of a buffer"),
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        syscalls: Syscalls { send: Some(0.0), recv: None },
        needs: &["memfd_create (Linux 3.17)"],
        ..SHARED_MEMORY
    };
    type Options = ShmSemOptions;
    type Port = SemPort;

    fn probe(options: &ShmSemOptions) -> Result<(), Missing> {
        let kind = memory::kind(&options.backing, "off");
        let (_run, shape) = crate::trial_where(kind.has_name())?;
        let tried = shm_sem::create(kind, 1, shape.directory.as_deref(), &shape.name("sem"));
        tried.map(drop).map_err(crate::missing)
    }

    fn lends(_: &ShmSemOptions) -> [Lends; 2] {
        [Lends::Shared, Lends::Buffer]
    }

    fn shares(options: &ShmSemOptions) -> Namespaces {
        memory::shares(&options.backing)
    }

    fn open(shape: &Shape, options: &ShmSemOptions) -> Result<Link, SetupError> {
        budget::memory(shm_sem::bytes(shape.size), "two buffers", "smaller messages")?;
        let (directory, name) = (shape.directory.as_deref(), shape.name("sem"));
        let kind = memory::kind(&options.backing, "off");
        let buffers = shm_sem::create(kind, shape.size, directory, &name)?;
        Ok(memory::link(buffers)?.granted("backing", &options.backing))
    }

    fn attach(mut end: Attach<'_, ShmSemOptions>) -> Result<SemPort, SetupError> {
        let kind = memory::kind(&end.options.backing, "off");
        let buffers = memory::attach(kind, &mut end.wiring)?;
        SemPort::new(Ends::attach(buffers, end.seat, end.shape.size)?, end.shape)
    }
}

/// One end. The sender writes into the shared buffer, the receiver copies out of it.
pub struct SemPort {
    ends: Ends,
    buffer: Buffer,
}

impl SemPort {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(ends: Ends, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { ends, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }
}

impl Port for SemPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.ends.send(len, fill)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.ends.receive(own)?;
        take(own)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.ends.close()
    }
}
