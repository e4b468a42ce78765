//! Slices of one server and a crowd of clients, each a process of its own. They connect anew for every request
//! ([`connect`]), or stay connected ([`serve`]).

pub mod connect;
pub mod serve;
