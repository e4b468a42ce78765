//! Mechanisms that measure the harness itself.

pub mod null;
