//! Other carriers, driven through rings shared with the kernel.

pub mod uring_futex;
pub mod uring_pipe;
pub mod uring_port;
pub mod uring_tcp;
pub mod uring_unix_stream;
