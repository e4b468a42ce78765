//! Messages with boundaries over a socket.

pub mod chunks;
pub mod netlink;
pub mod sctp;
pub mod udp;
pub mod udp_pair;
pub mod unix_dgram;
pub mod unix_pair;
pub mod unix_seqpacket;
pub mod vsock_seqpacket;
