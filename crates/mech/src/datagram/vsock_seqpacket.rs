//! VM sequenced-packet sockets over the loopback transport.

use crate::budget;
use crate::datagram::DATAGRAM;
use crate::port::message::{MessagePort, Packets};
use crate::stream::vsock::{self, DEFAULT_BUFFER, VsockOptions, WINDOW};
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::vsock as sockets;

/// A VM sequenced-packet socket.
#[derive(Debug)]
pub struct VsockSeqpacket;

impl Mechanism for VsockSeqpacket {
    const SPEC: &'static Spec = &Spec {
        name: "vsock-seqpacket",
        summary: "A VM sequenced-packet socket over the loopback transport: it keeps boundaries; a receiver sleeps in recv.",
        manual: &["vsock(7)", "socket(7)"],
        pitfalls: &[
            "A message travels in packets, and the receiver gets it only when the last one has arrived.",
            "A kernel worker thread on any CPU carries the packets: no process is charged for its time.",
            "Small messages far ahead of the receiver end the connection with ENOBUFS in recent kernels; a window prevents it.",
            "A receiver that answers a dead peer gets end-of-file at once, ahead of messages still queued for it.",
            "An empty message looks like the end of the connection: messages have at least 1 byte.",
            "A message larger than the receiver's buffer is EMSGSIZE for the kernel; here half of that is the most.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        on_close: OnClose::Told,
        // Told, but an end that grants a credit to the dead is told before it has drained.
        on_death: OnClose::Undetected,
        window: Some(WINDOW),
        needs: &["CONFIG_VSOCKETS_LOOPBACK (module vsock_loopback)", "Linux 5.14"],
        ..waiting::<Block>(DATAGRAM)
    };
    type Options = VsockOptions;
    type Port = MessagePort<Packets, Block>;

    fn probe(options: &VsockOptions) -> Result<(), Missing> {
        sockets::probe(Kind::SeqPacket, options.buffer).map_err(crate::missing)
    }

    fn limit(options: &VsockOptions) -> Option<Limit> {
        // The kernel takes up to the whole buffer, but the last such message of a sender that then closed was seen to
        // stall (Linux 6.12.100).
        let bytes = options.buffer.unwrap_or(DEFAULT_BUFFER) / 2;
        Some(Limit {
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            set_by: "half of SO_VM_SOCKETS_BUFFER_SIZE of the receiver",
            raise: "--set vsock-seqpacket.buffer=BYTES",
        })
    }

    fn window(size: usize, options: &VsockOptions) -> Option<u32> {
        options.window(size)
    }

    fn open(shape: &Shape, options: &VsockOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "an empty message of a VM socket looks like its end")?;
        budget::within(Self::limit(options), shape.size)?;
        vsock::listen(Kind::SeqPacket, options)
    }

    fn attach(mut end: Attach<'_, VsockOptions>) -> Result<Self::Port, SetupError> {
        MessagePort::of_socket(vsock::connect(Kind::SeqPacket, &mut end)?, end.shape)
    }
}
