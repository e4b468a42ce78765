//! Many messages in one call: `sendmmsg`, `recvmmsg`, and the UDP send that the kernel cuts into messages.
//!
//! # Safety
//! A [`Batch`] owns two mappings for its whole life: the slots, and a table of `count` headers followed by `count`
//! vectors. Header `i` points at vector `i`, which points at slot `i` and is never longer than a slot. Both are reached
//! by raw pointers alone, and every index is compared with `count` first.

use crate::io::{Buffer, raw};
use ipcperf_core::SetupError;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Whether this process may receive many messages in one call.
///
/// # Errors
/// `recvmmsg` is refused.
pub fn may_receive() -> Result<(), SetupError> {
    asked("recvmmsg", libc::SYS_recvmmsg)
}

/// Whether this process may send many messages in one call.
///
/// # Errors
/// `sendmmsg` is refused.
pub fn may_send() -> Result<(), SetupError> {
    asked("sendmmsg", libc::SYS_sendmmsg)
}

/// Makes a call without a socket: only who may make it is told that.
fn asked(name: &str, number: libc::c_long) -> Result<(), SetupError> {
    // An emulator may look for the list first, and takes none for a bad address.
    let list = (&raw const number) as usize;
    // SAFETY: no descriptor has this number, and the list has no messages.
    match unsafe { raw::call6(number, [usize::MAX, list, 0, 0, 0, 0]) } {
        Err(code) if code != libc::EBADF => Err(SetupError::sys(name, code)),
        _ => Ok(()),
    }
}

/// Slots of one size, and what the kernel is told about each.
#[derive(Debug)]
pub struct Batch {
    slots: Buffer,
    _table: Buffer,
    headers: NonNull<libc::mmsghdr>,
    vectors: NonNull<libc::iovec>,
    count: usize,
    stride: usize,
}

// SAFETY: private memory of one owner, not tied to a thread.
unsafe impl Send for Batch {}

/// Slots begin on cache lines of their own.
const LINE: usize = 64;

impl Batch {
    /// `count` slots of `size` bytes, the first at `offset` bytes after the start of a page.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(count: usize, size: usize, offset: usize) -> Result<Self, SetupError> {
        let failed = || SetupError::sys(format!("{count} slots of {size} bytes"), libc::ENOMEM);
        let stride = size.max(1).checked_next_multiple_of(LINE).ok_or_else(failed)?;
        let bytes = stride.checked_mul(count).ok_or_else(failed)?;
        let mut slots = Buffer::new(bytes, offset)?;
        let row = size_of::<libc::mmsghdr>() + size_of::<libc::iovec>();
        let mut table = Buffer::new(row.checked_mul(count).ok_or_else(failed)?, 0)?;
        let first = NonNull::from(slots.all_mut()).cast::<u8>();
        let headers = NonNull::from(table.all_mut()).cast::<libc::mmsghdr>();
        // SAFETY: the table has room for the vectors behind the headers; both are aligned, since the table starts a
        // page and a header is a multiple of 8 bytes long.
        let vectors = unsafe { headers.add(count) }.cast::<libc::iovec>();
        for index in 0..count {
            // SAFETY: inside the slots.
            let slot = unsafe { first.add(index * stride) };
            // SAFETY: inside the table; see the module. The memory is zeroed, which is a value of both types.
            let (header, vector) = unsafe { (headers.add(index).as_mut(), vectors.add(index)) };
            // SAFETY: as above.
            unsafe {
                vector.write(libc::iovec { iov_base: slot.as_ptr().cast(), iov_len: size });
            }
            header.msg_hdr.msg_iov = vector.as_ptr();
            header.msg_hdr.msg_iovlen = 1;
        }
        Ok(Self { slots, _table: table, headers, vectors, count, stride })
    }

    /// How many slots there are.
    #[inline(always)]
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The first `len` bytes of a slot; `None` if there are fewer, or no such slot.
    #[inline(always)]
    #[must_use]
    pub fn slot(&mut self, index: usize, len: usize) -> Option<&mut [u8]> {
        if index >= self.count || len > self.stride {
            return None;
        }
        let from = index.wrapping_mul(self.stride);
        self.slots.get_mut(from.wrapping_add(len))?.get_mut(from..)
    }

    /// From now on a slot is so long for the kernel.
    #[inline(always)]
    pub fn set_len(&mut self, index: usize, len: usize) {
        if index < self.count && len <= self.stride {
            // SAFETY: see the module.
            unsafe { self.vectors.add(index).as_mut() }.iov_len = len;
        }
    }

    /// How long a slot is for the kernel.
    #[inline(always)]
    #[must_use]
    pub fn len(&self, index: usize) -> usize {
        if index >= self.count {
            return 0;
        }
        // SAFETY: see the module.
        unsafe { self.vectors.add(index).as_ref() }.iov_len
    }

    /// Bytes that the last call moved by way of a slot; more than it is long if a message was cut to fit.
    #[inline(always)]
    #[must_use]
    pub fn moved(&self, index: usize) -> usize {
        if index >= self.count {
            return 0;
        }
        // SAFETY: see the module.
        unsafe { self.headers.add(index).as_ref() }.msg_len as usize
    }

    /// Sends the first `held` slots and returns how many went, the last of them perhaps in part.
    ///
    /// # Errors
    /// The `errno`, if none went.
    #[inline(always)]
    pub fn send(&mut self, fd: BorrowedFd<'_>, held: usize) -> Result<usize, i32> {
        let (at, count) = (self.headers.as_ptr() as usize, held.min(self.count));
        let flags = libc::MSG_NOSIGNAL as usize;
        let args = [fd.as_raw_fd() as usize, at, count, flags, 0, 0];
        // SAFETY: so many headers, which lead to memory of ours; see the module.
        unsafe { raw::call6(libc::SYS_sendmmsg, args) }
    }

    /// Sleeps until something arrives, takes what else is there, and returns how many slots that took. With `whole`,
    /// [`Batch::moved`] tells the length of messages that were cut to fit; a stream would throw bytes away for it.
    ///
    /// # Errors
    /// The `errno`, if nothing came.
    #[inline(always)]
    pub fn receive(&mut self, fd: BorrowedFd<'_>, whole: bool) -> Result<usize, i32> {
        let at = self.headers.as_ptr() as usize;
        let flags = libc::MSG_WAITFORONE | if whole { libc::MSG_TRUNC } else { 0 };
        // The timeout is null: none.
        let args = [fd.as_raw_fd() as usize, at, self.count, flags as usize, 0, 0];
        // SAFETY: so many headers, which lead to memory of ours that nobody borrows; see the module.
        unsafe { raw::call6(libc::SYS_recvmmsg, args) }
    }
}

/// The control message of [`send_cut`].
#[repr(C)]
struct Cut {
    header: libc::cmsghdr,
    each: u16,
    _padding: [u8; 6],
}

/// Sends bytes over a UDP socket that the kernel cuts into messages of `each` bytes, the last of which may be shorter
/// (`UDP_SEGMENT`).
///
/// # Errors
/// The `errno`; nothing was sent.
#[inline(always)]
pub fn send_cut(fd: BorrowedFd<'_>, bytes: &[u8], each: usize) -> Result<usize, i32> {
    // A message of UDP is never longer than 16 bits can tell.
    let each = each as u16;
    let len = size_of::<libc::cmsghdr>() + size_of::<u16>();
    // SAFETY: the structure is made of integers; some C libraries add padding that has no name here.
    let mut header: libc::cmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.cmsg_len = len as _;
    header.cmsg_level = libc::SOL_UDP;
    header.cmsg_type = UDP_SEGMENT;
    let mut cut = Cut { header, each, _padding: [0; 6] };
    let mut vector =
        libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: integers and pointers that may be null; padding as above.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut cut).cast();
    message.msg_controllen = size_of::<Cut>() as _;
    let at = (&raw const message) as usize;
    // SAFETY: a header whose vector is the slice, which is only read, and whose control message lies on the stack.
    unsafe {
        raw::call3(libc::SYS_sendmsg, fd.as_raw_fd() as usize, at, libc::MSG_NOSIGNAL as usize)
    }
}

/// `UDP_SEGMENT` (include/uapi/linux/udp.h).
const UDP_SEGMENT: i32 = 103;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket::inet;
    use crate::io::socket::{Kind, pair};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_sent_at_once_arrives_slot_by_slot() {
        let (one, two) = pair(Kind::SeqPacket).expect("a pair");
        let mut out = Batch::new(4, 100, 64).expect("memory");
        for (index, len) in [1, 100, 7].into_iter().enumerate() {
            out.slot(index, len).expect("room").fill(index as u8);
            out.set_len(index, len);
        }
        assert!(out.slot(4, 1).is_none() && out.slot(0, 129).is_none());
        assert_eq!(out.send(one.as_fd(), 3), Ok(3));
        let mut into = Batch::new(4, 50, 0).expect("memory");
        assert_eq!(into.receive(two.as_fd(), true), Ok(3));
        assert_eq!([0, 1, 2].map(|index| into.moved(index)), [1, 100, 7]);
        assert!(into.slot(2, 7).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 2)));
    }

    #[test]
    fn one_send_is_cut_into_messages() {
        let (one, two) = inet::udp_pair().expect("loopback");
        assert_eq!(send_cut(one.as_fd(), &[3; 250], 100), Ok(250));
        let mut into = Batch::new(8, 100, 0).expect("memory");
        let mut lengths = Vec::new();
        while lengths.len() < 3 {
            let count = into.receive(two.as_fd(), true).expect("messages");
            lengths.extend((0..count).map(|index| into.moved(index)));
        }
        assert_eq!(lengths, [100, 100, 50]);
    }
}
