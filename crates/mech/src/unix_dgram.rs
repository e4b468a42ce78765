//! UNIX datagram sockets: `socketpair(2)`.

use crate::port::descriptors;
use crate::port::message::{Datagrams, MessagePort};
use crate::wait::Block;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of UNIX datagram sockets.
    pub struct UnixDgramOptions {
        /// Send buffer (SO_SNDBUF), which also limits the message; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

/// A UNIX datagram socket.
#[derive(Debug)]
pub struct UnixDgram;

impl Mechanism for UnixDgram {
    const SPEC: &'static Spec = &Spec {
        name: "unix-dgram",
        variant: None,
        family: Family::Datagram,
        wait: Wait::Block,
        default: true,
        summary: "A pair of UNIX datagram sockets: messages with boundaries, reliable and in order.",
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only relatives share; sockets with names exist for unrelated processes.",
            "net.unix.max_dgram_qlen (10 by default) messages may wait at a receiver, whatever their size.",
            "Nothing tells a receiver that its peer is gone; a sender gets ECONNREFUSED.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        copies: 2,
        syscalls: Syscalls { send: 1.0, recv: Some(1.0) },
        window: None,
        needs: &["CONFIG_UNIX"],
    };
    type Options = UnixDgramOptions;
    type Port = MessagePort<Datagrams, Block>;

    fn probe(options: &UnixDgramOptions) -> Result<(), Missing> {
        let tried = socket::pair(Kind::Datagram)
            .and_then(|(one, _)| socket::set_buffers(one, options.sndbuf, options.rcvbuf));
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(options: &UnixDgramOptions) -> Option<Limit> {
        let bytes = socket::largest_message(Kind::Datagram, options.sndbuf).ok()?;
        Some(Limit {
            bytes,
            set_by: "SO_SNDBUF less 32 bytes",
            raise: "--set unix-dgram.sndbuf=BYTES, up to net.core.wmem_max",
        })
    }

    fn open(_: &Shape, options: &UnixDgramOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::Datagram)?;
        let buffers = socket::set_buffers(&lead, options.sndbuf, options.rcvbuf)?;
        socket::set_buffers(&follow, options.sndbuf, options.rcvbuf)?;
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
            guards: Vec::new(),
            effective: vec![
                ("unix-dgram.sndbuf".into(), KnobValue::Number(buffers.send)),
                ("unix-dgram.rcvbuf".into(), KnobValue::Number(buffers.receive)),
            ],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &UnixDgramOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        MessagePort::of_socket(own, shape)
    }
}
