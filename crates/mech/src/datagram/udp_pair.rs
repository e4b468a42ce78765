//! What the variants of UDP share: knobs, limit, window and setup.

use crate::port::patience::LOST_AFTER;
use ipcperf_core::errno;
use ipcperf_core::{KnobValue, Limit, Link, Missing, SetupError, Wiring};
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::{batch, meeting};
use ipcperf_sys::io::{socket, sysctl};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;

/// What a probe reaches in place of UDP, whose sockets never tell whether anybody is there.
const LOOPBACK: Inet = Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Tcp };

/// The largest payload of an IPv4 datagram: 65535 less 20 bytes of IP and 8 of UDP header.
pub(crate) const LARGEST: Limit =
    Limit { bytes: 65507, set_by: "the 16-bit length of an IPv4 packet", raise: "" };

/// More messages under way gain nothing: the receiver never runs dry.
pub(crate) const WINDOW: usize = 16;

ipcperf_core::options! {
    /// Knobs of UDP.
    pub struct UdpOptions {
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); what does not fit is dropped. The kernel doubles what is asked for.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Microseconds for which a receive polls the network device before it sleeps (SO_BUSY_POLL).
        pub busy_poll: Option<u64> = (None, "net.core.busy_read (0)", Count { min: 0, max: 1_000_000 }),
        /// Messages of one call; read by udp/mmsg and udp/gso alone, and 1 everywhere else.
        pub batch: u64 = (16, "16", Count { min: 1, max: 64 }),
    }
}

impl UdpOptions {
    pub(crate) fn probe(&self) -> Result<(), Missing> {
        meeting::loopback(LOOPBACK)?;
        let tried = inet::udp_pair().and_then(|(one, _)| inet::set_busy_poll(&one, self.busy_poll));
        tried.map(drop).map_err(crate::missing)
    }

    /// How many messages that are charged with so many bytes are sure to fit the receive buffer, up to `most`. The
    /// reader gives memory back only by the quarter buffer, so half the buffer is sure.
    pub(crate) fn window(&self, charge: usize, most: usize) -> Option<u32> {
        let buffer = inet::udp_pair()
            .and_then(|(one, _)| socket::set_buffers(one, self.sndbuf, self.rcvbuf))
            .map(|buffers| buffers.receive)
            .ok()
            .or_else(|| sysctl::number("net/core/rmem_default"))
            .unwrap_or(0);
        let fitting = usize::try_from(buffer / 2).unwrap_or(usize::MAX) / charge;
        u32::try_from(fitting.clamp(1, most)).ok()
    }

    pub(crate) fn open(&self) -> Result<Link, SetupError> {
        let (lead, follow) = inet::udp_pair()?;
        let buffers = socket::set_buffers(&lead, self.sndbuf, self.rcvbuf)?;
        let busy_poll = inet::set_busy_poll(&lead, self.busy_poll)?;
        socket::set_buffers(&follow, self.sndbuf, self.rcvbuf)?;
        inet::set_busy_poll(&follow, self.busy_poll)?;
        for own in [&lead, &follow] {
            socket::set_receive_timeout(own, LOST_AFTER)?;
        }
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
            guards: Vec::new(),
            effective: vec![
                ("udp.sndbuf".into(), KnobValue::Number(buffers.send)),
                ("udp.rcvbuf".into(), KnobValue::Number(buffers.receive)),
                ("udp.busy_poll".into(), KnobValue::Number(busy_poll)),
            ],
        })
    }

    /// The window of the variants that batch: two batches, so that one can be on its way while the other is read.
    pub(crate) fn two_batches(&self, charge: usize) -> Option<u32> {
        self.window(charge, usize::try_from(2 * self.batch).unwrap_or(usize::MAX))
    }
}

/// What a message takes of the receive buffer: its `sk_buff` (256 bytes) and a buffer that the allocator rounds up to a
/// power of two (the message, 64 bytes of headers, 320 of `skb_shared_info`). A datagram is dropped when the sum would
/// exceed the receive buffer.
pub(crate) fn charge(size: usize) -> usize {
    256 + (size + 64 + 320).next_power_of_two()
}

/// A message that is too long has to be refused here: one that is held back is refused by the kernel only when its batch
/// goes out.
pub(crate) fn refuse_above(limit: Option<Limit>, size: usize) -> Result<(), Missing> {
    match limit {
        Some(limit) if size > limit.bytes => {
            let what = format!("{size} bytes are more than {} ({})", limit.bytes, limit.set_by);
            Err(Missing::new(what, limit.raise))
        }
        _ => Ok(()),
    }
}

/// Whether the kernel cuts one send into messages; tried, not guessed.
pub(crate) fn probe_cut() -> Result<(), Missing> {
    let (one, _two) = inet::udp_pair().map_err(crate::missing)?;
    batch::send_cut(one.as_fd(), &[0; 2], 1).map(drop).map_err(|code| {
        let what = format!("UDP_SEGMENT is refused ({})", errno::text(code));
        Missing::new(what, "Linux 4.18 or newer")
    })
}
