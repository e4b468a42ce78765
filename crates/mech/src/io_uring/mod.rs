//! Other carriers, driven through rings shared with the kernel.

pub mod uring_futex;
pub mod uring_pipe;
pub mod uring_port;
pub mod uring_tcp;
pub mod uring_unix_stream;

use ipcperf_core::prelude::*;

/// Facts of streams that are driven through a ring.
pub(crate) const IO_URING: Spec = Spec {
    family: Family::IoUring,
    payload: Payload::Stream,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    copies: 2,
    ..Spec::NOTHING
};
