//! Who the other end of a datagram is, where its socket is not connected: the address that went along.

use super::memory::read;
use ipcperf_sys::trace::Returned;
use std::hash::{DefaultHasher, Hash, Hasher};

/// An address in one number: the port of IP, since a socket that is bound to any address does not know its own, or the name of a
/// UNIX socket. 0: none.
pub(super) type Address = u64;

/// The address of a port.
pub(super) fn of_port(port: u16) -> Address {
    port.into()
}

/// The address of a name as `bind(2)` takes it: an abstract one begins with 0.
pub(super) fn of_name(name: &[u8]) -> Address {
    if name.is_empty() {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // No port is as large.
    hasher.finish() | 1 << 32
}

/// The address that a call names: where its datagram goes to, or where it came from.
pub(super) fn peer_address(process: u32, call: &Returned) -> Option<Address> {
    let [_, header, _, _, address, length] = call.arguments;
    let half = |at| Some(u32::from_ne_bytes(read(process, at, 4)?.try_into().ok()?));
    let (address, length) = match call.number {
        libc::SYS_sendto => (address, length as u32),
        libc::SYS_recvfrom if address != 0 => (address, half(length)?),
        // struct msghdr begins with this pointer and this length (socket(2)).
        libc::SYS_sendmsg | libc::SYS_recvmsg => {
            let pointer = read(process, header, size_of::<u64>())?;
            (u64::from_ne_bytes(pointer.try_into().ok()?), half(header + 8)?)
        }
        _ => (0, 0),
    };
    let length = (length as usize).min(size_of::<libc::sockaddr_un>());
    let bytes = read(process, address, length).filter(|_| address != 0 && length > 2)?;
    // The family comes first; of IP the port follows, in the order of the network.
    let (family, rest) = bytes.split_first_chunk()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET | libc::AF_INET6 => {
            let port = u16::from_be_bytes(*rest.first_chunk()?);
            (port != 0).then_some(of_port(port))
        }
        libc::AF_UNIX if rest[0] == 0 => Some(of_name(rest)),
        libc::AF_UNIX => rest.split(|byte| *byte == 0).next().map(of_name),
        _ => None,
    }
}

/// The numbers of an end with such addresses and of its peer.
pub(super) fn pair(own: Address, peer: Address) -> [u128; 2] {
    [(own, peer), (peer, own)].map(|addresses| {
        let mut hasher = DefaultHasher::new();
        addresses.hash(&mut hasher);
        u128::from(hasher.finish())
    })
}
