//! Slices of the pattern `serve`: one server, and clients that stay connected to it. The coordinator makes all connections
//! before anything is timed and hands each end to its worker, so that a stranger who finds the listener is turned away there,
//! and nothing with a name is left when the first request is sent.
//!
//! A client process is one epoll loop over its share of the connections. The server is one epoll loop, or sleeps in `read` in
//! a thread or a process for each connection. Each request carries the stamp of its number on its connection, the server
//! checks it and answers with the complement; whatever was asked is answered or failed, and the two add up.
//!
//! Mechanisms without a listener have a channel for each connection. Where its ends are descriptors (pipes), all goes on as
//! above; at any others (queues, shared memory) a thread waits on both sides (`channels`).

mod channel;
pub(crate) mod channels;
pub(crate) mod client;
mod line;
mod plan;
mod run;
pub(crate) mod server;
pub(crate) mod slice;

pub use plan::{Connected, ServePlan};
pub(crate) use plan::{Way, objection, parts, way};
pub(crate) use run::run;
pub(crate) use server::Rest;
