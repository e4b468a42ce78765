//! UDP over the loopback interface.

use crate::budget;
use crate::datagram::DATAGRAM;
use crate::port::batch::BatchPort;
use crate::port::incoming::RecvBatch;
use crate::port::message::{Carrier, MessagePort};
use crate::port::number;
use crate::port::outgoing::{GsoBatch, Slots};
use crate::port::patience::LOST_AFTER;
use crate::wait::{Block, Wait, waiting};
use ipcperf_core::errno;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::{batch, meeting};
use ipcperf_sys::sysctl;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

/// What a probe reaches in place of UDP, whose sockets never tell whether anybody is there.
const LOOPBACK: Inet = Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Tcp };

/// The largest payload of an IPv4 datagram: 65535 less 20 bytes of IP and 8 of UDP header.
const LARGEST: Limit =
    Limit { bytes: 65507, set_by: "the 16-bit length of an IPv4 packet", raise: "" };

/// More messages under way gain nothing: the receiver never runs dry.
const WINDOW: usize = 16;

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
    fn probe(&self) -> Result<(), Missing> {
        meeting::loopback(LOOPBACK)?;
        let tried = inet::udp_pair().and_then(|(one, _)| inet::set_busy_poll(&one, self.busy_poll));
        tried.map(drop).map_err(crate::missing)
    }

    /// How many messages that are charged with so many bytes are sure to fit the receive buffer, up to `most`. The
    /// reader gives memory back only by the quarter buffer, so half the buffer is sure.
    fn window(&self, charge: usize, most: usize) -> Option<u32> {
        let buffer = inet::udp_pair()
            .and_then(|(one, _)| socket::set_buffers(one, self.sndbuf, self.rcvbuf))
            .map(|buffers| buffers.receive)
            .ok()
            .or_else(|| sysctl::number("net/core/rmem_default"))
            .unwrap_or(0);
        let fitting = usize::try_from(buffer / 2).unwrap_or(usize::MAX) / charge;
        u32::try_from(fitting.clamp(1, most)).ok()
    }

    fn open(&self, shape: &Shape) -> Result<Link, SetupError> {
        if shape.is_apart {
            return Ok(Link::default());
        }
        let (lead, follow) = inet::udp_pair()?;
        let buffers = socket::set_buffers(&lead, self.sndbuf, self.rcvbuf)?;
        let busy_poll = inet::set_busy_poll(&lead, self.busy_poll)?;
        socket::set_buffers(&follow, self.sndbuf, self.rcvbuf)?;
        inet::set_busy_poll(&follow, self.busy_poll)?;
        for own in [&lead, &follow] {
            socket::set_receive_timeout(own, LOST_AFTER)?;
        }
        Ok(Link::of_fds([lead], [follow])
            .granted("sndbuf", buffers.send)
            .granted("rcvbuf", buffers.receive)
            .granted("busy_poll", busy_poll))
    }

    /// In a worker: the own end, made by itself where the ends are apart.
    fn join(end: &mut Attach<'_, Self>) -> Result<OwnedFd, SetupError> {
        if !end.shape.is_apart {
            let [own] = end.descriptors()?;
            return Ok(own);
        }
        let host = |seat| end.shape.address(seat, LOOPBACK.host);
        let (own, port) = inet::udp(host(end.seat))?;
        let theirs = host(end.seat.other());
        let told = end.meet.swap(Wiring::of_words([port.into()]))?;
        inet::connect_udp(&own, SocketAddr::new(theirs, number(&told)?))?;
        let buffers = socket::set_buffers(&own, end.options.sndbuf, end.options.rcvbuf)?;
        let busy_poll = inet::set_busy_poll(&own, end.options.busy_poll)?;
        socket::set_receive_timeout(&own, LOST_AFTER)?;
        end.effective("sndbuf", buffers.send);
        end.effective("rcvbuf", buffers.receive);
        end.effective("busy_poll", busy_poll);
        // What comes before the peer is connected is thrown away.
        end.meet.swap(Wiring::default())?;
        Ok(own)
    }

    /// The window of the variants that batch: two batches, so that one can be on its way while the other is read.
    fn two_batches(&self, charge: usize) -> Option<u32> {
        self.window(charge, usize::try_from(2 * self.batch).unwrap_or(usize::MAX))
    }
}

/// What a message takes of the receive buffer: its `sk_buff` (256 bytes) and a buffer that the allocator rounds up to a
/// power of two (the message, 64 bytes of headers, 320 of `skb_shared_info`). A datagram is dropped when the sum would
/// exceed the receive buffer.
fn charge(size: usize) -> usize {
    256 + (size + 64 + 320).next_power_of_two()
}

/// Whether the kernel cuts one send into messages; tried, not guessed.
fn probe_cut() -> Result<(), Missing> {
    let (one, _two) = inet::udp_pair().map_err(crate::missing)?;
    batch::send_cut(one.as_fd(), &[0; 2], 1).map(drop).map_err(|code| {
        let what = format!("UDP_SEGMENT is refused ({})", errno::text(code));
        Missing::new(what, "Linux 4.18 or newer")
    })
}

/// Sockets that may lose messages.
#[derive(Debug, Default)]
pub struct LossyDatagrams;

impl Carrier for LossyDatagrams {
    const ENDS: bool = false;
    const LOSSY: bool = true;

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // No packet announces an end, and a datagram socket has nothing to drain.
        Ok(())
    }
}

/// UDP sockets on 127.0.0.1, connected to each other.
#[derive(Debug)]
pub struct Udp<W>(PhantomData<W>);

// Who sleeps in epoll_wait needs another way to tell that a message was lost; hence the plain gate.
impl<W: Wait<Gate = ()>> Mechanism for Udp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "udp",
        summary: if W::VARIANT.is_none() {
            "Two UDP sockets on 127.0.0.1 that are connected to each other; a receiver sleeps in recv."
        } else {
            "Two UDP sockets on 127.0.0.1, not blocking; both ends ask again and again."
        },
        manual: &["udp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "A full receive buffer drops messages, and neither side notices; here a window limits the sender.",
            "The receive buffer is charged with the kernel's bookkeeping: a 64-byte message takes about 800 bytes.",
            "Busy polling asks the queue of a network device, and the loopback interface has none: it changes nothing here.",
            "Firewall rules, packet capture and traffic shaping also apply to the loopback interface.",
        ],
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::Drops,
        window: Some(WINDOW as u32),
        needs: &["CONFIG_INET", "the loopback interface up"],
        ..waiting::<W>(DATAGRAM)
    };
    type Options = UdpOptions;
    type Port = MessagePort<LossyDatagrams, W>;
    const SHARES: bool = true;

    fn probe(options: &UdpOptions) -> Result<(), Missing> {
        options.probe()
    }

    fn window(size: usize, options: &UdpOptions) -> Option<u32> {
        options.window(charge(size), WINDOW)
    }

    fn open(shape: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UdpOptions>) -> Result<Self::Port, SetupError> {
        let own = UdpOptions::join(&mut end)?;
        end.effective("batch", 1);
        MessagePort::of_socket(own, end.shape)
    }
}

/// What the variants that batch share with the plain one.
const BATCHING: Spec = Spec {
    default: false,
    // Two batches of 16.
    window: Some(32),
    ..*Udp::<Block>::SPEC
};

/// UDP sockets that move many messages with one call.
#[derive(Debug)]
pub struct UdpMmsg;

impl Mechanism for UdpMmsg {
    const SPEC: &'static Spec = &Spec {
        variant: Some("mmsg"),
        summary: "Two UDP sockets on 127.0.0.1; sendmmsg hands over a batch, and recvmmsg sleeps, then takes what is there.",
        manual: &["sendmmsg(2)", "recvmmsg(2)", "udp(7)"],
        pitfalls: &[
            "One call at each end moves a whole batch when messages flow; the declared calls are for a message sent separately.",
            "It saves system calls and nothing else: each message still crosses the network stack by itself.",
            "A message waits until its batch is full or the sender flushes, so it has the latency of a batch.",
            "Where the receive buffer holds fewer than two batches, the window that prevents loss cuts them short.",
        ],
        ..BATCHING
    };
    type Options = UdpOptions;
    type Port = BatchPort<Slots, RecvBatch>;

    fn probe(options: &UdpOptions) -> Result<(), Missing> {
        options.probe()?;
        batch::may_send().and_then(|()| batch::may_receive()).map_err(crate::missing)
    }

    fn window(size: usize, options: &UdpOptions) -> Option<u32> {
        options.two_batches(charge(size))
    }

    fn lends(_: &UdpOptions) -> [Lends; 2] {
        // One message behind the other.
        [Lends::Place; 2]
    }

    fn open(shape: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        // One that is held back would be refused by the kernel only when its batch goes out.
        budget::within(Some(LARGEST), shape.size)?;
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UdpOptions>) -> Result<Self::Port, SetupError> {
        let own = UdpOptions::join(&mut end)?;
        let outgoing = Slots::new(end.options.batch, end.shape)?;
        end.effective("batch", outgoing.count());
        Ok(BatchPort::new(own, outgoing, RecvBatch::new(end.options.batch, end.shape)?))
    }
}

/// UDP sockets whose sender leaves the cutting into messages to the kernel.
#[derive(Debug)]
pub struct UdpGso;

impl Mechanism for UdpGso {
    const SPEC: &'static Spec = &Spec {
        variant: Some("gso"),
        summary: "Two UDP sockets on 127.0.0.1; one send carries a batch that the kernel cuts up, recvmmsg takes what is there.",
        manual: &["udp(7)", "sendmsg(2)", "recvmmsg(2)"],
        pitfalls: &[
            "One call at each end moves a whole batch when messages flow; the declared calls are for a message sent separately.",
            "A batch crosses the network stack as one packet, which the kernel cuts up just before the receiver's queue.",
            "The whole batch has to fit one packet: with 16 messages of one call each has at most 4094 bytes.",
            "All messages of one call have the same length; a message of another length takes a call of its own.",
            "A message waits until its batch is full or the sender flushes, so it has the latency of a batch.",
        ],
        payload: Payload::Message { max: None },
        needs: &["Linux 4.18 (UDP_SEGMENT)", "the loopback interface up"],
        ..BATCHING
    };
    type Options = UdpOptions;
    type Port = BatchPort<GsoBatch, RecvBatch>;

    fn probe(options: &UdpOptions) -> Result<(), Missing> {
        options.probe()?;
        batch::may_receive().map_err(crate::missing)?;
        probe_cut()
    }

    fn limit(options: &UdpOptions) -> Option<Limit> {
        Some(Limit {
            bytes: LARGEST.bytes / usize::try_from(options.batch.max(1)).ok()?,
            set_by: "the 16-bit length of the IPv4 packet that carries a batch",
            raise: "--set udp.batch=N, down to 1",
        })
    }

    /// A message that was cut out of a packet takes its own structures beside a share of the packet's memory.
    fn window(size: usize, options: &UdpOptions) -> Option<u32> {
        options.two_batches(charge(size).max(1024 + size))
    }

    fn lends(_: &UdpOptions) -> [Lends; 2] {
        // One message behind the other.
        [Lends::Place; 2]
    }

    fn open(shape: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        // As above.
        budget::within(Self::limit(options), shape.size)?;
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UdpOptions>) -> Result<Self::Port, SetupError> {
        let own = UdpOptions::join(&mut end)?;
        let outgoing = GsoBatch::new(end.options.batch, end.shape)?;
        end.effective("batch", outgoing.count());
        Ok(BatchPort::new(own, outgoing, RecvBatch::new(end.options.batch, end.shape)?))
    }
}
