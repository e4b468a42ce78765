//! Calls of programs of 32 bits on x86-64 (`arch/x86/entry/syscalls/syscall_32.tbl`): they have other numbers, and those of sockets
//! may be operations of one call. What they hand over is taken as the
//! native call with the same arguments. The structures of the
//! calls that are handed over are the same for both.

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

/// The number that a native call has there.
pub(super) fn number(native: i64) -> Option<i64> {
    let same = NUMBERS.iter().find(|(known, _)| *known == native);
    same.map(|(_, number)| *number)
}

/// The native call with this number there.
pub(super) fn native(number: i64) -> Option<i64> {
    let same = NUMBERS.iter().find(|(_, known)| *known == number);
    same.map(|(native, _)| *native)
}

/// The operation of [`SOCKETCALL`] that is this native call.
pub(super) fn operation(native: i64) -> Option<u32> {
    let same = OPERATIONS.iter().find(|(known, ..)| *known == native);
    same.map(|(_, operation, _)| *operation)
}

/// The native call that is this operation of [`SOCKETCALL`], and how many arguments it has.
pub(super) fn of_operation(operation: u64) -> Option<(i64, usize)> {
    let same = OPERATIONS.iter().find(|(_, known, _)| u64::from(*known) == operation);
    same.map(|(native, _, count)| (*native, *count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_one_number() {
        for (native_number, narrow) in NUMBERS {
            assert_eq!(
                (number(native_number), native(narrow)),
                (Some(narrow), Some(native_number))
            );
        }
        for (native_number, number, count) in OPERATIONS {
            assert_eq!(operation(native_number), Some(number));
            assert_eq!(of_operation(number.into()), Some((native_number, count)));
            assert!(count <= 6);
        }
        // `accept(2)` itself is an operation alone.
        assert_eq!(number(libc::SYS_accept), None);
        assert_eq!(native(SOCKETCALL), None);
    }
}
