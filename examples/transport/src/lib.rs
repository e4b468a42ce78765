//! Messages over a UNIX stream socket, each behind its length. One end of a connection is one [`Framed`].

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// Bytes of the longest message.
pub const LONGEST: usize = 16 << 20;

/// Bytes of a length.
const HEAD: usize = 4;

/// One end.
#[derive(Debug)]
pub struct Framed {
    stream: UnixStream,
    out: Vec<u8>,
    into: Vec<u8>,
    /// What was read and not given out yet.
    unread: std::ops::Range<usize>,
}

impl Framed {
    /// Over a connected socket, with a buffer for messages of this size; longer messages make it grow.
    #[must_use]
    pub fn new(stream: UnixStream, usual: usize) -> Self {
        let room = || vec![0; HEAD + usual];
        Self { stream, out: room(), into: room(), unread: 0..0 }
    }

    /// Sends a message of `len` bytes that `fill` writes.
    ///
    /// # Errors
    /// The message is longer than [`LONGEST`] (`InvalidInput`, nothing was sent), or the socket's.
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        let head = u32::try_from(len).ok().filter(|_| len <= LONGEST);
        let head = head.ok_or(ErrorKind::InvalidInput)?;
        let whole = HEAD + len;
        if self.out.len() < whole {
            self.out.resize(whole, 0);
        }
        self.out[..HEAD].copy_from_slice(&head.to_le_bytes());
        fill(&mut self.out[HEAD..whole]);
        self.stream.write_all(&self.out[..whole])
    }

    /// The next message; `None` once the other end has closed and all was read.
    ///
    /// # Errors
    /// The connection ended within a message (`UnexpectedEof`), or the socket's.
    pub fn recv(&mut self) -> io::Result<Option<&[u8]>> {
        if !self.holds(HEAD)? {
            return if self.unread.is_empty() {
                Ok(None)
            } else {
                Err(ErrorKind::UnexpectedEof.into())
            };
        }
        let at = self.unread.start + HEAD;
        let head = self.into[self.unread.start..at].first_chunk().copied().unwrap_or_default();
        let len = u32::from_le_bytes(head) as usize;
        if len > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        if !self.holds(HEAD + len)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let at = self.unread.start + HEAD;
        self.unread.start = at + len;
        Ok(Some(&self.into[at..at + len]))
    }

    /// Tells the other end that no more will come.
    ///
    /// # Errors
    /// The socket's.
    pub fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads until this number of bytes is there; false if the connection ends first.
    fn holds(&mut self, wanted: usize) -> io::Result<bool> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        if self.unread.start + wanted > self.into.len() {
            self.into.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
            self.into.resize(self.into.len().max(wanted), 0);
        }
        while self.unread.len() < wanted {
            match self.stream.read(&mut self.into[self.unread.end..]) {
                Ok(0) => return Ok(false),
                Ok(more) => self.unread.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_boundaries_and_the_end_comes_last() {
        let (one, other) = UnixStream::pair().expect("a pair of sockets");
        let (mut one, mut other) = (Framed::new(one, 8), Framed::new(other, 8));
        for len in [3, 0, 5000] {
            one.send(len, |message| message.fill(7)).expect("room");
        }
        one.close().expect("open until now");
        for len in [3, 0, 5000] {
            assert_eq!(other.recv().expect("no error"), Some(&vec![7; len][..]));
        }
        assert_eq!(other.recv().expect("no error"), None);
    }

    #[test]
    fn a_message_that_is_too_long_is_not_sent() {
        let (one, _other) = UnixStream::pair().expect("a pair of sockets");
        let refused = Framed::new(one, 8).send(LONGEST + 1, |_| {}).expect_err("too long");
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    }
}
