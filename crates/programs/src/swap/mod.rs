//! Programs whose sockets are exchanged for those of another kind.

pub(crate) mod accounts;
pub(crate) mod calls;
pub(crate) mod command;
pub(crate) mod watch;
