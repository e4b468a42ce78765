//! Internet sockets on the loopback interface, and the options that only they have.

use crate::io::failed;
use crate::io::socket::{get_option, set_option};
use crate::sysctl;
use ipcperf_core::{Missing, SetupError};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SocketFlags, SocketType, ipproto};
use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// What runs over IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Bytes over one path.
    Tcp,
    /// Bytes over any number of paths, each of them TCP.
    Mptcp,
    /// Messages over a connection.
    Sctp,
}

/// A loopback address and what runs over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inet {
    /// 127.0.0.1 or ::1.
    pub host: IpAddr,
    /// The protocol.
    pub protocol: Protocol,
}

/// A socket, not yet bound or connected, so that its buffers can still decide the window.
///
/// # Errors
/// `socket` failed.
pub fn socket(inet: Inet) -> Result<OwnedFd, SetupError> {
    let (family, protocol) = (family(inet.host), number(inet.protocol));
    net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)
        .map_err(failed("socket"))
}

/// What `socket` knows a protocol by; `None` for TCP, which is the usual one.
pub(super) const fn number(protocol: Protocol) -> Option<net::Protocol> {
    match protocol {
        Protocol::Tcp => None,
        Protocol::Mptcp => Some(ipproto::MPTCP),
        Protocol::Sctp => Some(ipproto::SCTP),
    }
}

pub(super) const fn family(host: IpAddr) -> AddressFamily {
    match host {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

/// Binds to a port that the kernel chooses.
pub(crate) fn bind(socket: &OwnedFd, host: IpAddr) -> Result<u16, SetupError> {
    net::bind(socket, &SocketAddr::new(host, 0)).map_err(failed(format!("bind {host}")))?;
    let bound = net::getsockname(socket).map_err(failed("getsockname"))?;
    SocketAddr::try_from(bound).map(|address| address.port()).map_err(failed("getsockname"))
}

/// Two UDP sockets on 127.0.0.1, connected to each other.
///
/// # Errors
/// The call that failed.
pub fn udp_pair() -> Result<(OwnedFd, OwnedFd), SetupError> {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let ((one, at_one), (two, at_two)) = (udp(host)?, udp(host)?);
    connect_udp(&one, SocketAddr::new(host, at_two))?;
    connect_udp(&two, SocketAddr::new(host, at_one))?;
    Ok((one, two))
}

/// A UDP socket at this address, and its port, which the kernel chose.
///
/// # Errors
/// The call that failed.
pub fn udp(host: IpAddr) -> Result<(OwnedFd, u16), SetupError> {
    let socket = net::socket_with(family(host), SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(failed("socket"))?;
    let port = bind(&socket, host)?;
    Ok((socket, port))
}

/// Connects a UDP socket. Before that it took datagrams from anybody; they are thrown away.
///
/// # Errors
/// The call that failed.
pub fn connect_udp(socket: &OwnedFd, to: SocketAddr) -> Result<(), SetupError> {
    net::connect(socket, &to).map_err(failed(format!("connect {to}")))?;
    while net::recv(socket, &mut [0_u8; 1], RecvFlags::DONTWAIT).is_ok() {}
    Ok(())
}

fn set_flag(
    socket: &OwnedFd,
    level: c_int,
    (name, text): (c_int, &str),
    on: bool,
) -> Result<bool, SetupError> {
    let mut value = c_int::from(on);
    set_option(socket, level, name, value).map_err(failed(text))?;
    get_option(socket, level, name, &mut value).map_err(failed(text))?;
    Ok(value != 0)
}

/// Sets `TCP_NODELAY` and returns what is in force.
///
/// # Errors
/// `setsockopt` or `getsockopt` failed.
pub fn set_nodelay(socket: &OwnedFd, on: bool) -> Result<bool, SetupError> {
    set_flag(socket, libc::IPPROTO_TCP, (libc::TCP_NODELAY, "TCP_NODELAY"), on)
}

/// Sets `SCTP_NODELAY` and returns what is in force.
///
/// # Errors
/// `setsockopt` or `getsockopt` failed.
pub fn set_sctp_nodelay(socket: &OwnedFd, on: bool) -> Result<bool, SetupError> {
    set_flag(socket, libc::IPPROTO_SCTP, (libc::SCTP_NODELAY, "SCTP_NODELAY"), on)
}

/// Asks for a time, in microseconds, for which a receive polls the queue of the network device before it sleeps
/// (`SO_BUSY_POLL`), and returns the one in force.
///
/// # Errors
/// `Unavailable` when this user may not raise it, or the kernel has no such thing.
pub fn set_busy_poll(socket: &OwnedFd, time: Option<u64>) -> Result<u64, SetupError> {
    let mut value = 0;
    if let Some(time) = time {
        value = c_int::try_from(time).unwrap_or(c_int::MAX);
        let result = set_option(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, value);
        result.map_err(|error| match error {
            Errno::PERM => {
                let what = format!("a busy poll of {time} us takes CAP_NET_ADMIN");
                Missing::new(what, format!("run as root, or sysctl net.core.busy_read={time}"))
                    .into()
            }
            Errno::NOPROTOOPT => {
                let what = "this kernel has no SO_BUSY_POLL";
                Missing::new(what, "a kernel with CONFIG_NET_RX_BUSY_POLL").into()
            }
            other => failed("SO_BUSY_POLL")(other),
        })?;
    }
    match get_option(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &mut value) {
        Ok(_) => Ok(u64::try_from(value).unwrap_or(0)),
        // Nothing polls where the kernel does not know how.
        Err(Errno::NOPROTOOPT) => Ok(0),
        Err(error) => Err(failed("SO_BUSY_POLL")(error)),
    }
}

/// How many connections may wait at a listening TCP socket, as the kernel has it.
pub(crate) fn backlog_in_force(listener: &OwnedFd) -> Option<u64> {
    // SAFETY: `tcp_info` is made of integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let known = get_option(listener, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok()?;
    // At a listener this field holds the limit (net/ipv4/tcp.c, tcp_get_info).
    let end = std::mem::offset_of!(libc::tcp_info, tcpi_sacked) + size_of::<u32>();
    (known >= end).then_some(info.tcpi_sacked.into())
}

/// `SOL_MPTCP` and `MPTCP_INFO` (include/linux/socket.h, include/uapi/linux/mptcp.h).
const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;

/// Whether a connection speaks MPTCP and has not fallen back to TCP, for which the kernel has no such information.
fn is_mptcp(socket: &OwnedFd) -> bool {
    get_option(socket, SOL_MPTCP, MPTCP_INFO, &mut [0_u64; 8]).is_ok()
}

/// Refuses a connection that has fallen back to TCP.
///
/// # Errors
/// `Unavailable` with the reason.
pub fn still_mptcp(socket: &OwnedFd) -> Result<(), SetupError> {
    if is_mptcp(socket) {
        return Ok(());
    }
    let what = "the connection fell back to plain TCP, or the kernel cannot tell";
    let how = "Linux 5.16 or newer, and a firewall that leaves TCP options alone";
    Err(Missing::new(what, how).into())
}

/// That an address of this host does not answer.
pub(crate) fn silent(inet: Inet) -> Missing {
    let what = format!(
        "nothing that is sent to {} arrives: a firewall or a queue of the loopback interface drops it",
        inet.host
    );
    Missing::new(what, "to find it: nft list ruleset; iptables-save; tc qdisc show dev lo")
}

/// Why a socket for `inet` could not be made or reached, from the error of the call that failed.
pub(crate) fn missing(inet: Inet, error: SetupError) -> Missing {
    let SetupError::Sys { code, .. } = error else { return refused(inet, &error) };
    match (code, inet.protocol) {
        (libc::EPROTONOSUPPORT, Protocol::Sctp) => Missing::new(
            "this kernel has no SCTP, or its module is not loaded",
            "modprobe sctp, or a kernel with CONFIG_IP_SCTP",
        ),
        (libc::EPROTONOSUPPORT, Protocol::Mptcp) => {
            Missing::new("this kernel has no MPTCP", "a kernel with CONFIG_MPTCP")
        }
        (libc::ENOPROTOOPT, Protocol::Mptcp) => Missing::new(
            "MPTCP is switched off in this network namespace",
            "sysctl net.mptcp.enabled=1",
        ),
        (libc::EADDRNOTAVAIL, _)
            if inet.host.is_ipv6()
                && sysctl::number("net/ipv6/conf/lo/disable_ipv6") == Some(1) =>
        {
            Missing::new(
                "IPv6 is switched off on the loopback interface",
                "sysctl net.ipv6.conf.lo.disable_ipv6=0",
            )
        }
        (libc::EAFNOSUPPORT, _) if inet.host.is_ipv6() => Missing::new(
            "this kernel has no IPv6, or was started with ipv6.disable=1",
            "a kernel with CONFIG_IPV6, started without that parameter",
        ),
        (libc::ENETUNREACH | libc::EADDRNOTAVAIL, _) => Missing::new(
            "the loopback interface is down in this network namespace",
            "ip link set lo up",
        ),
        (libc::EAFNOSUPPORT, _) => {
            Missing::new("this kernel has no IPv4", "a kernel with CONFIG_INET")
        }
        _ => refused(inet, &error),
    }
}

fn refused(inet: Inet, error: &SetupError) -> Missing {
    Missing::new(format!("{} cannot be reached: {error}", inet.host), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_stray_datagram_does_not_reach_the_pair() {
        let (one, two) = udp_pair().expect("loopback");
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let to = SocketAddr::try_from(net::getsockname(&one).expect("bound")).expect("IPv4");
        stranger.send_to(b"stray", to).expect("sent");
        crate::io::datagram::send(two.as_fd(), b"wanted").expect("sent");
        let mut got = [0_u8; 16];
        assert_eq!(crate::io::datagram::receive(one.as_fd(), &mut got), Ok(6));
        assert_eq!(&got[..6], b"wanted");
    }

    #[test]
    fn a_tcp_connection_is_not_taken_for_mptcp() {
        let inet = Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Tcp };
        assert!(!is_mptcp(&socket(inet).expect("a socket")));
    }
}
