//! Who connected, as TCP would tell of it: by the name that the client's new socket has itself, which the kernel keeps as long as
//! either end is open, or where that is a mere port, by a table.

use super::name::Name;
use super::place::ListenerPlace;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Both addresses of a connection, as the client has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientAddresses {
    /// Its own.
    pub(super) own: Name,
    /// The one that it was connected to.
    pub(super) dialed: Name,
}

/// Bytes of a name of a UNIX socket without a file (`sockaddr_un`).
const LONGEST: usize = 107;

/// Ports that the kernel gives to clients, where it does not say so (`ip(7)`).
const PORTS: [u16; 2] = [32_768, 60_999];

/// So many connections of a kind that has only ports are known at once; the oldest are forgotten.
const KNOWN: usize = 1 << 16;

/// All clients.
#[derive(Debug)]
pub(super) struct Clients {
    /// How many have connected.
    count: u32,
    /// The first and the last port that clients get.
    ports: [u16; 2],
    /// Those whose socket has a number for a name.
    by_port: BTreeMap<u32, ClientAddresses>,
    /// What their names begin with.
    prefix: String,
}

impl Clients {
    pub(super) fn new(folder: &str) -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let range = range.unwrap_or_default();
        let words: Vec<u16> =
            range.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let ports = match words[..] {
            [first, last] if first <= last && first > 0 => [first, last],
            _ => PORTS,
        };
        let prefix = format!("{folder}-c");
        Self { count: 0, ports, by_port: BTreeMap::new(), prefix }
    }

    /// A client that connects to this name; `own` is what it has bound itself to, if it has.
    pub(super) fn connects(&mut self, own: Option<&Name>, dialed: &Name) -> ClientAddresses {
        self.count = self.count.wrapping_add(1);
        let dialed = dialed.reached();
        let own = match (&dialed, own) {
            (Name::Ip(to), own) => {
                let bound = match own {
                    Some(Name::Ip(bound)) => Some(*bound),
                    _ => None,
                };
                let [first, last] = self.ports;
                let many = u32::from(last - first) + 1;
                // After the last port of the range comes the first again, as in the kernel.
                let port = bound.map_or(first + (self.count % many) as u16, |bound| bound.port());
                let ip = bound.map(|bound| bound.ip()).filter(|ip| !ip.is_unspecified());
                Name::Ip(with_ip(*to, ip.unwrap_or_else(|| source(to.ip())), port))
            }
            (_, own) => own.cloned().unwrap_or(Name::Unnamed),
        };
        ClientAddresses { own, dialed }
    }

    /// What the client's socket is called, where it can be called anything.
    pub(super) fn name(&self, client: &ClientAddresses) -> Vec<u8> {
        let ClientAddresses { own: Name::Ip(own), dialed: Name::Ip(dialed) } = client else {
            return format!("{}{}", self.prefix, self.count).into_bytes();
        };
        let of = |own: String| format!("{}{} {own} {dialed}", self.prefix, self.count).into_bytes();
        // One address of the longest kind has room, two have not.
        let long = of(own.to_string());
        if own.ip() == dialed.ip() || long.len() > LONGEST {
            of(own.port().to_string())
        } else {
            long
        }
    }

    /// Remembers one whose socket has this number.
    pub(super) fn remember(&mut self, port: u32, client: ClientAddresses) {
        self.by_port.insert(port, client);
        if self.by_port.len() > KNOWN {
            self.by_port.pop_first();
        }
    }

    /// Whose socket has this name.
    pub(super) fn find(&self, place: &ListenerPlace) -> Option<ClientAddresses> {
        match place {
            ListenerPlace::Abstract(name) => {
                let told = str::from_utf8(name).ok()?.strip_prefix(&self.prefix)?;
                let words: Vec<&str> = told.split(' ').collect();
                let [_, own, dialed] = words[..] else { return None };
                let dialed: SocketAddr = dialed.parse().ok()?;
                let own = match own.parse() {
                    Ok(port) => with_ip(dialed, dialed.ip(), port),
                    Err(_) => own.parse().ok()?,
                };
                Some(ClientAddresses { own: Name::Ip(own), dialed: Name::Ip(dialed) })
            }
            ListenerPlace::Vm(port) => self.by_port.get(port).cloned(),
            ListenerPlace::Port(address) => self.by_port.get(&u32::from(address.port())).cloned(),
            ListenerPlace::Path(_) => None,
        }
    }

    /// One that did not connect through us: it found the place by itself.
    pub(super) fn stranger(listener: &Name) -> ClientAddresses {
        let dialed = listener.reached();
        let own = match &dialed {
            Name::Ip(to) => Name::Ip(with_ip(*to, source(to.ip()), PORTS[0])),
            _ => Name::Unnamed,
        };
        ClientAddresses { own, dialed }
    }
}

impl ClientAddresses {
    /// The same, as the end of a listener with this name is told of it: one of IPv6 has mapped addresses of IPv4.
    pub(super) fn at(&self, listener: &Name) -> Self {
        let Name::Ip(listener) = listener else { return self.clone() };
        let told = |name: &Name| match name {
            Name::Ip(address) => {
                let ip = match (listener.is_ipv6(), address.ip().to_canonical()) {
                    (true, IpAddr::V4(ip)) => ip.to_ipv6_mapped().into(),
                    (_, ip) => ip,
                };
                Name::Ip(with_ip(*address, ip, address.port()))
            }
            other => other.clone(),
        };
        Self { own: told(&self.own), dialed: told(&self.dialed) }
    }
}

/// An address with another IP address and port. The scope of IPv6 stays.
fn with_ip(address: SocketAddr, ip: IpAddr, port: u16) -> SocketAddr {
    let mut new = SocketAddr::new(ip, port);
    if let (SocketAddr::V6(old), SocketAddr::V6(new)) = (address, &mut new)
        && old.ip() == new.ip()
    {
        new.set_scope_id(old.scope_id());
    }
    new
}

/// From which address a connection to one of this host comes: from the same, but for the many of 127.0.0.0/8, whose routes
/// name the first of them.
fn source(to: IpAddr) -> IpAddr {
    let first = Ipv4Addr::LOCALHOST;
    match to {
        IpAddr::V4(ip) if ip.is_loopback() => first.into(),
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()) => {
            first.to_ipv6_mapped().into()
        }
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Name {
        Name::Ip(text.parse().expect("an address"))
    }

    #[test]
    fn a_name_says_both_addresses_of_its_client() {
        let mut clients = Clients::new("ipcperf-0-0123456789abcdef");
        let long = "[2001:db8:1111:2222:3333:4444:5555:6666]";
        for (own, dialed, told) in [
            (None, "127.0.0.1:80", "127.0.0.1"),
            (None, "127.0.0.2:80", "127.0.0.1"),
            (None, "[::1]:80", "[::1]"),
            (None, "[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]"),
            (Some("0.0.0.0:1234"), "127.0.0.1:80", "127.0.0.1:1234"),
            (Some("127.0.0.3:1234"), "127.0.0.1:80", "127.0.0.3:1234"),
            (None, &format!("{long}:65535"), long),
        ] {
            let client = clients.connects(own.map(ip).as_ref(), &ip(dialed));
            assert!(client.own.to_string().starts_with(told), "{client:?} {told}");
            assert_eq!(client.dialed, ip(dialed));
            let name = clients.name(&client);
            assert!(name.len() <= LONGEST);
            assert_eq!(clients.find(&ListenerPlace::Abstract(name)), Some(client));
        }
        assert_eq!(clients.find(&ListenerPlace::Abstract(b"ipcperf-0-other".to_vec())), None);
        assert_eq!(clients.find(&ListenerPlace::Vm(7)), None);
    }

    #[test]
    fn a_listener_of_both_families_is_told_mapped_addresses() {
        let mut clients = Clients::new("x");
        let client = clients.connects(Some(&ip("0.0.0.0:1234")), &ip("127.0.0.1:80"));
        let at = |listener: &str| client.at(&ip(listener)).own.to_string();
        assert_eq!(at("[::]:80"), "[::ffff:127.0.0.1]:1234");
        assert_eq!(at("0.0.0.0:80"), "127.0.0.1:1234");
        let mapped = clients.connects(None, &ip("[::ffff:127.0.0.1]:80"));
        assert_eq!(mapped.at(&ip("127.0.0.1:80")).dialed, ip("127.0.0.1:80"));
    }
}
