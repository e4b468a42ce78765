//! UNIX stream sockets: a pair, or a listener found by path or abstract name.

use crate::port::batch::BatchPort;
use crate::port::incoming::Pieces;
use crate::port::outgoing::Slots;
use crate::stream::stream_port::StreamPort;
use crate::stream::unix_meeting::UnixStreamOptions;
use crate::wait::{Block, Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Door, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::batch;
use std::marker::PhantomData;

/// A UNIX stream socket.
#[derive(Debug)]
pub struct UnixStream<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixStream<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-stream",
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A UNIX stream socket; a reader sleeps in read.",
            "A UNIX stream socket, not blocking; both ends ask again and again.",
            "A UNIX stream socket, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Each side of a pair must use its own end: one end reads back nothing but its peer's bytes.",
            "Only the send buffer stops a fast sender; SO_RCVBUF has no effect.",
            "A path outlives its listener, and an abstract name has no permissions.",
        ],
        payload: Payload::Stream,
        direction: Direction::TwoWay,
        reach: Reach::Named,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_UNIX"],
    };
    type Options = UnixStreamOptions;
    type Port = StreamPort<W>;

    fn probe(options: &UnixStreamOptions) -> Result<(), Missing> {
        options.probe()
    }

    fn door(options: &UnixStreamOptions) -> Option<Door> {
        Some(options.door())
    }

    fn open(shape: &Shape, options: &UnixStreamOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &UnixStreamOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        meet.effective("unix-stream.batch", KnobValue::Number(1));
        StreamPort::of_socket(options.join(wiring, seat, shape, meet)?, shape)
    }
}

/// A UNIX stream socket that moves many messages with one call.
#[derive(Debug)]
pub struct UnixStreamMmsg;

impl Mechanism for UnixStreamMmsg {
    const SPEC: &'static Spec = &Spec {
        name: "unix-stream",
        variant: Some("mmsg"),
        default: false,
        summary: "A UNIX stream socket; sendmmsg hands over a batch, and recvmmsg sleeps, then takes what is there.",
        manual: &["sendmmsg(2)", "recvmmsg(2)", "unix(7)"],
        pitfalls: &[
            "One call of each end moves a whole batch when messages flow; the calls told are those of a message sent alone.",
            "A round trip gains nothing: each message is handed over alone, by calls that cost more than read and write.",
            "A message waits until its batch is full or the sender flushes, so its latency is that of a batch.",
            "A stream has no boundaries: a slot may bring part of a message, which is then put together by one more copy.",
        ],
        ..*UnixStream::<Block>::SPEC
    };
    type Options = UnixStreamOptions;
    type Port = BatchPort<Slots, Pieces>;

    fn probe(options: &UnixStreamOptions) -> Result<(), Missing> {
        options.probe()?;
        batch::may_send().and_then(|()| batch::may_receive()).map_err(crate::missing)
    }

    fn open(shape: &Shape, options: &UnixStreamOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &UnixStreamOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let own = options.join(wiring, seat, shape, meet)?;
        let (outgoing, incoming) =
            (Slots::new(options.batch, shape)?, Pieces::new(options.batch, shape)?);
        meet.effective("unix-stream.batch", KnobValue::Number(outgoing.count()));
        Ok(BatchPort::new(own, outgoing, incoming))
    }
}
