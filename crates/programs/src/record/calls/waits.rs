//! What calls wait for, and which clock they read.

use super::{Act, Call, Does, does};

/// Clocks that are read by calls, by what they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Time that passes, in nanoseconds or microseconds.
    Precise(u64),
    /// Time that passes, in steps of a timer tick or of a second.
    Coarse(u64),
    /// CPU time of a process or thread.
    Cpu(u64),
}

impl Clock {
    /// It counts time that passes, in short steps.
    #[must_use]
    pub(crate) fn is_precise(self) -> bool {
        matches!(self, Self::Precise(_))
    }

    /// It is the time of the day.
    #[must_use]
    pub(crate) fn is_of_day(self) -> bool {
        self == Self::Precise(libc::CLOCK_REALTIME.cast_unsigned().into())
    }
}

/// Numbers of what reads a clock without naming it, which no clock of the kernel has.
const SECONDS: u64 = 1 << 32;
const USAGE: u64 = 1 << 33;
const TIMES: u64 = 1 << 34;

/// `SIOCOUTQ` (`linux/sockios.h`).
const UNACKNOWLEDGED: u64 = 0x5411;

impl Call {
    /// The clock that it reads.
    #[must_use]
    pub(crate) fn reads_clock(&self) -> Option<Clock> {
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_time {
            return Some(Clock::Coarse(SECONDS));
        }
        let [clock, ..] = self.arguments;
        match self.number {
            // A clock is an `int`; negative ones are CPU times of other processes (`clock_getcpuclockid(3)`).
            libc::SYS_clock_gettime => match clock as u32 as i32 {
                libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => {
                    Some(Clock::Cpu(clock))
                }
                ..0 => Some(Clock::Cpu(clock)),
                libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE => {
                    Some(Clock::Coarse(clock))
                }
                libc::CLOCK_REALTIME
                | libc::CLOCK_MONOTONIC
                | libc::CLOCK_MONOTONIC_RAW
                | libc::CLOCK_BOOTTIME
                | libc::CLOCK_TAI => Some(Clock::Precise(clock)),
                _ => None,
            },
            libc::SYS_gettimeofday => Some(Clock::Precise(0)),
            libc::SYS_getrusage => Some(Clock::Cpu(USAGE)),
            libc::SYS_times => Some(Clock::Cpu(TIMES)),
            _ => None,
        }
    }

    /// It waits for something, or until a time.
    #[must_use]
    pub(crate) fn waits(&self) -> bool {
        does(self.number) == Some(Does::Waits)
            && (self.number != libc::SYS_futex || self.is_wait_on_futex())
    }

    /// It waited until a time that the program had set, and did not only ask.
    #[must_use]
    pub(crate) fn timed_out(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_epoll_wait && self.arguments[3] as i32 == 0
            || self.number == libc::SYS_poll && self.arguments[2] as i32 == 0
        {
            return false;
        }
        match self.number {
            libc::SYS_futex => self.result == -i64::from(libc::ETIMEDOUT),
            libc::SYS_epoll_pwait if self.arguments[3] as i32 == 0 => false,
            _ => self.result == 0 && self.waits(),
        }
    }

    /// It let time pass, and nothing could have ended that but a signal.
    #[must_use]
    pub(crate) fn sleeps(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self.number {
            libc::SYS_poll => return self.result == 0 && self.arguments[1] == 0,
            libc::SYS_select => return self.result == 0 && self.arguments[0] == 0,
            _ => {}
        }
        match self.number {
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => self.result == 0,
            libc::SYS_ppoll => self.result == 0 && self.arguments[1] == 0,
            libc::SYS_pselect6 => self.result == 0 && self.arguments[0] == 0,
            _ => false,
        }
    }

    /// It waited for another thread, process or peer until that came: an event, the end of a process, a semaphore, a signal, a connection.
    #[must_use]
    pub(crate) fn awaited(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_accept {
            return self.result >= 0;
        }
        match self.number {
            libc::SYS_futex => self.is_wait_on_futex() && !self.timed_out(),
            libc::SYS_semop | libc::SYS_semtimedop => self.result == 0,
            libc::SYS_rt_sigtimedwait => self.result > 0,
            // A handler has run.
            libc::SYS_rt_sigreturn => true,
            libc::SYS_accept4 => self.result >= 0,
            // It asked what the peer has not acknowledged yet.
            libc::SYS_ioctl => self.arguments[1] == UNACKNOWLEDGED,
            _ => self.reaped() || self.result > 0 && self.waits(),
        }
    }

    /// The word may have changed before it slept (`EAGAIN`), which is an answer as well.
    fn is_wait_on_futex(&self) -> bool {
        /// `FUTEX_CMD_MASK` without `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME` (`linux/futex.h`).
        const OPERATION: u64 = 0x7f;
        let operation = (self.arguments[1] & OPERATION) as i32;
        [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET, libc::FUTEX_LOCK_PI].contains(&operation)
    }

    /// It waited for another process or signalled one: its process has started to work.
    #[must_use]
    pub(crate) fn is_ready(&self) -> bool {
        self.waits()
            || [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_semop, libc::SYS_semtimedop]
                .contains(&self.number)
            || self.number == libc::SYS_rt_sigtimedwait
            || self.takes() && self.object != 0
    }

    /// It took data, or tried to.
    #[must_use]
    pub(crate) fn takes(&self) -> bool {
        does(self.number) == Some(Does::Reads)
    }

    /// It set TCP_NODELAY: whether that is on now. Where only a pointer to the value is known, it is on, since programs set it to
    /// end Nagle's algorithm.
    #[must_use]
    pub(crate) fn sets_no_delay(&self) -> Option<bool> {
        let is = |at: usize, value: i32| self.arguments[at] == u64::from(value.cast_unsigned());
        let sets = self.number == libc::SYS_setsockopt
            && self.result == 0
            && is(1, libc::IPPROTO_TCP)
            && is(2, libc::TCP_NODELAY);
        sets.then_some(self.arguments[3] != 0)
    }

    /// How long it was to sleep, where that is known and relative to its begin, ns.
    #[must_use]
    pub(crate) fn sleep_length(&self) -> Option<u64> {
        let length = match self.number {
            libc::SYS_nanosleep => self.arguments[3],
            libc::SYS_clock_nanosleep if self.sleeps_until().is_none() => self.arguments[3],
            _ => return None,
        };
        Some(length)
    }

    /// The time until which it was to sleep, where that is known, ns of its clock.
    #[must_use]
    pub(crate) fn sleeps_until(&self) -> Option<u64> {
        let is_absolute = self.number == libc::SYS_clock_nanosleep
            && self.arguments[1] & u64::from(libc::TIMER_ABSTIME.cast_unsigned()) != 0;
        is_absolute.then_some(self.arguments[3])
    }

    /// It read until the other end was closed.
    #[must_use]
    pub(crate) fn met_the_end(&self) -> bool {
        self.result == 0 && does(self.number) == Some(Does::Reads)
    }

    /// It waited for the end of another process, and that came.
    #[must_use]
    pub(crate) fn reaped(&self) -> bool {
        match self.number {
            libc::SYS_wait4 => self.result > 0,
            libc::SYS_waitid => self.result == 0,
            _ => false,
        }
    }

    /// It made memory that other processes may have as well.
    #[must_use]
    pub(crate) fn shares_memory(&self) -> bool {
        let [_, _, rights, how] = self.arguments;
        let is_set = |all: u64, one: i32| all & u64::from(one.cast_unsigned()) != 0;
        match self.number {
            libc::SYS_mmap => {
                self.result > 0 && is_set(rights, libc::PROT_WRITE) && is_set(how, libc::MAP_SHARED)
            }
            libc::SYS_shmat => !(-4095..0).contains(&self.result),
            _ => false,
        }
    }

    /// It wrote to the standard output or the standard error.
    #[must_use]
    pub(crate) fn prints(&self) -> bool {
        /// `STDOUT_FILENO` and `STDERR_FILENO`
        const STANDARD: [u64; 2] = [1, 2];
        let is_plain = [libc::SYS_write, libc::SYS_writev].contains(&self.number);
        is_plain && STANDARD.contains(&self.arguments[0]) && matches!(self.act(), Act::Wrote(_))
    }
}
