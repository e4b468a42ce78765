//! Every mechanism between two threads of one process.

mod common;

mod channels;
mod knobs;
