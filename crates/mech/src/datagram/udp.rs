//! UDP over the loopback interface.

use crate::datagram::udp_pair::{LARGEST, UdpOptions, WINDOW, charge, probe_cut, refuse_above};
use crate::port::batch::BatchPort;
use crate::port::descriptors;
use crate::port::incoming::Letters;
use crate::port::message::{LossyDatagrams, MessagePort};
use crate::port::outgoing::{Slots, Train};
use crate::wait::{Block, Wait};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::batch;
use std::marker::PhantomData;

/// UDP sockets on 127.0.0.1, connected to each other.
#[derive(Debug)]
pub struct Udp<W>(PhantomData<W>);

// Who sleeps in epoll_wait needs another way to tell that a message was lost; hence the plain gate.
impl<W: Wait<Gate = ()>> Mechanism for Udp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "udp",
        variant: W::VARIANT,
        family: Family::Datagram,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: if W::VARIANT.is_none() {
            "Two UDP sockets on 127.0.0.1 that are connected to each other; a receiver sleeps in recv."
        } else {
            "Two UDP sockets on 127.0.0.1, not blocking; both ends ask again and again."
        },
        manual: &["udp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "A full receive buffer drops messages, and neither side is told; a window keeps the sender back.",
            "The receive buffer is charged with the kernel's bookkeeping: a 64-byte message takes about 800 bytes.",
            "Busy polling asks the queue of a network device, and the loopback interface has none: it changes nothing here.",
            "Firewall rules, packet capture and traffic shaping apply to the loopback interface too.",
        ],
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::TwoWay,
        reach: Reach::Network,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::Drops,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: Some(WINDOW as u32),
        needs: &["CONFIG_INET", "the loopback interface up"],
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

    fn open(_: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        options.open()
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &UdpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        meet.effective("udp.batch", KnobValue::Number(1));
        MessagePort::of_socket(own, shape)
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
            "One call of each end moves a whole batch when messages flow; the calls told are those of a message sent alone.",
            "A call saves the way into the kernel and nothing else: each message still crosses the network stack by itself.",
            "A message waits until its batch is full or the sender flushes, so its latency is that of a batch.",
            "Where the receive buffer holds fewer than two batches, the window that prevents loss cuts them short.",
        ],
        ..BATCHING
    };
    type Options = UdpOptions;
    type Port = BatchPort<Slots, Letters>;

    fn probe(options: &UdpOptions) -> Result<(), Missing> {
        options.probe()?;
        batch::may_send().and_then(|()| batch::may_receive()).map_err(crate::missing)
    }

    fn window(size: usize, options: &UdpOptions) -> Option<u32> {
        options.two_batches(charge(size))
    }

    fn open(shape: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        refuse_above(Some(LARGEST), shape.size)?;
        options.open()
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &UdpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        let outgoing = Slots::new(options.batch, shape)?;
        meet.effective("udp.batch", KnobValue::Number(outgoing.count()));
        Ok(BatchPort::new(own, outgoing, Letters::new(options.batch, shape)?))
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
            "One call of each end moves a whole batch when messages flow; the calls told are those of a message sent alone.",
            "A batch crosses the network stack as one packet, which the kernel cuts up just before the receiver's queue.",
            "The whole batch has to fit one packet: with 16 messages of one call each has at most 4094 bytes.",
            "Messages of one call have one length, so a message of another length is handed over apart.",
            "A message waits until its batch is full or the sender flushes, so its latency is that of a batch.",
        ],
        payload: Payload::Message { max: None },
        needs: &["Linux 4.18 (UDP_SEGMENT)", "the loopback interface up"],
        ..BATCHING
    };
    type Options = UdpOptions;
    type Port = BatchPort<Train, Letters>;

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

    fn open(shape: &Shape, options: &UdpOptions) -> Result<Link, SetupError> {
        refuse_above(Self::limit(options), shape.size)?;
        options.open()
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &UdpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        let outgoing = Train::new(options.batch, shape)?;
        meet.effective("udp.batch", KnobValue::Number(outgoing.count()));
        Ok(BatchPort::new(own, outgoing, Letters::new(options.batch, shape)?))
    }
}
