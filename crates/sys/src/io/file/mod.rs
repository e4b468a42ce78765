//! Files that carry messages: their calls, their locks, and where they are.

pub mod file_lock;
pub mod file_queue;
pub mod fresh;
pub mod place;
pub mod store;
pub mod watch;
