//! Bytes through a ring: a buffer, and the operations that move it over a descriptor.
//!
//! # Safety
//! - Addresses and lengths of requests come from one slice of the buffer that this value owns. The buffer is
//!   unmapped only if no operation can be under way (see the module above).
//! - The memory of the buffer ring is page-aligned, has room for its one entry, is accessed through raw pointers
//!   only, and lives as long as the ring; the kernel pins its pages.

use super::{Ring, Sqe, has, no_memory, number, try_out, unavailable, while_freed};
use crate::io::Buffer;
use crate::io::uring::{Buffers, Drive, Kind};
use io_uring::types::BufRingEntry;
use io_uring::{Probe, cqueue, opcode, squeue};
use ipcperf_core::SetupError;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU16, Ordering};

/// The kernel registers no more at once (`io_sqe_buffer_register`).
const LARGEST_REGISTERED: usize = 1 << 30;

/// Most bytes of one operation: `MAX_RW_COUNT` of the kernel.
pub(super) const LARGEST_OPERATION: usize = 0x7fff_f000;

/// A ring and the buffer it moves.
pub struct Transfer<D: Drive> {
    ring: Ring<D>,
    /// Left to the kernel if an operation can still be under way.
    buffer: ManuallyDrop<Buffer>,
    group: Option<Group>,
    send: Sqe,
    receive: Sqe,
    /// Receives what is still missing of a message.
    receive_rest: Sqe,
}

impl<D: Drive> Transfer<D> {
    /// A ring for the calling thread, and a buffer of `len` bytes that starts at `offset` in its page.
    ///
    /// # Errors
    /// `Unavailable` where the host does not allow it; there is no memory.
    pub fn new(
        kind: Kind,
        buffers: Buffers,
        len: usize,
        offset: usize,
    ) -> Result<Self, SetupError> {
        let ring = Ring::new()?;
        let mut buffer = Buffer::new(len.max(1), offset)?;
        let plain = |operation| Sqe { operation, ..Sqe::default() };
        let (mut send, mut receive) = match kind {
            Kind::Pipe => (plain(opcode::Write::CODE), plain(opcode::Read::CODE)),
            Kind::Socket => (plain(opcode::Send::CODE), plain(opcode::Recv::CODE)),
        };
        let mut receive_rest = receive;
        let mut group = None;
        match buffers {
            Buffers::Plain => {}
            Buffers::Registered => {
                register(&ring, buffer.all_mut())?;
                send.operation = opcode::WriteFixed::CODE;
                receive.operation = opcode::ReadFixed::CODE;
                receive_rest = receive;
            }
            Buffers::Provided => {
                group = Some(Group::new(&ring, buffer.all_mut())?);
                receive.flags = squeue::Flags::BUFFER_SELECT.bits();
            }
        }
        Ok(Self { ring, buffer: ManuallyDrop::new(buffer), group, send, receive, receive_rest })
    }

    /// The first `len` bytes of the buffer, or `None` if there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, len: usize) -> Option<&mut [u8]> {
        self.buffer.get_mut(len)
    }

    /// Sends bytes `from..len` of the buffer, or some of them.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn send(&mut self, fd: BorrowedFd<'_>, from: usize, len: usize) -> Result<usize, i32> {
        let request = self.over(self.send, fd, from, len)?;
        // SAFETY: see the module.
        unsafe { self.ring.run(request) }?.result
    }

    /// Receives up to `len` bytes at the start of the buffer. `Ok(0)` means the end.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn receive(&mut self, fd: BorrowedFd<'_>, len: usize) -> Result<usize, i32> {
        let request = self.over(self.receive, fd, 0, len)?;
        if let Some(group) = &mut self.group {
            group.provide();
        }
        // SAFETY: see the module.
        let done = unsafe { self.ring.run(request) }?;
        if let Some(group) = &mut self.group {
            group.is_taken = cqueue::buffer_select(done.flags).is_some();
        }
        done.result
    }

    /// Receives what is missing of a message of which `from` bytes have come.
    ///
    /// # Errors
    /// The `errno`.
    pub fn receive_rest(
        &mut self,
        fd: BorrowedFd<'_>,
        from: usize,
        len: usize,
    ) -> Result<usize, i32> {
        let request = self.over(self.receive_rest, fd, from, len)?;
        // SAFETY: see the module.
        unsafe { self.ring.run(request) }?.result
    }

    /// A request over bytes `from..len` of the buffer.
    #[inline(always)]
    fn over(
        &mut self,
        request: Sqe,
        fd: BorrowedFd<'_>,
        from: usize,
        len: usize,
    ) -> Result<Sqe, i32> {
        let part = self.buffer.get_mut(len).and_then(|all| all.get_mut(from..));
        let part = part.ok_or(libc::EMSGSIZE)?;
        let address = part.as_mut_ptr() as u64;
        let len = part.len().min(LARGEST_OPERATION) as u32;
        Ok(Sqe { fd: number(fd), address, len, ..request })
    }
}

impl<D: Drive> Drop for Transfer<D> {
    fn drop(&mut self) {
        // Closing the ring would do it too, but later, and until then the pages count against RLIMIT_MEMLOCK.
        let _ = self.ring.submitter().unregister_buffers();
        if !self.ring.is_stuck() {
            // SAFETY: it is not used again, and no operation is under way.
            unsafe { ManuallyDrop::drop(&mut self.buffer) };
        }
    }
}

/// What a trial of rings has found: the operations that the kernel has, or why there are no such rings.
type Tried = Result<Probe, SetupError>;

thread_local! {
    /// What this thread has tried: several mechanisms need the same rings, and rings with a kernel thread take milliseconds
    /// to close. Seccomp filters belong to a thread, so the outcome does too.
    static TRIED: RefCell<Vec<((bool, Buffers), Tried)>> = const { RefCell::new(Vec::new()) };
}

/// Whether this host has such rings, found out by trying.
///
/// # Errors
/// `Unavailable` with the reason.
pub fn probe<D: Drive>(kind: Kind, buffers: Buffers) -> Result<(), SetupError> {
    let operations: &[_] = match (kind, buffers) {
        (_, Buffers::Registered) => &[
            (opcode::WriteFixed::CODE, "IORING_OP_WRITE_FIXED"),
            (opcode::ReadFixed::CODE, "IORING_OP_READ_FIXED"),
        ],
        (Kind::Pipe, _) => {
            &[(opcode::Write::CODE, "IORING_OP_WRITE"), (opcode::Read::CODE, "IORING_OP_READ")]
        }
        (Kind::Socket, _) => {
            &[(opcode::Send::CODE, "IORING_OP_SEND"), (opcode::Recv::CODE, "IORING_OP_RECV")]
        }
    };
    let own = (D::KERNEL_THREAD, buffers);
    TRIED.with_borrow_mut(|all| {
        let at = all.iter().position(|(tried, _)| *tried == own).unwrap_or_else(|| {
            all.push((own, pair::<D>(buffers)));
            all.len() - 1
        });
        let (_, tried) = &all[at];
        has(tried.as_ref().map_err(Clone::clone)?, operations)
    })
}

/// Tries as many rings as a channel has at the same time: one at each end.
fn pair<D: Drive>(buffers: Buffers) -> Tried {
    let (_other, known) = try_out::<D>()?;
    // Requests name what the bytes go over; the ring is the same.
    Transfer::<D>::new(Kind::Pipe, buffers, 64, 0)?;
    Ok(known)
}

fn register<D: Drive>(ring: &Ring<D>, buffer: &mut [u8]) -> Result<(), SetupError> {
    let len = buffer.len();
    if len > LARGEST_REGISTERED {
        let what = format!("the kernel registers at most 1 GiB, not {len} bytes");
        return Err(unavailable(what, "buffers=plain"));
    }
    let vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: len };
    // SAFETY: the slice is the buffer of the transfer, which outlives the registration or is left to the kernel.
    let registered = while_freed(|| unsafe { ring.submitter().register_buffers(&[vector]) });
    registered.map_err(|error| match error.raw_os_error().unwrap_or(libc::EIO) {
        libc::ENOMEM => no_memory("a registered buffer", len as u64),
        code => SetupError::sys(format!("IORING_REGISTER_BUFFERS of {len} bytes"), code),
    })
}

/// A ring of provided buffers that holds one.
struct Group {
    entries: Buffer,
    address: u64,
    len: u32,
    tail: u16,
    is_taken: bool,
}

impl Group {
    fn new<D: Drive>(ring: &Ring<D>, buffer: &mut [u8]) -> Result<Self, SetupError> {
        let mut entries = Buffer::new(size_of::<BufRingEntry>(), 0)?;
        let base = entries.all_mut().as_mut_ptr() as u64;
        // SAFETY: see the module; group 0 has one entry.
        let register = || unsafe { ring.submitter().register_buf_ring_with_flags(base, 1, 0, 0) };
        let registered = while_freed(register);
        registered.map_err(|error| match error.raw_os_error().unwrap_or(libc::EIO) {
            libc::EINVAL => unavailable(
                "the io_uring of this kernel has no rings of provided buffers",
                "Linux 5.19, or buffers=plain",
            ),
            libc::ENOMEM => {
                no_memory("a ring of provided buffers", rustix::param::page_size() as u64)
            }
            code => SetupError::sys("IORING_REGISTER_PBUF_RING", code),
        })?;
        let address = buffer.as_mut_ptr() as u64;
        let len = buffer.len().min(LARGEST_OPERATION) as u32;
        Ok(Self { entries, address, len, tail: 0, is_taken: true })
    }

    /// Puts the buffer back if a receive has taken it.
    #[inline(always)]
    fn provide(&mut self) {
        if !self.is_taken {
            return;
        }
        self.is_taken = false;
        self.tail = self.tail.wrapping_add(1);
        let entry = self.entries.all_mut().as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: the one entry; see the module. No receive is under way that could read it.
        let place = unsafe { &mut *entry };
        place.set_addr(self.address);
        place.set_len(self.len);
        place.set_bid(0);
        // SAFETY: the first entry of the ring, initialised.
        let tail = unsafe { BufRingEntry::tail(entry) };
        // SAFETY: two bytes inside the entry, aligned, which nobody else writes.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        // Release: a reader of the tail sees the entry.
        tail.store(self.tail, Ordering::Release);
    }
}
