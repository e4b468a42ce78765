//! What a server and its client would gain from sockets of another kind.

mod clients;
pub(crate) mod command;
mod names;
mod rounds;
mod work;
