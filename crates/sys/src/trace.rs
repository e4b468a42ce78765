//! System calls of other processes, counted from outside by `ptrace(2)`: of our own between marks that they set
//! ([`Trace`]), of programs from their start ([`Follow`]).
//!
//! # Safety
//! Requests act on processes that this one has seized and whose stop it has just been told of; the only memory the
//! kernel writes to is a local value whose size is passed along. A failed request is an `errno`, never undefined.

mod calls;
mod follow;

pub(crate) use calls::MEMORY;
pub use calls::{FOREIGN, name, transfer};
pub use follow::{CallsSeen, Follow, Followed, Returned, Watch};

use crate::io::raw;
use crate::signals;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// First argument of the `getppid` that is a mark. The call takes none and ignores it; a tracer sees it.
const MARK: usize = 0x6d61_726b;
/// Marks that a tracer sees while the process runs without a stop at every call. Without a tracer nothing happens: both
/// signals are ignored where nobody handles them, and nobody else sends them to a process of ours.
const BEGIN: i32 = libc::SIGURG;
const DONE: i32 = libc::SIGWINCH;

/// What a process reports to its tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// From here on calls count.
    Begin = 1,
    /// From here on they do not.
    End = 2,
    /// There is no more to count.
    Done = 3,
}

/// Sets a mark: a call that does nothing, which other tracers see as well, and a signal outside of what counts.
pub fn mark(mark: Mark) {
    let signal = |number: i32| (libc::SYS_tkill, std::process::id() as usize, number as usize);
    let call = (libc::SYS_getppid, MARK, mark as usize);
    let calls = match mark {
        Mark::Begin => [Some(signal(BEGIN)), Some(call)],
        Mark::End => [Some(call), None],
        Mark::Done => [Some(call), Some(signal(DONE))],
    };
    for (number, first, second) in calls.into_iter().flatten() {
        // SAFETY: neither call reads or writes memory.
        let _ = unsafe { raw::call3(number, first, second, 0) };
    }
}

/// What a process called between its marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTally {
    /// System call numbers of this architecture, and how often each was called.
    pub calls: BTreeMap<i64, u64>,
    /// Times [`Mark::Begin`] was set.
    pub spans: u64,
    /// Transfers that were asked to move less than the process wanted.
    pub shortened: u64,
}

impl CallTally {
    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }
}

/// What `PTRACE_GET_SYSCALL_INFO` writes at the entry of a call (`struct ptrace_syscall_info`, `linux/ptrace.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction: u64,
    stack: u64,
    number: u64,
    arguments: [u64; 6],
}

/// `PTRACE_GET_SYSCALL_INFO` and `PTRACE_SYSCALL_INFO_ENTRY` (`linux/ptrace.h`, Linux 5.3), which not every C library
/// declares.
const GET_INFO: usize = 0x420e;
const AT_ENTRY: u8 = 1;
/// `PTRACE_SYSCALL_INFO_EXIT`, where the result is in the place of the number.
const AT_EXIT: u8 = 2;
/// What a process stops with at a system call, by `PTRACE_O_TRACESYSGOOD`.
const STOP_AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// Processes under observation: children of this one that have no second thread.
///
/// Where counting fails they stay stopped at their next call; they are of no use then but to be killed.
#[derive(Debug)]
pub struct Trace {
    traced: Vec<Traced>,
}

#[derive(Debug)]
struct Traced {
    pid: libc::pid_t,
    is_counting: bool,
    is_done: bool,
    tally: CallTally,
    /// Which of its counted transfers is to fail, and with what.
    failure: Option<(u64, i32)>,
    /// The call it is in was skipped and will seem to have failed with this.
    failing: Option<i32>,
    /// The state of the random numbers by which its transfers are shortened; 0: they are not.
    shortening: u64,
}

impl Trace {
    /// Begins to observe running children. A child must not set marks before this returns.
    ///
    /// # Errors
    /// `EPERM` where tracing is forbidden, `ENOSYS` where there is none.
    pub fn of(pids: &[u32]) -> io::Result<Self> {
        let mut trace = Self { traced: Vec::new() };
        // Pending instead of ignored, it can be waited for. Children inherit the mask; workers and programs empty it.
        signals::mask(libc::SIG_BLOCK, &[libc::SIGCHLD])?;
        for pid in pids {
            let pid = libc::pid_t::try_from(*pid).map_err(io::Error::other)?;
            let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
            request(libc::PTRACE_SEIZE as usize, pid, 0, options as usize)?;
            let tally = CallTally::default();
            trace.traced.push(Traced {
                pid,
                is_counting: false,
                is_done: false,
                tally,
                failure: None,
                failing: None,
                shortening: 0,
            });
        }
        Ok(trace)
    }

    /// Counts until each process has set [`Mark::Done`], and lets go of it there. The tallies are in the order of the
    /// processes.
    ///
    /// # Errors
    /// `TimedOut` after `deadline`, `UnexpectedEof` when a process has ended, and the kernel's.
    pub fn count(mut self, deadline: Instant) -> io::Result<Vec<CallTally>> {
        while self.traced.iter().any(|traced| !traced.is_done) {
            let mut is_idle = true;
            for traced in self.traced.iter_mut().filter(|traced| !traced.is_done) {
                if let Some(status) = stopped(traced.pid)? {
                    is_idle = false;
                    traced.go_on(status)?;
                }
            }
            if is_idle {
                await_child(deadline)?;
            }
        }
        Ok(self.traced.into_iter().map(|traced| traced.tally).collect())
    }
}

/// Words of the registers of a stopped process, by their place in `struct user_regs_struct` of x86-64 (`sys/user.h`).
mod registers {
    /// `rax`: the result of a call.
    pub(super) const RESULT: usize = 10 * 8;
    /// `rdx`: the third argument of a call.
    pub(super) const LENGTH: usize = 12 * 8;
    /// `orig_rax`: the number of the call about to be made.
    pub(super) const NUMBER: usize = 15 * 8;
}

impl Trace {
    /// Whether calls can be made to fail, and be shortened, on this architecture.
    pub const CAN_FAIL: bool = cfg!(target_arch = "x86_64");

    /// From now on `read`, `write`, `sendto` and `recvfrom` between marks are asked to move a random part of what the
    /// process wants, at least one byte, as a kernel may do at any time with a stream.
    #[must_use]
    pub fn shortening(mut self, seed: u64) -> Self {
        for (traced, at) in self.traced.iter_mut().zip(1..) {
            // The step of splitmix64 makes different streams of the processes; 0 is no state.
            traced.shortening = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(at)) | 1;
        }
        self
    }

    /// Lets process `which` run until it sets [`Mark::Done`]; the others run too. The `nth` transfer between its marks
    /// that is no futex call, counted from 1, is not made but seems to fail with `errno`. Says whether it came to that.
    ///
    /// # Errors
    /// `TimedOut` after `deadline`, `UnexpectedEof` when the process has ended, and the kernel's.
    pub fn fail(
        mut self,
        which: usize,
        nth: u64,
        errno: i32,
        deadline: Instant,
    ) -> io::Result<bool> {
        let victim = self.traced.get_mut(which).ok_or(io::ErrorKind::InvalidInput)?;
        victim.failure = Some((nth, errno));
        loop {
            let mut is_idle = true;
            for (at, traced) in self.traced.iter_mut().enumerate().filter(|(_, it)| !it.is_done) {
                match stopped(traced.pid) {
                    Ok(Some(status)) => {
                        is_idle = false;
                        traced.go_on(status)?;
                    }
                    Ok(None) => {}
                    // What becomes of the others is not the question.
                    Err(_) if at != which => traced.is_done = true,
                    Err(error) => return Err(error),
                }
            }
            let victim = self.traced.get(which).ok_or(io::ErrorKind::InvalidInput)?;
            if victim.is_done {
                return Ok(victim.failure.is_none());
            }
            if is_idle {
                await_child(deadline)?;
            }
        }
    }
}

impl Traced {
    /// Skips the call it is about to make.
    fn skip(&mut self, errno: i32) -> io::Result<()> {
        self.failing = Some(errno);
        // No call has this number.
        self.write(registers::NUMBER, usize::MAX)
    }

    /// Puts the failure in place of the result of the skipped call.
    fn pretend(&mut self) -> io::Result<()> {
        let Some(errno) = self.failing.take() else { return Ok(()) };
        self.write(registers::RESULT, (-i64::from(errno)).cast_unsigned() as usize)
    }

    /// Makes the call it is about to make shorter.
    fn shorten(&mut self, length: u64) -> io::Result<()> {
        // Xorshift (Marsaglia 2003).
        self.shortening ^= self.shortening << 13;
        self.shortening ^= self.shortening >> 7;
        self.shortening ^= self.shortening << 17;
        let less = 1 + self.shortening % length;
        self.tally.shortened += u64::from(less < length);
        self.write(registers::LENGTH, less as usize)
    }

    fn write(&self, register: usize, value: usize) -> io::Result<()> {
        if !Trace::CAN_FAIL {
            return Err(io::ErrorKind::Unsupported.into());
        }
        request(libc::PTRACE_POKEUSER as usize, self.pid, register, value).map(drop)
    }

    /// Takes in one stop. It stops at calls only while they count: most of what a process does is none of ours, and a
    /// stop takes longer than the call.
    fn go_on(&mut self, status: i32) -> io::Result<()> {
        let mut signal = 0;
        match status {
            STOP_AT_CALL => match entry(self.pid)? {
                Some(info) => self.see(&info)?,
                None => self.pretend()?,
            },
            BEGIN => {
                self.is_counting = true;
                self.tally.spans += 1;
            }
            DONE => self.is_done = true,
            // Stopped on the way to a signal's delivery: it is passed on.
            other if other >> 8 == 0 && other != libc::SIGTRAP => signal = other as usize,
            _ => {}
        }
        let how = match (self.is_done, self.is_counting) {
            (true, _) => libc::PTRACE_DETACH,
            (false, true) => libc::PTRACE_SYSCALL,
            (false, false) => libc::PTRACE_CONT,
        };
        request(how as usize, self.pid, 0, signal).map(drop)
    }

    fn see(&mut self, info: &Info) -> io::Result<()> {
        let number = info.number.cast_signed();
        if number == libc::SYS_getppid && info.arguments[0] == MARK as u64 {
            self.is_counting = info.arguments[1] == Mark::Begin as u64;
        } else {
            *self.tally.calls.entry(number).or_default() += 1;
            let has_length =
                [libc::SYS_read, libc::SYS_write, libc::SYS_sendto, libc::SYS_recvfrom];
            if self.shortening != 0 && has_length.contains(&number) && info.arguments[2] > 1 {
                return self.shorten(info.arguments[2]);
            }
            // A futex call on a word in memory cannot fail in these ways, and the C library ends the process if it does.
            let may_fail = transfer(number).is_some() && number != libc::SYS_futex;
            if let (Some((nth, errno)), true) = (self.failure, may_fail) {
                self.failure = (nth > 1).then_some((nth - 1, errno));
                if nth <= 1 {
                    return self.skip(errno);
                }
            }
        }
        Ok(())
    }
}

fn request(what: usize, pid: libc::pid_t, address: usize, data: usize) -> io::Result<usize> {
    let pid = pid.cast_unsigned() as usize;
    // SAFETY: see the module.
    let done = unsafe { raw::call6(libc::SYS_ptrace, [what, pid, address, data, 0, 0]) };
    done.map_err(io::Error::from_raw_os_error)
}

/// The call a stopped process is about to make; `None` if it comes back from one.
fn entry(pid: libc::pid_t) -> io::Result<Option<Info>> {
    let info = info(pid)?;
    Ok((info.op == AT_ENTRY).then_some(info))
}

/// The result of the call from which a stopped process comes back.
fn returned(pid: libc::pid_t) -> io::Result<Option<i64>> {
    let info = info(pid)?;
    Ok((info.op == AT_EXIT).then_some(info.number.cast_signed()))
}

fn info(pid: libc::pid_t) -> io::Result<Info> {
    let mut info = Info::default();
    let at = std::ptr::from_mut(&mut info) as usize;
    request(GET_INFO, pid, size_of::<Info>(), at)?;
    Ok(info)
}

/// Why a process has stopped, if it has. One that has ended is left to its parent.
fn stopped(pid: libc::pid_t) -> io::Result<Option<i32>> {
    // SAFETY: all zeroes are a valid value.
    let mut info = unsafe { std::mem::zeroed::<libc::siginfo_t>() };
    let options = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    let mut wait = |options| {
        let id = pid.cast_unsigned();
        // SAFETY: `info` is a valid place for the result.
        let result = unsafe { libc::waitid(libc::P_PID, id, &raw mut info, options) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: waitid has filled in, or zeroed, the fields of a child's change of state.
        Ok((info.si_code, unsafe { info.si_status() }, unsafe { info.si_pid() }))
    };
    let (code, status, found) = wait(options)?;
    if found == 0 {
        return Ok(None);
    }
    if matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    wait(libc::WSTOPPED | libc::WNOHANG | libc::__WALL)?;
    Ok(Some(status))
}

/// Sleeps until some child has changed its state since the last look.
fn await_child(deadline: Instant) -> io::Result<()> {
    // Where another thread takes the signal, this is how late the change is noticed.
    const LATEST: Duration = Duration::from_millis(20);
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (set, left) = (signals::set_of(&[libc::SIGCHLD]), left.min(LATEST));
    let left = libc::timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
    // Every outcome (a signal, none in time, another one handled) means "look again".
    // SAFETY: both are initialised, and no details are asked for.
    unsafe { libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const left) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn idle() -> Child {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat is everywhere")
    }

    #[test]
    fn a_process_without_marks_is_waited_for_and_its_end_is_told() {
        let [mut quiet, mut dead] = [idle(), idle()];
        let soon = Instant::now() + Duration::from_millis(50);
        let waited = Trace::of(&[quiet.id()]).and_then(|trace| trace.count(soon));
        let ended = Trace::of(&[dead.id()]).and_then(|trace| {
            dead.kill()?;
            trace.count(Instant::now() + Duration::from_secs(60))
        });
        for child in [&mut quiet, &mut dead] {
            let _ = child.kill();
            child.wait().expect("left to its parent");
        }
        let kinds = [waited, ended].map(|result| result.expect_err("there was no mark").kind());
        if kinds[0] == io::ErrorKind::PermissionDenied {
            return crate::skipped::skipped("ptrace", kinds[0]);
        }
        assert_eq!(kinds, [io::ErrorKind::TimedOut, io::ErrorKind::UnexpectedEof]);
    }
}
