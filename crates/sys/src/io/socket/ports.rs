//! What connections leave behind: waiting addresses and used ports, as the kernel counts them for everybody in this
//! network namespace.

use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, netlink,
};
use std::collections::BTreeSet;
use std::fs;

/// Connections in TIME_WAIT, of both families.
#[must_use]
pub fn time_wait() -> Option<u64> {
    count_time_wait(&fs::read_to_string("/proc/net/sockstat").ok()?)
}

fn count_time_wait(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// How often a connection found no room at a listener, and how many segments of connections that begin TCP has sent
/// again, so far.
#[must_use]
pub fn crowding() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/net/netstat").ok()?;
    Some([extended(&text, "ListenOverflows")?, extended(&text, "TCPSynRetrans")?])
}

/// A counter of `/proc/net/netstat`: a line of names, then one of numbers.
fn extended(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut both = names.split_ascii_whitespace().zip(numbers.split_ascii_whitespace());
    both.find(|(known, _)| *known == name)?.1.parse().ok()
}

/// The first and the last port that the kernel hands out to who connects without naming one.
#[must_use]
pub fn ephemeral_range() -> Option<(u16, u16)> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut words = text.split_ascii_whitespace().map(str::parse);
    Some((words.next()?.ok()?, words.next()?.ok()?))
}

/// How many different ports of `range` are the local port of a TCP socket that is not in TIME_WAIT.
///
/// Asked of the kernel as `ss` does: `/proc/net/tcp` takes it a tenth of a second to write once some ten thousand
/// connections wait.
#[must_use]
pub fn in_use(range: (u16, u16)) -> Option<u64> {
    let mut ports = local_ports(AddressFamily::INET)?;
    // There may be no IPv6.
    ports.extend(local_ports(AddressFamily::INET6).unwrap_or_default());
    Some(ports.range(range.0..=range.1).count() as u64)
}

/// sock_diag(7): a message header, what is asked for, and that of every answer.
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
/// Where an answer has its local port.
const LOCAL_PORT: usize = HEADER + 4;
const BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Every state but TIME_WAIT, which has number 6.
const STATES: u32 = 0x1fff & !(1 << 6);

fn local_ports(family: AddressFamily) -> Option<BTreeSet<u16>> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let kind = SocketType::RAW;
    let socket = net::socket_with(AddressFamily::NETLINK, kind, flags, protocol).ok()?;
    net::send(&socket, &question(family), SendFlags::empty()).ok()?;
    let mut ports = BTreeSet::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let (bytes, _) = net::recv(&socket, &mut buffer[..], RecvFlags::empty()).ok()?;
        if take(buffer.get(..bytes)?, &mut ports)? {
            return Some(ports);
        }
    }
}

fn question(family: AddressFamily) -> [u8; REQUEST] {
    let mut question = [0; REQUEST];
    let mut put = |at: usize, bytes: &[u8]| question[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &(REQUEST as u32).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST_DUMP.to_ne_bytes());
    put(HEADER, &[family.as_raw() as u8, ipproto::TCP.as_raw().get() as u8]);
    put(HEADER + 4, &STATES.to_ne_bytes());
    question
}

/// Takes the ports out of one bundle of answers; whether it was the last. `None` for a refusal, or what is no answer.
fn take(mut answers: &[u8], ports: &mut BTreeSet<u16>) -> Option<bool> {
    while !answers.is_empty() {
        let len = u32::from_ne_bytes(*answers.first_chunk()?) as usize;
        match u16::from_ne_bytes(*answers.get(4..)?.first_chunk()?) {
            DONE => return Some(true),
            ERROR => return None,
            _ => {}
        }
        ports.insert(u16::from_be_bytes(*answers.get(LOCAL_PORT..len)?.first_chunk()?));
        // Answers begin at multiples of four bytes.
        answers = answers.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_kernel_are_understood() {
        let sockstat =
            "sockets: used 12\nTCP: inuse 1 orphan 0 tw 31 alloc 1 mem 35\nUDP: inuse 0\n";
        assert_eq!(count_time_wait(sockstat), Some(31));
        assert_eq!(count_time_wait("TCP: inuse 1\n"), None);
        let netstat = "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 3 41\nIpExt: ListenOverflows\nIpExt: 7\n";
        assert_eq!(extended(netstat, "ListenOverflows"), Some(41));
        assert_eq!(extended(netstat, "TCPSynRetrans"), None);
    }

    #[test]
    fn a_refusal_or_half_an_answer_is_not_taken_for_none() {
        let mut refusal = [0_u8; 20];
        refusal[..4].copy_from_slice(&20_u32.to_ne_bytes());
        refusal[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        assert_eq!(take(&refusal, &mut BTreeSet::new()), None);
        assert_eq!(take(&refusal[..3], &mut BTreeSet::new()), None);
        assert_eq!(take(&[0; 16], &mut BTreeSet::new()), None);
    }
}
