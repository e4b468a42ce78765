//! UNIX sequenced-packet sockets: `socketpair(2)`.

use crate::port::descriptors;
use crate::port::message::{MessagePort, Packets};
use crate::wait::Block;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of UNIX sequenced-packet sockets.
    pub struct UnixSeqpacketOptions {
        /// Send buffer (SO_SNDBUF), which also limits the message; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

/// A UNIX sequenced-packet socket.
#[derive(Debug)]
pub struct UnixSeqpacket;

impl Mechanism for UnixSeqpacket {
    const SPEC: &'static Spec = &Spec {
        name: "unix-seqpacket",
        variant: None,
        family: Family::Datagram,
        wait: Wait::Block,
        default: true,
        summary: "A pair of UNIX sequenced-packet sockets: a connection that keeps message boundaries.",
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only relatives share; sockets with names exist for unrelated processes.",
            "An empty message looks like the end of the connection: messages have at least 1 byte.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
            "A peer that closes with unread messages is reported once before its own last messages.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        copies: 2,
        syscalls: Syscalls { send: 1.0, recv: Some(1.0) },
        window: None,
        needs: &["CONFIG_UNIX"],
    };
    type Options = UnixSeqpacketOptions;
    type Port = MessagePort<Packets, Block>;

    fn probe(options: &UnixSeqpacketOptions) -> Result<(), Missing> {
        let tried = socket::pair(Kind::SeqPacket)
            .and_then(|(one, _)| socket::set_buffers(one, options.sndbuf, options.rcvbuf));
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(options: &UnixSeqpacketOptions) -> Option<Limit> {
        let bytes = socket::largest_message(Kind::SeqPacket, options.sndbuf).ok()?;
        Some(Limit {
            bytes,
            set_by: "SO_SNDBUF less 32 bytes",
            raise: "--set unix-seqpacket.sndbuf=BYTES, up to net.core.wmem_max",
        })
    }

    fn open(_: &Shape, options: &UnixSeqpacketOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        let buffers = socket::set_buffers(&lead, options.sndbuf, options.rcvbuf)?;
        socket::set_buffers(&follow, options.sndbuf, options.rcvbuf)?;
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
            guards: Vec::new(),
            effective: vec![
                ("unix-seqpacket.sndbuf".into(), KnobValue::Number(buffers.send)),
                ("unix-seqpacket.rcvbuf".into(), KnobValue::Number(buffers.receive)),
            ],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &UnixSeqpacketOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        MessagePort::of_socket(own, shape)
    }
}
