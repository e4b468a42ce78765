//! Calls of programs of 32 bits on x86-64 (`arch/x86/entry/syscalls/syscall_32.tbl`): they have other numbers, and those of sockets
//! may be operations of one call. What they hand over is taken as the native call with the same arguments. The structures of the
//! calls that are handed over are the same for both.

use super::filter::HandedCall;
use super::handed::PendingCall;
use std::io;

/// `AUDIT_ARCH_I386` (`linux/audit.h`).
pub(super) const ARCHITECTURE: u32 = 0x4000_0003;

/// `socketcall(2)`: an operation, and where its arguments are.
pub(super) const SOCKETCALL: i64 = 102;

/// The native number of each call, and that of 32 bits.
const NUMBERS: [(i64, i64); 12] = [
    (libc::SYS_epoll_create, 254),
    (libc::SYS_epoll_create1, 329),
    (libc::SYS_bind, 361),
    (libc::SYS_connect, 362),
    (libc::SYS_listen, 363),
    (libc::SYS_accept4, 364),
    (libc::SYS_getsockopt, 365),
    (libc::SYS_setsockopt, 366),
    (libc::SYS_getsockname, 367),
    (libc::SYS_getpeername, 368),
    (libc::SYS_sendto, 369),
    (libc::SYS_recvfrom, 371),
];

/// The native number of each operation of [`SOCKETCALL`] (`linux/net.h`), and how many arguments it has.
const OPERATIONS: [(i64, u32, usize); 11] = [
    (libc::SYS_bind, 2, 3),
    (libc::SYS_connect, 3, 3),
    (libc::SYS_listen, 4, 2),
    (libc::SYS_accept, 5, 3),
    (libc::SYS_getsockname, 6, 3),
    (libc::SYS_getpeername, 7, 3),
    (libc::SYS_sendto, 11, 6),
    (libc::SYS_recvfrom, 12, 6),
    (libc::SYS_setsockopt, 14, 5),
    (libc::SYS_getsockopt, 15, 5),
    (libc::SYS_accept4, 18, 4),
];

/// The same calls as programs of 32 bits make them.
pub(super) fn narrowed(calls: &[HandedCall]) -> Vec<HandedCall> {
    let numbers = calls.iter().filter_map(|call| {
        let (_, number) = NUMBERS.iter().find(|(native, _)| *native == call.number)?;
        Some(HandedCall { number: *number, when: call.when.clone() })
    });
    numbers.collect()
}

/// The operations of [`SOCKETCALL`] that are among these calls. Their arguments are in memory, which a filter cannot read.
pub(super) fn operations(calls: &[HandedCall]) -> Vec<u32> {
    let is_handed = |number: i64| calls.iter().any(|call| call.number == number);
    let all = OPERATIONS.iter().filter(|(native, ..)| is_handed(*native));
    all.map(|(_, operation, _)| *operation).collect()
}

/// The native call that does the same; none if there is none among those that are handed over.
pub(super) fn widened(call: PendingCall) -> io::Result<Option<PendingCall>> {
    if call.number != SOCKETCALL {
        let same = NUMBERS.iter().find(|(_, number)| *number == call.number);
        let args = call.args;
        return Ok(same.map(|(native, _)| call.with(*native, args)));
    }
    let [operation, place, ..] = call.args;
    let Some((native, _, count)) =
        OPERATIONS.iter().find(|(_, known, _)| u64::from(*known) == operation)
    else {
        return Ok(None);
    };
    let words = call.read(place, count * size_of::<u32>())?;
    let mut args = [0; 6];
    for (argument, word) in args.iter_mut().zip(words.as_chunks().0) {
        *argument = u64::from(u32::from_ne_bytes(*word));
    }
    Ok(Some(call.with(*native, args)))
}
