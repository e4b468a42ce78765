//! How a program holds a descriptor, and who watches it.
//!
//! # Safety
//! Calls that `rustix` does not have get numbers and structures that live through them.

use super::options;
use crate::swap::calls::handed::PendingCall;
use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::fs::OFlags;
use rustix::net::sockopt;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::rc::Rc;

/// Puts a socket in the place of the `old` one that a call is about, where it is watched as that was, and signals its owner as
/// that did.
pub(super) fn exchange(
    call: &PendingCall,
    epolls: &mut Epolls,
    old: &OwnedFd,
    socket: OwnedFd,
) -> io::Result<()> {
    for watch in epolls.watching(call)? {
        watch.move_to(call, old, &socket)?;
    }
    copy_owner(call, old, &socket)?;
    call.install(socket.as_fd(), call.fd(), closes_on_exec(call)?)
}

/// `SO_BUF_LOCK` and its `SOCK_SNDBUF_LOCK` and `SOCK_RCVBUF_LOCK` (`asm-generic/socket.h`, `linux/socket.h`): which buffers a
/// program has set itself. Linux 5.14.
const SO_BUF_LOCK: i32 = 72;
const LOCKS: [i32; 2] = [1, 2];

/// Gives a socket the buffers that the program has asked for at the one before it. Older kernels do not tell which it has.
pub(super) fn copy_buffers(old: &OwnedFd, new: &OwnedFd) -> io::Result<()> {
    let (mut locks, mut len) = (0_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the number and its length live through the call.
    let told = unsafe {
        let at = (&raw mut locks).cast();
        libc::getsockopt(old.as_raw_fd(), libc::SOL_SOCKET, SO_BUF_LOCK, at, &raw mut len)
    };
    let [sends, receives] = LOCKS.map(|lock| told == 0 && locks & lock != 0);
    // The kernel tells the double of what it was asked for.
    if sends {
        sockopt::set_socket_send_buffer_size(new, sockopt::socket_send_buffer_size(old)? / 2)?;
    }
    if receives {
        sockopt::set_socket_recv_buffer_size(new, sockopt::socket_recv_buffer_size(old)? / 2)?;
    }
    Ok(())
}

/// Options of `SOL_SOCKET` that every kind of socket has and that a program may have set, with what a new socket tells first.
const OF_ALL: [(libc::c_int, u8); 9] = [
    (libc::SO_REUSEADDR, 0),
    (libc::SO_KEEPALIVE, 0),
    (libc::SO_OOBINLINE, 0),
    (libc::SO_PRIORITY, 0),
    (libc::SO_RCVLOWAT, 1),
    (libc::SO_TIMESTAMP, 0),
    (libc::SO_BROADCAST, 0),
    (libc::SO_DONTROUTE, 0),
    (libc::SO_LINGER, 0),
];

/// Gives a socket the options that the one before it was given.
pub(super) fn copy_options(old: &OwnedFd, new: &OwnedFd) {
    for (option, first) in OF_ALL {
        let option = option.cast_unsigned();
        let told = options::get(old, options::SOCKET, option, size_of::<libc::linger>());
        let Ok(value) = told else { continue };
        let is_first = value
            .split_first()
            .is_some_and(|(low, rest)| *low == first && rest.iter().all(|byte| *byte == 0));
        if !is_first {
            // What the new kind refuses it does not do either.
            let _ = options::set(new, options::SOCKET, option, &value);
        }
    }
}

/// Whether a descriptor is closed on `execve(2)`. It is a fact of the descriptor, not of the file, so that only `/proc` tells.
fn closes_on_exec(call: &PendingCall) -> io::Result<bool> {
    let told = fs::read_to_string(format!("/proc/{}/fdinfo/{}", call.thread, call.fd()))?;
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
    Ok(flags.ok_or(io::ErrorKind::InvalidData)? & libc::O_CLOEXEC != 0)
}

/// Whether calls on a file do not wait: a fact of the file, so that ours tells of the program's.
pub(super) fn is_nonblocking(file: &OwnedFd) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(OFlags::NONBLOCK))
}

/// The epolls of the programs. Their creation is handed over, so that a program's descriptors are looked through only once, when
/// it first binds or connects: with more descriptors a connection does not take longer.
#[derive(Debug, Default)]
pub(super) struct Epolls(HashMap<u32, ProgramEpolls>);

/// The epolls of a process.
#[derive(Debug)]
struct ProgramEpolls {
    process: Rc<OwnedFd>,
    numbers: BTreeSet<RawFd>,
}

/// As many processes may be known before those that have ended are forgotten.
const KNOWN_PROCESSES: usize = 64;

impl Epolls {
    /// Makes an epoll for a program that asks for one; its number there, or `None` if the kernel is to answer.
    pub(super) fn create(&mut self, call: &PendingCall) -> io::Result<Option<RawFd>> {
        let flags = match call.number {
            libc::SYS_epoll_create1 => call.args[0] as i32,
            _ if call.args[0] as i32 <= 0 => return Ok(None),
            _ => 0,
        };
        if flags & !libc::EPOLL_CLOEXEC != 0 {
            return Ok(None);
        }
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let number = call.add(epoll.as_fd(), flags != 0)?;
        if let Some(known) = self.0.get_mut(&call.pid) {
            known.numbers.insert(number);
        }
        Ok(Some(number))
    }

    /// Which of them watch the descriptor that a call is about, and for what.
    fn watching(&mut self, call: &PendingCall) -> io::Result<Vec<EpollWatch>> {
        let known = self.of(call)?;
        let (mut watches, is_gone) = known.watching(call);
        if is_gone {
            // It was closed, or is one of another number now.
            known.numbers = epolls_of(call)?;
            watches = known.watching(call).0;
        }
        Ok(watches)
    }

    fn of(&mut self, call: &PendingCall) -> io::Result<&mut ProgramEpolls> {
        if self.0.get(&call.pid).is_some_and(ProgramEpolls::has_ended) {
            self.0.remove(&call.pid);
        }
        if self.0.len() > KNOWN_PROCESSES {
            self.0.retain(|_, known| !known.has_ended());
        }
        match self.0.entry(call.pid) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let process = call.process().ok_or(io::ErrorKind::NotFound)?;
                let numbers = epolls_of(call)?;
                Ok(place.insert(ProgramEpolls { process: Rc::clone(process), numbers }))
            }
        }
    }
}

impl ProgramEpolls {
    /// Another process may have its number by now.
    fn has_ended(&self) -> bool {
        let mut polled = [PollFd::new(&*self.process, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Those that watch it, and whether a number is no longer that of an epoll.
    fn watching(&self, call: &PendingCall) -> (Vec<EpollWatch>, bool) {
        let mut is_gone = false;
        let mut watches = Vec::new();
        for epoll in &self.numbers {
            match watched(call, *epoll) {
                Watched::At(place) => watches.extend(EpollWatch::of(call, *epoll, place)),
                Watched::Not => {}
                Watched::NoEpoll => is_gone = true,
            }
        }
        (watches, is_gone)
    }
}

/// The descriptors of a program that are epolls.
fn epolls_of(call: &PendingCall) -> io::Result<BTreeSet<RawFd>> {
    let all = fs::read_dir(format!("/proc/{}/fd", call.thread))?.flatten();
    let is_epoll = |path: &Path| {
        fs::read_link(path).is_ok_and(|file| file.as_os_str() == "anon_inode:[eventpoll]")
    };
    let numbers = all
        .filter(|entry| is_epoll(&entry.path()))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}

/// What an epoll has to do with a descriptor.
enum Watched {
    /// It watches it; of the entries for this number it is the one at this place.
    At(u32),
    Not,
    /// The number is that of another file, or of none.
    NoEpoll,
}

/// `KCMP_EPOLL_TFD` and `struct kcmp_epoll_slot` (`linux/kcmp.h`). Linux 4.13.
const KCMP_EPOLL_TFD: libc::c_int = 7;

#[repr(C)]
struct KcmpEpollSlot {
    epoll: u32,
    watched: u32,
    place: u32,
}

/// Whether an epoll watches the descriptor that a call is about. The kernel compares the files, in a microsecond; what `/proc`
/// tells of an epoll is a line for each file that it watches.
fn watched(call: &PendingCall, epoll: RawFd) -> Watched {
    let (thread, number) = (call.thread.cast_signed(), call.fd().cast_unsigned());
    let mut slot = KcmpEpollSlot { epoll: epoll.cast_unsigned(), watched: number, place: 0 };
    loop {
        // SAFETY: takes numbers, and a structure that lives through the call.
        let order = unsafe {
            libc::syscall(
                libc::SYS_kcmp,
                thread,
                thread,
                KCMP_EPOLL_TFD,
                libc::c_ulong::from(number),
                &raw const slot,
            )
        };
        match order {
            0 => return Watched::At(slot.place),
            // A file that had this number before, and is open under another one.
            1.. => slot.place += 1,
            _ => {
                return match io::Error::last_os_error().raw_os_error() {
                    Some(libc::ENOENT) => Watched::Not,
                    Some(libc::EBADF | libc::EINVAL) => Watched::NoEpoll,
                    // A kernel without it, or a sandbox: `/proc` tells, too.
                    _ => Watched::At(0),
                };
            }
        }
    }
}

/// Whether a call makes an epoll.
pub(super) fn makes_epoll(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_epoll_create {
        return true;
    }
    number == libc::SYS_epoll_create1
}

/// An epoll that watches a descriptor.
#[derive(Debug)]
struct EpollWatch {
    epoll: RawFd,
    events: u32,
    data: u64,
}

impl EpollWatch {
    /// Reads `tfd: 5 events: 19 data: 5 ...` in what is told of an epoll (`proc_pid_fdinfo(5)`); the numbers after the first
    /// are hexadecimal. Several entries for one number are in the order of `kcmp(2)`.
    fn of(call: &PendingCall, epoll: RawFd, place: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{}/fdinfo/{epoll}", call.thread)).ok()?;
        let mut told = text.lines().filter(|line| line.starts_with("tfd:")).filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["tfd:", fd, "events:", events, "data:", data, ..] = words[..] else { return None };
            (fd.parse() == Ok(call.fd())).then_some(())?;
            let events = u32::from_str_radix(events, 16).ok()?;
            Some(Self { epoll, events, data: u64::from_str_radix(data, 16).ok()? })
        });
        told.nth(place as usize)
    }

    /// Watches a socket in the place of the `old` one, which may stay open elsewhere.
    fn move_to(&self, call: &PendingCall, old: &OwnedFd, new: &OwnedFd) -> io::Result<()> {
        let number = call.fd();
        let epoll = call.descriptor(self.epoll)?;
        // Out of the way of the number, which others get in between.
        let epoll = rustix::io::fcntl_dupfd_cloexec(epoll, number + 1)?;
        let control = |operation| {
            let mut event = libc::epoll_event { events: self.events, u64: self.data };
            // SAFETY: `event` lives through the call.
            let done =
                unsafe { libc::epoll_ctl(epoll.as_raw_fd(), operation, number, &raw mut event) };
            if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        under_number(number, old, || control(libc::EPOLL_CTL_DEL))?;
        under_number(number, new, || control(libc::EPOLL_CTL_ADD))
    }
}

/// Acts where `file` has this number, as in a program: the kernel remembers under which number a file was added to an epoll, or
/// asked to send signals. That is in a thread with descriptors of its own.
fn under_number(
    number: RawFd,
    file: &OwnedFd,
    act: impl FnOnce() -> io::Result<()> + Send,
) -> io::Result<()> {
    // A descriptor cannot be put in its own place.
    let file = rustix::io::fcntl_dupfd_cloexec(file, number + 1)?;
    let acted = || {
        // SAFETY: from here on this thread has a table of descriptors of its own, which ends with it: none that others use is
        // closed.
        unsafe {
            if libc::unshare(libc::CLONE_FILES) != 0
                || libc::dup3(file.as_raw_fd(), number, libc::O_CLOEXEC) < 0
            {
                return Err(io::Error::last_os_error());
            }
            let acted = act();
            // The end of a thread is known before its table is gone. Until then an epoll would see the socket that is replaced,
            // which is in the table, too.
            libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32);
            acted
        }
    };
    std::thread::scope(|scope| scope.spawn(acted).join())
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// `F_SETSIG`, `F_GETSIG`, `F_SETOWN_EX` and `F_GETOWN_EX` (`asm-generic/fcntl.h`).
const SIGNAL: [libc::c_int; 2] = [10, 11];
const OWNER: [libc::c_int; 2] = [15, 16];

/// Lets a socket send the signals that the `old` one did (`O_ASYNC`, `F_SETOWN`, `F_SETSIG`).
fn copy_owner(call: &PendingCall, old: &OwnedFd, new: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes numbers, and a structure that lives through the calls (`struct f_owner_ex`).
    unsafe {
        let mut owner = [0 as libc::c_int; 2];
        let told = libc::fcntl(old.as_raw_fd(), OWNER[1], &raw mut owner);
        if told == 0 && owner[1] != 0 {
            let number = libc::fcntl(old.as_raw_fd(), SIGNAL[1]);
            libc::fcntl(new.as_raw_fd(), SIGNAL[0], number);
            if libc::fcntl(new.as_raw_fd(), OWNER[0], &raw const owner) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    let flags = rustix::fs::fcntl_getfl(old)?;
    if !flags.contains(ASYNC) {
        return Ok(());
    }
    let flags = rustix::fs::fcntl_getfl(new)? | ASYNC;
    let number = call.fd();
    under_number(number, new, || {
        // SAFETY: takes numbers.
        let done = unsafe { libc::fcntl(number, libc::F_SETFL, flags.bits()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    })
}

/// `O_ASYNC` (`asm-generic/fcntl.h`), which `rustix` does not have.
const ASYNC: OFlags = OFlags::from_bits_retain(libc::O_ASYNC.cast_unsigned());
