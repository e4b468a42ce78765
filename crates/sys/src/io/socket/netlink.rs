//! Netlink sockets of the family left to programs, `NETLINK_USERSOCK`: unicast from one process to another.

use crate::io::failed;
use ipcperf_core::{Missing, SetupError};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{self, AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::os::fd::OwnedFd;

/// Two sockets connected to each other. Others cannot send to them: the kernel turns away all but the peer.
///
/// # Errors
/// `Unavailable` where the kernel has no netlink; otherwise the call that failed.
pub fn pair() -> Result<(OwnedFd, OwnedFd), SetupError> {
    let (one, at_one) = bound()?;
    let (two, at_two) = bound()?;
    for (from, to) in [(&one, at_two), (&two, at_one)] {
        net::connect(from, &to).map_err(failed(format!("connect port {}", to.pid())))?;
    }
    // Before it was connected a socket took messages from anybody.
    for socket in [&one, &two] {
        while net::recv(socket, &mut [0_u8; 1], RecvFlags::DONTWAIT).is_ok() {}
    }
    Ok((one, two))
}

/// A socket with a port number that the kernel chose.
pub(crate) fn bound() -> Result<(OwnedFd, SocketAddrNetlink), SetupError> {
    let family = Some(netlink::USERSOCK);
    let socket =
        net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, family)
            .map_err(|error| match error {
            Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT => {
                Missing::new("this kernel has no NETLINK_USERSOCK", "a kernel with CONFIG_NET")
                    .into()
            }
            other => failed("socket")(other),
        })?;
    net::bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(failed("bind"))?;
    let bound = net::getsockname(&socket).map_err(failed("getsockname"))?;
    let address = SocketAddrNetlink::try_from(bound).map_err(failed("getsockname"))?;
    Ok((socket, SocketAddrNetlink::new(address.pid(), 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::SendFlags;

    #[test]
    fn a_stranger_is_turned_away_and_the_peer_is_heard() {
        let (one, two) = pair().expect("netlink");
        let at = SocketAddrNetlink::try_from(net::getsockname(&one).expect("bound"));
        let (stranger, _) = bound().expect("netlink");
        let sent = net::sendto(&stranger, b"stray", SendFlags::DONTWAIT, &at.expect("netlink"));
        assert_eq!(sent, Err(Errno::CONNREFUSED));
        net::send(&two, b"wanted", SendFlags::DONTWAIT).expect("room");
        let mut got = [0_u8; 16];
        let (len, _) = net::recv(&one, &mut got, RecvFlags::DONTWAIT).expect("a message");
        assert_eq!(&got[..len], b"wanted");
    }
}
