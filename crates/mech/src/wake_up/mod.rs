//! Wake-ups without payload.

pub mod eventfd;
pub mod eventfd_semaphore;
pub mod futex;
pub mod futex_pi;
pub mod inotify;
pub mod posix_sem;
pub mod pthread_cond;
pub mod signal;
pub mod signal_port;
pub mod sysv_sem;
pub mod uring_msg_ring;
pub mod wake_port;
pub mod word_port;

use ipcperf_core::prelude::*;

/// Facts of wake-ups: eight bytes of proof, and one under way.
pub(crate) const WAKE_UP: Spec = Spec {
    family: Family::WakeUp,
    payload: Payload::Wake { word: 8 },
    back_pressure: BackPressure::Merges,
    window: Some(1),
    ..Spec::NOTHING
};
