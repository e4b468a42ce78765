//! What mechanisms of ipcperf are made with. None of it is needed.

pub use ipcperf_core::fault;
pub use ipcperf_mech::{missing, trial};
pub use ipcperf_sys::affinity::unpinned;
pub use ipcperf_sys::io::file::place::Scratch;
pub use ipcperf_sys::io::names::{PosixMemories, PosixMemory, Unlink};
pub use ipcperf_sys::io::{Buffer, errno};
pub use ipcperf_sys::program::Program;

/// UNIX sockets.
pub mod socket {
    pub use ipcperf_sys::io::socket::{Kind, pair, unread};
}
