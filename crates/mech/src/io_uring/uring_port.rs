//! Through a ring shared with the kernel: bytes without boundaries.

use crate::io_uring::IO_URING;
use crate::port::{end_stream, fault};
use ipcperf_core::{Fault, Port, SetupError, Shape, Spec, Syscalls, Wait};
use ipcperf_sys::io::uring::{Buffers, Drive, Kind, Transfer};
use ipcperf_sys::io::{duplicate, errno};
use std::os::fd::{AsFd, OwnedFd};

/// Facts of streams that are driven through a ring in the way of `D`. Whether the kernel's thread must be woken depends
/// on timing.
pub(crate) const fn driven<D: Drive>() -> Spec {
    let thread = D::KERNEL_THREAD;
    Spec {
        variant: if thread { Some("sqpoll") } else { None },
        wait: if thread { Wait::SpinThenBlock } else { Wait::Block },
        default: !thread,
        threads: thread,
        pitfalls: if thread { SQPOLL_PITFALLS } else { PITFALLS },
        syscalls: if thread {
            Syscalls { send: None, recv: None }
        } else {
            Syscalls { send: Some(1.0), recv: Some(1.0) }
        },
        needs: NEEDS,
        ..IO_URING
    }
}

/// What is easily got wrong about rings, where an end enters the kernel for each operation.
const PITFALLS: &[&str] = &[
    "One operation at a time shows the price of the ring and not its gain, which is many operations for one call.",
    "A ring is tuned for one thread (DEFER_TASKRUN, SINGLE_ISSUER) as far as the kernel allows: Linux 5.19 to 6.1.",
    "A transfer is submitted, tried, armed to poll and tried again: the plain call has a shorter way.",
    "buffers=provided serves one receive at a time from one buffer; what comes in pieces is completed by plain receives.",
    "Containers (seccomp) and administrators (kernel.io_uring_disabled) often forbid it.",
];

/// The same, where a thread of the kernel polls the ring.
const SQPOLL_PITFALLS: &[&str] = &[
    "A kernel thread for each end polls its ring: two ends keep up to four CPUs busy.",
    "Since Linux 6.11 the kernel thread is pinned with its end, and both take turns on one CPU; before, it ran anywhere.",
    "The CPU time of a kernel thread is counted with that of its end.",
    "The kernel thread sleeps when nothing was submitted for 1 ms (one tick at least); a call then wakes it.",
    "The kernel thread has slices of 0.1 ms (Linux 6.12), or it would keep its end from their CPU for milliseconds.",
    "An end that spun without limit would keep the CPU from its own kernel thread: it sleeps after a few microseconds.",
    "Containers (seccomp) and administrators (kernel.io_uring_disabled) often forbid it.",
];

/// What rings need from the host.
const NEEDS: &[&str] = &["CONFIG_IO_URING", "Linux 5.11", "kernel.io_uring_disabled=0"];
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

/// How often in one message the kernel may say that an operation was cancelled, though nobody cancels any. It says so of one
/// that it did not begin, because the thread that it needs could not be started: signals interrupt the start, and it gives
/// up (`io_uring/io-wq.c`). Met on Linux 6.1 with a signal each millisecond. An end whose thread can never be started must
/// not try for ever.
const REFUSALS: u32 = 100;

/// After an operation that failed: `Ok` if it is to be tried again.
fn goes_on(code: i32, refusals: &mut u32) -> Result<(), Fault> {
    match code {
        errno::EINTR | errno::EAGAIN => {}
        errno::ECANCELED if *refusals > 0 => *refusals -= 1,
        code => return Err(fault(code)),
    }
    Ok(())
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
        let (mut done, mut refusals) = (0, REFUSALS);
        loop {
            match step {
                Ok(bytes) => done += bytes,
                Err(code) => goes_on(code, &mut refusals)?,
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
        let (mut done, mut refusals) = (0, REFUSALS);
        loop {
            match step {
                Ok(0) => return Err(if done == 0 { Fault::Closed } else { Fault::Truncated }),
                Ok(bytes) => done += bytes,
                Err(code) => goes_on(code, &mut refusals)?,
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
        end_stream(&self.rx, &mut self.tx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::PatternKind;
    use ipcperf_sys::io::pipe;
    use ipcperf_sys::io::uring::Enter;

    #[test]
    fn what_nobody_cancelled_is_tried_again_and_not_for_ever() {
        let mut refusals = REFUSALS;
        let tries = (0..=REFUSALS).map(|_| goes_on(errno::ECANCELED, &mut refusals));
        assert_eq!(tries.filter(Result::is_ok).count(), REFUSALS as usize);

        let shape = Shape { size: 8, pattern: PatternKind::Stream, nonce: 1, ..Shape::default() };
        let pipe::Pair { read, write } = pipe::pair().expect("a pipe");
        let port = UringPort::<Enter>::of_pipes(read, write, Buffers::Plain, &shape);
        let mut port = match port {
            Err(SetupError::Unavailable(missing)) => {
                return ipcperf_sys::skipped::skipped("uring-pipe", missing);
            }
            port => port.expect("a ring"),
        };
        port.send_rest(8, Err(errno::ECANCELED)).expect("it is sent");
        port.receive_rest(8, Err(errno::ECANCELED)).expect("it is received");
        assert!(port.receive_rest(8, Err(errno::EPIPE)).is_err());
    }
}
