//! System calls that a program hands over to this process, which answers in the kernel's place: user notification of seccomp
//! (`seccomp_unotify(2)`), with descriptors installed since Linux 5.9.
//!
//! # Safety
//! Every structure is one of plain numbers, for which all zeros are a value, and lives through the call that takes it. Memory
//! of the program is read and written by the kernel (`process_vm_readv(2)`), which checks its addresses.

use super::filter::{HandedCall, HandsOver};
#[cfg(target_arch = "x86_64")]
use super::narrow;
use crate::call_cost::call_ns;
use ipcperf_sys::control::Control;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

/// Lets what `command` starts hand over these calls. It must be asked for the listener once it is started.
///
/// # Errors
/// The kernel's.
pub(crate) fn hand_over(command: &mut Command, calls: &[HandedCall]) -> io::Result<Promise> {
    let (ours, theirs) = Control::pair()?;
    let mut filter = HandsOver::of(calls)?;
    // SAFETY: between `fork` and `exec` the child makes system calls alone, none of which it hands over.
    unsafe {
        command.pre_exec(move || {
            let listener = filter.install()?;
            theirs.send("calls", &[listener.as_fd()])
        });
    }
    Ok(Promise { listener: ours, handed: calls.to_vec() })
}

/// What a filter that hands over `calls` adds, ns, to any other call, and to a `recvfrom(2)` without an address, whose arguments
/// it may have to look at: the median of blocks of calls with it less that without. A thread of its own has the filter, and
/// ends.
///
/// # Errors
/// As [`hand_over`].
pub(crate) fn price(calls: &[HandedCall]) -> io::Result<[f64; 2]> {
    let mut filter = HandsOver::of(calls)?;
    let other = || {
        let _ = rustix::process::getppid();
    };
    // SAFETY: no descriptor has this number, so that nothing is received.
    let receive = || unsafe {
        libc::recv(-1, std::ptr::null_mut(), 0, 0);
    };
    let both = || {
        let without = [call_ns(&other), call_ns(&receive)];
        let _listener = filter.install()?;
        Ok([call_ns(&other) - without[0], call_ns(&receive) - without[1]])
    };
    std::thread::scope(|scope| scope.spawn(both).join())
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Where the listener comes from.
#[derive(Debug)]
pub(crate) struct Promise {
    listener: Control,
    handed: Vec<HandedCall>,
}

impl Promise {
    /// The listener of a program that has been started.
    ///
    /// # Errors
    /// It was not started.
    pub(crate) fn listener(self) -> io::Result<Listener> {
        let fd = self.listener.receive(Some(Instant::now()))?.fds.pop();
        let fd = fd.ok_or(io::ErrorKind::NotFound)?;
        // SAFETY: takes a number. Kernels before Linux 6.6 refuse it, and then each wake-up takes the scheduler's choice of a
        // CPU; the program waits meanwhile, so its own CPU is free.
        let _ = unsafe {
            libc::ioctl(fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
        };
        Ok(Listener { calls: Rc::new(fd), handed: self.handed, last: None, taken_back: 0 })
    }
}

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` (`linux/seccomp.h`): the watch is woken on the CPU of the program, and the other way
/// round.
const SYNC_WAKE_UP: u64 = 1;

/// `ERESTARTSYS` (`linux/errno.h`): what a call that a signal interrupts returns within the kernel.
const RESTART: i32 = 512;

/// `PIDFD_THREAD` (`linux/pidfd.h`, Linux 6.9): a thread that is not the first one of its process.
const THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// Where the calls of a program and of all that it starts arrive. Without one they fail with `ENOSYS`.
#[derive(Debug)]
pub(crate) struct Listener {
    calls: Rc<OwnedFd>,
    /// Which ones do.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "no calls of other architectures are handed over")
    )]
    handed: Vec<HandedCall>,
    /// The number of the last call that came.
    last: Option<u64>,
    /// Calls before that one which did not come.
    taken_back: u64,
}

/// What comes from a listener.
#[derive(Debug)]
pub(crate) enum Received {
    /// A call.
    Call(PendingCall),
    /// Nothing, or a call that is gone with its thread.
    Nothing,
    /// Nothing comes any more: nobody is left who could make a call.
    Over,
}

/// A call that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    listener: Rc<OwnedFd>,
    id: u64,
    /// The process that makes it.
    pub(crate) pid: u32,
    /// The thread that makes it. The first thread of a process may have ended, and then only the others can be looked at.
    pub(crate) thread: u32,
    /// None where the kernel or a sandbox refuses it.
    process: Option<Rc<OwnedFd>>,
    /// Its number, native.
    pub(crate) number: i64,
    /// Its arguments.
    pub(crate) args: [u64; 6],
}

impl PendingCall {
    /// The native call that does the same as this one of a program of 32 bits; none if it is none of those that are handed over.
    #[cfg(target_arch = "x86_64")]
    fn widened(self) -> io::Result<Option<Self>> {
        if self.number != narrow::SOCKETCALL {
            return Ok(narrow::native(self.number).map(|number| Self { number, ..self }));
        }
        let [operation, place, ..] = self.args;
        let Some((number, count)) = narrow::of_operation(operation) else { return Ok(None) };
        let words = self.read(place, count * size_of::<u32>())?;
        let mut args = [0; 6];
        for (argument, word) in args.iter_mut().zip(words.as_chunks().0) {
            *argument = u64::from(u32::from_ne_bytes(*word));
        }
        Ok(Some(Self { number, args, ..self }))
    }

    /// The descriptor that is its first argument.
    #[must_use]
    pub(crate) const fn fd(&self) -> RawFd {
        self.args[0] as RawFd
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.calls.as_fd()
    }
}

impl Listener {
    /// How many calls a signal has taken back before they came, since this was asked last. The kernel numbers calls one by one.
    pub(crate) fn taken_back(&mut self) -> u64 {
        std::mem::take(&mut self.taken_back)
    }

    /// What has come, if anything has.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn receive(&mut self) -> io::Result<Received> {
        let mut polled = [PollFd::new(&*self.calls, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // To receive where there is nothing would wait.
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, Some(&at_once)))?;
        let events = polled[0].revents();
        if !events.contains(PollFlags::IN) {
            let is_over = events.intersects(PollFlags::HUP | PollFlags::ERR);
            return Ok(if is_over { Received::Over } else { Received::Nothing });
        }
        // SAFETY: see the module; the kernel wants zeros.
        let mut told = unsafe { std::mem::zeroed::<libc::seccomp_notif>() };
        if control(&self.calls, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut told)?.is_none() {
            return Ok(Received::Nothing);
        }
        let expected = self.last.replace(told.id).map_or(told.id, |last| last.wrapping_add(1));
        self.taken_back += told.id.wrapping_sub(expected);
        let Some((pid, process)) = process_of(told.pid) else { return Ok(Received::Nothing) };
        let (id, number, args) = (told.id, i64::from(told.data.nr), told.data.args);
        let (listener, thread) = (Rc::clone(&self.calls), told.pid);
        let process = process.map(Rc::new);
        let call = PendingCall { listener, id, pid, thread, process, number, args };
        // The number may be that of another process by now, unless the call still waits.
        if !call.waits() {
            return Ok(Received::Nothing);
        }
        #[cfg(target_arch = "x86_64")]
        if told.data.arch == narrow::ARCHITECTURE {
            return self.widened(call);
        }
        Ok(Received::Call(call))
    }

    /// A call of a program of 32 bits, as the native one; those that are not handed over go on.
    #[cfg(target_arch = "x86_64")]
    fn widened(&self, call: PendingCall) -> io::Result<Received> {
        let goes_on = call.clone();
        let is_taken = |call: &PendingCall| {
            self.handed.iter().any(|one| one.number == call.number && one.takes(&call.args))
        };
        match call.widened().ok().flatten().filter(is_taken) {
            Some(call) => Ok(Received::Call(call)),
            None => goes_on.go_on().map(|()| Received::Nothing),
        }
    }
}

/// What the kernel says, if there was a call for it.
fn control<T>(listener: &OwnedFd, what: libc::Ioctl, told: &mut T) -> io::Result<Option<RawFd>> {
    loop {
        // SAFETY: see the module; each request is given the structure that it is defined for.
        let said = unsafe { libc::ioctl(listener.as_raw_fd(), what, &raw mut *told) };
        if said >= 0 {
            return Ok(Some(said));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ENOENT) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// The process that a thread belongs to. Reading `/proc` takes ten times as long as opening a process, and only the first thread
/// of a process can be opened as one, so opening comes first.
fn process_of(thread: u32) -> Option<(u32, Option<OwnedFd>)> {
    if let Ok(process) = opened(thread, PidfdFlags::empty()) {
        return Some((thread, Some(process)));
    }
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
    Some((pid, opened(pid, PidfdFlags::empty()).ok()))
}

fn opened(pid: u32, flags: PidfdFlags) -> Result<OwnedFd, Errno> {
    pidfd_open(Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?, flags)
}

impl PendingCall {
    /// Whether a call still waits: its thread may have been killed, and a signal may have taken it back.
    #[must_use]
    pub(crate) fn waits(&self) -> bool {
        let mut id = self.id;
        matches!(control(&self.listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id), Ok(Some(_)))
    }

    /// Lets the kernel do what was asked for.
    ///
    /// # Errors
    /// The kernel's; that nobody waits any more is none.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        self.send(0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
    }

    /// Answers with this value, or this error of `errno(3)`.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub(crate) fn answer(&self, value: Result<i64, i32>) -> io::Result<()> {
        match value {
            Ok(value) => self.send(value, 0, 0),
            Err(errno) => self.send(0, -errno, 0),
        }
    }

    fn send(&self, val: i64, error: i32, flags: u32) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_resp { id: self.id, val, error, flags };
        control(&self.listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer).map(drop)
    }

    /// Interrupts it, as a signal would that is about to be delivered to its thread. `restarts` where no other thread can take
    /// the signal before: then it is for the kernel to say whether the call is made again.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub(crate) fn interrupt(&self, restarts: bool) -> io::Result<()> {
        self.send(0, if restarts { -RESTART } else { -libc::EINTR }, 0)
    }

    /// Whether a signal that is caught waits for the thread that makes the call, and whether it is the only one of its process.
    #[must_use]
    pub(crate) fn signal(&self) -> (bool, bool) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread));
        let status = status.unwrap_or_default();
        let word = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let set = |name: &str| u64::from_str_radix(word(name)?.trim(), 16).ok();
        let [own, shared, blocked, caught] =
            ["SigPnd:", "ShdPnd:", "SigBlk:", "SigCgt:"].map(|name| set(name).unwrap_or(0));
        let waits = (own | shared) & !blocked & caught != 0;
        (waits, word("Threads:").is_some_and(|threads| threads.trim() == "1"))
    }

    /// Puts a file of ours in the place of the program's descriptor `at`.
    ///
    /// # Errors
    /// The kernel's, or nobody waits any more.
    pub(crate) fn install(
        &self,
        file: BorrowedFd<'_>,
        at: RawFd,
        closes_on_exec: bool,
    ) -> io::Result<()> {
        self.give(file, Some(at), closes_on_exec).map(drop)
    }

    /// Gives the program a file of ours; returns its number there.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub(crate) fn add(&self, file: BorrowedFd<'_>, closes_on_exec: bool) -> io::Result<RawFd> {
        self.give(file, None, closes_on_exec)
    }

    fn give(&self, file: BorrowedFd<'_>, at: Option<RawFd>, closes: bool) -> io::Result<RawFd> {
        let mut given = libc::seccomp_notif_addfd {
            id: self.id,
            flags: at.map_or(0, |_| libc::SECCOMP_ADDFD_FLAG_SETFD as u32),
            srcfd: file.as_raw_fd().cast_unsigned(),
            newfd: at.unwrap_or(0).cast_unsigned(),
            newfd_flags: if closes { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        match control(&self.listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut given)? {
            Some(number) => Ok(number),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A descriptor of the process that makes the call, as one of ours.
    ///
    /// # Errors
    /// It has none with this number, or may not be looked at.
    pub(crate) fn descriptor(&self, fd: RawFd) -> io::Result<OwnedFd> {
        let taken = match &self.process {
            Some(process) => pidfd_getfd(process, fd, PidfdGetfdFlags::empty()),
            None => {
                let process = opened(self.pid, PidfdFlags::empty())?;
                pidfd_getfd(process, fd, PidfdGetfdFlags::empty())
            }
        };
        match taken {
            // The first thread has ended, and has no descriptors any more.
            Err(Errno::BADF | Errno::SRCH) if self.thread != self.pid => {
                let thread = opened(self.thread, THREAD)?;
                Ok(pidfd_getfd(thread, fd, PidfdGetfdFlags::empty())?)
            }
            other => Ok(other?),
        }
    }

    /// The process that makes the call, where the kernel lets it be opened: it is readable once that has ended.
    #[must_use]
    pub(crate) const fn process(&self) -> Option<&Rc<OwnedFd>> {
        self.process.as_ref()
    }

    /// Bytes of its memory.
    ///
    /// # Errors
    /// They are not there, or may not be looked at.
    pub(crate) fn read(&self, address: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0_u8; len];
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
        let theirs = libc::iovec { iov_base: address as *mut _, iov_len: len };
        // SAFETY: see the module; `ours` covers `bytes`.
        let read = unsafe {
            libc::process_vm_readv(
                self.thread.cast_signed(),
                &raw const ours,
                1,
                &raw const theirs,
                1,
                0,
            )
        };
        whole(read, len).map(|()| bytes)
    }

    /// The number of bytes that it has room for (`socklen_t`), from its memory; `EINVAL` if that is less than nothing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn room(&self, address: u64) -> io::Result<Result<usize, i32>> {
        let bytes = self.read(address, size_of::<i32>())?;
        let room = bytes.try_into().map(i32::from_ne_bytes);
        Ok(room.ok().and_then(|room| usize::try_from(room).ok()).ok_or(libc::EINVAL))
    }

    /// Puts bytes into its memory.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let ours = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let theirs = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: see the module; the kernel only reads `bytes`.
        let written = unsafe {
            libc::process_vm_writev(
                self.thread.cast_signed(),
                &raw const ours,
                1,
                &raw const theirs,
                1,
                0,
            )
        };
        whole(written, bytes.len())
    }
}

fn whole(moved: isize, len: usize) -> io::Result<()> {
    match usize::try_from(moved) {
        Ok(moved) if moved == len => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
