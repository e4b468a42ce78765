//! System calls of the calling thread, timed from inside the process.
//!
//! A filter lets every call of the thread end in a signal (`SECCOMP_RET_TRAP`), whose handler makes the call itself
//! between two readings of the clock. So code that makes calls need not know that they are timed, and nobody who does not
//! ask for it pays for it. A signal comes before each call and a look at the filter is part of it; what a call that does
//! nothing takes, so timed, is told beside the others. There is no way back: it is for the only
//! thread of a process that ends soon.
//!
//! # Safety
//! The handler gets the registers of the call that was trapped, makes that very call with the same arguments, and leaves
//! its result where the kernel would have left it: to the program nothing but time has passed. The handler touches
//! nothing but a log that was there before it.

use crate::clock::Clock;
use crate::seccomp::{self, Trapped};
use crate::trace;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Calls that one log has room for.
const ROOM: usize = 1 << 20;
/// Bits of a time in the log; above them is the number of the call.
const BITS: u32 = 48;
/// Calls of one name in a row that are told apart; further ones count as the last of these.
const IN_A_ROW: usize = 4;
/// Calls that do nothing, to see what that takes.
const EMPTY: usize = 1001;

/// Calls that are made as ever: they belong to signals, or begin or end a thread or a program.
const NOT_TRAPPED: &[i64] = &[
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What the handler writes.
struct Log {
    clock: Clock,
    is_on: AtomicBool,
    len: AtomicUsize,
    entries: Box<[AtomicU64]>,
}

static LOG: OnceLock<Log> = OnceLock::new();

/// What calls of one name took, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallTime {
    /// How many there were.
    pub times: u64,
    /// Median.
    pub median: f64,
    /// Mean.
    pub mean: f64,
}

/// The calls of the thread that made it, from when they are recorded.
#[derive(Debug)]
pub struct CallTimes {
    log: &'static Log,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Log").field("len", &self.len).finish_non_exhaustive()
    }
}

impl CallTimes {
    /// From now on every call of this thread can be timed.
    ///
    /// # Errors
    /// The kernel has no filters or refuses one more, the architecture is not known, or this process has done so before.
    pub fn watch(clock: Clock) -> io::Result<Self> {
        Self::begin(clock, Trapped::AllBut(NOT_TRAPPED))
    }

    /// The same of calls that get, give back or change memory; others are made as ever.
    ///
    /// # Errors
    /// As [`CallTimes::watch`].
    pub fn watch_memory(clock: Clock) -> io::Result<Self> {
        Self::begin(clock, Trapped::Only(trace::MEMORY))
    }

    fn begin(clock: Clock, trapped: Trapped<'_>) -> io::Result<Self> {
        let entries = (0..ROOM).map(|_| AtomicU64::new(0)).collect();
        let (is_on, len) = (AtomicBool::new(false), AtomicUsize::new(0));
        if LOG.set(Log { clock, is_on, len, entries }).is_err() {
            return Err(io::Error::other("the calls of this process are timed already"));
        }
        let log = LOG.get().ok_or_else(|| io::Error::other("there is no log"))?;
        machine::handle()?;
        seccomp::trap(machine::after_the_call(), trapped)?;
        Ok(Self { log })
    }

    /// Whether calls are recorded from now on.
    pub fn record(&self, is_on: bool) {
        self.log.is_on.store(is_on, Relaxed);
    }

    /// What was recorded while so many messages passed, by name, and the median of a call that does nothing. Of calls that
    /// come more than once for each message the second in a row is `close.2`: it may be about something else.
    ///
    /// # Errors
    /// There were more than the log has room for.
    pub fn finish(self, messages: u64) -> io::Result<(BTreeMap<String, CallTime>, f64)> {
        self.record(false);
        let len = self.log.len.swap(0, Relaxed);
        let Some(entries) = self.log.entries.get(..len) else {
            return Err(io::Error::other(format!("more than {ROOM} system calls in one slice")));
        };
        let calls = || {
            let loaded = entries.iter().map(|entry| entry.load(Relaxed));
            loaded.map(|entry| ((entry >> BITS) as i64, entry & ((1 << BITS) - 1)))
        };
        let mut counts = BTreeMap::<i64, u64>::new();
        for (number, _) in calls() {
            *counts.entry(number).or_default() += 1;
        }
        // A credit now and then makes no second call of it.
        let comes_again =
            |number| counts.get(&number).is_some_and(|count| *count * 2 > messages * 3);
        let mut series = BTreeMap::<(i64, usize), Vec<u64>>::new();
        let mut last = (i64::MAX, 0);
        for (number, ticks) in calls() {
            let place = if last.0 == number { (last.1 + 1).min(IN_A_ROW) } else { 1 };
            last = (number, place);
            let place = if comes_again(number) { place } else { 1 };
            series.entry((number, place)).or_default().push(ticks);
        }
        let empty = median_of_nothing(self.log);
        let name = |(number, place): (i64, usize)| match place {
            1 => trace::name(number),
            _ => format!("{}.{place}", trace::name(number)),
        };
        let times = series.into_iter().map(|(key, mut ticks)| (name(key), call_time(&mut ticks)));
        Ok((times.collect(), empty))
    }
}

fn median_of_nothing(log: &Log) -> f64 {
    let mut ticks: Vec<u64> = Vec::with_capacity(EMPTY);
    log.is_on.store(true, Relaxed);
    for _ in 0..EMPTY {
        let _ = std::os::unix::process::parent_id();
    }
    log.is_on.store(false, Relaxed);
    let len = log.len.swap(0, Relaxed);
    let entries = log.entries.get(..len).unwrap_or_default();
    ticks.extend(entries.iter().map(|entry| entry.load(Relaxed) & ((1 << BITS) - 1)));
    call_time(&mut ticks).median
}

fn call_time(ticks: &mut [u64]) -> CallTime {
    ticks.sort_unstable();
    let times = ticks.len() as u64;
    let at = |at: usize| ticks.get(at).copied().unwrap_or(0) as f64;
    let median = at(ticks.len().saturating_sub(1) / 2).midpoint(at(ticks.len() / 2));
    let mean = ticks.iter().sum::<u64>() as f64 / times.max(1) as f64;
    CallTime { times, median, mean }
}

/// Makes the call that was trapped, and returns what the kernel returned.
fn made(number: i64, arguments: &[u64; 6]) -> i64 {
    let Some(log) = LOG.get().filter(|log| log.is_on.load(Relaxed)) else {
        return machine::call(number, arguments);
    };
    let begin = log.clock.start();
    let result = machine::call(number, arguments);
    let took = log.clock.stop().saturating_sub(begin);
    if let Some(entry) = log.entries.get(log.len.fetch_add(1, Relaxed)) {
        entry.store((number as u64) << BITS | took.min((1 << BITS) - 1), Relaxed);
    }
    result
}

extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the context of the signal, which nobody else looks at while the handler runs.
    let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_mut() }) else { return };
    let (number, arguments) = machine::asked(context);
    machine::answer(context, made(number, &arguments));
}

/// The kernel's calling convention.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod machine {
    use std::io;

    // One place makes all calls of the handler: the filter knows them by the address that follows it.
    #[cfg(target_arch = "x86_64")]
    std::arch::global_asm!(
        ".pushsection .text.ipcperf_timed_call,\"ax\",@progbits",
        ".globl ipcperf_timed_call",
        ".globl ipcperf_after_timed_call",
        "ipcperf_timed_call:",
        "mov rax, rdi",
        "mov r11, rsi",
        "mov rdi, [r11]",
        "mov rsi, [r11 + 8]",
        "mov rdx, [r11 + 16]",
        "mov r10, [r11 + 24]",
        "mov r8, [r11 + 32]",
        "mov r9, [r11 + 40]",
        "syscall",
        "ipcperf_after_timed_call:",
        "ret",
        ".popsection",
    );

    #[cfg(target_arch = "aarch64")]
    std::arch::global_asm!(
        ".pushsection .text.ipcperf_timed_call,\"ax\",@progbits",
        ".globl ipcperf_timed_call",
        ".globl ipcperf_after_timed_call",
        "ipcperf_timed_call:",
        "mov x8, x0",
        "mov x9, x1",
        "ldp x0, x1, [x9]",
        "ldp x2, x3, [x9, #16]",
        "ldp x4, x5, [x9, #32]",
        "svc #0",
        "ipcperf_after_timed_call:",
        "ret",
        ".popsection",
    );

    unsafe extern "C" {
        fn ipcperf_timed_call(number: i64, arguments: *const [u64; 6]) -> i64;
        fn ipcperf_after_timed_call();
    }

    /// Where the kernel sees the calls of [`call`] come from.
    pub(super) fn after_the_call() -> u64 {
        ipcperf_after_timed_call as *const () as u64
    }

    /// Makes a call.
    pub(super) fn call(number: i64, arguments: &[u64; 6]) -> i64 {
        // SAFETY: follows the calling convention of C; the call is the one that the program made.
        unsafe { ipcperf_timed_call(number, arguments) }
    }

    /// Lets trapped calls come to the handler, also one that is made by the handler of another signal meanwhile.
    pub(super) fn handle() -> io::Result<()> {
        // SAFETY: a struct of integers and pointers, for which zero is a value: an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = super::trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        // SAFETY: the handler is one of three arguments and touches nothing but its context and the log.
        let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The number of the call and its arguments.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn asked(context: &libc::ucontext_t) -> (i64, [u64; 6]) {
        let registers = &context.uc_mcontext.gregs;
        let at = |register: i32| registers[register as usize];
        let arguments = [
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
        ];
        (at(libc::REG_RAX), arguments.map(|register| at(register).cast_unsigned()))
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn answer(context: &mut libc::ucontext_t, result: i64) {
        context.uc_mcontext.gregs[libc::REG_RAX as usize] = result;
    }

    #[cfg(target_arch = "aarch64")]
    pub(super) fn asked(context: &libc::ucontext_t) -> (i64, [u64; 6]) {
        let registers = &context.uc_mcontext.regs;
        let [a, b, c, d, e, f, ..] = *registers;
        (registers[8].cast_signed(), [a, b, c, d, e, f])
    }

    #[cfg(target_arch = "aarch64")]
    pub(super) fn answer(context: &mut libc::ucontext_t, result: i64) {
        context.uc_mcontext.regs[0] = result.cast_unsigned();
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    use std::io;

    pub(super) fn after_the_call() -> u64 {
        0
    }

    pub(super) fn call(_: i64, _: &[u64; 6]) -> i64 {
        i64::from(-libc::ENOSYS)
    }

    pub(super) fn handle() -> io::Result<()> {
        Err(io::Error::other("calls cannot be timed on this architecture; x86-64 and AArch64 can"))
    }

    pub(super) fn asked(_: &libc::ucontext_t) -> (i64, [u64; 6]) {
        (0, [0; 6])
    }

    pub(super) fn answer(_: &mut libc::ucontext_t, _: i64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::stream;
    use std::os::fd::AsFd;

    #[test]
    fn calls_do_what_they_always_do_and_leave_their_times() {
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        // The filter is for the thread that sets it up, which can never end: the C library makes calls while all signals
        // are blocked then. A process can.
        let (tell, told) = std::sync::mpsc::channel();
        let _ = std::thread::spawn(move || {
            let times = CallTimes::watch(Clock::monotonic()).expect("a filter");
            let mut got = [0; 8];
            times.record(true);
            for number in 0..50_u64 {
                assert_eq!(stream::write(write.as_fd(), &number.to_ne_bytes()), Ok(8));
                for half in got.chunks_mut(4) {
                    assert_eq!(stream::read(read.as_fd(), half), Ok(4));
                }
                assert_eq!(u64::from_ne_bytes(got), number);
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            times.record(false);
            assert_eq!(stream::write(read.as_fd(), &got), Err(libc::EBADF));
            assert!(CallTimes::watch(Clock::monotonic()).is_err());
            drop((read, write));
            tell.send(times.finish(50)).expect("somebody listens");
            loop {
                std::thread::park();
            }
        });
        let (times, empty) = told.recv().expect("no panic").expect("room");
        let names: Vec<&str> = times.keys().map(String::as_str).collect();
        assert_eq!(names, ["clock_nanosleep", "read", "read.2", "write"]);
        assert_eq!(["read", "read.2", "write"].map(|name| times[name].times), [50; 3]);
        assert!(times["clock_nanosleep"].median >= 2e6, "{times:?}");
        assert!(empty > 0.0 && empty < times["clock_nanosleep"].median, "{empty}");
        assert!(times["write"].mean > 0.0);
    }

    #[test]
    fn median_and_mean_are_those_of_the_times() {
        assert_eq!(call_time(&mut []), CallTime::default());
        let odd = call_time(&mut [9, 1, 2]);
        assert_eq!(odd, CallTime { times: 3, median: 2.0, mean: 4.0 });
        assert_eq!(call_time(&mut [4, 1, 2, 1]).median, 1.5);
    }
}
