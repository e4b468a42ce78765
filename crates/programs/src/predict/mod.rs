//! What a server and its client would gain from sockets of another kind.

mod clients;
pub(crate) mod command;
mod interference;
mod names;
mod proof;
mod rounds;
mod servers;
mod work;
