//! The channel between coordinator and worker: whole messages with descriptors over a UNIX seqpacket socket. Never
//! the thing under test, never used inside a timed region.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Most descriptors in one message; a wiring needs at most a handful.
pub const MAX_FDS: usize = 16;
/// Largest message: a job with all its names.
const MAX_BYTES: usize = 64 << 10;

/// One end.
#[derive(Debug)]
pub struct Control(OwnedFd);

/// A message.
#[derive(Debug, Default)]
pub struct Parcel {
    /// Text, JSON in practice.
    pub text: String,
    /// Descriptors that came with it.
    pub fds: Vec<OwnedFd>,
}

impl Control {
    /// Two connected ends, both close-on-exec.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, two) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(one), Self(two)))
    }

    /// The end a worker was started with.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// To poll on, or to give to a child as its standard input.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// To poll on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Sends one message.
    ///
    /// # Errors
    /// The peer is gone (`EPIPE`), or the message is too large.
    pub fn send(&self, text: &str, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        if text.len() > MAX_BYTES || fds.len() > MAX_FDS {
            return Err(Errno::MSGSIZE.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Errno::MSGSIZE.into());
        }
        let sent = retry(|| {
            rustix::net::sendmsg(
                &self.0,
                &[IoSlice::new(text.as_bytes())],
                &mut ancillary,
                SendFlags::NOSIGNAL,
            )
        })?;
        if sent == text.len() { Ok(()) } else { Err(Errno::MSGSIZE.into()) }
    }

    /// Receives one message.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer is gone, `TimedOut` after `deadline`, `InvalidData` for what is no text.
    pub fn receive(&self, deadline: Option<Instant>) -> io::Result<Parcel> {
        if let Some(deadline) = deadline
            && !wait_any(&[self.fd()], deadline)?[0]
        {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.receive_ready()
    }

    /// Bytes of the next message; 0 at the end.
    fn waiting(&self) -> io::Result<usize> {
        loop {
            let flags = RecvFlags::PEEK | RecvFlags::TRUNC;
            match rustix::net::recv(&self.0, &mut [0_u8; 1], flags) {
                Ok((_, bytes)) => return Ok(bytes),
                // See `receive_ready`.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The text of the next message, which stays the next one, with its descriptors; empty at the end.
    ///
    /// # Errors
    /// The kernel's, or `InvalidData` for what is no text.
    pub fn peek(&self) -> io::Result<String> {
        let mut bytes = vec![0_u8; self.waiting()?];
        let (_, len) = rustix::net::recv(&self.0, &mut *bytes, RecvFlags::PEEK)?;
        bytes.truncate(len);
        Ok(String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?)
    }

    fn receive_ready(&self) -> io::Result<Parcel> {
        let mut bytes = vec![0_u8; self.waiting()?];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let result = rustix::net::recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut bytes)],
                &mut ancillary,
                RecvFlags::CMSG_CLOEXEC,
            );
            match result {
                Ok(received) => break received,
                // A peer that went with a message of ours unread is reported once, ahead of its own last messages.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(error) => return Err(error.into()),
            }
        };
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let fds = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        bytes.truncate(received.bytes);
        let text = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Parcel { text, fds })
    }
}

/// Repeats a call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Waits until one of `fds` is readable or `deadline` has passed; says which are.
///
/// # Errors
/// The kernel's.
pub fn wait_any(fds: &[BorrowedFd<'_>], deadline: Instant) -> io::Result<Vec<bool>> {
    let mut polled: Vec<_> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match rustix::event::poll(&mut polled, Some(&left)) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn text_and_descriptors_arrive_together_and_the_end_is_told() {
        let (one, two) = Control::pair().expect("a socket pair");
        let file = tempfile::tempfile().expect("a file");
        one.send("{\"a\":1}", &[file.as_fd(), file.as_fd()]).expect("sent");
        let parcel = two.receive(None).expect("received");
        assert_eq!((parcel.text.as_str(), parcel.fds.len()), ("{\"a\":1}", 2));
        for fd in &parcel.fds {
            let flags = rustix::io::fcntl_getfd(fd).expect("flags");
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(
            two.receive(Some(soon)).expect_err("nothing sent").kind(),
            io::ErrorKind::TimedOut
        );
        drop(one);
        assert_eq!(two.receive(None).expect_err("closed").kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_last_words_of_a_peer_that_did_not_listen_arrive() {
        let (one, two) = Control::pair().expect("a socket pair");
        two.send("never read", &[]).expect("sent");
        one.send("last words", &[]).expect("sent");
        drop(one);
        assert_eq!(two.receive(None).expect("received").text, "last words");
        assert_eq!(two.receive(None).expect_err("closed").kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_oversized_message_is_refused_whole() {
        let (one, _two) = Control::pair().expect("a socket pair");
        assert!(one.send(&"x".repeat(MAX_BYTES + 1), &[]).is_err());
    }
}
