//! Anonymous pipes in packet mode, `O_DIRECT` of `pipe2(2)`: one for each direction.

use crate::budget;
use crate::port::end_pipe;
use crate::port::message::{Carrier, MessagePort};
use crate::queue::QUEUE;
use crate::stream::pipe::PipeOptions;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::{Buffer, errno, pipe, stream};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Pipes in packet mode.
#[derive(Debug, Default)]
pub struct PipePackets;

impl PipePackets {
    /// `PIPE_BUF`: the kernel would cut what is longer into several packets.
    pub const LARGEST: usize = 4096;
}

impl Carrier for PipePackets {
    const ENDS: bool = true;

    fn room(_: &OwnedFd, size: usize) -> Result<usize, SetupError> {
        Ok(size.max(Self::LARGEST) + 1)
    }

    /// One byte more than wanted: a read drops the rest of a longer packet without a word.
    #[inline(always)]
    fn offer(buffer: &mut Buffer, len: usize) -> Option<&mut [u8]> {
        buffer.get_mut(len.saturating_add(1))
    }

    #[inline(always)]
    fn send(&self, tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        match message.len() {
            // The kernel would take it and make no packet.
            0 => Err(errno::EINVAL),
            1..=Self::LARGEST => stream::write(tx, message),
            _ => Err(errno::EMSGSIZE),
        }
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        stream::read(rx, into)
    }

    fn finish(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        end_pipe(rx, tx)
    }
}

/// Two anonymous pipes in packet mode.
#[derive(Debug)]
pub struct PipePacket;

impl Mechanism for PipePacket {
    const SPEC: &'static Spec = &Spec {
        name: "pipe-packet",
        summary: "Two anonymous pipes in packet mode, where a read takes what one write put in; a reader sleeps in read.",
        manual: &["pipe(2)", "pipe(7)", "fcntl(2)"],
        pitfalls: &[
            "A write above PIPE_BUF (4096 bytes) becomes several packets; here such a message is refused.",
            "A read into less room than the packet has drops the rest without a word; here each read offers one byte more.",
            "There are no empty packets: a write of nothing sends nothing.",
            "Each packet takes a page of the capacity, however small: 16 fill a pipe of 64 KiB.",
        ],
        payload: Payload::up_to(PipePackets::LARGEST, "PIPE_BUF"),
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        ..waiting::<Block>(QUEUE)
    };
    type Options = PipeOptions;
    type Port = MessagePort<PipePackets, Block>;
    const SHARES: bool = true;

    fn probe(options: &PipeOptions) -> Result<(), Missing> {
        let tried =
            pipe::packet_pair().and_then(|pipe| pipe::set_capacity(&pipe.write, options.size));
        tried.map(drop).map_err(crate::missing)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn open(shape: &Shape, options: &PipeOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "a pipe has no empty packets")?;
        let (ping, pong) = (pipe::packet_pair()?, pipe::packet_pair()?);
        let size = pipe::set_capacity(&ping.write, options.size)?;
        pipe::set_capacity(&pong.write, options.size)?;
        Ok(Link::of_fds([pong.read, ping.write], [ping.read, pong.write]).granted("size", size))
    }

    fn attach(mut end: Attach<'_, PipeOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        MessagePort::new(rx, tx, end.shape)
    }
}
