//! What a plug-in is given: the setup of a channel, and what it may ask its host for.

use super::abi::{self, MAX_BYTES, MAX_FDS};
use super::words::text;
use ipcperf_core::{KnobValue, Meet, Wiring};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

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

    /// What a plug-in gives both ends, with its descriptors; `own` are those of ipcperf in this process.
    ///
    /// # Safety
    /// No other owner closes them.
    pub(super) unsafe fn given(
        both: &[abi::Wiring; 2],
        own: &[RawFd],
    ) -> Result<[Self; 2], String> {
        let [(lead, lead_bytes), (follow, follow_bytes)] = [used(&both[0])?, used(&both[1])?];
        let all = [lead, follow].concat();
        for (at, fd) in all.iter().enumerate() {
            // SAFETY: asks about a number.
            if *fd < 0 || unsafe { libc::fcntl(*fd, libc::F_GETFD) } < 0 {
                return Err(format!("a wiring has the descriptor {fd}, which is not open"));
            }
            if *fd < 3 {
                return Err(format!(
                    "a wiring has the descriptor {fd}, a standard stream of the process; use dup"
                ));
            }
            if own.contains(fd) {
                return Err(format!(
                    "a wiring has the descriptor {fd}, which belongs to ipcperf: give only what open has opened"
                ));
            }
            if all[..at].contains(fd) {
                return Err(format!("the descriptor {fd} is given twice; use dup"));
            }
        }
        // SAFETY: open, each is there once (just asked), and ours by the caller's word.
        let taken = |fd: &RawFd| unsafe { OwnedFd::from_raw_fd(*fd) };
        Ok([(lead, lead_bytes), (follow, follow_bytes)].map(|(fds, bytes)| Self {
            fds: fds.iter().map(taken).collect(),
            bytes: bytes.to_vec(),
        }))
    }

    /// Copies of what a plug-in shows; the descriptors stay its own.
    fn copied(raw: &abi::Wiring) -> Result<Self, c_int> {
        let (fds, bytes) = used(raw).map_err(|_| -libc::EINVAL)?;
        let copy = |fd: &RawFd| {
            // SAFETY: a number; the copy is ours.
            let copy = unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, 3) };
            // SAFETY: as above.
            (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy) }).ok_or(-libc::EBADF)
        };
        Ok(Self { fds: fds.iter().map(copy).collect::<Result<_, _>>()?, bytes: bytes.to_vec() })
    }
}

/// The descriptors and the bytes that a wiring has.
fn used(raw: &abi::Wiring) -> Result<(&[RawFd], &[u8]), String> {
    let (fds, bytes) = (raw.fd_count as usize, raw.byte_count as usize);
    raw.fds.get(..fds).zip(raw.bytes.get(..bytes)).ok_or_else(|| {
        format!(
            "a wiring has {fds} descriptors and {bytes} bytes; {MAX_FDS} and {MAX_BYTES} are the most"
        )
    })
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

#[repr(C)]
struct RawHost<'a> {
    /// First, so that a pointer to it is one to the whole.
    raw: abi::HostTable,
    host: &'a HostContext<'a>,
}

impl Setup<'_> {
    /// Makes a call with the struct, which is valid until the call returns.
    pub(super) fn lent<T>(&self, call: impl FnOnce(*const abi::Setup) -> T) -> T {
        let host = RawHost {
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
        };
        let settings: Vec<abi::Setting> = self
            .settings
            .iter()
            .map(|(knob, value)| abi::Setting { knob: knob.as_ptr(), value: value.as_ptr() })
            .collect();
        let setup = abi::Setup {
            size: size_of::<abi::Setup>(),
            host: (&raw const host).cast(),
            message_bytes: self.message_bytes,
            is_lead: u32::from(self.is_lead),
            setting_count: settings.len() as u32,
            settings: settings.as_ptr(),
        };
        call(&raw const setup)
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
    // SAFETY: the plug-in's own struct.
    let sizes = [mine.size, unsafe { (&raw const (*theirs).size).read() }];
    if sizes.iter().any(|size| *size < size_of::<abi::Wiring>()) {
        return -libc::EINVAL;
    }
    let mine = match Cables::copied(mine) {
        Ok(mine) => mine,
        Err(code) => return code,
    };
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

    fn wiring(fds: &[RawFd]) -> abi::Wiring {
        let mut raw = Cables::default().raw();
        raw.fd_count = fds.len() as u32;
        for (to, fd) in raw.fds.iter_mut().zip(fds) {
            *to = *fd;
        }
        raw
    }

    #[test]
    fn a_wiring_that_cannot_be_is_refused_by_what_is_wrong_with_it() {
        let file = std::fs::File::open("/dev/null").expect("it is everywhere");
        let own = file.as_raw_fd();
        let control = std::fs::File::open("/dev/null").expect("it is everywhere");
        let ours = control.as_raw_fd();
        for (lead, follow, part) in [
            (&[0; 9][..], &[][..], "9 descriptors"),
            (&[-1], &[], "descriptor -1, which is not open"),
            (&[own], &[2], "descriptor 2, a standard stream"),
            (&[own], &[ours], "which belongs to ipcperf"),
            (&[own], &[own], "is given twice; use dup"),
            (&[own, own], &[], "is given twice; use dup"),
        ] {
            // SAFETY: all are refused, and nothing is owned.
            let given = unsafe { Cables::given(&[wiring(lead), wiring(follow)], &[ours]) };
            let error = given.expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    /// A peer that gives back what it gets.
    struct Mirror;

    impl Meet for Mirror {
        fn swap(&mut self, mine: Wiring) -> Result<Wiring, ipcperf_core::SetupError> {
            Ok(mine)
        }
        fn effective(&mut self, _: &str, _: KnobValue) {}
    }

    fn swapped(mine: &abi::Wiring, theirs: &mut abi::Wiring) -> c_int {
        let mut mirror = Mirror;
        let host = HostContext {
            directory: CString::default(),
            prefix: CString::default(),
            nonce: 0,
            deadline_ns: 0,
            meet: RefCell::new(Some(&mut mirror)),
            granted: RefCell::default(),
        };
        let setup = Setup { host: &host, message_bytes: 0, is_lead: true, settings: Vec::new() };
        // SAFETY: the structs of a call, during it.
        setup.lent(|setup| unsafe { swap((*setup).host, mine, theirs) })
    }

    #[test]
    fn a_swap_that_is_refused_leaves_no_copies() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let own = writer.as_raw_fd();
        let mut theirs = wiring(&[]);
        assert_eq!(swapped(&wiring(&[own, -1]), &mut theirs), -libc::EBADF);
        assert_eq!(swapped(&wiring(&[own; 9]), &mut theirs), -libc::EINVAL);
        assert_eq!(swapped(&abi::Wiring { size: 8, ..wiring(&[own]) }, &mut theirs), -libc::EINVAL);
        theirs.size = 0;
        assert_eq!(swapped(&wiring(&[own]), &mut theirs), -libc::EINVAL);
        theirs = wiring(&[]);
        assert_eq!((swapped(&wiring(&[own]), &mut theirs), theirs.fd_count), (abi::OK, 1));
        // SAFETY: the plug-in's from then on.
        drop(unsafe { OwnedFd::from_raw_fd(theirs.fds[0]) });
        drop(writer);
        let flags = rustix::fs::fcntl_getfl(&reader).expect("a pipe");
        rustix::fs::fcntl_setfl(&reader, flags | rustix::fs::OFlags::NONBLOCK).expect("a pipe");
        let read = io::Read::read(&mut reader, &mut [0]).expect("no writer is left");
        assert_eq!(read, 0);
    }
}
