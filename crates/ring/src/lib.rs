//! A single-producer, single-consumer ring of messages in memory shared by two *processes*.
//!
//! Everything in the shared memory is `repr(C)` and found by offset, so both processes may map it
//! at different addresses. The crate makes no system call and depends on nothing, so that loom can
//! run the very code that ships: only `sync.rs` differs between the two builds.
//!
//! There are no shared head and tail indices. Each slot carries one word that says whose turn it
//! is; the producer fills the slot and turns the word, the consumer takes the message and turns it
//! back. One cache line then moves per message instead of two, and the remote side of an index is
//! never read.
//!
//! [`Source`] and [`Sink`] are the ends of a ring with one producer and several consumers, each of
//! which gets every message.
//!
//! How to wait is chosen by type, per call: [`Spin`] contains no trace of sleeping, [`Sleep`] makes
//! no system call unless the other end really sleeps.
//!
//! ```
//! # #[cfg(not(loom))] {
//! use ipcperf_ring::{Geometry, HEADER_BYTES, Spin, Stop, consumer, init, producer};
//!
//! # #[repr(C, align(128))] struct Page([u8; 4096]);
//! # let mut page = Box::new(Page([0; 4096]));
//! let geometry = Geometry { slots: 4, payload: 100 };
//! assert_eq!(geometry.bytes(), HEADER_BYTES + 4 * 128);
//! let (memory, len) = (page.0.as_mut_ptr(), page.0.len());
//! // SAFETY: the page is zeroed, aligned to 128, large enough, and outlives both ports.
//! let (mut producer, mut consumer) = unsafe {
//!     init(memory, geometry);
//!     (producer(memory, len)?, consumer(memory, len)?)
//! };
//! producer.send(&Spin, 5, |slot| slot.copy_from_slice(b"hello")).expect("a free slot");
//! producer.close(&Spin);
//! assert_eq!(consumer.recv(&Spin, |message| message.to_vec()), Ok(b"hello".to_vec()));
//! assert_eq!(consumer.recv(&Spin, |_| ()), Err(Stop::Closed));
//! # }
//! # Ok::<(), ipcperf_ring::AttachError>(())
//! ```
//!
//! # Safety
//!
//! The unsafe functions are [`init`], [`producer`] and [`consumer`], [`init_for_all`], [`source`] and
//! [`sink`]; what they demand of the memory is all a caller has to uphold. The ends are safe to use.

#![no_std]

mod broadcast;
mod geometry;
mod header;
mod layout;
mod spsc;
mod sync;
mod wait;

pub use broadcast::{Audience, MOST_CONSUMERS, Sink, Source, init_for_all, sink, source};
pub use geometry::{Geometry, MAX_PAYLOAD};
pub use header::HEADER_BYTES;
pub use layout::{AttachError, init};
pub use spsc::{Consumer, Producer, Stop, consumer, producer};
#[cfg(loom)]
pub use sync::Site;
pub use wait::{Sleep, Sleeper, Spin, Wait};
