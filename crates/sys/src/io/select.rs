//! `select(2)` for one descriptor: the call with which programs that must run everywhere wait.
//!
//! # Safety
//! The set lies on the caller's stack, is as long as the kernel's own and holds the bit of one descriptor below its end.
//! The time limit and the signal mask are null.

use crate::io::epoll::Interest;
use crate::io::raw;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Descriptors of a set (`FD_SETSIZE`).
const MOST: usize = libc::FD_SETSIZE;
const BITS: usize = usize::BITS as usize;

/// Sleeps until `fd` is ready.
///
/// # Errors
/// The `errno`, `EINVAL` for a descriptor that no set has room for.
#[inline(always)]
pub fn wait(fd: BorrowedFd<'_>, interest: Interest) -> Result<(), i32> {
    // Open descriptors are not negative.
    let number = fd.as_raw_fd().cast_unsigned() as usize;
    let mut set = [0_usize; MOST / BITS];
    let Some(word) = set.get_mut(number / BITS) else { return Err(libc::EINVAL) };
    *word = 1 << (number % BITS);
    let at = (&raw mut set) as usize;
    let (read, write) = match interest {
        Interest::Readable => (at, 0),
        Interest::Writable => (0, at),
    };
    // SAFETY: see the module.
    unsafe { raw::call6(libc::SYS_pselect6, [number + 1, read, write, 0, 0, 0]) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{datagram, socket};
    use std::os::fd::AsFd;

    #[test]
    fn it_returns_when_the_descriptor_is_ready() {
        let (one, two) = socket::pair(socket::Kind::Datagram).expect("a pair");
        assert_eq!(wait(one.as_fd(), Interest::Writable), Ok(()));
        let late = std::thread::spawn(move || datagram::send(one.as_fd(), b"late"));
        assert_eq!(wait(two.as_fd(), Interest::Readable), Ok(()));
        assert_eq!(datagram::receive(two.as_fd(), &mut [0; 4]), Ok(4));
        assert_eq!(late.join().expect("it does not panic"), Ok(4));
    }
}
