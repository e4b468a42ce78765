//! A network between two ends of a channel: network namespaces of their own, and virtual Ethernet between them. Nothing has a
//! name outside of them, so that all of it goes with the last process that is in them.

mod loopback;

pub use loopback::{Loopback, loopback};

use crate::io::failed;
use crate::namespaces;
use ipcperf_core::{Missing, Namespaces, Network, SetupError};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The interface of an end, by its number in its namespace.
const END: i32 = 2;
/// Those of the bridge: itself, and the ports to lead and follow.
const BRIDGE: i32 = 2;
const PORTS: [i32; 2] = [3, 4];

/// Only against hangs: how long an interface may take until it carries packets. The kernel tells it within a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// Puts this process, the follow, into a network namespace of its own, which is connected to another one by `network`. What is
/// returned lets the lead into that one ([`namespaces::join`]).
///
/// # Errors
/// `Unavailable` where the right or the kind of device is missing.
pub fn between(network: Network) -> Result<Vec<OwnedFd>, SetupError> {
    let mut keys = Vec::new();
    if !namespaces::may_make() {
        namespaces::own_users()?;
        keys.push(namespaces::users()?);
    }
    let follow = NamespaceSocket::new()?;
    let lead = NamespaceSocket::new()?;
    let ends = [&lead, &follow];
    let bridge = match network {
        Network::Loopback => None,
        Network::Veth => {
            lead.pair(END, &follow, END)?;
            None
        }
        Network::Bridge => {
            let middle = NamespaceSocket::new()?;
            middle.link("bridge", BRIDGE, "CONFIG_BRIDGE (module bridge)", |_| {})?;
            middle.up(BRIDGE)?;
            for (port, end) in PORTS.into_iter().zip(ends) {
                middle.pair(port, end, END)?;
                middle.change(port, |message| {
                    message.attribute(IFLA_MASTER, &BRIDGE.to_ne_bytes())
                })?;
                middle.up(port)?;
            }
            Some(middle)
        }
    };
    for (seat, end) in ends.into_iter().enumerate() {
        end.up(LO)?;
        if network.is_loopback() {
            continue;
        }
        end.up(END)?;
        end.address(network.address(seat, Ipv4Addr::LOCALHOST.into()))?;
        match end.address(network.address(seat, Ipv6Addr::LOCALHOST.into())) {
            // A kernel without IPv6, or one that has it switched off: the mechanism that needs it says so.
            Err(SetupError::Sys { .. }) | Ok(()) => {}
            Err(other) => return Err(other),
        }
    }
    // Before they are up, what is sent is lost, and sent again a second later.
    let deadline = Instant::now() + PATIENCE;
    for (place, interface) in
        ends.into_iter().filter(|_| !network.is_loopback()).map(|end| (end, END)).chain(
            bridge.iter().flat_map(|middle| [BRIDGE, PORTS[0], PORTS[1]].map(|one| (middle, one))),
        )
    {
        while !place.is_up(interface)? {
            if Instant::now() > deadline {
                let what = "a virtual network interface did not come up within 10 s";
                return Err(SetupError::Protocol(what.into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let entered = namespaces::set(&follow.namespace, libc::CLONE_NEWNET);
    entered.map_err(|error| SetupError::sys("setns", error.raw_os_error().unwrap_or(0)))?;
    keys.push(lead.namespace);
    // Nobody is in the bridge's namespace: it goes, with both pairs, when this process has ended and its descriptors with it.
    let _ = bridge.map(|middle| middle.namespace.into_raw_fd());
    Ok(keys)
}

/// The loopback interface, in every network namespace.
const LO: i32 = 1;

// linux/if_link.h, linux/rtnetlink.h, linux/if_addr.h, linux/veth.h
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// No search for others who have the address: nobody else is there.
const IFA_F_NODAD: u8 = 2;
/// `IF_OPER_UP` (linux/if.h).
const OPER_UP: u8 = 6;

/// A network namespace, and a socket in it to speak with the kernel.
struct NamespaceSocket {
    namespace: OwnedFd,
    socket: OwnedFd,
}

impl NamespaceSocket {
    /// A new one, in which this process is now.
    fn new() -> Result<Self, SetupError> {
        namespaces::unshare(Namespaces::NET)?;
        // Protocol 0 is that of routes.
        let socket =
            net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
                .map_err(failed("socket"))?;
        Ok(Self { namespace: namespaces::network()?, socket })
    }

    /// A device of this kind.
    fn link(
        &self,
        kind: &str,
        number: i32,
        needs: &str,
        data: impl FnOnce(&mut Message),
    ) -> Result<(), SetupError> {
        let mut message = Message::of_link(libc::RTM_NEWLINK, number, 0);
        message.header_flags(libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        message.attribute(IFLA_IFNAME, format!("ipcperf{number}\0").as_bytes());
        message.nested(IFLA_LINKINFO, |message| {
            message.attribute(IFLA_INFO_KIND, kind.as_bytes());
            message.nested(IFLA_INFO_DATA, data);
        });
        match self.ask(message) {
            Err(Errno::OPNOTSUPP) => {
                Err(Missing::new(format!("this kernel has no {kind} devices"), needs).into())
            }
            other => other.map(drop).map_err(failed(format!("a {kind} device"))),
        }
    }

    /// A pair of virtual Ethernet devices from here to there.
    fn pair(&self, here: i32, there: &Self, number: i32) -> Result<(), SetupError> {
        self.link("veth", here, "a kernel with CONFIG_VETH (module veth)", |message| {
            message.nested(VETH_INFO_PEER, |message| {
                message.link(number, 0);
                message.attribute(IFLA_IFNAME, format!("ipcperf{number}\0").as_bytes());
                message.attribute(IFLA_NET_NS_FD, &there.namespace.as_raw_fd().to_ne_bytes());
            });
        })
    }

    fn change(&self, number: i32, what: impl FnOnce(&mut Message)) -> Result<(), SetupError> {
        let mut message = Message::of_link(libc::RTM_NEWLINK, number, 0);
        what(&mut message);
        self.ask(message).map(drop).map_err(failed("a change of a network interface"))
    }

    fn up(&self, number: i32) -> Result<(), SetupError> {
        let message = Message::of_link(libc::RTM_NEWLINK, number, libc::IFF_UP);
        self.ask(message).map(drop).map_err(failed("a network interface up"))
    }

    /// Whether packets pass an interface.
    fn is_up(&self, number: i32) -> Result<bool, SetupError> {
        let answer = self.ask(Message::of_link(libc::RTM_GETLINK, number, 0));
        let answer = answer.map_err(failed("the state of a network interface"))?;
        // Behind the header and the fixed part of an answer about a link.
        let mut state = attributes(answer.get(LINK..).unwrap_or_default());
        Ok(state.any(|(kind, value)| kind == IFLA_OPERSTATE && value.first() == Some(&OPER_UP)))
    }

    fn address(&self, address: IpAddr) -> Result<(), SetupError> {
        let (family, bits, bytes) = match address {
            IpAddr::V4(address) => (libc::AF_INET, 24, address.octets().to_vec()),
            IpAddr::V6(address) => (libc::AF_INET6, 64, address.octets().to_vec()),
        };
        let mut message = Message::new(libc::RTM_NEWADDR);
        message.header_flags(libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        // struct ifaddrmsg: family, bits of the prefix, flags, scope, index.
        message.0.extend([family as u8, bits, IFA_F_NODAD, 0]);
        message.0.extend(END.to_ne_bytes());
        message.attribute(IFA_LOCAL, &bytes);
        message.attribute(IFA_ADDRESS, &bytes);
        self.ask(message).map(drop).map_err(failed(format!("address {address}")))
    }

    fn ask(&self, message: Message) -> Result<Vec<u8>, Errno> {
        ask(&self.socket, message)
    }
}

/// Sends a message and returns the first part of what is answered.
fn ask(socket: &OwnedFd, message: Message) -> Result<Vec<u8>, Errno> {
    net::send(socket, &message.finished(), SendFlags::empty())?;
    receive(socket)
}

/// A part of an answer.
fn receive(socket: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut answer = vec![0; 16 << 10];
    let (len, _) = net::recv(socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(len);
    let number = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let kind = answer.get(4..6).and_then(|two| two.try_into().ok()).map(u16::from_ne_bytes);
    if kind == Some(libc::NLMSG_ERROR as u16) {
        match number(HEADER) {
            Some(0) => {}
            Some(code) => return Err(Errno::from_raw_os_error(-code)),
            None => return Err(Errno::BADMSG),
        }
    }
    Ok(answer)
}

/// The attributes of an answer, kind and value.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [low, high, kind_low, kind_high, ..] = *rest else { return None };
        let len = usize::from(u16::from_ne_bytes([low, high])).max(4);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits say how the value is made (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
        Some((u16::from_ne_bytes([kind_low, kind_high]) & 0x3fff, value))
    })
}

/// Bytes of `struct nlmsghdr`, and of it with `struct ifinfomsg`.
const HEADER: usize = 16;
const LINK: usize = HEADER + 16;

/// A message of rtnetlink, `rtnetlink(7)`.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16) -> Self {
        let mut all = vec![0; HEADER];
        all[4..6].copy_from_slice(&kind.to_ne_bytes());
        // An answer about a link is one in itself.
        let answered = if kind == libc::RTM_GETLINK { 0 } else { libc::NLM_F_ACK };
        all[6..8].copy_from_slice(&((libc::NLM_F_REQUEST | answered) as u16).to_ne_bytes());
        Self(all)
    }

    fn of_link(kind: u16, number: i32, flags: i32) -> Self {
        let mut message = Self::new(kind);
        message.link(number, flags);
        message
    }

    /// More flags of its header.
    fn header_flags(&mut self, more: i32) {
        let flags = u16::from_ne_bytes([self.0[6], self.0[7]]) | more as u16;
        self.0[6..8].copy_from_slice(&flags.to_ne_bytes());
    }

    /// Asks for all that there is, in parts; nothing is acknowledged apart from that.
    fn dump(&mut self) {
        self.0[6..8]
            .copy_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    }

    /// `struct ifinfomsg`: family and padding, type, index, flags, and which of them change.
    fn link(&mut self, number: i32, flags: i32) {
        self.0.extend([0; 4]);
        [number, flags, flags].iter().for_each(|word| self.0.extend(word.to_ne_bytes()));
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |message| message.0.extend(value));
    }

    fn nested(&mut self, kind: u16, inner: impl FnOnce(&mut Self)) {
        let begin = self.0.len();
        self.0.extend([0; 4]);
        inner(self);
        let len = (self.0.len() - begin) as u16;
        self.0[begin..begin + 2].copy_from_slice(&len.to_ne_bytes());
        self.0[begin + 2..begin + 4].copy_from_slice(&kind.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn finished(mut self) -> Vec<u8> {
        let len = (self.0.len() as u32).to_ne_bytes();
        self.0[..4].copy_from_slice(&len);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_say_how_long_they_are() {
        let mut message = Message::of_link(libc::RTM_NEWLINK, 7, libc::IFF_UP);
        message.nested(IFLA_LINKINFO, |message| message.attribute(IFLA_INFO_KIND, b"veth!"));
        let bytes = message.finished();
        assert_eq!(bytes.len(), LINK + 4 + 12);
        assert_eq!(u32::from_ne_bytes(bytes[..4].try_into().expect("four")), bytes.len() as u32);
        assert_eq!(bytes[LINK..LINK + 2], 16_u16.to_ne_bytes());
        assert_eq!(bytes[LINK + 4..LINK + 6], 9_u16.to_ne_bytes());
        assert_eq!(&bytes[LINK + 8..], b"veth!\0\0\0");
    }
}
