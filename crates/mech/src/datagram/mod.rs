//! Messages with boundaries over a socket.

pub mod netlink;
pub mod sctp;
pub mod udp;
pub mod unix_dgram;
pub mod unix_pair;
pub mod unix_seqpacket;
pub mod vsock_seqpacket;

use ipcperf_core::prelude::*;

/// Facts of messages over sockets: a limit that depends on knobs, and ends that do not know of each other.
pub(crate) const DATAGRAM: Spec = Spec {
    family: Family::Datagram,
    payload: Payload::Message { max: None },
    back_pressure: BackPressure::Blocks,
    copies: 2,
    ..Spec::NOTHING
};
