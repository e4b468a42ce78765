//! The pipe of ipcperf behind the table of the header, with the same system calls: what it takes longer than `pipe` is the price
//! of calls through pointers.

use super::abi::{self, ABI, FactTable, Own, Setup, Transport, Wiring};
use ipcperf_sys::io::{pipe, stream};
use std::ffi::{CStr, c_int, c_void};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;

/// What its facts call it, in words and for C.
pub(crate) const NAME: &str = "pipe-as-plug-in";
const NAME_FOR_C: &CStr = c"pipe-as-plug-in";

struct PipeEnd {
    rx: OwnedFd,
    /// Until it is finished.
    tx: Option<OwnedFd>,
}

unsafe extern "C" fn open(_: *const Setup, _: *mut Own, wirings: *mut Wiring) -> c_int {
    let (Ok(ping), Ok(pong)) = (pipe::pair(), pipe::pair()) else { return -libc::EMFILE };
    for (at, fds) in [[pong.read, ping.write], [ping.read, pong.write]].into_iter().enumerate() {
        // SAFETY: the caller gives two wirings, the lead's first.
        let wiring = unsafe { &mut *wirings.add(at) };
        wiring.fd_count = 2;
        for (to, fd) in wiring.fds.iter_mut().zip(fds) {
            *to = fd.into_raw_fd();
        }
    }
    abi::OK
}

/// The descriptors are closed by who has taken them.
unsafe extern "C" fn close(_: Own) {}

unsafe extern "C" fn attach(_: *const Setup, wiring: *const Wiring, end: *mut Own) -> c_int {
    // SAFETY: valid during the call; it has what `open` gave, and the descriptors are this end's.
    unsafe {
        let [rx, tx, ..] = (*wiring).fds;
        let (rx, tx) = (OwnedFd::from_raw_fd(rx), OwnedFd::from_raw_fd(tx));
        *end = Box::into_raw(Box::new(PipeEnd { rx, tx: Some(tx) })).cast();
    }
    abi::OK
}

unsafe extern "C" fn detach(end: Own) {
    // SAFETY: what `attach` has made, once.
    drop(unsafe { Box::from_raw(end.cast::<PipeEnd>()) });
}

unsafe extern "C" fn send(end: Own, bytes: *const c_void, length: usize) -> c_int {
    // SAFETY: an end that is attached, and memory that is valid during the call.
    let (PipeEnd { tx, .. }, bytes) = unsafe {
        (&*end.cast::<PipeEnd>(), std::slice::from_raw_parts(bytes.cast::<u8>(), length))
    };
    let Some(tx) = tx else { return -libc::EBADF };
    let mut done = 0;
    while done < length {
        match stream::write(tx.as_fd(), &bytes[done..]) {
            Ok(step) => done += step,
            Err(libc::EINTR) => {}
            Err(libc::EPIPE) => return abi::CLOSED,
            Err(code) => return -code,
        }
    }
    abi::OK
}

unsafe extern "C" fn recv(
    end: Own,
    buffer: *mut c_void,
    length: usize,
    received: *mut usize,
) -> c_int {
    // SAFETY: an end that is attached, and memory that is valid during the call.
    let (PipeEnd { rx, .. }, buffer, received) = unsafe {
        let buffer = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length);
        (&*end.cast::<PipeEnd>(), buffer, &mut *received)
    };
    *received = 0;
    while *received < length {
        match stream::read(rx.as_fd(), &mut buffer[*received..]) {
            Ok(0) if *received == 0 => return abi::CLOSED,
            Ok(0) => return abi::TRUNCATED,
            Ok(step) => *received += step,
            Err(libc::EINTR) => {}
            Err(code) => return -code,
        }
    }
    abi::OK
}

unsafe extern "C" fn finish(end: Own) -> c_int {
    // SAFETY: an end that is attached, which one thread uses.
    unsafe { (*end.cast::<PipeEnd>()).tx = None };
    abi::OK
}

/// Facts that are only read.
struct StaticFacts(FactTable);

// SAFETY: texts and numbers that never change.
unsafe impl Sync for StaticFacts {}

static FACTS: StaticFacts = StaticFacts(FactTable {
    size: size_of::<FactTable>(),
    name: NAME_FOR_C.as_ptr(),
    summary: c"Two pipes of ipcperf, as a plug-in.".as_ptr(),
    needs: ptr::null(),
    over: c"pipe".as_ptr(),
    wait: 0,
    payload: 1,
    back_pressure: 0,
    on_close: 1,
    on_death: 1,
    reach: 0,
    flags: 0,
    copies: 2,
    knob_count: 0,
    knob_stride: 0,
    knobs: ptr::null(),
    helper: ptr::null(),
    helper_ready: ptr::null(),
});

/// The table.
pub(super) const TRANSPORT: Transport = Transport {
    size: size_of::<Transport>(),
    abi: ABI,
    reserved: 0,
    facts: &raw const FACTS.0,
    probe: None,
    limit: None,
    window: None,
    open: Some(open),
    close: Some(close),
    attach: Some(attach),
    detach: Some(detach),
    send: Some(send),
    recv: Some(recv),
    flush: None,
    finish: Some(finish),
    expect: None,
    events: None,
    descriptor: None,
    reserve: None,
    commit: None,
    abort: None,
    peek: None,
    release: None,
    reason: None,
};
