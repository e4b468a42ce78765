//! Bytes without boundaries.

pub mod fifo;
pub mod mptcp;
pub mod pipe;
pub mod pty;
pub mod stream_port;
pub mod tcp;
pub mod tcp6;
pub mod unix_meeting;
pub mod unix_stream;
pub mod vsock;
