//! `bpf(2)`: maps, and programs at tracepoints.
//!
//! # Safety
//! Attributes of `bpf(2)` are arrays of numbers, zero where nothing is said; the memory they point to lives through the call.

use aya_obj::generated::bpf_insn;
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Commands and kinds of programs (`linux/bpf.h`).
const MAP_CREATE: usize = 0;
const MAP_LOOK_UP: usize = 1;
const MAP_UPDATE: usize = 2;
const MAP_DELETE: usize = 3;
const PROGRAM_LOAD: usize = 5;
const TRACEPOINT_OPEN: usize = 17;
const MAP_FREEZE: usize = 22;
const TRACING: u32 = 26;
const AT_TRACEPOINT: u64 = 23;

/// Two numbers of an attribute that share eight bytes.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// A map of the kernel.
#[derive(Debug)]
pub(super) struct Map {
    fd: OwnedFd,
    most: u32,
}

impl Map {
    /// One of a kind, with the sizes of keys and values, and how many there may be.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(kind: u32, sizes: [u32; 2], most: u32, flags: u32) -> io::Result<Self> {
        let [key, value] = sizes;
        let attribute = [pair(kind, key), pair(value, most), flags.into()];
        // SAFETY: see the module.
        let fd = unsafe { descriptor(bpf(MAP_CREATE, &attribute)) }?;
        Ok(Self { fd, most })
    }

    /// How many values there may be; of a ring, how many bytes.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Puts a value under a key.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn update(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let attribute = [self.number(), key.as_ptr() as u64, value.as_ptr() as u64, 0];
        // SAFETY: see the module.
        unsafe { bpf(MAP_UPDATE, &attribute) }.map(drop)
    }

    /// Removes a key.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn delete(&self, key: &[u8]) -> io::Result<()> {
        let attribute = [self.number(), key.as_ptr() as u64, 0, 0];
        // SAFETY: see the module.
        unsafe { bpf(MAP_DELETE, &attribute) }.map(drop)
    }

    /// The first number of an array of such.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn first(&self) -> io::Result<u64> {
        let (key, mut value) = (0_u32, 0_u64);
        let attribute = [self.number(), &raw const key as u64, &raw mut value as u64, 0];
        // SAFETY: see the module.
        unsafe { bpf(MAP_LOOK_UP, &attribute) }?;
        Ok(value)
    }

    /// From now on no process changes it.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn freeze(&self) -> io::Result<()> {
        // SAFETY: see the module.
        unsafe { bpf(MAP_FREEZE, &[self.number()]) }.map(drop)
    }

    fn number(&self) -> u64 {
        self.as_raw_fd().cast_unsigned().into()
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Map {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Loads a program and lets it run at a tracepoint for as long as the descriptor is open. `context` is the number of the type of
/// what it is given there.
///
/// # Errors
/// The kernel's, with what its verifier says; `Unsupported` if the program does not fit it.
pub(super) fn attach(
    point: &str,
    context: u32,
    program: &[bpf_insn],
    licence: &CStr,
) -> io::Result<OwnedFd> {
    let mut attribute = [0_u64; 15];
    attribute[0] = u64::from(TRACING) | (program.len() as u64) << 32;
    attribute[1] = program.as_ptr() as u64;
    attribute[2] = licence.as_ptr() as u64;
    // Where it is to run, and the type of what it is given there.
    attribute[8] = AT_TRACEPOINT << 32;
    attribute[13] = u64::from(context) << 32;
    // SAFETY: see the module.
    let loaded = unsafe { descriptor(bpf(PROGRAM_LOAD, &attribute)) };
    let loaded = loaded.map_err(|error| {
        let (kind, why) = (error.kind(), objection(&mut attribute));
        let of = if kind == ErrorKind::InvalidInput { ErrorKind::Unsupported } else { kind };
        io::Error::new(of, format!("the kernel refuses the program for {point}: {error}{why}"))
    })?;
    let attribute = [0, loaded.as_raw_fd().cast_unsigned().into()];
    // SAFETY: see the module.
    unsafe { descriptor(bpf(TRACEPOINT_OPEN, &attribute)) }
}

/// The last words of the kernel's verifier about a program that it refuses.
fn objection(attribute: &mut [u64; 15]) -> String {
    let mut log = vec![0_u8; 1 << 20];
    attribute[3] = 1 | (log.len() as u64) << 32;
    attribute[4] = log.as_mut_ptr() as u64;
    // SAFETY: see the module.
    let _ = unsafe { bpf(PROGRAM_LOAD, attribute) };
    let text = String::from_utf8_lossy(&log);
    let mut lines = text.trim_end_matches('\0').lines().rev();
    let last = lines.find(|line| !line.starts_with("processed"));
    last.map(|line| format!(" ({line})")).unwrap_or_default()
}

/// `bpf(2)`.
///
/// # Safety
/// See the module.
unsafe fn bpf(command: usize, attribute: &[u64]) -> io::Result<usize> {
    let (at, size) = (attribute.as_ptr() as usize, size_of_val(attribute));
    // SAFETY: the caller's promise.
    let call = || match unsafe { libc::syscall(libc::SYS_bpf, command, at, size) } {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done as usize),
    };
    // The verifier gives up when a signal is pending. The thread takes the signal when the call returns.
    let is_cut = |done: &io::Result<usize>| {
        let code = done.as_ref().err().and_then(io::Error::raw_os_error);
        matches!(code, Some(libc::EAGAIN | libc::EINTR))
    };
    let done = (0..TRIES).map(|_| call()).find(|done| !is_cut(done));
    done.unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::EAGAIN))).map_err(explained)
}

/// How often a call is tried that signals interrupt (libbpf: 5).
const TRIES: usize = 20;

/// Which right is missing.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => io::Error::new(
            ErrorKind::PermissionDenied,
            "programs in the kernel need CAP_BPF and CAP_PERFMON, and a sandbox that lets bpf(2) through",
        ),
        _ => error,
    }
}

/// # Safety
/// The result of the call is a new descriptor.
unsafe fn descriptor(result: io::Result<usize>) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    result.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
