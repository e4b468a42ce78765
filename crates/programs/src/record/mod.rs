//! Programs of others are recorded while they run: who talks to whom, with what sizes, how often.

pub(crate) mod audit;
pub(crate) mod calls;
mod channels;
pub(crate) mod command;
mod cpu;
mod intervals;
mod log;
mod screen;
pub(crate) mod session;
