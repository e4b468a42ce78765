//! Which addresses are those of a program's host, in its network namespace.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of this host, for a thread.
pub(super) fn is_own(thread: u32, ip: IpAddr) -> bool {
    let table = |name: &str| fs::read_to_string(format!("/proc/{thread}/net/{name}"));
    match ip.to_canonical() {
        ip if ip.is_loopback() => true,
        IpAddr::V4(ip) => table("fib_trie").is_ok_and(|table| has_v4(&table, ip)),
        IpAddr::V6(ip) => table("if_inet6").is_ok_and(|table| has_v6(&table, ip)),
    }
}

/// Whether the routes of IPv4 say so: an address, and behind it what leads there.
fn has_v4(table: &str, ip: Ipv4Addr) -> bool {
    let mut at = None;
    table.lines().any(|line| match line.trim_start().strip_prefix("|-- ") {
        Some(address) => {
            at = address.parse().ok();
            false
        }
        None => at == Some(ip) && line.ends_with("/32 host LOCAL"),
    })
}

/// Whether an interface has this address of IPv6, which is written in 32 digits.
fn has_v6(table: &str, ip: Ipv6Addr) -> bool {
    let address = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok();
    table.lines().any(|line| address(line) == Some(ip.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_kernel_have_the_addresses_of_a_host() {
        let routes = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.0.2.0\n        \
                      /24 link UNICAST\n     |-- 192.0.2.2\n        /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link \
                      BROADCAST\n";
        let of = |text: &str| has_v4(routes, text.parse().expect("an address"));
        assert_eq!(
            ["192.0.2.2", "192.0.2.0", "192.0.2.255", "192.0.2.3"].map(of),
            [true, false, false, false]
        );
        let interfaces = "fd000000000000000000000000000002 04 40 00 82     eth0\n";
        assert!(has_v6(interfaces, "fd00::2".parse().expect("an address")));
        assert!(!has_v6(interfaces, Ipv6Addr::LOCALHOST));
        let own = std::process::id();
        assert!(is_own(own, Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()));
        assert!(!is_own(own, Ipv4Addr::new(192, 0, 2, 77).into()), "an address for documents");
    }
}
