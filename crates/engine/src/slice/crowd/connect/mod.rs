//! Slices of connections: a server, and clients who connect anew for every request. Both are processes of their own;
//! the clients are threads of one process.
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

pub use answer::SHORTEST;
pub use client::PARTS;
pub(crate) use client::{NAME as CLIENT, call};
pub use plan::{Around, ConnectPlan, Model, probe};
pub(crate) use plan::{Ask, has_path, site};
pub use run::{Remains, kill_server, port_warning};
pub(crate) use server::{NAME as SERVER, serve};
pub(crate) use slice::KNOBS;
