//! Messages with descriptors: `sendmsg` and `recvmsg` with `SCM_RIGHTS` on connected UNIX sockets.
//!
//! # Safety
//! A message header points to one live part and to the control buffer of `self`, whose length it tells. The buffer is
//! made of words, so the header of a control message in it is aligned. The kernel writes at most the length told, and
//! leaves the length it wrote.

use crate::io::file::fresh::Handle;
use crate::io::raw;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Most descriptors of one message: `SCM_MAX_FD` of `include/net/scm.h`.
pub const MOST: usize = 253;

/// Bytes of the header of a control message, which is aligned to a word.
const HEADER: usize = size_of::<libc::cmsghdr>();
const WORD: usize = size_of::<usize>();

const fn words(fds: usize) -> usize {
    (HEADER + fds * size_of::<RawFd>()).div_ceil(WORD)
}

/// Descriptors that go with messages.
#[derive(Debug)]
pub struct Outgoing {
    control: Box<[usize]>,
    count: usize,
}

impl Outgoing {
    /// Room for `count` descriptors; all are -1, which is none. As long as `CMSG_SPACE` says: three descriptors take as
    /// many bytes as four.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let count = count.min(MOST);
        let len = HEADER + count * size_of::<RawFd>();
        let mut outgoing = Self { control: vec![0; words(count)].into(), count };
        // SAFETY: a struct of integers, for which zero is a value.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = len as _;
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = libc::SCM_RIGHTS;
        // SAFETY: the buffer is aligned for the header and longer than it.
        unsafe { outgoing.control.as_mut_ptr().cast::<libc::cmsghdr>().write(header) };
        outgoing.name(-1);
        outgoing
    }

    /// Lets the place at `index` name `fd`, if there is one.
    #[inline(always)]
    pub fn place(&mut self, index: usize, fd: BorrowedFd<'_>) {
        if index < self.count {
            self.write(index, fd.as_raw_fd());
        }
    }

    /// Lets every place name `fd`.
    #[inline(always)]
    pub fn set(&mut self, fd: BorrowedFd<'_>) {
        self.name(fd.as_raw_fd());
    }

    #[inline(always)]
    fn name(&mut self, fd: RawFd) {
        for index in 0..self.count {
            self.write(index, fd);
        }
    }

    /// `index` is below `count`.
    #[inline(always)]
    fn write(&mut self, index: usize, fd: RawFd) {
        debug_assert!(index < self.count, "place {index} of {}", self.count);
        // SAFETY: `count` descriptors follow the header inside the buffer.
        unsafe { self.control.as_mut_ptr().byte_add(HEADER).cast::<RawFd>().add(index).write(fd) };
    }

    /// Sends one message with the descriptors.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn send(&mut self, socket: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        let mut part =
            libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        let header = header(&raw mut part, &mut self.control);
        let (at, flags) = ((&raw const header) as usize, libc::MSG_NOSIGNAL as usize);
        // SAFETY: see the module; the kernel only reads.
        unsafe { raw::call3(libc::SYS_sendmsg, socket.as_raw_fd() as usize, at, flags) }
    }
}

/// Room for the descriptors that come with a message.
#[derive(Debug)]
pub struct Incoming {
    control: Box<[usize]>,
    /// Bytes that the last message left in it.
    filled: usize,
    /// How many of its descriptors were taken over one by one.
    taken: usize,
    is_cut: bool,
}

impl Default for Incoming {
    fn default() -> Self {
        Self { control: vec![0; words(MOST)].into(), filled: 0, taken: 0, is_cut: false }
    }
}

impl Incoming {
    /// Receives one message and returns its real length, which exceeds the slice's if the message was cut to fit. The
    /// descriptors are close-on-exec, and the caller's to close.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    #[allow(clippy::unnecessary_cast, reason = "lengths of musl have 32 bits and padding")]
    pub fn receive(&mut self, socket: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let mut header = header(&raw mut part, &mut self.control);
        let (at, flags) = ((&raw mut header) as usize, libc::MSG_CMSG_CLOEXEC | libc::MSG_TRUNC);
        // SAFETY: see the module; under MSG_TRUNC the kernel exceeds neither length.
        let step = unsafe {
            raw::call3(libc::SYS_recvmsg, socket.as_raw_fd() as usize, at, flags as usize)
        };
        self.filled = if step.is_ok() { header.msg_controllen as usize } else { 0 };
        self.taken = 0;
        self.is_cut = header.msg_flags & libc::MSG_CTRUNC != 0;
        step
    }

    /// Whether there was no room for some descriptors, in the buffer or in this process.
    #[inline(always)]
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many descriptors came with the last message.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::unnecessary_cast, reason = "lengths of musl have 32 bits and padding")]
    pub fn count(&self) -> usize {
        if self.filled < HEADER {
            return 0;
        }
        // SAFETY: the kernel wrote a whole header at the aligned start of the buffer.
        let header = unsafe { self.control.as_ptr().cast::<libc::cmsghdr>().read() };
        let is_rights =
            header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS;
        let bytes = (header.cmsg_len as usize).min(self.filled).saturating_sub(HEADER);
        if is_rights { bytes / size_of::<RawFd>() } else { 0 }
    }

    /// Whether no control message came with the last message.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// The descriptor at `index` below [`Incoming::count`].
    #[inline(always)]
    fn get(&self, index: usize) -> Option<RawFd> {
        // SAFETY: `count` descriptors follow the header inside the buffer.
        (index < self.count()).then(|| unsafe {
            self.control.as_ptr().byte_add(HEADER).cast::<RawFd>().add(index).read()
        })
    }

    /// Takes over the next descriptor that came with the last message, in their order.
    #[inline(always)]
    #[must_use]
    pub fn take_next(&mut self) -> Option<Handle> {
        let fd = self.get(self.taken)?;
        self.taken += 1;
        Some(Handle::received(fd))
    }

    /// Closes all descriptors that came with the last message and nobody took over, one system call for each.
    #[inline(always)]
    pub fn close_all(&mut self) {
        while self.take_next().is_some() {}
        self.filled = 0;
    }
}

#[inline(always)]
fn header(part: *mut libc::iovec, control: &mut [usize]) -> libc::msghdr {
    // SAFETY: a struct of integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = (control.len() * WORD) as _;
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket::{Kind, pair};
    use std::os::fd::AsFd;

    #[test]
    fn descriptors_travel_and_are_counted() {
        let (one, two) = pair(Kind::SeqPacket).expect("a pair");
        let mut incoming = Incoming::default();
        for count in [1, 2, MOST] {
            let mut outgoing = Outgoing::new(count);
            outgoing.set(one.as_fd());
            assert_eq!(outgoing.send(one.as_fd(), b"message"), Ok(7));
            let mut got = [0; 7];
            assert_eq!(incoming.receive(two.as_fd(), &mut got), Ok(7));
            assert_eq!((&got, incoming.count(), incoming.is_cut()), (b"message", count, false));
            let flags = incoming.get(count - 1).map(|fd| {
                // SAFETY: it came with the message and is open.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                rustix::io::fcntl_getfd(fd).expect("open")
            });
            assert_eq!(flags, Some(rustix::io::FdFlags::CLOEXEC));
            incoming.close_all();
            assert_eq!((incoming.count(), incoming.get(0)), (0, None));
            assert!(incoming.is_empty());
        }
    }

    #[test]
    fn descriptors_differ_and_are_taken_over_one_by_one() {
        let (one, two) = pair(Kind::SeqPacket).expect("a pair");
        let (mut plain, mut outgoing) = (Outgoing::new(4), Outgoing::new(3));
        assert_eq!([&plain, &outgoing].map(|one| one.control.len() * WORD), [32, 32]);
        plain.place(4, one.as_fd());
        assert_eq!(plain.send(one.as_fd(), b""), Err(libc::EBADF));
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        outgoing.set(one.as_fd());
        outgoing.place(0, write.as_fd());
        assert_eq!(outgoing.send(one.as_fd(), b"message"), Ok(7));
        drop(write);
        let mut incoming = Incoming::default();
        assert_eq!(incoming.receive(two.as_fd(), &mut [0; 7]), Ok(7));
        assert_eq!(incoming.count(), 3);
        let first = incoming.take_next().expect("the pipe");
        incoming.close_all();
        // Alone the first was left open, and it is the pipe.
        assert_eq!(crate::io::stream::write(first.fd(), b"p"), Ok(1));
        drop(first);
        let mut got = [0; 2];
        assert_eq!(rustix::io::read(&read, &mut got), Ok(1));
        assert_eq!(rustix::io::read(&read, &mut got), Ok(0));
        assert!(incoming.take_next().is_none());
    }

    #[test]
    fn a_message_without_descriptors_has_none() {
        let (one, two) = pair(Kind::SeqPacket).expect("a pair");
        crate::io::datagram::send(one.as_fd(), b"plain").expect("room");
        let mut incoming = Incoming::default();
        assert_eq!(incoming.receive(two.as_fd(), &mut [0; 5]), Ok(5));
        assert_eq!(incoming.count(), 0);
    }
}
