//! Message queues of the kernel.

pub mod mqueue;
pub mod sysv;
