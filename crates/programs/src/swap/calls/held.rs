//! How a program holds a descriptor, and who watches it.
//!
//! # Safety
//! Calls that `rustix` does not have get numbers and structures that live through them.

use ipcperf_sys::handed::PendingCall;
use rustix::net::sockopt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// Puts a socket in the place of the one that a call is about, where it is watched as that was.
pub(super) fn exchange(call: &PendingCall, state: &State, socket: OwnedFd) -> io::Result<()> {
    for watch in &state.watches {
        watch.add(call, &socket)?;
    }
    call.install(socket.as_fd(), call.fd(), state.closes_on_exec)
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

/// How a program holds a descriptor.
pub(super) struct State {
    closes_on_exec: bool,
    pub(super) is_nonblocking: bool,
    watches: Vec<EpollWatch>,
}

/// An epoll that watches a descriptor.
struct EpollWatch {
    epoll: RawFd,
    events: u32,
    data: u64,
}

impl State {
    pub(super) fn of(call: &PendingCall) -> io::Result<Self> {
        let folder = format!("/proc/{}/fdinfo", call.pid);
        let told = fs::read_to_string(format!("{folder}/{}", call.fd()))?;
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
        let flags = flags.ok_or(io::ErrorKind::InvalidData)?;
        let all = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
        Ok(Self {
            closes_on_exec: flags & libc::O_CLOEXEC != 0,
            is_nonblocking: flags & libc::O_NONBLOCK != 0,
            watches: all.filter_map(|path| EpollWatch::of(call.fd(), &path)).collect(),
        })
    }
}

impl EpollWatch {
    /// Reads `tfd: 5 events: 19 data: 5 ...` in what is told of an epoll (`proc_pid_fdinfo(5)`); the numbers after the first
    /// are hexadecimal.
    fn of(watched: RawFd, told: &Path) -> Option<Self> {
        let text = fs::read_to_string(told).ok()?;
        let epoll = told.file_name()?.to_str()?.parse().ok()?;
        text.lines().filter(|line| line.starts_with("tfd:")).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["tfd:", fd, "events:", events, "data:", data, ..] = words[..] else { return None };
            (fd.parse() == Ok(watched)).then_some(())?;
            let events = u32::from_str_radix(events, 16).ok()?;
            Some(Self { epoll, events, data: u64::from_str_radix(data, 16).ok()? })
        })
    }

    /// Adds a socket that takes the place of the watched one. An epoll knows a file by its number in the process that added
    /// it: this is done under the program's number, in a thread with descriptors of its own.
    fn add(&self, call: &PendingCall, socket: &OwnedFd) -> io::Result<()> {
        let number = call.fd();
        let epoll = call.descriptor(self.epoll)?;
        // Out of the way of the number: a descriptor cannot be put in its own place either.
        let epoll = rustix::io::fcntl_dupfd_cloexec(epoll, number + 1)?;
        let socket = rustix::io::fcntl_dupfd_cloexec(socket, number + 1)?;
        let added = || {
            // SAFETY: from here on this thread has a table of descriptors of its own, which ends with it: none that others
            // use is closed. `event` lives through the call.
            unsafe {
                if libc::unshare(libc::CLONE_FILES) != 0
                    || libc::dup3(socket.as_raw_fd(), number, libc::O_CLOEXEC) < 0
                {
                    return Err(io::Error::last_os_error());
                }
                let mut event = libc::epoll_event { events: self.events, u64: self.data };
                match libc::epoll_ctl(
                    epoll.as_raw_fd(),
                    libc::EPOLL_CTL_ADD,
                    number,
                    &raw mut event,
                ) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            }
        };
        std::thread::scope(|scope| scope.spawn(added).join())
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}
