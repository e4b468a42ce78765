//! Payload in memory that both processes map.

mod memory;
pub mod mmap_queue;
pub mod ring_port;
pub mod seqlock;
pub mod shm_mailbox;
pub mod shm_ring;
pub mod shm_sem;
mod to_all;

use ipcperf_core::prelude::*;

/// Facts of messages in shared memory: an end can be told, a death cannot.
pub(crate) const SHARED_MEMORY: Spec = Spec {
    family: Family::SharedMemory,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    copies: 1,
    ..Spec::NOTHING
};
