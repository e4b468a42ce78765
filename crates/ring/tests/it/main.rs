//! The ring in threads, or under `--cfg loom` in every interleaving.

mod memory;

#[cfg(not(loom))]
mod attach;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod model;
#[cfg(not(loom))]
mod threads;
