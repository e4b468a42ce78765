//! Through a ring shared with the kernel: bytes without boundaries, and wake-ups.

use crate::port::{end_pipe, fault};
use ipcperf_core::{Fault, Port, Seat, SetupError, Shape, Syscalls, Wait};
use ipcperf_sys::io::uring::{Buffers, Drive, FutexRing, Kind, Transfer};
use ipcperf_sys::io::wake::word::WakeWords;
use ipcperf_sys::io::{duplicate, errno, socket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

/// The variant that a way of driving a ring is.
pub(crate) const fn variant<D: Drive>() -> Option<&'static str> {
    if D::KERNEL_THREAD { Some("sqpoll") } else { None }
}

/// The class it is ranked in.
pub(crate) const fn class<D: Drive>() -> Wait {
    if D::KERNEL_THREAD { Wait::SpinThenBlock } else { Wait::Block }
}

/// What it costs when nobody waits. Whether the kernel's thread must be woken depends on timing.
pub(crate) const fn syscalls<D: Drive>() -> Syscalls {
    if D::KERNEL_THREAD {
        Syscalls { send: None, recv: None }
    } else {
        Syscalls { send: Some(1.0), recv: Some(1.0) }
    }
}

/// What is easily got wrong about rings, where an end enters the kernel for each operation.
pub(crate) const PITFALLS: &[&str] = &[
    "One operation at a time shows the price of the ring and not its gain, which is many operations for one call.",
    "A ring is tuned for one thread (DEFER_TASKRUN, SINGLE_ISSUER) as far as the kernel allows: Linux 5.19 to 6.1.",
    "A transfer is submitted, tried, armed to poll and tried again: the plain call has a shorter way.",
    "buffers=provided serves one receive at a time from one buffer; what comes in pieces is completed by plain receives.",
    "Often forbidden in containers (seccomp) and by administrators (kernel.io_uring_disabled).",
];

/// The same, where a thread of the kernel polls the ring.
pub(crate) const SQPOLL_PITFALLS: &[&str] = &[
    "A kernel thread for each end polls its ring: two ends keep up to four CPUs busy.",
    "Since Linux 6.11 the kernel thread is pinned with its end, and both take turns on one CPU; before, it ran anywhere.",
    "The CPU time of a kernel thread is counted with that of its end.",
    "The kernel thread sleeps when nothing was submitted for 1 ms (one tick at least); a call then wakes it.",
    "The kernel thread has slices of 0.1 ms (Linux 6.12), or it would keep its end from their CPU for milliseconds.",
    "An end that spun without limit would keep the CPU from its own kernel thread: it sleeps after a few microseconds.",
    "Often forbidden in containers (seccomp) and by administrators (kernel.io_uring_disabled).",
];

/// What rings need from the host.
pub(crate) const NEEDS: &[&str] = &["CONFIG_IO_URING", "Linux 5.11", "kernel.io_uring_disabled=0"];
/// And over TCP.
pub(crate) const TCP_NEEDS: &[&str] = &[
    "CONFIG_IO_URING",
    "Linux 5.11",
    "kernel.io_uring_disabled=0",
    "CONFIG_INET",
    "the loopback interface up",
];

/// The values of the knob `buffers`.
pub(crate) fn buffers(word: &str) -> Buffers {
    match word {
        "registered" => Buffers::Registered,
        "provided" => Buffers::Provided,
        _ => Buffers::Plain,
    }
}

/// One end: a ring of its own, a descriptor to receive from, one to send to, and a private buffer.
pub struct UringPort<D: Drive> {
    transfer: Transfer<D>,
    rx: OwnedFd,
    tx: OwnedFd,
}

impl<D: Drive> UringPort<D> {
    /// Two pipes, one for each direction. The ring serves the calling thread only.
    ///
    /// # Errors
    /// There is no memory, or the host refuses the ring.
    pub fn of_pipes(
        rx: OwnedFd,
        tx: OwnedFd,
        buffers: Buffers,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let transfer = Transfer::new(Kind::Pipe, buffers, shape.size, shape.buffer_offset)?;
        Ok(Self { transfer, rx, tx })
    }

    /// One socket for both directions. The ring serves the calling thread only.
    ///
    /// # Errors
    /// As [`UringPort::of_pipes`].
    pub fn of_socket(socket: OwnedFd, buffers: Buffers, shape: &Shape) -> Result<Self, SetupError> {
        let transfer = Transfer::new(Kind::Socket, buffers, shape.size, shape.buffer_offset)?;
        let tx = duplicate(&socket)?;
        Ok(Self { transfer, rx: socket, tx })
    }

    /// Goes on after an operation that did not send everything.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        let mut done = 0;
        loop {
            match step {
                Ok(bytes) => done += bytes,
                Err(errno::EINTR | errno::EAGAIN) => {}
                Err(code) => return Err(fault(code)),
            }
            if done >= len {
                return Ok(());
            }
            step = self.transfer.send(self.tx.as_fd(), done, len);
        }
    }

    /// Goes on after an operation that did not bring everything.
    #[cold]
    #[inline(never)]
    fn receive_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        let mut done = 0;
        loop {
            match step {
                Ok(0) => return Err(if done == 0 { Fault::Closed } else { Fault::Truncated }),
                Ok(bytes) => done += bytes,
                Err(errno::EINTR | errno::EAGAIN) => {}
                Err(code) => return Err(fault(code)),
            }
            if done >= len {
                return Ok(());
            }
            step = if done == 0 {
                self.transfer.receive(self.rx.as_fd(), len)
            } else {
                self.transfer.receive_rest(self.rx.as_fd(), done, len)
            };
        }
    }
}

impl<D: Drive> Port for UringPort<D> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.transfer.get_mut(len).ok_or(Fault::TooLong)?);
        let step = self.transfer.send(self.tx.as_fd(), 0, len);
        if step == Ok(len) { Ok(()) } else { self.send_rest(len, step) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.transfer.get_mut(len).is_none() {
            return Err(Fault::TooLong);
        }
        let step = self.transfer.receive(self.rx.as_fd(), len);
        if step != Ok(len) {
            self.receive_rest(len, step)?;
        }
        take(self.transfer.get_mut(len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        match socket::shutdown_send(&self.tx) {
            Err(errno::ENOTSOCK) => end_pipe(&self.rx, &mut self.tx).map_err(fault),
            other => other.map_err(fault),
        }
    }
}

/// Two words in shared memory, and a ring for the futex operations of this end. Every send wakes, every receive that
/// comes first sleeps.
pub struct UringFutexPort {
    ring: FutexRing,
    words: WakeWords,
    seat: Seat,
    /// The turn of the last wake-up received.
    seen: u32,
}

impl UringFutexPort {
    /// The end of `seat`: the lead sends on the first word. The ring serves the calling thread only.
    ///
    /// # Errors
    /// The host refuses the ring, or its kernel has no such operations.
    pub fn new(words: WakeWords, seat: Seat) -> Result<Self, SetupError> {
        Ok(Self { ring: FutexRing::new()?, words, seat, seen: 0 })
    }
}

impl Port for UringFutexPort {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut word = [0; 4];
        fill(&mut word);
        let line = match self.seat {
            Seat::Lead => self.words.ping(),
            Seat::Follow => self.words.pong(),
        };
        // This end is the only writer of the line, so a load and a store are an increment. Release: whoever sees the
        // turn sees the value.
        line.value.store(u32::from_ne_bytes(word), Ordering::Relaxed);
        line.turn.store(line.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        self.ring.wake(&line.turn).map_err(fault)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let line = match self.seat {
            Seat::Lead => self.words.pong(),
            Seat::Follow => self.words.ping(),
        };
        let mut turn = line.turn.load(Ordering::Acquire);
        while turn == self.seen {
            self.ring.wait(&line.turn, self.seen).map_err(fault)?;
            turn = line.turn.load(Ordering::Acquire);
        }
        self.seen = self.seen.wrapping_add(1);
        if turn != self.seen {
            // Two wake-ups became one: the sender did not wait for its credit.
            return Err(Fault::Corrupt);
        }
        take(&line.value.load(Ordering::Relaxed).to_ne_bytes())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A word has no end that could be closed.
        Ok(())
    }
}
