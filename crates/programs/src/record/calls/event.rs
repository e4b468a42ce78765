//! What the programs in the kernel tell: events, laid out as `programs.bpf.c` has them.

use super::datagrams::{self, Address};
use super::{Call, Heard, Kind, Object};
use std::mem::offset_of;

/// What is of interest at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(pub(super) u8);

impl Class {
    /// It is recorded.
    pub(super) const RECORDED: u8 = 1;
    /// Its first argument is a descriptor.
    pub(super) const DESCRIPTOR: u8 = 2;
    /// Its second argument is the header of a message that goes out.
    pub(super) const HEADER: u8 = 4;
    /// It gives the process another program.
    pub(super) const EXECUTES: u8 = 8;
    /// It moves data: its socket is what it will be.
    pub(super) const DATA: u8 = 16;
    /// It may name an address, as its fifth argument,
    pub(super) const ADDRESS: u8 = 32;
    /// or in the header that its second argument is.
    pub(super) const MESSAGE: u8 = 64;
    /// The length of that address stands elsewhere.
    pub(super) const RECEIVES: u8 = 128;
}

/// Kinds of events.
const CALL: u16 = 1;
const OBJECT: u16 = 2;
const FORK: u16 = 3;
const PROGRAM: u16 = 4;

/// A call that has returned.
#[repr(C)]
struct CallEvent {
    _kind: u16,
    number: u16,
    control: u32,
    thread: u32,
    process: u32,
    begun: u64,
    ended: u64,
    result: i64,
    arguments: [u64; 4],
    object: u64,
    address: u64,
}

/// A new object, or an old one about which more is known now.
#[repr(C)]
struct ObjectEvent {
    _kind: u16,
    mode: u16,
    ports: u32,
    id: u64,
    own: u64,
    peer: u64,
    addresses: u64,
    name_size: u32,
    family: u16,
    sort: u16,
    state: u8,
    has_peers_name: u8,
    name: [u8; 110],
    peer_address: u64,
}

/// A process that another one has made.
#[repr(C)]
struct ForkEvent {
    _kind: u16,
    parent: u32,
    child: u32,
}

/// A process runs another program.
#[repr(C)]
struct ProgramEvent {
    _kind: u16,
    process: u32,
    name: [u8; 16],
}

// The numbers are those that `programs.bpf.c` states.
const _: () = {
    assert!(size_of::<CallEvent>() == 88);
    assert!(offset_of!(CallEvent, number) == 2);
    assert!(offset_of!(CallEvent, control) == 4);
    assert!(offset_of!(CallEvent, thread) == 8);
    assert!(offset_of!(CallEvent, process) == 12);
    assert!(offset_of!(CallEvent, begun) == 16);
    assert!(offset_of!(CallEvent, ended) == 24);
    assert!(offset_of!(CallEvent, result) == 32);
    assert!(offset_of!(CallEvent, arguments) == 40);
    assert!(offset_of!(CallEvent, object) == 72);
    assert!(offset_of!(CallEvent, address) == 80);

    assert!(size_of::<ObjectEvent>() == 168);
    assert!(offset_of!(ObjectEvent, mode) == 2);
    assert!(offset_of!(ObjectEvent, ports) == 4);
    assert!(offset_of!(ObjectEvent, id) == 8);
    assert!(offset_of!(ObjectEvent, own) == 16);
    assert!(offset_of!(ObjectEvent, peer) == 24);
    assert!(offset_of!(ObjectEvent, addresses) == 32);
    assert!(offset_of!(ObjectEvent, name_size) == 40);
    assert!(offset_of!(ObjectEvent, family) == 44);
    assert!(offset_of!(ObjectEvent, sort) == 46);
    assert!(offset_of!(ObjectEvent, state) == 48);
    assert!(offset_of!(ObjectEvent, has_peers_name) == 49);
    assert!(offset_of!(ObjectEvent, name) == 50);
    assert!(offset_of!(ObjectEvent, peer_address) == 160);

    assert!(size_of::<ForkEvent>() == 12);
    assert!(offset_of!(ForkEvent, parent) == 4);
    assert!(offset_of!(ForkEvent, child) == 8);

    assert!(size_of::<ProgramEvent>() == 24);
    assert!(offset_of!(ProgramEvent, process) == 4);
    assert!(offset_of!(ProgramEvent, name) == 8);
};

/// # Safety
/// Any bytes are a value of such a type.
unsafe trait Plain {}
// SAFETY: they have nothing but numbers.
unsafe impl Plain for u16 {}
// SAFETY: likewise.
unsafe impl Plain for CallEvent {}
// SAFETY: likewise.
unsafe impl Plain for ObjectEvent {}
// SAFETY: likewise.
unsafe impl Plain for ForkEvent {}
// SAFETY: likewise.
unsafe impl Plain for ProgramEvent {}

/// Bytes as what they begin with; `None` if there are too few, or where no such value may be.
fn view<T: Plain>(bytes: &[u8]) -> Option<&T> {
    let at = bytes.as_ptr().cast::<T>();
    let fits = bytes.len() >= size_of::<T>() && at.is_aligned();
    // SAFETY: in bounds and aligned by the line above, and of a type that any bytes are a value of.
    fits.then(|| unsafe { &*at })
}

/// The address that the call of an event names; `None` of other events, and where it names none.
pub(super) fn named(event: &[u8]) -> Option<Address> {
    let is_call = *view::<u16>(event)? == CALL;
    let call: &CallEvent = view(event).filter(|_| is_call)?;
    (call.address != 0).then_some(call.address)
}

/// What an event says.
pub(super) fn heard(event: &[u8]) -> Option<Heard> {
    Some(match *view(event)? {
        CALL => {
            let call: &CallEvent = view(event)?;
            Heard::Call(Call {
                number: call.number.into(),
                process: call.process,
                thread: call.thread,
                begun: call.begun,
                ended: call.ended,
                result: call.result,
                arguments: call.arguments,
                object: call.object,
                control: call.control,
            })
        }
        OBJECT => Heard::Object(object(view(event)?)),
        FORK => {
            let ForkEvent { parent, child, .. } = *view(event)?;
            Heard::Fork { parent, child }
        }
        PROGRAM => {
            let program: &ProgramEvent = view(event)?;
            Heard::Program { process: program.process, name: text(&program.name), is_go: false }
        }
        _ => return None,
    })
}

/// Up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// `TCP_LISTEN` (`net/tcp_states.h`), which UNIX sockets have as well.
const LISTENS: u8 = 10;

/// `LOOPBACK4_IPV6` (`net/ipv6.h`): 127.0.0.6 in the order of the network.
const LOOPBACK4_IPV6: u32 = 0x7f00_0006_u32.to_be();

fn object(event: &ObjectEvent) -> Object {
    let mut found = Object {
        id: event.id,
        kind: Kind::Other,
        pair: [0; 2],
        name: String::new(),
        owns_name: false,
        ports: [0; 2],
        listens: false,
    };
    match u32::from(event.mode) & libc::S_IFMT {
        libc::S_IFIFO => (found.kind, found.name) = (Kind::Pipe, text(&event.name)),
        libc::S_IFSOCK => {
            let (family, sort) = (i32::from(event.family), i32::from(event.sort));
            found.listens = event.state == LISTENS;
            match family {
                libc::AF_UNIX => {
                    found.kind = Kind::Unix(sort);
                    found.pair = [event.own, event.peer].map(u128::from);
                    found.owns_name = event.has_peers_name == 0;
                    found.name = unix_name(&event.name, event.name_size as usize);
                }
                libc::AF_INET | libc::AF_INET6 => {
                    let version = if family == libc::AF_INET { 4 } else { 6 };
                    found.kind = Kind::Internet(sort, version);
                    // The peer's comes first, in the order of the network.
                    let far = u16::from_be(event.ports as u16);
                    found.ports = [(event.ports >> 16) as u16, far];
                    // What a socket of version 6 has for its own address is one of version 4 that was mapped, or this.
                    let is_mapped = (event.addresses >> 32) as u32 != LOOPBACK4_IPV6;
                    let addresses = if is_mapped { event.addresses } else { 0 };
                    found.pair = pair_of(addresses, found.ports);
                }
                // The kernel is at the other end.
                libc::AF_NETLINK => {}
                _ => found.kind = Kind::Socket(sort),
            }
        }
        _ => found.name = text(&event.name),
    }
    found
}

/// The addresses and ports of a socket, its own first: those of its peer have them in the opposite order. Addresses stay in
/// this process.
fn pair_of(addresses: u64, [near, far]: [u16; 2]) -> [u128; 2] {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let [far_address, near_address] = [addresses as u32, (addresses >> 32) as u32];
    let half = |own: (u32, u16), other: (u32, u16)| {
        let mut hasher = DefaultHasher::new();
        (own, other).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    let (near, far) = ((near_address, near), (far_address, far));
    [half(near, far), half(far, near)]
}

/// The addresses of the socket for datagrams of an event, its own and its peer's; 0 where there is none.
pub(super) fn addresses(event: &[u8]) -> Option<[Address; 2]> {
    let is_object = *view::<u16>(event)? == OBJECT;
    let object: &ObjectEvent = view(event).filter(|_| is_object)?;
    Some(match self::object(object) {
        Object { kind: Kind::Internet(libc::SOCK_DGRAM, _), ports, .. } => {
            ports.map(datagrams::of_port)
        }
        Object { kind: Kind::Unix(libc::SOCK_DGRAM), owns_name, .. } => {
            let name = name_within(&object.name, object.name_size as usize);
            [if owns_name { datagrams::of_name(name) } else { 0 }, object.peer_address]
        }
        _ => return None,
    })
}

/// The name in an address of so many bytes.
fn unix_name(bytes: &[u8], length: usize) -> String {
    shown_name(name_within(bytes, length))
}

/// The same, as it is.
fn name_within(bytes: &[u8], length: usize) -> &[u8] {
    // The family comes before the name, in two bytes.
    bytes.get(2..length.min(bytes.len())).unwrap_or_default()
}

/// What a profile shows of the name of a socket: the last part of its path, since a profile does not say in which folder something
/// was. An abstract name begins with 0 and is shown with an `@`; programs put paths into such names, too.
pub(super) fn shown_name(name: &[u8]) -> String {
    let (sign, name) = match name.split_first() {
        None => return String::new(),
        Some((0, [])) => return String::new(),
        Some((0, rest)) => ("@", rest),
        Some(_) => ("", name.split(|byte| *byte == 0).next().unwrap_or_default()),
    };
    let name = String::from_utf8_lossy(name);
    format!("{sign}{}", name.rsplit('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_parts_of_paths() {
        let of = |path: &str| {
            let bytes = [b"\x01\0", path.as_bytes()].concat();
            unix_name(&[&bytes[..], b"\0\0garbage"].concat(), bytes.len())
        };
        assert_eq!(of("/run/user/1000/s.sock\0"), "s.sock");
        assert_eq!(of("\0abstract"), "@abstract");
        assert_eq!(of("\0/home/me/secret/s"), "@s");
        assert_eq!(of(""), "");
    }
}
