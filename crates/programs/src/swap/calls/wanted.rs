//! What of a program's sockets is exchanged, and for what.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The sockets that a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum To {
    /// UNIX sockets in place of those of TCP.
    UnixStream,
    /// The same, with boundaries between messages.
    UnixSeqpacket,
    /// VM sockets over their loopback transport, in place of those of TCP.
    Vsock,
    /// Sockets of TCP, on the loopback interface, in place of UNIX sockets.
    Tcp,
}

/// How the other sockets are set up; by default as they are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Knobs {
    /// Bytes of the send and the receive buffer that are asked for (`SO_SNDBUF`, `SO_RCVBUF`).
    pub(crate) buffers: [Option<usize>; 2],
    /// Of the one that a VM socket has.
    pub(crate) buffer: Option<u64>,
    /// How many connections may wait, whatever the program says.
    pub(crate) backlog: Option<i32>,
    /// UNIX sockets get names without a file.
    pub(crate) is_abstract: bool,
    /// TCP may hold back small segments (no `TCP_NODELAY`).
    pub(crate) delays: bool,
}

/// What is exchanged.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// For what.
    pub(crate) to: To,
    /// This port of TCP alone; all, if there is none.
    pub(crate) port: Option<u16>,
    /// Calls are handed over and let go on as they are: what an exchange is held against.
    pub(crate) is_as_it_is: bool,
    /// How the other sockets are set up.
    pub(crate) knobs: Knobs,
    /// Where UNIX sockets get their names.
    pub(crate) folder: PathBuf,
}
