//! Who the other end of a datagram is, where its socket is not connected: the address that went along.

use super::memory::read;
use ipcperf_sys::trace::Returned;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The port that a call names: where its datagram goes to, or where it came from.
pub(super) fn peer_port(process: u32, call: &Returned) -> Option<u16> {
    let [_, header, _, _, address, _] = call.arguments;
    let address = match call.number {
        libc::SYS_sendto | libc::SYS_recvfrom => address,
        // struct msghdr begins with this pointer (socket(2)).
        libc::SYS_sendmsg | libc::SYS_recvmsg => {
            let pointer = read(process, header, size_of::<u64>())?;
            u64::from_ne_bytes(pointer.try_into().ok()?)
        }
        _ => 0,
    };
    // struct sockaddr_in and sockaddr_in6: the family, then the port in the order of the network.
    let start = read(process, address, 4).filter(|_| address != 0)?;
    let family = i32::from(u16::from_ne_bytes([start[0], start[1]]));
    let port = u16::from_be_bytes([start[2], start[3]]);
    ([libc::AF_INET, libc::AF_INET6].contains(&family) && port != 0).then_some(port)
}

/// The numbers of an end with such ports and of its peer. A socket that is bound to any address does not know its own, so that
/// ports alone must do.
pub(super) fn pair(own: u16, peer: u16) -> [u128; 2] {
    [(own, peer), (peer, own)].map(|ports| {
        let mut hasher = DefaultHasher::new();
        ports.hash(&mut hasher);
        u128::from(hasher.finish())
    })
}
