//! Who the other end of a datagram is, where its socket is not connected: the address that went along.

use super::memory::read;
use super::{Does, Object};
use ipcperf_sys::trace::Returned;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An address in one number: the port of IP, since a socket that is bound to any address does not know its own, or the name of a
/// UNIX socket. 0: none.
pub(super) type Address = u64;

/// The address of a port.
pub(super) fn of_port(port: u16) -> Address {
    port.into()
}

/// The address of a name as `bind(2)` takes it: an abstract one begins with 0, and a path ends before one. The programs in the
/// kernel make the same of it: FNV-1a (Fowler, Noll and Vo).
pub(super) fn of_name(name: &[u8]) -> Address {
    let name = match name.split_first() {
        None => return 0,
        Some((0, _)) => name,
        Some(_) => name.split(|byte| *byte == 0).next().unwrap_or_default(),
    };
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    // No port is as large.
    name.iter().fold(0xcbf2_9ce4_8422_2325, add) | 1 << 32
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
        libc::AF_UNIX => Some(of_name(rest)),
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

/// A socket for datagrams.
#[derive(Clone, Debug)]
struct DatagramSocket {
    object: Object,
    own: Address,
    /// The one that it is connected to, or 0.
    peer: Address,
    /// The one that it has sent to last, or 0.
    last: Address,
}

/// Datagram sockets. An unconnected one has an end for each peer.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    sockets: HashMap<u64, DatagramSocket>,
    /// Who sent last to each address.
    senders: HashMap<Address, Address>,
    /// Ends that are known.
    ends: HashSet<u64>,
}

impl Datagrams {
    /// What is known of a socket now.
    pub(super) fn learn(&mut self, object: Object, own: Address, peer: Address) {
        let last = self.sockets.get(&object.id).map_or(0, |before| before.last);
        self.sockets.insert(object.id, DatagramSocket { object, own, peer, last });
    }

    /// Whether an object is such a socket.
    pub(super) fn has(&self, id: u64) -> bool {
        self.sockets.contains_key(&id)
    }

    /// The end of a socket that a call used which named this address, as an object, and that object where it is new.
    pub(super) fn end(
        &mut self,
        id: u64,
        does: Does,
        named: Option<Address>,
    ) -> (u64, Option<Object>) {
        let Some(socket) = self.sockets.get_mut(&id) else { return (id, None) };
        let own = socket.own;
        let other = match (socket.peer, named) {
            // What is read without the address of its sender comes from the last one. That may not have been heard yet.
            (0, None) if does == Does::Reads => {
                self.senders.get(&own).copied().unwrap_or(socket.last)
            }
            (0, named) => named.unwrap_or(0),
            (peer, _) => peer,
        };
        if does == Does::Writes && other != 0 {
            socket.last = other;
            self.senders.insert(other, own);
        }
        if socket.peer != 0 || other == 0 {
            return (id, None);
        }
        let mut hasher = DefaultHasher::new();
        (id, other).hash(&mut hasher);
        let end = hasher.finish() | 1;
        let port = |address| u16::try_from(address).unwrap_or(0);
        let new = self.ends.insert(end).then(|| Object {
            id: end,
            pair: pair(own, other),
            ports: [own, other].map(port),
            ..socket.object.clone()
        });
        (end, new)
    }
}
