//! Which calls the filter of the programs hands over.
//!
//! # Safety
//! The descriptor that the kernel returns is fresh.

#[cfg(target_arch = "x86_64")]
use super::narrow;
use ipcperf_sys::seccomp::{
    self, ARCHITECTURE, ARGUMENT, JUMP_IF_EQUAL, LOAD, NATIVE, NUMBER, RETURN, step,
};
use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A call that is handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandedCall {
    /// Its number, native.
    pub(crate) number: i64,
    /// With which arguments.
    pub(crate) when: When,
}

/// Which calls of one number are handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// All.
    Always,
    /// Those whose argument at this place, counted from 0, is not 0: a pointer that is given.
    IsGiven(usize),
    /// Those whose argument at this place is one of these numbers.
    #[cfg(target_arch = "x86_64")]
    IsOneOf(usize, Vec<u32>),
    /// `setsockopt(2)` and `getsockopt(2)` of these levels, and of these options of `SOL_SOCKET`.
    Option {
        /// Whole levels.
        levels: Vec<u32>,
        /// Options of `SOL_SOCKET`.
        of_socket: Vec<u32>,
    },
}

impl HandedCall {
    /// Whether a call with these arguments is handed over.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn takes(&self, args: &[u64; 6]) -> bool {
        match &self.when {
            When::Always => true,
            When::IsGiven(at) => args[*at] != 0,
            When::IsOneOf(at, numbers) => numbers.contains(&(args[*at] as u32)),
            When::Option { levels, of_socket } => {
                let [level, option] = [args[1], args[2]].map(|argument| argument as u32);
                let is_of_socket = level == libc::SOL_SOCKET.cast_unsigned();
                levels.contains(&level) || is_of_socket && of_socket.contains(&option)
            }
        }
    }

    /// What the filter does with calls of this number; every way through it ends.
    fn steps(&self) -> Vec<libc::sock_filter> {
        let (hand, allow) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        let compare = |k, jt, jf| libc::sock_filter { code: JUMP_IF_EQUAL, jt, jf, k };
        match &self.when {
            When::Always => vec![step(RETURN, hand, 0)],
            When::IsGiven(at) => {
                let [low, high] = argument(*at);
                vec![
                    step(LOAD, low, 0),
                    compare(0, 0, 3),
                    step(LOAD, high, 0),
                    compare(0, 0, 1),
                    step(RETURN, allow, 0),
                    step(RETURN, hand, 0),
                ]
            }
            #[cfg(target_arch = "x86_64")]
            When::IsOneOf(at, numbers) => {
                let mut steps = vec![step(LOAD, argument(*at)[0], 0)];
                // To the last step; there are a dozen.
                let after = |at: usize| (numbers.len() - at) as u8;
                let one = |(at, number): (usize, &u32)| compare(*number, after(at), 0);
                steps.extend(numbers.iter().enumerate().map(one));
                steps.push(step(RETURN, allow, 0));
                steps.push(step(RETURN, hand, 0));
                steps
            }
            When::Option { levels, of_socket } => {
                let (level, option) = (argument(1)[0], argument(2)[0]);
                let mut steps = vec![step(LOAD, level, 0)];
                // From each comparison to the last step; there are a dozen.
                let len = 1 + levels.len() + 2 + of_socket.len() + 2;
                let to_the_end = |steps: &Vec<_>| (len - 2 - steps.len()) as u8;
                for level in levels {
                    steps.push(compare(*level, to_the_end(&steps), 0));
                }
                let to_allow = to_the_end(&steps) - 1;
                steps.push(compare(libc::SOL_SOCKET.cast_unsigned(), 0, to_allow));
                steps.push(step(LOAD, option, 0));
                for option in of_socket {
                    steps.push(compare(*option, to_the_end(&steps), 0));
                }
                steps.push(step(RETURN, allow, 0));
                steps.push(step(RETURN, hand, 0));
                steps
            }
        }
    }
}

/// Where `struct seccomp_data` holds the halves of an argument, the low one first.
const fn argument(at: usize) -> [u32; 2] {
    let begin = ARGUMENT + 8 * at as u32;
    if cfg!(target_endian = "little") { [begin, begin + 4] } else { [begin + 4, begin] }
}

/// Hands over calls by their number; others come to its end.
fn of_numbers(calls: &[HandedCall]) -> io::Result<Vec<libc::sock_filter>> {
    let mut program = vec![step(LOAD, NUMBER, 0)];
    for call in calls {
        let steps = call.steps();
        let number = u32::try_from(call.number).map_err(io::Error::other)?;
        let past = u8::try_from(steps.len()).map_err(io::Error::other)?;
        program.push(libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: past, k: number });
        program.extend(steps);
    }
    Ok(program)
}

/// The same for programs of 32 bits, whose architecture is another one.
#[cfg(target_arch = "x86_64")]
fn of_other_architectures(calls: &[HandedCall]) -> io::Result<Vec<libc::sock_filter>> {
    let narrowed = calls.iter().filter_map(|call| {
        Some(HandedCall { number: narrow::number(call.number)?, when: call.when.clone() })
    });
    // What is an operation has its arguments in memory, which a filter cannot read.
    let operations = calls.iter().filter_map(|call| narrow::operation(call.number)).collect();
    let by_operation =
        HandedCall { number: narrow::SOCKETCALL, when: When::IsOneOf(0, operations) };
    let mut steps = of_numbers(&narrowed.chain([by_operation]).collect::<Vec<_>>())?;
    let past = u8::try_from(steps.len()).map_err(io::Error::other)?;
    let is_narrow =
        libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: past, k: narrow::ARCHITECTURE };
    steps.insert(0, is_narrow);
    Ok(steps)
}

/// Programs for another architecture are let alone.
#[cfg(not(target_arch = "x86_64"))]
fn of_other_architectures(_: &[HandedCall]) -> io::Result<Vec<libc::sock_filter>> {
    Ok(Vec::new())
}

/// A filter that hands these calls to the holder of its descriptor and lets all others go on.
#[derive(Clone, Debug)]
pub(crate) struct HandsOver(Vec<libc::sock_filter>);

impl HandsOver {
    /// # Errors
    /// There are too many of them.
    pub(crate) fn of(calls: &[HandedCall]) -> io::Result<Self> {
        let allow = step(RETURN, libc::SECCOMP_RET_ALLOW, 0);
        let of_others = of_other_architectures(calls)?;
        let past = u8::try_from(of_others.len() + 1).map_err(io::Error::other)?;
        let mut program = vec![step(LOAD, ARCHITECTURE, 0), step(JUMP_IF_EQUAL, NATIVE, past)];
        program.extend(of_others);
        program.push(allow);
        program.extend(of_numbers(calls)?);
        program.push(allow);
        Ok(Self(program))
    }

    /// From now on these calls of this thread, of its children and of the programs they execute wait for who receives them
    /// from the descriptor that is returned. Allocates nothing.
    ///
    /// # Errors
    /// The kernel has no such filters, or there is one already (`EBUSY`).
    pub(crate) fn install(&mut self) -> io::Result<OwnedFd> {
        let handed = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Before Linux 5.16 a filter makes the program slower for good unless it says that it need not; from 5.19 on a call
        // that was received is interrupted by a signal only if that kills.
        let plain = handed | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        let waits = plain | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let fd = match seccomp::install(&mut self.0, waits) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                seccomp::install(&mut self.0, plain)?
            }
            other => other?,
        };
        let fd = c_int::try_from(fd).map_err(|_| io::ErrorKind::InvalidData)?;
        // SAFETY: a fresh descriptor that nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
