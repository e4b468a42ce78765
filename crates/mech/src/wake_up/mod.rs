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
