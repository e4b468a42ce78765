//! Wake-ups, and the words of proof beside those that have no room for one.

pub mod condition;
pub mod counter;
pub mod futex_pi;
pub mod inotify;
pub mod proof;
pub mod queued_signal;
pub mod semaphore;
pub mod sysv_semaphore;
mod twins;
pub mod word;
