//! What a server and its client would gain from sockets of another kind.

pub(crate) mod command;
mod rounds;
