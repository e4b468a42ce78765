//! Options of TCP at sockets that have none any more. Each is set and asked for at a socket of TCP that is made for that, so
//! that values, errors and lengths are those of the kernel.
//!
//! # Safety
//! The kernel reads and writes the bytes that each call is given, and no more than their number.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// `SOL_MPTCP` (`linux/socket.h`).
const MPTCP: u32 = 284;
pub(super) const TCP: u32 = libc::IPPROTO_TCP as u32;
const IP: u32 = libc::IPPROTO_IP as u32;
const IPV6: u32 = libc::IPPROTO_IPV6 as u32;
pub(super) const SOCKET: u32 = libc::SOL_SOCKET as u32;

/// Levels that only sockets of IP have.
pub(super) const LEVELS_OF_IP: [u32; 4] = [TCP, IP, IPV6, MPTCP];

/// Options of `SOL_SOCKET` that only a socket of IP takes, and those that tell of which kind a socket is.
pub(super) const OF_IP: [u32; 2] = [libc::SO_REUSEPORT as u32, libc::SO_ZEROCOPY as u32];
pub(super) const OF_KIND: [u32; 3] =
    [libc::SO_DOMAIN as u32, libc::SO_PROTOCOL as u32, libc::SO_TYPE as u32];

/// Options of `SOL_SOCKET` that only a UNIX socket has (`unix(7)`).
pub(super) const OF_UNIX: [u32; 2] = [libc::SO_PASSCRED as u32, libc::SO_PASSSEC as u32];

/// So many sockets are known at once; the oldest are forgotten.
const KNOWN: usize = 1 << 16;

/// As many different values are remembered with what they did.
const TRIED: usize = 1024;

/// Bytes of the longest value that is kept. Those of servers have 4, names of algorithms 16.
pub(super) const LONGEST: usize = 1024;

/// What a socket of TCP is that answers for one of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Model {
    pub(super) is_v6: bool,
    pub(super) is_connected: bool,
}

/// An option with its value; none where the program has set it at a socket that was not exchanged yet.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) level: u32,
    pub(super) option: u32,
    pub(super) value: Option<Vec<u8>>,
}

/// A value, or an error of `errno(3)`.
pub(super) type Told = Result<Vec<u8>, i32>;

/// What was set, and what sockets of TCP say.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// By the cookie of each socket, which no other one gets.
    kept: BTreeMap<u64, Vec<Kept>>,
    /// Of a socket at which nothing was set, by its level, number and room.
    defaults: HashMap<(Model, u32, u32, usize), Told>,
    /// What it tells after such a value was set: servers set the same at each connection.
    tried: HashMap<(Model, u32, u32, Vec<u8>), Told>,
}

impl Options {
    pub(super) fn keep(&mut self, cookie: u64, kept: Kept) {
        let all = self.kept.entry(cookie).or_default();
        all.retain(|old| (old.level, old.option) != (kept.level, kept.option));
        all.push(kept);
        if self.kept.len() > KNOWN {
            self.kept.pop_first();
        }
    }

    /// What was set at a socket before it is exchanged its successor has.
    pub(super) fn exchanged(&mut self, old: &OwnedFd, new: &OwnedFd) {
        let cookies = [old, new].map(sockopt::socket_cookie);
        let [Ok(before), Ok(after)] = cookies else { return };
        let Some(mut all) = self.kept.remove(&before) else { return };
        for kept in all.iter_mut().filter(|kept| kept.value.is_none()) {
            kept.value = get(old, kept.level, kept.option, LONGEST).ok();
        }
        all.retain(|kept| kept.value.is_some());
        self.kept.insert(after, all);
    }

    /// What was set at a socket that is exchanged its successor gets, which is one of TCP again.
    pub(super) fn restore(&mut self, old: &OwnedFd, new: &OwnedFd) {
        let cookies = [old, new].map(sockopt::socket_cookie);
        let [Ok(before), Ok(after)] = cookies else { return };
        for kept in self.kept.remove(&before).unwrap_or_default() {
            let Kept { level, option, value } = kept;
            if value.is_some_and(|value| set(new, level, option, &value).is_ok()) {
                self.keep(after, Kept { level, option, value: None });
            }
        }
    }

    /// What binding changes: a socket of IPv6 with an address of its own takes no others. One that is bound to the same name says
    /// so.
    pub(super) fn bound(&mut self, cookie: u64, holder: &OwnedFd) {
        let (level, option) = (IPV6, libc::IPV6_V6ONLY.cast_unsigned());
        let is_v6 = sockopt::socket_domain(holder) == Ok(AddressFamily::INET6);
        if is_v6 {
            let value = get(holder, level, option, LONGEST).ok();
            self.keep(cookie, Kept { level, option, value });
        }
    }

    /// Sets an option, where one of TCP can be.
    pub(super) fn set(
        &mut self,
        cookie: u64,
        model: Model,
        asked: (u32, u32),
        value: &[u8],
    ) -> Result<(), i32> {
        let (level, option) = asked;
        if self.tried.len() > TRIED {
            self.tried.clear();
        }
        let trial = || {
            let (socket, _peer) = model.connected().map_err(errno)?;
            set(&socket, level, option, value)?;
            Ok(get(&socket, level, option, LONGEST).unwrap_or_else(|_| value.to_owned()))
        };
        let tried = self.tried.entry((model, level, option, value.to_owned()));
        let value = Some(tried.or_insert_with(trial).clone()?);
        self.keep(cookie, Kept { level, option, value });
        Ok(())
    }

    /// What a socket tells: what was set at it or, when it was accepted, at its listener, or what one of TCP tells by itself.
    pub(super) fn get(
        &mut self,
        cookies: [Option<u64>; 2],
        model: Model,
        asked: (u32, u32),
        room: usize,
    ) -> Result<Vec<u8>, i32> {
        let set = cookies.into_iter().flatten().find_map(|cookie| {
            let all = self.kept.get(&cookie)?.iter();
            let mut same = all.filter(|kept| (kept.level, kept.option) == asked);
            same.find_map(|kept| kept.value.clone())
        });
        if let Some(mut value) = set {
            value.truncate(room);
            return Ok(value);
        }
        let (level, option) = asked;
        let ask = || {
            let (socket, _peer) = model.connected().map_err(errno)?;
            get(&socket, level, option, room)
        };
        self.defaults.entry((model, level, option, room)).or_insert_with(ask).clone()
    }
}

impl Model {
    fn open(self) -> io::Result<OwnedFd> {
        let family = if self.is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        Ok(net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
    }

    /// A socket in this state, with the other end of its connection.
    fn connected(self) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
        let socket = self.open()?;
        let [anywhere, here]: [SocketAddr; 2] = match self.is_v6 {
            true => [Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST].map(|ip| (ip, 0).into()),
            false => [Ipv4Addr::UNSPECIFIED, Ipv4Addr::LOCALHOST].map(|ip| (ip, 0).into()),
        };
        if !self.is_connected {
            // Some options can be set only before.
            net::bind(&socket, &anywhere)?;
            return Ok((socket, None));
        }
        let listener = self.open()?;
        net::bind(&listener, &here)?;
        net::listen(&listener, 1)?;
        net::connect(&socket, &SocketAddr::try_from(net::getsockname(&listener)?)?)?;
        let peer = net::accept_with(&listener, SocketFlags::CLOEXEC)?;
        // The size of segments follows the window of the other end, which comes with the first ones.
        for (from, to) in [(&socket, &peer), (&peer, &socket)] {
            net::send(from, b"x", SendFlags::NOSIGNAL)?;
            net::recv(to, &mut [0_u8], RecvFlags::empty())?;
        }
        // Nothing of it stays in TIME_WAIT.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        Ok((socket, Some(peer)))
    }
}

fn errno(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::ENOPROTOOPT)
}

/// What a socket itself tells.
pub(super) fn get(socket: &OwnedFd, level: u32, option: u32, room: usize) -> Result<Vec<u8>, i32> {
    let mut value = vec![0_u8; room];
    let mut len = room as libc::socklen_t;
    let (level, option) = (level.cast_signed(), option.cast_signed());
    // SAFETY: see the module.
    let told = unsafe {
        let at = value.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, at, &raw mut len)
    };
    if told != 0 {
        return Err(errno(io::Error::last_os_error()));
    }
    value.truncate(len as usize);
    Ok(value)
}

/// Sets an option of a socket itself.
pub(super) fn set(socket: &OwnedFd, level: u32, option: u32, value: &[u8]) -> Result<(), i32> {
    let (level, option) = (level.cast_signed(), option.cast_signed());
    let len = value.len() as libc::socklen_t;
    // SAFETY: see the module.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), len) };
    if done == 0 { Ok(()) } else { Err(errno(io::Error::last_os_error())) }
}

/// States of a socket of TCP (`net/tcp_states.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TcpState {
    Established = 1,
    CloseWait = 8,
    Listen = 10,
}

impl TcpState {
    /// That of a connection, which the other end may have closed.
    pub(super) fn of_connection(socket: &OwnedFd) -> Self {
        let mut polled = [PollFd::new(socket, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = rustix::event::poll(&mut polled, Some(&at_once));
        match polled[0].revents().contains(PollFlags::RDHUP) {
            true => Self::CloseWait,
            false => Self::Established,
        }
    }
}

/// Of `struct tcp_info` (`linux/tcp.h`) the state and the sizes of segments; all that is counted is 0.
pub(super) fn idle(info: &[u8], state: TcpState) -> Vec<u8> {
    /// `tcpi_snd_mss` and `tcpi_rcv_mss`, and `tcpi_advmss`.
    const SIZES: [std::ops::Range<usize>; 2] = [16..24, 84..88];
    let kept = |at: usize| SIZES.iter().any(|size| size.contains(&at));
    let byte = |(at, byte): (usize, &u8)| match at {
        0 => state as u8,
        at if kept(at) => *byte,
        _ => 0,
    };
    info.iter().enumerate().map(byte).collect()
}

/// By its name in the headers.
pub(super) fn option_name(level: u32, option: u32) -> String {
    let names: &[(u32, &str)] = match level {
        TCP => &OF_TCP,
        IP => &OF_IPV4,
        IPV6 => &OF_IPV6,
        SOCKET => &OF_SOCKET,
        _ => &[],
    };
    match names.iter().find(|(known, _)| *known == option) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("option {option} of level {level}"),
    }
}

/// `linux/tcp.h`.
const OF_TCP: [(u32, &str); 36] = [
    (1, "TCP_NODELAY"),
    (2, "TCP_MAXSEG"),
    (3, "TCP_CORK"),
    (4, "TCP_KEEPIDLE"),
    (5, "TCP_KEEPINTVL"),
    (6, "TCP_KEEPCNT"),
    (7, "TCP_SYNCNT"),
    (8, "TCP_LINGER2"),
    (9, "TCP_DEFER_ACCEPT"),
    (10, "TCP_WINDOW_CLAMP"),
    (11, "TCP_INFO"),
    (12, "TCP_QUICKACK"),
    (13, "TCP_CONGESTION"),
    (14, "TCP_MD5SIG"),
    (16, "TCP_THIN_LINEAR_TIMEOUTS"),
    (17, "TCP_THIN_DUPACK"),
    (18, "TCP_USER_TIMEOUT"),
    (19, "TCP_REPAIR"),
    (20, "TCP_REPAIR_QUEUE"),
    (21, "TCP_QUEUE_SEQ"),
    (22, "TCP_REPAIR_OPTIONS"),
    (23, "TCP_FASTOPEN"),
    (24, "TCP_TIMESTAMP"),
    (25, "TCP_NOTSENT_LOWAT"),
    (26, "TCP_CC_INFO"),
    (27, "TCP_SAVE_SYN"),
    (28, "TCP_SAVED_SYN"),
    (29, "TCP_REPAIR_WINDOW"),
    (30, "TCP_FASTOPEN_CONNECT"),
    (31, "TCP_ULP"),
    (32, "TCP_MD5SIG_EXT"),
    (33, "TCP_FASTOPEN_KEY"),
    (34, "TCP_FASTOPEN_NO_COOKIE"),
    (35, "TCP_ZEROCOPY_RECEIVE"),
    (36, "TCP_INQ"),
    (37, "TCP_TX_DELAY"),
];

/// `linux/in.h`.
const OF_IPV4: [(u32, &str); 14] = [
    (1, "IP_TOS"),
    (2, "IP_TTL"),
    (4, "IP_OPTIONS"),
    (8, "IP_PKTINFO"),
    (10, "IP_MTU_DISCOVER"),
    (11, "IP_RECVERR"),
    (12, "IP_RECVTTL"),
    (13, "IP_RECVTOS"),
    (14, "IP_MTU"),
    (15, "IP_FREEBIND"),
    (19, "IP_TRANSPARENT"),
    (21, "IP_MINTTL"),
    (24, "IP_BIND_ADDRESS_NO_PORT"),
    (51, "IP_LOCAL_PORT_RANGE"),
];

/// `linux/in6.h`.
const OF_IPV6: [(u32, &str); 10] = [
    (1, "IPV6_ADDRFORM"),
    (16, "IPV6_UNICAST_HOPS"),
    (23, "IPV6_MTU_DISCOVER"),
    (24, "IPV6_MTU"),
    (25, "IPV6_RECVERR"),
    (26, "IPV6_V6ONLY"),
    (49, "IPV6_RECVPKTINFO"),
    (66, "IPV6_RECVTCLASS"),
    (67, "IPV6_TCLASS"),
    (75, "IPV6_TRANSPARENT"),
];

/// `asm-generic/socket.h`.
const OF_SOCKET: [(u32, &str); 4] =
    [(15, "SO_REUSEPORT"), (16, "SO_PASSCRED"), (34, "SO_PASSSEC"), (60, "SO_ZEROCOPY")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_set_is_told_and_otherwise_what_tcp_tells() {
        let mut options = Options::default();
        let model = Model { is_v6: false, is_connected: true };
        let asked = (TCP, libc::TCP_NODELAY as u32);
        let get = |options: &mut Options, cookies| options.get(cookies, model, asked, 4);
        assert_eq!(get(&mut options, [Some(7), None]), Ok(vec![0; 4]));
        options.set(7, model, asked, &5_i32.to_ne_bytes()).expect("an option of TCP");
        let one = || Ok(1_i32.to_ne_bytes().to_vec());
        assert_eq!(get(&mut options, [Some(7), None]), one());
        assert_eq!(get(&mut options, [Some(8), Some(7)]), one(), "of the listener");
        assert_eq!(options.set(7, model, asked, &[1]), Err(libc::EINVAL));
        let maxseg = (TCP, libc::TCP_MAXSEG as u32);
        let [connected, open] = [true, false].map(|is_connected| {
            let model = Model { is_v6: false, is_connected };
            let told = options.get([None; 2], model, maxseg, 4).expect("an option of TCP");
            i32::from_ne_bytes(told.try_into().expect("4 bytes"))
        });
        assert!(connected > open && open > 0, "{connected} {open}");
        assert_eq!(options.get([None; 2], model, (TCP, 999), 4), Err(libc::ENOPROTOOPT));
        assert_eq!(option_name(TCP, 36), "TCP_INQ");
        assert_eq!(option_name(3, 4), "option 4 of level 3");
    }
}
