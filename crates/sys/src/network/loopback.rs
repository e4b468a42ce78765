//! What is in the way of a packet on the loopback interface of this network namespace.

use super::{HEADER, LINK, LO, Message, ask, attributes, receive};
use crate::procfs;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, netlink};
use std::os::fd::OwnedFd;

// linux/if_link.h
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;

// linux/netfilter/nfnetlink.h and nf_tables.h: the subsystem in the high byte, and "get chain".
const NFT_GET_CHAIN: u16 = 10 << 8 | 4;
/// A chain has it if packets come to it by themselves, and not from another chain.
const NFTA_CHAIN_HOOK: u16 = 4;
/// Bytes of `struct nfgenmsg`: family (0: all), version and resource.
const NFGEN: usize = 4;

/// The loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loopback {
    /// The largest packet, bytes.
    pub mtu: u64,
    /// Its queueing discipline; `noqueue` where packets are handed over at once.
    pub qdisc: String,
    /// Chains of nftables and tables of iptables that look at packets; `None` where the right to see them is missing
    /// (CAP_NET_ADMIN).
    pub filters: Option<u64>,
}

/// Reads it; `None` where the kernel does not answer.
#[must_use]
pub fn loopback() -> Option<Loopback> {
    let socket = socket(None).ok()?;
    let answer = ask(&socket, Message::of_link(libc::RTM_GETLINK, LO, 0)).ok()?;
    let all = || attributes(answer.get(LINK..).unwrap_or_default());
    let of = |kind: u16| all().find(|(found, _)| *found == kind).map(|(_, value)| value);
    let qdisc = of(IFLA_QDISC)?.split(|byte| *byte == 0).next()?;
    Some(Loopback {
        mtu: u32::from_ne_bytes(of(IFLA_MTU)?.try_into().ok()?).into(),
        qdisc: String::from_utf8_lossy(qdisc).into_owned(),
        filters: filters(),
    })
}

fn socket(protocol: Option<net::Protocol>) -> Result<OwnedFd, Errno> {
    net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
}

/// How many chains and tables look at packets.
fn filters() -> Option<u64> {
    let old = ["ip_tables_names", "ip6_tables_names"].map(|name| {
        let names = procfs::text(&format!("/proc/self/net/{name}")).unwrap_or_default();
        names.lines().count() as u64
    });
    let new = match chains() {
        // A kernel without nftables has no chain.
        Err(Errno::OPNOTSUPP | Errno::PROTONOSUPPORT | Errno::INVAL) => 0,
        Err(_) => return None,
        Ok(chains) => chains,
    };
    Some(old.iter().sum::<u64>() + new)
}

/// How many chains of nftables packets come to by themselves.
fn chains() -> Result<u64, Errno> {
    let socket = socket(Some(netlink::NETFILTER))?;
    let mut message = Message::new(NFT_GET_CHAIN);
    message.dump();
    message.0.extend([0; NFGEN]);
    let mut part = ask(&socket, message)?;
    let mut found = 0;
    loop {
        let mut rest = part.as_slice();
        while let [a, b, c, d, kind_low, kind_high, ..] = *rest {
            if u16::from_ne_bytes([kind_low, kind_high]) == libc::NLMSG_DONE as u16 {
                return Ok(found);
            }
            let len = (u32::from_ne_bytes([a, b, c, d]) as usize).max(HEADER);
            let chain = rest.get(HEADER + NFGEN..len).unwrap_or_default();
            found += u64::from(attributes(chain).any(|(kind, _)| kind == NFTA_CHAIN_HOOK));
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        part = receive(&socket)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_says_what_its_files_say() {
        let found = loopback().expect("an interface");
        let mtu = procfs::text("/sys/class/net/lo/mtu").expect("a number");
        assert_eq!(found.mtu.to_string(), mtu);
        assert!(!found.qdisc.is_empty() && found.qdisc.is_ascii(), "{found:?}");
    }
}
