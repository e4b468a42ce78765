//! One attached end.

use super::abi::{self, EventCount, Own};
use super::codes;
use super::host::{Cables, Setup};
use super::library::{self, Library};
use super::words::text;
use crate::trail::{Trail, TransportCall};
use ipcperf_core::Fault;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

/// One end. It goes with `detach`.
pub(crate) struct TransportEnd {
    library: Library,
    own: Own,
    trail: Trail,
    /// It never sleeps, nor yields its CPU.
    spins: bool,
}

// SAFETY: a port may be handed to another thread, and one thread uses it at a time, as the header says.
unsafe impl Send for TransportEnd {}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Done,
    /// The same call is to be made again.
    Again,
    Failed(Fault),
}

/// A message that lies where the plug-in has it.
pub(crate) type Received = (CallOutcome, *const u8, usize);

impl TransportEnd {
    /// Becomes one end.
    pub(crate) fn attach(
        library: Library,
        setup: &Setup<'_>,
        cables: Cables,
        trail: Trail,
    ) -> Result<Self, (bool, String)> {
        let Some(attach) = library.table.attach else {
            return Err((false, "its table has no 'attach'".into()));
        };
        let wiring = cables.into_raw();
        let mut own = ptr::null_mut();
        trail.word().store(TransportCall::Attach as u32, Ordering::Relaxed);
        // SAFETY: all of it is valid during the call.
        let code = setup.lent(|setup| unsafe { attach(setup, &raw const wiring, &raw mut own) });
        if code != abi::OK {
            return Err((code == abi::UNAVAILABLE, library.refused("attach", code, &trail)));
        }
        trail.word().store(0, Ordering::Relaxed);
        let spins = library.spins();
        Ok(Self { library, own, trail, spins })
    }

    #[inline(always)]
    fn called<T>(&self, call: TransportCall, function: impl FnOnce() -> T) -> T {
        let word = self.trail.word();
        word.store(call as u32, Ordering::Relaxed);
        let result = function();
        word.store(0, Ordering::Relaxed);
        result
    }

    #[inline(always)]
    fn answer(&self, call: &'static str, code: c_int) -> CallOutcome {
        match code {
            abi::OK => CallOutcome::Done,
            abi::BACK_PRESSURE => CallOutcome::Again,
            _ => self.failed(call, code),
        }
    }

    /// A code that is none of the usual ones, with what the plug-in says of it.
    #[cold]
    fn failed(&self, call: &'static str, code: c_int) -> CallOutcome {
        use std::io::Write;
        let reason = library::reason(&self.library.table, self.own, &self.trail);
        self.trail.word().store(0, Ordering::Relaxed);
        let known = codes::fault(code);
        let words = match (&reason, known) {
            (Some(reason), _) => Some(format!("{call}: {reason}")),
            (None, None) => Some(format!("{call}: {}", codes::text(code))),
            (None, Some(_)) => None,
        };
        if let Some(words) = words {
            // It is memory with an end; what does not fit is not kept.
            let _ = writeln!(std::io::stderr(), "{words}");
        }
        CallOutcome::Failed(known.unwrap_or(Fault::Sys(libc::EPROTO)))
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, message: &[u8]) -> CallOutcome {
        let Some(send) = self.library.table.send else {
            return CallOutcome::Failed(Fault::Corrupt);
        };
        // SAFETY: an end that is attached, and memory that is valid during the call.
        let code = self.called(TransportCall::Send, || unsafe {
            send(self.own, message.as_ptr().cast(), message.len())
        });
        self.answer("send", code)
    }

    /// Receives into the first `len` bytes of `memory`, and returns the length of the message.
    #[inline(always)]
    pub(crate) fn recv(&mut self, memory: &mut [u8], len: usize) -> (CallOutcome, usize) {
        debug_assert!(len <= memory.len());
        let Some(recv) = self.library.table.recv else {
            return (CallOutcome::Failed(Fault::Corrupt), 0);
        };
        let mut received = 0;
        // SAFETY: as above.
        let code = self.called(TransportCall::Recv, || unsafe {
            recv(self.own, memory.as_mut_ptr().cast(), len, &raw mut received)
        });
        (self.answer("recv", code), received)
    }

    pub(crate) fn flush(&mut self) -> CallOutcome {
        let Some(flush) = self.library.table.flush else { return CallOutcome::Done };
        // SAFETY: an end that is attached.
        let code = self.called(TransportCall::Flush, || unsafe { flush(self.own) });
        self.answer("flush", code)
    }

    pub(crate) fn finish(&mut self) -> CallOutcome {
        let Some(finish) = self.library.table.finish else { return CallOutcome::Done };
        // SAFETY: an end that is attached.
        let code = self.called(TransportCall::Finish, || unsafe { finish(self.own) });
        self.answer("finish", code)
    }

    pub(crate) fn expect(&mut self, bytes: usize) {
        if let Some(expect) = self.library.table.expect {
            // SAFETY: an end that is attached.
            self.called(TransportCall::Expect, || unsafe { expect(self.own, bytes) });
        }
    }

    /// What it has counted.
    pub(crate) fn events(&self) -> Vec<(String, u64)> {
        const MOST: usize = 32;
        let Some(events) = self.library.table.events else { return Vec::new() };
        let mut counted = [EventCount { name: ptr::null(), count: 0 }; MOST];
        // SAFETY: an end that is attached, and room for that number of them.
        let count = self.called(TransportCall::Events, || unsafe {
            events(self.own, counted.as_mut_ptr(), MOST as u32)
        });
        let counted = &counted[..(count as usize).min(MOST)];
        // SAFETY: the header says that names are texts.
        counted.iter().filter_map(|one| Some((unsafe { text(one.name) }?, one.count))).collect()
    }

    /// What to poll for before the same call is made again, if there is something.
    pub(crate) fn descriptor(&self, is_recv: bool) -> Option<c_int> {
        let descriptor = self.library.table.descriptor?;
        // SAFETY: an end that is attached.
        let fd = self.called(TransportCall::Descriptor, || unsafe {
            descriptor(self.own, c_int::from(is_recv))
        });
        (fd >= 0).then_some(fd)
    }

    /// Waits until the same call may be made again.
    #[cold]
    pub(crate) fn wait(&self, is_recv: bool) {
        let Some(fd) = self.descriptor(is_recv) else {
            return if self.spins { std::hint::spin_loop() } else { std::thread::yield_now() };
        };
        let events = if is_recv { libc::POLLIN } else { libc::POLLOUT };
        let mut wanted = libc::pollfd { fd, events, revents: 0 };
        // SAFETY: one struct. A signal or an error makes the call be tried again, which says what is wrong.
        unsafe { libc::poll(&raw mut wanted, 1, -1) };
    }

    #[inline(always)]
    pub(crate) fn reserves(&self) -> bool {
        self.library.table.reserve.is_some()
    }

    #[inline(always)]
    pub(crate) fn peeks(&self) -> bool {
        self.library.table.peek.is_some()
    }

    /// Memory for a message, and whether there is enough of it.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, len: usize) -> (CallOutcome, Option<&mut [u8]>) {
        let Some(reserve) = self.library.table.reserve else {
            return (CallOutcome::Failed(Fault::Corrupt), None);
        };
        let (mut memory, mut available) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: an end that is attached.
        let code = self.called(TransportCall::Reserve, || unsafe {
            reserve(self.own, len, &raw mut memory, &raw mut available)
        });
        let answer = self.answer("reserve", code);
        let is_enough = answer == CallOutcome::Done && !memory.is_null() && available >= len;
        // SAFETY: the plug-in says that `len` bytes are there until `commit` or `abort`, which need `self`.
        let lent = is_enough.then(|| unsafe { std::slice::from_raw_parts_mut(memory.cast(), len) });
        (answer, lent)
    }

    #[inline(always)]
    pub(crate) fn commit(&mut self, len: usize) -> CallOutcome {
        let Some(commit) = self.library.table.commit else {
            return CallOutcome::Failed(Fault::Corrupt);
        };
        // SAFETY: an end that is attached, after `reserve`.
        let code = self.called(TransportCall::Commit, || unsafe { commit(self.own, len) });
        self.answer("commit", code)
    }

    pub(crate) fn abort(&mut self) {
        if let Some(abort) = self.library.table.abort {
            // SAFETY: an end that is attached, after `reserve`.
            self.called(TransportCall::Abort, || unsafe { abort(self.own) });
        }
    }

    /// Where the next message lies, and how long it is.
    #[inline(always)]
    pub(crate) fn peek(&mut self, len: usize) -> Received {
        let Some(peek) = self.library.table.peek else {
            return (CallOutcome::Failed(Fault::Corrupt), ptr::null(), 0);
        };
        let (mut bytes, mut received) = (ptr::null::<c_void>(), 0);
        // SAFETY: an end that is attached.
        let code = self.called(TransportCall::Peek, || unsafe {
            peek(self.own, len, &raw mut bytes, &raw mut received)
        });
        (self.answer("peek", code), bytes.cast(), received)
    }

    /// The message that was peeked.
    #[inline(always)]
    pub(crate) fn peeked(&self, at: *const u8, len: usize) -> Option<&[u8]> {
        // SAFETY: the plug-in says that `len` bytes are there until `release`, which needs `&mut self`.
        (!at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at, len) })
    }

    #[inline(always)]
    pub(crate) fn release(&mut self) {
        if let Some(release) = self.library.table.release {
            // SAFETY: an end that is attached, after `peek`.
            self.called(TransportCall::Release, || unsafe { release(self.own) });
        }
    }
}

impl Drop for TransportEnd {
    fn drop(&mut self) {
        if let Some(detach) = self.library.table.detach {
            // SAFETY: an end that is attached, which goes with this.
            self.called(TransportCall::Detach, || unsafe { detach(self.own) });
        }
    }
}
