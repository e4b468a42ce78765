//! Bytes without boundaries.

pub mod fifo;
pub mod mptcp;
pub mod pipe;
pub mod pty;
pub mod stream_port;
pub mod tcp;
pub mod tcp6;
pub mod unix_stream;
pub mod vsock;

use ipcperf_core::prelude::*;

/// Facts of streams.
pub(crate) const STREAM: Spec = Spec {
    family: Family::Stream,
    payload: Payload::Stream,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    copies: 2,
    ..Spec::NOTHING
};
