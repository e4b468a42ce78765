//! One end of a connection: what has come and is not used yet, and what is to go and has not gone yet.

use crate::job::Failure;
use ipcperf_sys::io::epoll::EpollSet;
use ipcperf_sys::io::socket::inq;
use ipcperf_sys::io::uring::{Completed, Operations};
use ipcperf_sys::io::{errno, pipe, stream};
use ipcperf_sys::limits;
use std::collections::VecDeque;
use std::mem::take;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes that one call reads at the most, unless a single message is longer.
const ONE_READ: usize = 64 << 10;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// All of it, or something came.
    Some,
    /// There was nothing to read, or no room for all.
    Later,
}

/// Why a connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The other side has closed it.
    Closed,
    /// The `errno`.
    Errno(i32),
}

impl Broken {
    /// The `errno` that it counts as.
    pub(super) const fn code(self) -> i32 {
        match self {
            Self::Closed => errno::ECONNRESET,
            Self::Errno(code) => code,
        }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct ServedConnection {
    fd: OwnedFd,
    /// What is written to where that is another one, and whether room in it is waited for.
    out: Option<OwnedFd>,
    awaits_room: bool,
    /// Messages keep their boundaries: each is written by itself.
    keeps_boundaries: bool,
    /// A read has reported the end once.
    has_ended: bool,
    came: Vec<u8>,
    /// The part of it that is not used yet.
    unused: Range<usize>,
    to_go: Vec<u8>,
    /// The part of it that has not gone yet.
    pending: Range<usize>,
    /// The lengths of the messages in it.
    lengths: VecDeque<usize>,
    /// Its reads report how much waits behind them.
    reports: bool,
    /// The last one has reported that nothing does.
    is_drained: bool,
    /// Calls that found nothing, or no room.
    pub(super) eagain: u64,
}

impl ServedConnection {
    /// For messages of at most so many bytes that come, of which so many may come together.
    pub(super) fn new(
        fd: OwnedFd,
        out: Option<OwnedFd>,
        keeps_boundaries: bool,
        longest: usize,
        together: u64,
    ) -> Self {
        let together = usize::try_from(together).unwrap_or(usize::MAX);
        let most = longest.saturating_mul(together).min(ONE_READ).max(longest);
        Self {
            fd,
            out,
            awaits_room: false,
            keeps_boundaries,
            has_ended: false,
            came: vec![0; most],
            unused: 0..0,
            to_go: Vec::new(),
            pending: 0..0,
            lengths: VecDeque::new(),
            reports: false,
            is_drained: false,
            eagain: 0,
        }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    fn out(&self) -> &OwnedFd {
        self.out.as_ref().unwrap_or(&self.fd)
    }

    /// From now on no call sleeps, and a set waits for what comes.
    pub(super) fn join(&self, set: &EpollSet, number: usize) -> Result<(), Failure> {
        for fd in [Some(&self.fd), self.out.as_ref()].into_iter().flatten() {
            pipe::set_nonblocking(fd)?;
        }
        Ok(set.add(&self.fd, number)?)
    }

    /// From now on no call sleeps, and a set reports once when something comes or there is room; reads may report what waits.
    pub(super) fn join_edges(
        &mut self,
        set: &EpollSet,
        number: usize,
        reports: bool,
    ) -> Result<(), Failure> {
        pipe::set_nonblocking(&self.fd)?;
        if reports {
            inq::enable(&self.fd)?;
            self.reports = true;
        }
        Ok(set.add_edges(&self.fd, number)?)
    }

    /// Something may have come.
    #[inline]
    pub(super) fn has_news(&mut self) {
        self.is_drained = false;
    }

    /// The last read has reported that nothing waits behind it.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Reads into what is free; the bytes that came.
    #[inline]
    fn read_once(&mut self) -> Result<usize, i32> {
        let free = &mut self.came[self.unused.end..];
        if !self.reports {
            return stream::read(self.fd.as_fd(), free);
        }
        let (bytes, waits) = inq::read(self.fd.as_fd(), free)?;
        self.is_drained = waits == Some(0);
        Ok(bytes)
    }

    /// From now on the set waits for this.
    pub(super) fn watch(
        &mut self,
        set: &EpollSet,
        number: usize,
        reads: bool,
        writes: bool,
    ) -> Result<(), Failure> {
        let failed = |code| format!("epoll_ctl: {}", limits::text(code));
        let Some(out) = &self.out else {
            return Ok(set.change(&self.fd, number, reads, writes).map_err(failed)?);
        };
        set.change(&self.fd, number, reads, false).map_err(failed)?;
        match (std::mem::replace(&mut self.awaits_room, writes), writes) {
            (false, true) => {
                set.add(out, number)?;
                set.change(out, number, false, true).map_err(failed)?;
            }
            (true, false) => set.remove(out).map_err(failed)?,
            _ => {}
        }
        Ok(())
    }

    /// The set waits for nothing more.
    pub(super) fn leave(&mut self, set: &EpollSet) -> Result<(), Failure> {
        let gone = std::mem::take(&mut self.awaits_room).then_some(self.out.as_ref()).flatten();
        for fd in [Some(&self.fd), gone].into_iter().flatten() {
            set.remove(fd).map_err(|code| format!("epoll_ctl: {}", limits::text(code)))?;
        }
        Ok(())
    }

    /// Makes room for more that comes.
    #[inline]
    fn make_room(&mut self) {
        if self.unused.is_empty() {
            self.unused = 0..0;
        } else if self.unused.end == self.came.len() {
            self.came.copy_within(self.unused.clone(), 0);
            self.unused = 0..self.unused.len();
        }
    }

    /// Whether a message may still wait behind the end of the connection that a read has just reported. Where messages keep
    /// their boundaries, the kernel may see the end after it has looked for messages, and it reports a reset before messages
    /// that are still queued. A second report means that none is left.
    #[cold]
    fn may_hide_a_message(&mut self) -> bool {
        self.keeps_boundaries && !std::mem::replace(&mut self.has_ended, true)
    }

    /// Reads once.
    #[inline]
    pub(super) fn read(&mut self) -> Result<Done, Broken> {
        self.make_room();
        loop {
            match self.read_once() {
                Ok(0) | Err(errno::ECONNRESET) if self.may_hide_a_message() => {}
                Ok(0) => return Err(Broken::Closed),
                Ok(bytes) => {
                    self.unused.end += bytes;
                    return Ok(Done::Some);
                }
                Err(errno::EAGAIN) => {
                    self.eagain += 1;
                    return Ok(Done::Later);
                }
                Err(errno::EINTR) => {}
                Err(code) => return Err(Broken::Errno(code)),
            }
        }
    }

    /// What has come and is not used yet.
    #[inline]
    pub(super) fn came(&self) -> &[u8] {
        &self.came[self.unused.clone()]
    }

    /// So many bytes of it are used.
    #[inline]
    pub(super) fn used(&mut self, bytes: usize) {
        self.unused.start += bytes;
    }

    /// Room for one more message that is to go.
    #[inline]
    pub(super) fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.pending.is_empty() {
            self.pending = 0..0;
        }
        let begin = self.pending.end;
        self.pending.end += bytes;
        if self.to_go.len() < self.pending.end {
            self.to_go.resize(self.pending.end, 0);
        }
        if self.keeps_boundaries {
            self.lengths.push_back(bytes);
        }
        &mut self.to_go[begin..begin + bytes]
    }

    /// Whether something has not gone yet.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// What one call may write of it.
    #[inline]
    fn next_part(&self) -> Range<usize> {
        let begin = self.pending.start;
        begin..self.lengths.front().map_or(self.pending.end, |bytes| begin + bytes)
    }

    #[inline]
    fn has_gone(&mut self, bytes: usize) {
        self.pending.start += bytes;
        self.lengths.pop_front();
    }

    /// Lends a ring the memory for what comes next, until it has come; nothing that has come may be looked at meanwhile.
    #[inline]
    pub(super) fn receive_in(&mut self, ring: &mut Operations, number: usize) {
        self.make_room();
        ring.receive(number, self.fd.as_fd(), take(&mut self.came), self.unused.end);
    }

    /// Lends a ring the next part of what is to go, until it has gone; there may be nothing more to go meanwhile.
    #[inline]
    pub(super) fn send_in(&mut self, ring: &mut Operations, number: usize) {
        let part = self.next_part();
        ring.send(number, self.fd.as_fd(), take(&mut self.to_go), part);
    }

    /// Takes back what a ring was lent.
    #[inline]
    pub(super) fn completed(&mut self, done: Completed) -> Result<(), Broken> {
        let Completed { is_send, memory, result, .. } = done;
        *(if is_send { &mut self.to_go } else { &mut self.came }) = memory;
        match result {
            Ok(bytes) if is_send => self.has_gone(bytes),
            Ok(0) | Err(errno::ECONNRESET) if !is_send && self.may_hide_a_message() => {}
            Ok(0) => return Err(Broken::Closed),
            Ok(bytes) => self.unused.end += bytes,
            Err(errno::EINTR | errno::EAGAIN) => {}
            Err(errno::EPIPE) => return Err(Broken::Closed),
            Err(code) => return Err(Broken::Errno(code)),
        }
        Ok(())
    }

    /// Writes what is to go, as far as there is room.
    #[inline]
    pub(super) fn write(&mut self) -> Result<Done, Broken> {
        while self.is_pending() {
            let part = self.next_part();
            match stream::write(self.out().as_fd(), &self.to_go[part]) {
                Ok(bytes) => self.has_gone(bytes),
                Err(errno::EAGAIN) => {
                    self.eagain += 1;
                    return Ok(Done::Later);
                }
                Err(errno::EINTR) => {}
                Err(errno::EPIPE) => return Err(Broken::Closed),
                Err(code) => return Err(Broken::Errno(code)),
            }
        }
        Ok(Done::Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::io::pipe;
    use ipcperf_sys::io::socket::{Kind, pair};
    use std::time::Duration;

    fn both(kind: Kind, longest: usize, together: u64) -> [ServedConnection; 2] {
        let (one, two) = pair(kind).expect("sockets");
        [one, two].map(|fd| {
            pipe::set_nonblocking(&fd).expect("a socket");
            ServedConnection::new(fd, None, kind == Kind::SeqPacket, longest, together)
        })
    }

    #[test]
    fn messages_come_as_they_went_however_they_are_cut() {
        for kind in [Kind::Stream, Kind::SeqPacket] {
            let [mut near, mut far] = both(kind, 100, 3);
            for round in 0..50_u8 {
                for message in 0..3_u8 {
                    near.room(100).fill(round ^ message);
                }
                assert_eq!(near.write(), Ok(Done::Some));
                let mut next = 0;
                while next < 3 {
                    assert_eq!(far.read(), Ok(Done::Some));
                    while far.came().len() >= 100 {
                        assert!(far.came()[..100].iter().all(|byte| *byte == round ^ next));
                        far.used(100);
                        next += 1;
                    }
                }
            }
            assert_eq!((far.read(), far.eagain), (Ok(Done::Later), 1));
            drop(near);
            // A child that another test is starting has the end, too, until it has loaded its program.
            let read = std::iter::repeat_with(|| far.read()).take(10_000).find(|read| {
                std::thread::sleep(Duration::from_millis(1));
                *read != Ok(Done::Later)
            });
            assert_eq!(read, Some(Err(Broken::Closed)));
        }
    }

    #[test]
    fn a_message_that_waits_is_read_although_its_sender_has_closed_without_reading() {
        let [mut near, mut far] = both(Kind::SeqPacket, 100, 1);
        far.room(100).fill(1);
        assert_eq!(far.write(), Ok(Done::Some));
        near.room(100).fill(2);
        assert_eq!(near.write(), Ok(Done::Some));
        drop(near);
        // The kernel tells ECONNRESET first. Another test that is starting a child may hold the end open a little longer.
        assert_eq!(far.read(), Ok(Done::Some));
        assert_eq!(far.came(), [2; 100]);
    }

    #[test]
    fn an_end_of_messages_counts_once_it_was_told_twice_and_that_of_bytes_at_once() {
        for (kind, first) in [(Kind::SeqPacket, Ok(())), (Kind::Stream, Err(Broken::Closed))] {
            let [_near, mut far] = both(kind, 100, 1);
            let mut end = || {
                let memory = vec![0; 100];
                far.completed(Completed { number: 0, is_send: false, memory, result: Ok(0) })
            };
            assert_eq!(end(), first, "{kind:?}");
            assert_eq!(end(), Err(Broken::Closed), "{kind:?}");
        }
    }

    #[test]
    fn what_finds_no_room_goes_later_and_none_of_it_is_lost() {
        let size = 1 << 20;
        let [mut near, mut far] = both(Kind::Stream, size, 1);
        for (at, byte) in near.room(size).iter_mut().enumerate() {
            *byte = at as u8;
        }
        assert_eq!((near.write(), near.eagain), (Ok(Done::Later), 1));
        while far.came().len() < size {
            far.read().expect("open");
            near.write().expect("open");
        }
        assert!(far.came().iter().enumerate().all(|(at, byte)| *byte == at as u8));
    }
}
