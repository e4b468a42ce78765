//! Anonymous pipes in packet mode, `O_DIRECT` of `pipe2(2)`: one for each direction.

use crate::port::descriptors;
use crate::port::message::{MessagePort, PipePackets};
use crate::stream::pipe::PipeOptions;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::pipe;
use std::marker::PhantomData;

/// The largest packet.
const LARGEST: Limit = Limit { bytes: PipePackets::LARGEST, set_by: "PIPE_BUF", raise: "" };

/// Two anonymous pipes in packet mode.
#[derive(Debug)]
pub struct PipePacket<W>(PhantomData<W>);

impl<W: Wait> Mechanism for PipePacket<W> {
    const SPEC: &'static Spec = &Spec {
        name: "pipe-packet",
        variant: W::VARIANT,
        family: Family::Queue,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "Two anonymous pipes in packet mode, where a read takes what one write put in; a reader sleeps in read.",
            "Two anonymous pipes in packet mode, not blocking; both ends ask again and again.",
            "Two anonymous pipes in packet mode, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["pipe(2)", "pipe(7)", "fcntl(2)"],
        pitfalls: &[
            "A write above PIPE_BUF (4096 bytes) becomes several packets; here such a message is refused.",
            "A read into less room than the packet has drops the rest without a word; here each read offers one byte more.",
            "There are no empty packets: a write of nothing sends nothing.",
            "Each packet takes a page of the capacity, however small: 16 fill a pipe of 64 KiB.",
        ],
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &[],
    };
    type Options = PipeOptions;
    type Port = MessagePort<PipePackets, W>;
    const SHARES: bool = true;

    fn probe(options: &PipeOptions) -> Result<(), Missing> {
        let tried =
            pipe::packet_pair().and_then(|pipe| pipe::set_capacity(&pipe.write, options.size));
        tried.map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, options: &PipeOptions) -> Result<Link, SetupError> {
        if shape.size == 0 {
            let missing = Missing::new("a pipe has no empty packets", "use a size of at least 1");
            return Err(missing.into());
        }
        let (ping, pong) = (pipe::packet_pair()?, pipe::packet_pair()?);
        let size = pipe::set_capacity(&ping.write, options.size)?;
        pipe::set_capacity(&pong.write, options.size)?;
        Ok(Link {
            lead: Wiring::of_fds([pong.read, ping.write]),
            follow: Wiring::of_fds([ping.read, pong.write]),
            guards: Vec::new(),
            effective: vec![("pipe-packet.size".into(), KnobValue::Number(size))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &PipeOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        MessagePort::new(rx, tx, shape)
    }
}
