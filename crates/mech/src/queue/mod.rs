//! Message queues of the kernel.

pub mod pipe_packet;
pub mod posix_mq;
pub mod sysv_mq;
pub mod sysv_port;
