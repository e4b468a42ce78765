//! What a plug-in is given: the setup of a channel, and what it may ask its host for.

use super::abi::{self, MAX_BYTES, MAX_FDS};
use super::words::text;
use ipcperf_core::{KnobValue, Meet, Wiring};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;

/// What travels to one end.
#[derive(Debug, Default)]
pub(crate) struct Cables {
    pub(crate) fds: Vec<OwnedFd>,
    pub(crate) bytes: Vec<u8>,
}

impl Cables {
    /// As the messages between processes have it: how many bytes there are, then the bytes, eight in a number.
    pub(crate) fn into_wiring(self) -> Wiring {
        let eight = |part: &[u8]| {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(whole)
        };
        let words = [self.bytes.len() as u64].into_iter().chain(self.bytes.chunks(8).map(eight));
        Wiring { fds: self.fds, names: Vec::new(), words: words.collect() }
    }

    pub(crate) fn of_wiring(wiring: Wiring) -> Self {
        let Wiring { fds, words, .. } = wiring;
        let mut words = words.into_iter();
        let len = words.next().unwrap_or(0).min(MAX_BYTES as u64) as usize;
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.truncate(len);
        Self { fds, bytes }
    }

    /// As a plug-in has it. The descriptors stay ours.
    pub(super) fn raw(&self) -> abi::Wiring {
        let mut fds = [-1; MAX_FDS];
        for (to, fd) in fds.iter_mut().zip(&self.fds) {
            *to = fd.as_raw_fd();
        }
        let mut bytes = [0; MAX_BYTES];
        bytes[..self.bytes.len()].copy_from_slice(&self.bytes);
        abi::Wiring {
            size: size_of::<abi::Wiring>(),
            fd_count: self.fds.len() as u32,
            byte_count: self.bytes.len() as u32,
            fds,
            bytes,
        }
    }

    /// The same with the descriptors, which are the plug-in's from here on.
    pub(super) fn into_raw(self) -> abi::Wiring {
        let raw = self.raw();
        for fd in self.fds {
            let _ = fd.into_raw_fd();
        }
        raw
    }

    /// What a plug-in gives away, with its descriptors.
    ///
    /// # Safety
    /// They are open, and no other owner closes them.
    pub(super) unsafe fn given(raw: &abi::Wiring) -> Result<Self, String> {
        let (fds, bytes) = (raw.fd_count as usize, raw.byte_count as usize);
        if fds > MAX_FDS || bytes > MAX_BYTES {
            return Err(format!(
                "a wiring has {fds} descriptors and {bytes} bytes; {MAX_FDS} and {MAX_BYTES} are the most"
            ));
        }
        let is_open = |fd: &RawFd| {
            // SAFETY: asks about a number.
            unsafe { libc::fcntl(*fd, libc::F_GETFD) >= 0 }
        };
        if let Some(fd) = raw.fds[..fds].iter().find(|fd| !is_open(fd)) {
            return Err(format!("a wiring has the descriptor {fd}, which is not open"));
        }
        // SAFETY: open (just asked), and ours by the caller's word.
        let fds = raw.fds[..fds].iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }).collect();
        Ok(Self { fds, bytes: raw.bytes[..bytes].to_vec() })
    }
}

/// What a plug-in may ask for during a call.
pub(crate) struct HostContext<'a> {
    pub(crate) directory: CString,
    pub(crate) prefix: CString,
    pub(crate) nonce: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) meet: RefCell<Option<&'a mut dyn Meet>>,
    pub(crate) granted: RefCell<Vec<(String, KnobValue)>>,
}

/// What is asked of a channel.
pub(crate) struct Setup<'a> {
    pub(crate) host: &'a HostContext<'a>,
    pub(crate) message_bytes: u64,
    pub(crate) is_lead: bool,
    pub(crate) settings: Vec<(CString, CString)>,
}

/// The structs of one call; what they point to is held by the setup that they are made of.
pub(super) struct RawSetup<'a> {
    pub(super) setup: abi::Setup,
    _host: Box<RawHost<'a>>,
    _settings: Vec<abi::Setting>,
}

#[repr(C)]
struct RawHost<'a> {
    /// First, so that a pointer to it is one to the whole.
    raw: abi::HostTable,
    host: &'a HostContext<'a>,
}

impl<'a> Setup<'a> {
    pub(super) fn raw(&self) -> RawSetup<'a> {
        let host = Box::new(RawHost {
            raw: abi::HostTable {
                size: size_of::<abi::HostTable>(),
                directory: self.host.directory.as_ptr(),
                prefix: self.host.prefix.as_ptr(),
                nonce: self.host.nonce,
                deadline_ns: self.host.deadline_ns,
                log,
                grant,
                swap,
            },
            host: self.host,
        });
        let settings: Vec<abi::Setting> = self
            .settings
            .iter()
            .map(|(knob, value)| abi::Setting { knob: knob.as_ptr(), value: value.as_ptr() })
            .collect();
        let setup = abi::Setup {
            size: size_of::<abi::Setup>(),
            host: ptr::from_ref(&*host).cast(),
            message_bytes: self.message_bytes,
            is_lead: u32::from(self.is_lead),
            setting_count: settings.len() as u32,
            settings: settings.as_ptr(),
        };
        RawSetup { setup, _host: host, _settings: settings }
    }
}

/// The host of a call.
///
/// # Safety
/// A pointer that the plug-in was given for the call that is under way.
unsafe fn of<'a>(host: *const abi::HostTable) -> &'a HostContext<'a> {
    // SAFETY: the caller's word; it is the first member.
    unsafe { (*host.cast::<RawHost<'a>>()).host }
}

unsafe extern "C" fn log(_: *const abi::HostTable, words: *const c_char) {
    // SAFETY: a text, or NULL.
    if let Some(words) = unsafe { text(words) } {
        // It is memory with an end; what does not fit is not kept.
        let _ = writeln!(io::stderr(), "{words}");
    }
}

unsafe extern "C" fn grant(host: *const abi::HostTable, knob: *const c_char, value: *const c_char) {
    // SAFETY: what the plug-in was given, and texts or NULL.
    let (host, knob, value) = unsafe { (of(host), text(knob), text(value)) };
    let (Some(knob), Some(value)) = (knob, value) else { return };
    let value = value.parse().map_or(KnobValue::Word(value), KnobValue::Number);
    match host.meet.borrow_mut().as_mut() {
        Some(meet) => meet.effective(&knob, value),
        None => host.granted.borrow_mut().push((knob, value)),
    }
}

unsafe extern "C" fn swap(
    host: *const abi::HostTable,
    mine: *const abi::Wiring,
    theirs: *mut abi::Wiring,
) -> c_int {
    if mine.is_null() || theirs.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: what the plug-in was given, and its own structs.
    let (host, mine) = unsafe { (of(host), &*mine) };
    let mut meet = host.meet.borrow_mut();
    let Some(meet) = meet.as_mut() else { return -libc::EPERM };
    let copies = (0..(mine.fd_count as usize).min(MAX_FDS)).map(|at| {
        // SAFETY: a number; the copy is ours.
        unsafe { libc::fcntl(mine.fds[at], libc::F_DUPFD_CLOEXEC, 3) }
    });
    let mut raw = Cables { fds: Vec::new(), bytes: Vec::new() }.raw();
    (raw.fd_count, raw.byte_count, raw.bytes) = (mine.fd_count, mine.byte_count, mine.bytes);
    for (to, copy) in raw.fds.iter_mut().zip(copies) {
        *to = copy;
    }
    // SAFETY: copies that were just made, and those that could not be made are found not to be open.
    let Ok(mine) = (unsafe { Cables::given(&raw) }) else { return -libc::EBADF };
    match meet.swap(mine.into_wiring()) {
        Ok(wiring) => {
            // SAFETY: the plug-in's own struct.
            unsafe { theirs.write(Cables::of_wiring(wiring).into_raw()) };
            abi::OK
        }
        Err(_) => abi::PEER_DIED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_number_travel_in_numbers() {
        for len in [0, 1, 7, 8, 9, 4095, 4096] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let cables = Cables { fds: Vec::new(), bytes: bytes.clone() };
            assert_eq!(Cables::of_wiring(cables.into_wiring()).bytes, bytes);
        }
    }

    #[test]
    fn a_wiring_that_cannot_be_is_refused_by_what_is_wrong_with_it() {
        let mut raw = Cables::default().raw();
        raw.fd_count = 9;
        // SAFETY: it has none that anybody owns.
        let error = unsafe { Cables::given(&raw) }.expect_err("too many");
        assert!(error.contains("9 descriptors"), "{error}");
        raw.fd_count = 1;
        // SAFETY: as above.
        let error = unsafe { Cables::given(&raw) }.expect_err("closed");
        assert!(error.contains("descriptor -1, which is not open"), "{error}");
    }
}
