//! Rings shared with the kernel, `io_uring(7)`: who takes operations from them, and what they move.

pub mod message;
mod ring;

pub use ring::{Completed, FutexRing, Operations, Transfer, probe};

/// Who takes operations from the ring, as a type.
pub trait Drive: 'static {
    /// A thread of the kernel polls the ring; otherwise each operation takes a call into the kernel.
    const KERNEL_THREAD: bool;
}

/// `io_uring_enter` submits an operation and sleeps until it has completed: one call.
#[derive(Debug)]
pub struct Enter;

/// A thread of the kernel takes operations (`IORING_SETUP_SQPOLL`); the end watches the completion queue for a bounded
/// time, then sleeps.
#[derive(Debug)]
pub struct SqPoll;

impl Drive for Enter {
    const KERNEL_THREAD: bool = false;
}

impl Drive for SqPoll {
    const KERNEL_THREAD: bool = true;
}

/// What the bytes go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `IORING_OP_READ`, `IORING_OP_WRITE`.
    Pipe,
    /// `IORING_OP_RECV`, `IORING_OP_SEND`.
    Socket,
}

/// How the kernel gets to know the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// By its address in each operation.
    Plain,
    /// Beforehand: its pages are pinned (`IORING_REGISTER_BUFFERS`) and the operations are the fixed ones.
    Registered,
    /// Receives take it from a ring of buffers (`IORING_REGISTER_PBUF_RING`) into which it is put back after use.
    Provided,
}
