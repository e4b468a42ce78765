//! Memory of other processes.

/// Memory of a stopped process.
pub(super) fn read(process: u32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; length];
    let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let theirs = libc::iovec { iov_base: at as *mut _, iov_len: length };
    // SAFETY: `bytes` is as long as is said; the kernel checks the other process's addresses.
    let moved = unsafe {
        libc::process_vm_readv(process.cast_signed(), &raw const ours, 1, &raw const theirs, 1, 0)
    };
    (moved == length.cast_signed()).then_some(bytes)
}
