//! What measures the harness itself.

pub mod null;
