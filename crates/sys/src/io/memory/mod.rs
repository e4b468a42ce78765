//! Memory that both ends of a channel map, and what lies in it.

pub mod ring;
pub mod segment;
pub mod seqlock;
pub mod shm_sem;
pub mod slots;
pub mod sysv_memory;
pub mod turns;
