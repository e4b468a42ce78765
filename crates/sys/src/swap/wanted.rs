//! What of a program's sockets is exchanged, and for what.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The sockets that a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum To {
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
pub struct Knobs {
    /// Bytes of the send and the receive buffer that are asked for (`SO_SNDBUF`, `SO_RCVBUF`).
    pub buffers: [Option<usize>; 2],
    /// Of the one that a VM socket has.
    pub buffer: Option<u64>,
    /// How many connections may wait, whatever the program says.
    pub backlog: Option<i32>,
    /// UNIX sockets get names without a file.
    pub is_abstract: bool,
    /// TCP may hold back small segments (no `TCP_NODELAY`).
    pub delays: bool,
}

/// What is exchanged.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// For what.
    pub to: To,
    /// This port of TCP alone; all, if there is none.
    pub port: Option<u16>,
    /// What `accept(2)` tells of a peer is an address of the kind that it had before: each is accepted here, which takes
    /// longer.
    pub fakes_peers: bool,
    /// Calls are handed over and let go on as they are: what an exchange is held against.
    pub is_as_it_is: bool,
    /// How the other sockets are set up.
    pub knobs: Knobs,
    /// Where UNIX sockets get their names.
    pub folder: PathBuf,
}
