//! Payload in memory that both processes map.

pub mod file_queue_port;
mod memory;
pub mod mmap_queue;
pub mod ring_port;
pub mod sem_port;
pub mod seqlock;
pub mod seqlock_port;
pub mod shm_mailbox;
pub mod shm_ring;
pub mod shm_sem;
