//! Message queues of the kernel.

pub mod pipe_packet;
pub mod posix_mq;
pub mod sysv_mq;

use ipcperf_core::prelude::*;

/// Facts of queues: a limit that depends on knobs, and ends that do not know of each other.
pub(crate) const QUEUE: Spec = Spec {
    family: Family::Queue,
    payload: Payload::Message { max: None },
    back_pressure: BackPressure::Blocks,
    copies: 2,
    ..Spec::NOTHING
};
