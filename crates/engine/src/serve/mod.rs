//! Slices of the pattern `serve`: one server, and clients that stay connected to it. The coordinator makes all connections
//! before anything is timed and hands each end to its worker, so that a stranger who finds the listener is turned away there,
//! and nothing with a name is left when the first request is sent.
//!
//! A client process is one epoll loop over its share of the connections. The server is one epoll loop, or sleeps in `read` in
//! a thread or a process for each connection. Each request carries the stamp of its number on its connection, the server
//! checks it and answers with the complement; whatever was asked is answered or failed, and the two add up.
//!
//! Mechanisms without a listener (pipes, queues, shared memory) have a channel for each connection, and blocking ends
//! (`channels`): there a thread of the client waits for each, too.

pub(crate) mod channels;
mod client;
mod line;
mod plan;
mod run;
mod server;
mod stats;

pub use plan::{Connected, ServePlan};
pub(crate) use plan::{listener, objection, parts};
pub(crate) use run::{Way, run};
pub use stats::ServeStats;

use crate::protocol::Kind;
use crate::task::NamedTask;

/// What workers are sent to do.
pub(crate) const TASKS: &[NamedTask<'_>] = &[
    NamedTask { name: server::NAME, run: &server::serve },
    NamedTask { name: client::NAME, run: &client::ask },
];

/// What they are told and tell.
pub(crate) const KINDS: [Kind; 4] = [
    Kind::of::<Connected>("serve: connected"),
    Kind::of::<server::Rest>("serve: rest"),
    Kind::of::<server::ServerReport>("serve: server"),
    Kind::of::<client::ClientReport>("serve: clients"),
];
