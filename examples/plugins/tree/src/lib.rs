//! A mechanism of ipcperf itself as a plug-in: the same code behind the C interface, to see what the interface costs.
//!
//! ```text
//! cargo build --release --features ring      libipcperf_tree.so: shm-ring/spin; without the feature: pipe
//! ipcperf compare ./libipcperf_tree.so shm-ring/spin
//! ```
//!
//! A message is copied between the private buffer of the caller and where the mechanism keeps it, once on each side. The
//! mechanism in the tree does without these copies.

use ipcperf_core::prelude::*;
use std::ffi::{CStr, c_int, c_void};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;

#[cfg(not(feature = "ring"))]
mod chosen {
    pub type Chosen = ipcperf_mech::stream::pipe::Pipe<ipcperf_mech::wait::Block>;
    pub const NAME: &std::ffi::CStr = c"tree-pipe";
    pub const OVER: &std::ffi::CStr = c"pipe";
    pub const WAIT: u32 = 0;
    pub const PAYLOAD: u32 = 1;
}

#[cfg(feature = "ring")]
mod chosen {
    pub type Chosen = ipcperf_mech::shared_memory::shm_ring::ShmRing<ipcperf_mech::wait::Spin>;
    pub const NAME: &std::ffi::CStr = c"tree-ring/spin";
    pub const OVER: &std::ffi::CStr = c"shm-ring/spin";
    pub const WAIT: u32 = 2;
    pub const PAYLOAD: u32 = 0;
}

use chosen::{Chosen, NAME, OVER, PAYLOAD, WAIT};

type ChosenPort = <Chosen as Mechanism>::Port;

/// As much of each struct of the header as is used; the host takes what is missing for zero.
#[repr(C)]
struct Facts {
    size: usize,
    texts: [*const std::ffi::c_char; 4],
    wait: u32,
    payload: u32,
    back_pressure: u32,
    on_close: u32,
    on_death: u32,
    reach: u32,
    flags: u32,
    copies: u32,
}

#[repr(C)]
struct Cables {
    size: usize,
    fd_count: u32,
    byte_count: u32,
    fds: [c_int; 8],
    bytes: [u8; 4096],
}

#[repr(C)]
struct Host {
    size: usize,
    directory: *const std::ffi::c_char,
    prefix: *const std::ffi::c_char,
    nonce: u64,
}

#[repr(C)]
struct Setup {
    size: usize,
    host: *const Host,
    message_bytes: u64,
    is_lead: u32,
}

type Open = unsafe extern "C" fn(*const Setup, *mut *mut c_void, *mut Cables) -> c_int;
type AttachEnd = unsafe extern "C" fn(*const Setup, *const Cables, *mut *mut c_void) -> c_int;
type Lone = unsafe extern "C" fn(*mut c_void);
type Send = unsafe extern "C" fn(*mut ChosenPort, *const u8, usize) -> c_int;
type Recv = unsafe extern "C" fn(*mut ChosenPort, *mut u8, usize, *mut usize) -> c_int;
type Finish = unsafe extern "C" fn(*mut ChosenPort) -> c_int;

#[repr(C)]
struct Transport {
    size: usize,
    abi: u32,
    reserved: u32,
    facts: *const Facts,
    not_used: [usize; 3],
    open: Open,
    close: Lone,
    attach: AttachEnd,
    detach: unsafe extern "C" fn(*mut ChosenPort),
    send: Send,
    recv: Recv,
    flush: Finish,
    finish: Finish,
}

// SAFETY: constants, which nothing changes.
unsafe impl Sync for Transport {}
// SAFETY: as above.
unsafe impl Sync for Facts {}

const SUMMARY: &CStr = c"A mechanism of ipcperf behind its C interface.";

static FACTS: Facts = Facts {
    size: size_of::<Facts>(),
    texts: [NAME.as_ptr(), SUMMARY.as_ptr(), ptr::null(), OVER.as_ptr()],
    wait: WAIT,
    payload: PAYLOAD,
    back_pressure: 0,
    on_close: 1,
    on_death: if PAYLOAD == 1 { 1 } else { 0 },
    reach: 0,
    flags: 0,
    copies: 2,
};

static TRANSPORT: Transport = Transport {
    size: size_of::<Transport>(),
    abi: 1,
    reserved: 0,
    facts: &raw const FACTS,
    not_used: [0; 3],
    open,
    close,
    attach,
    detach,
    send,
    recv,
    flush,
    finish,
};

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn ipcperf_transport_v1() -> *const c_void {
    (&raw const TRANSPORT).cast()
}

fn code(fault: Fault) -> c_int {
    match fault {
        Fault::Closed => 1,
        Fault::PeerDied => 2,
        Fault::TooLong => 3,
        Fault::Truncated => 4,
        Fault::Timeout => 6,
        Fault::Sys(errno) => -errno,
        _ => 5,
    }
}

/// # Safety
/// What the host gives.
unsafe fn shape(setup: *const Setup) -> Shape {
    // SAFETY: the caller's word.
    let (size, nonce) = unsafe { ((*setup).message_bytes as usize, (*(*setup).host).nonce) };
    Shape { size, nonce, ..Shape::default() }
}

unsafe extern "C" fn open(setup: *const Setup, _: *mut *mut c_void, cables: *mut Cables) -> c_int {
    // SAFETY: what the host gives.
    let opened = Chosen::open(&unsafe { shape(setup) }, &Default::default());
    let Ok(Link { lead, follow, .. }) = opened else { return -libc::EIO };
    for (index, Wiring { fds, words, .. }) in [lead, follow].into_iter().enumerate() {
        // SAFETY: there are two.
        let cables = unsafe { &mut *cables.add(index) };
        for (to, fd) in cables.fds.iter_mut().zip(fds) {
            *to = fd.into_raw_fd();
            cables.fd_count += 1;
        }
        for (to, word) in cables.bytes.chunks_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
            cables.byte_count += 8;
        }
    }
    0
}

unsafe extern "C" fn close(_: *mut c_void) {}

/// The ends of these mechanisms ask for nothing while they attach.
struct Alone;

impl Meet for Alone {
    fn swap(&mut self, _: Wiring) -> Result<Wiring, SetupError> {
        Err(SetupError::Protocol("there is no peer to swap with".into()))
    }

    fn effective(&mut self, _: &str, _: KnobValue) {}
}

unsafe extern "C" fn attach(
    setup: *const Setup,
    cables: *const Cables,
    end: *mut *mut c_void,
) -> c_int {
    // SAFETY: what the host gives.
    let (shape, cables, is_lead) = unsafe { (shape(setup), &*cables, (*setup).is_lead) };
    let fds = &cables.fds[..cables.fd_count as usize];
    // SAFETY: the descriptors belong to the end from here on.
    let fds = fds.iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }).collect();
    let words = cables.bytes[..cables.byte_count as usize].chunks_exact(8);
    let words = words.map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
    let wiring = Wiring { fds, names: Vec::new(), words: words.collect() };
    let seat = if is_lead == 1 { Seat::Lead } else { Seat::Follow };
    let options = Default::default();
    let port = Chosen::attach(Attach {
        wiring,
        seat,
        shape: &shape,
        options: &options,
        meet: &mut Alone,
    });
    let Ok(port) = port else { return -libc::EIO };
    // SAFETY: a place for the end.
    unsafe { *end = Box::into_raw(Box::new(port)).cast() };
    0
}

unsafe extern "C" fn detach(end: *mut ChosenPort) {
    // SAFETY: what `attach` has made, once.
    drop(unsafe { Box::from_raw(end) });
}

unsafe extern "C" fn send(end: *mut ChosenPort, bytes: *const u8, len: usize) -> c_int {
    // SAFETY: an end that is attached, and memory that is valid during the call.
    let (port, bytes) = unsafe { (&mut *end, std::slice::from_raw_parts(bytes, len)) };
    match port.send(len, |out| out.copy_from_slice(bytes)) {
        Ok(()) => 0,
        Err(fault) => code(fault),
    }
}

unsafe extern "C" fn recv(
    end: *mut ChosenPort,
    buffer: *mut u8,
    len: usize,
    received: *mut usize,
) -> c_int {
    // SAFETY: as above.
    let (port, buffer) = unsafe { (&mut *end, std::slice::from_raw_parts_mut(buffer, len)) };
    let taken = port.recv(len, |message| {
        buffer.copy_from_slice(message);
        Ok(())
    });
    match taken {
        Ok(()) => {
            // SAFETY: a place for the length.
            unsafe { *received = len };
            0
        }
        Err(fault) => code(fault),
    }
}

unsafe extern "C" fn flush(end: *mut ChosenPort) -> c_int {
    // SAFETY: an end that is attached.
    unsafe { &mut *end }.flush().map_or_else(code, |()| 0)
}

unsafe extern "C" fn finish(end: *mut ChosenPort) -> c_int {
    // SAFETY: an end that is attached.
    unsafe { &mut *end }.finish().map_or_else(code, |()| 0)
}
