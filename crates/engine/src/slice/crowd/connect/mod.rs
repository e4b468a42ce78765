//! Slices of connections: a server, and clients who connect anew for every request. Both are processes of their own;
//! the clients are threads of one process, or a process each.
//!
//! A request is: make a socket, connect, read the first byte, read to the end, close. The server accepts, writes an
//! answer and hangs up, by default first: where TCP keeps addresses waiting, it keeps those of the side that hangs up first. Whatever was asked is
//! answered, refused or failed, and the three add up.

mod answer;
mod client;
mod plan;
mod run;
mod server;
pub(crate) mod slice;
mod stats;
mod times;

pub use answer::SHORTEST;
pub use plan::{Around, ConnectPlan, Model, nanoseconds, probe};
pub(crate) use plan::{add, has_path, site};
pub use run::{Remains, kill_server, port_warning, run};
pub use stats::{ConnectStats, Ports};
pub(crate) use stats::{STRANGER, named};
pub use times::{PARTS, Times};
pub(crate) use times::{read as read_times, write as write_times};

pub(crate) use slice::KNOBS;
pub(crate) use slice::around;

pub(crate) use client::{NAME as CLIENT, call};
pub(crate) use server::{NAME as SERVER, serve};

use crate::protocol::Kind;

/// What they are told and tell.
pub(crate) const KINDS: [Kind; 4] = [
    Kind::of::<plan::Ask>("connect: ask"),
    Kind::of::<u32>("connect: port"),
    Kind::of::<server::ServerReport>("connect: server"),
    Kind::of::<client::ClientReport>("connect: clients"),
];
