//! A TCP connection that sends without copying. Buffers take turns, and none is written before the kernel has given
//! notice of all that was sent from it.

use crate::port::fault;
use crate::stream::stream_port::StreamPort;
use crate::wait::Block;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::socket::zerocopy::{self, Notice};
use ipcperf_sys::io::{Buffer, datagram, duplicate, errno};
use std::os::fd::{AsFd, OwnedFd};

/// Sends without a notice that are remembered; a power of two. A message is usually one send, so this is far more than
/// there are buffers.
const REMEMBERED: u32 = 1024;

/// One buffer, and how many sends from it are without a notice.
struct SendBuffer {
    bytes: Buffer,
    pending: u32,
}

/// One end.
pub struct ZerocopyPort {
    socket: OwnedFd,
    /// Receives are those of any stream.
    incoming: StreamPort<Block>,
    places: Box<[SendBuffer]>,
    /// Which place the next message takes.
    next: usize,
    /// Which place a send was from, by its number.
    owners: Box<[usize]>,
    /// Number of the next send.
    issued: u32,
    /// How many sends have their notice, by whether they were copied.
    direct: u64,
    copied: u64,
    /// How many sends were ordinary ones, because nothing more could be pinned.
    unpinned: u64,
}

impl ZerocopyPort {
    /// `count` buffers that start a page each.
    ///
    /// # Errors
    /// There is no memory, or the kernel cannot send without copying.
    pub fn new(socket: OwnedFd, count: u64, shape: &Shape) -> Result<Self, SetupError> {
        zerocopy::enable(&socket)?;
        let place = || Ok(SendBuffer { bytes: Buffer::new(shape.size, 0)?, pending: 0 });
        let places = (0..count.max(1)).map(|_| place()).collect::<Result<_, SetupError>>()?;
        Ok(Self {
            incoming: StreamPort::of_socket(duplicate(&socket)?, shape)?,
            socket,
            places,
            next: 0,
            owners: vec![0; REMEMBERED as usize].into(),
            issued: 0,
            direct: 0,
            copied: 0,
            unpinned: 0,
        })
    }

    /// How many buffers there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.places.len() as u64
    }

    /// Sends without a notice.
    #[inline(always)]
    fn outstanding(&self) -> u64 {
        u64::from(self.issued.wrapping_sub((self.direct + self.copied) as u32))
    }

    #[inline(always)]
    fn settle(&mut self, notice: Notice) {
        let mut number = notice.first;
        let sends = notice.last.wrapping_sub(notice.first).wrapping_add(1).min(REMEMBERED);
        for _ in 0..sends {
            let owner = self.owners.get((number % REMEMBERED) as usize).copied().unwrap_or(0);
            if let Some(place) = self.places.get_mut(owner) {
                place.pending = place.pending.wrapping_sub(1);
            }
            number = number.wrapping_add(1);
        }
        *(if notice.is_copied { &mut self.copied } else { &mut self.direct }) += u64::from(sends);
    }

    /// Sends the bytes of a message from `from` on, once.
    #[inline(always)]
    fn send_one(&mut self, from: usize, len: usize) -> Result<usize, i32> {
        let place = self.places.get_mut(self.next).ok_or(errno::EINVAL)?;
        let bytes = place.bytes.get_mut(len).and_then(|all| all.get(from..));
        let sent = zerocopy::send(self.socket.as_fd(), bytes.unwrap_or_default())?;
        if sent > 0 {
            place.pending = place.pending.wrapping_add(1);
            if let Some(owner) = self.owners.get_mut((self.issued % REMEMBERED) as usize) {
                *owner = self.next;
            }
            self.issued = self.issued.wrapping_add(1);
        }
        Ok(sent)
    }

    /// Sends them as any socket does, with a copy and without a notice.
    #[cold]
    #[inline(never)]
    fn send_copied(&mut self, from: usize, len: usize) -> Result<usize, i32> {
        let place = self.places.get_mut(self.next).ok_or(errno::EINVAL)?;
        let bytes = place.bytes.get_mut(len).and_then(|all| all.get(from..));
        let sent = datagram::send(self.socket.as_fd(), bytes.unwrap_or_default())?;
        self.unpinned += 1;
        Ok(sent)
    }

    /// Sleeps until the next notice.
    #[cold]
    #[inline(never)]
    fn await_notice(&mut self) -> Result<(), Fault> {
        let mut is_over = false;
        loop {
            match zerocopy::notice(self.socket.as_fd()) {
                Ok(Some(notice)) => {
                    self.settle(notice);
                    return Ok(());
                }
                Ok(None) | Err(errno::EINTR) => {}
                Err(errno::EAGAIN) if is_over => return Err(Fault::Closed),
                Err(errno::EAGAIN) => match zerocopy::sleep(self.socket.as_fd()) {
                    Ok(end) => is_over = end,
                    Err(errno::EINTR) => {}
                    Err(code) => return Err(fault(code)),
                },
                Err(code) => return Err(fault(code)),
            }
        }
    }

    /// Goes on after a send that did not take everything.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        let mut done = 0;
        loop {
            match step {
                Ok(bytes) => done += bytes,
                Err(errno::EINTR) => {}
                // What is under way holds pinned pages and room for notices; with each notice some comes back.
                Err(errno::ENOBUFS) if self.outstanding() > 0 => self.await_notice()?,
                // Nothing of ours is under way: other processes of this user have pinned what it may pin.
                Err(errno::ENOBUFS) => {
                    step = self.send_copied(done, len);
                    continue;
                }
                Err(code) => return Err(fault(code)),
            }
            if done >= len {
                return Ok(());
            }
            while self.outstanding() >= u64::from(REMEMBERED) {
                self.await_notice()?;
            }
            step = self.send_one(done, len);
        }
    }
}

impl Port for ZerocopyPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if self.outstanding() > 0
            && let Ok(Some(notice)) = zerocopy::notice(self.socket.as_fd())
        {
            self.settle(notice);
        }
        while self.places.get(self.next).is_some_and(|place| place.pending != 0) {
            self.await_notice()?;
        }
        let place = self.places.get_mut(self.next).ok_or(Fault::TooLong)?;
        fill(place.bytes.get_mut(len).ok_or(Fault::TooLong)?);
        let step = self.send_one(0, len);
        if step != Ok(len) {
            self.send_rest(len, step)?;
        }
        self.next += 1;
        if self.next >= self.places.len() {
            self.next = 0;
        }
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.incoming.recv(len, take)
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        report("sent without copy", self.direct);
        report("copied after all", self.copied);
        report("copied for want of pinned pages", self.unpinned);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.incoming.finish()
    }
}
