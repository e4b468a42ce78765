//! The structs of `include/ipcperf.h`, in its order.

use std::ffi::{c_char, c_int, c_uchar, c_void};

pub(crate) const ABI: u32 = 1;

pub(crate) const OK: c_int = 0;
pub(crate) const CLOSED: c_int = 1;
pub(crate) const PEER_DIED: c_int = 2;
pub(crate) const TOO_LONG: c_int = 3;
pub(crate) const TRUNCATED: c_int = 4;
pub(crate) const CORRUPT: c_int = 5;
pub(crate) const TIMEOUT: c_int = 6;
pub(crate) const BACK_PRESSURE: c_int = 7;
pub(crate) const UNAVAILABLE: c_int = 8;

pub(crate) const WAIT_SPIN: u32 = 2;

pub(crate) const LOSSY: u32 = 1;
pub(crate) const TWO_WAY: u32 = 2;
pub(crate) const MANY_PRODUCERS: u32 = 4;
pub(crate) const MANY_CONSUMERS: u32 = 8;
pub(crate) const THREADS: u32 = 16;
pub(crate) const CALLS: u32 = 32;
pub(crate) const FRESH: u32 = 64;
pub(crate) const PRIVATE: u32 = 128;
pub(crate) const STAYS: u32 = 256;
pub(crate) const FLAGS: u32 = 511;

pub(crate) const MAX_FDS: usize = 8;
pub(crate) const MAX_BYTES: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Knob {
    pub(crate) size: usize,
    pub(crate) name: *const c_char,
    pub(crate) help: *const c_char,
    pub(crate) fallback: *const c_char,
    pub(crate) kind: u32,
    pub(crate) reserved: u32,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) words: *const c_char,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FactTable {
    pub(crate) size: usize,
    pub(crate) name: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) needs: *const c_char,
    pub(crate) over: *const c_char,
    pub(crate) wait: u32,
    pub(crate) payload: u32,
    pub(crate) back_pressure: u32,
    pub(crate) on_close: u32,
    pub(crate) on_death: u32,
    pub(crate) reach: u32,
    pub(crate) flags: u32,
    pub(crate) copies: u32,
    pub(crate) knob_count: u32,
    pub(crate) knob_stride: u32,
    pub(crate) knobs: *const Knob,
    pub(crate) helper: *const c_char,
    pub(crate) helper_ready: *const c_char,
}

#[repr(C)]
pub(crate) struct Wiring {
    pub(crate) size: usize,
    pub(crate) fd_count: u32,
    pub(crate) byte_count: u32,
    pub(crate) fds: [c_int; MAX_FDS],
    pub(crate) bytes: [c_uchar; MAX_BYTES],
}

#[repr(C)]
pub(crate) struct HostTable {
    pub(crate) size: usize,
    pub(crate) directory: *const c_char,
    pub(crate) prefix: *const c_char,
    pub(crate) nonce: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) log: unsafe extern "C" fn(*const HostTable, *const c_char),
    pub(crate) grant: unsafe extern "C" fn(*const HostTable, *const c_char, *const c_char),
    pub(crate) swap: unsafe extern "C" fn(*const HostTable, *const Wiring, *mut Wiring) -> c_int,
}

#[repr(C)]
pub(crate) struct Setting {
    pub(crate) knob: *const c_char,
    pub(crate) value: *const c_char,
}

#[repr(C)]
pub(crate) struct Setup {
    pub(crate) size: usize,
    pub(crate) host: *const HostTable,
    pub(crate) message_bytes: u64,
    pub(crate) is_lead: u32,
    pub(crate) setting_count: u32,
    pub(crate) settings: *const Setting,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct EventCount {
    pub(crate) name: *const c_char,
    pub(crate) count: u64,
}

/// An end, or what `open` keeps for `close`: the plug-in's own.
pub(crate) type Own = *mut c_void;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Transport {
    pub(crate) size: usize,
    pub(crate) abi: u32,
    pub(crate) reserved: u32,
    pub(crate) facts: *const FactTable,
    pub(crate) probe: Option<unsafe extern "C" fn(*const Setup) -> c_int>,
    pub(crate) limit: Option<unsafe extern "C" fn(*const Setup) -> u64>,
    pub(crate) window: Option<unsafe extern "C" fn(*const Setup) -> u32>,
    pub(crate) open: Option<unsafe extern "C" fn(*const Setup, *mut Own, *mut Wiring) -> c_int>,
    pub(crate) close: Option<unsafe extern "C" fn(Own)>,
    pub(crate) attach: Option<unsafe extern "C" fn(*const Setup, *const Wiring, *mut Own) -> c_int>,
    pub(crate) detach: Option<unsafe extern "C" fn(Own)>,
    pub(crate) send: Option<unsafe extern "C" fn(Own, *const c_void, usize) -> c_int>,
    pub(crate) recv: Option<unsafe extern "C" fn(Own, *mut c_void, usize, *mut usize) -> c_int>,
    pub(crate) flush: Option<unsafe extern "C" fn(Own) -> c_int>,
    pub(crate) finish: Option<unsafe extern "C" fn(Own) -> c_int>,
    pub(crate) expect: Option<unsafe extern "C" fn(Own, usize)>,
    pub(crate) events: Option<unsafe extern "C" fn(Own, *mut EventCount, u32) -> u32>,
    pub(crate) descriptor: Option<unsafe extern "C" fn(Own, c_int) -> c_int>,
    pub(crate) reserve:
        Option<unsafe extern "C" fn(Own, usize, *mut *mut c_void, *mut usize) -> c_int>,
    pub(crate) commit: Option<unsafe extern "C" fn(Own, usize) -> c_int>,
    pub(crate) abort: Option<unsafe extern "C" fn(Own)>,
    pub(crate) peek:
        Option<unsafe extern "C" fn(Own, usize, *mut *const c_void, *mut usize) -> c_int>,
    pub(crate) release: Option<unsafe extern "C" fn(Own)>,
    pub(crate) reason: Option<unsafe extern "C" fn(Own) -> *const c_char>,
}
