//! Slices of one server and a crowd of clients, each a process of its own. They connect anew for every request
//! ([`connect`]), or stay connected ([`serve`]).

pub mod connect;
mod report;
pub mod serve;
pub(crate) mod slice;
mod stats;
mod times;

pub(crate) use stats::STRANGER;
pub use stats::{Connects, CrowdStats, Ports};

use crate::protocol::Kind;
use report::{ClientReport, ServerReport};

/// What workers of a crowd are told and tell.
pub(crate) const KINDS: [Kind; 6] = [
    Kind::of::<connect::Ask>("connect: ask"),
    Kind::of::<u32>("connect: port"),
    Kind::of::<serve::Connected>("serve: connected"),
    Kind::of::<serve::Rest>("serve: rest"),
    Kind::of::<ServerReport>("crowd: server"),
    Kind::of::<ClientReport>("crowd: clients"),
];
