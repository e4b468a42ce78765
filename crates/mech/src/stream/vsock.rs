//! VM stream sockets over the loopback transport.

use crate::port::number;
use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::{meeting, vsock};
use std::os::fd::OwnedFd;

ipcperf_core::options! {
    /// Knobs of VM sockets.
    pub struct VsockOptions {
        /// Bytes that may be under way to each end (SO_VM_SOCKETS_BUFFER_SIZE).
        pub buffer: Option<u64> = (None, "256K", Bytes { min: 4096, max: 1 << 30 }),
    }
}

/// What a buffer holds unless somebody asks for another (`VSOCK_DEFAULT_BUFFER_SIZE`, net/vmw_vsock/af_vsock.c).
pub(crate) const DEFAULT_BUFFER: u64 = 256 << 10;

/// More messages under way gain nothing: the receiver never runs dry.
pub(crate) const WINDOW: u32 = 64;

impl VsockOptions {
    /// Beside the bytes, a receiver counts its bookkeeping, less than 1 KiB a packet, and ends the connection once that
    /// is more than its buffer (Linux 6.12.94, 6.18.36, 7.0.13). A packet has at most 64 KiB; half the buffer is sure.
    pub(crate) fn window(&self, size: usize) -> Option<u32> {
        let packets = self.buffer.unwrap_or(DEFAULT_BUFFER) / 1024 / 2;
        let each = size.div_ceil(64 << 10).max(1) as u64;
        Some(u32::try_from(packets / each).unwrap_or(WINDOW).clamp(1, WINDOW))
    }
}

/// A VM stream socket.
#[derive(Debug)]
pub struct Vsock;

impl Mechanism for Vsock {
    const SPEC: &'static Spec = &Spec {
        name: "vsock",
        summary: "A VM stream socket over the loopback transport, as between a guest and its host; a reader sleeps in read.",
        manual: &["vsock(7)", "socket(7)"],
        pitfalls: &[
            "Between a guest and its host another transport carries the bytes: loopback numbers say little about it.",
            "A kernel worker thread on any CPU carries the packets: no process is charged for its time.",
            "A context identifier grants no protection: any user of this machine may connect; a nonce keeps strangers out here.",
            "Small messages far ahead of the receiver end the connection with ENOBUFS in recent kernels; a window prevents it.",
            "A receiver that answers a dead peer gets end-of-file at once, ahead of messages still queued for it.",
            "Without the loopback transport a connect to this machine waits for another one, two seconds by default.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        // Told, but an end that grants a credit to the dead is told before it has drained.
        on_death: OnClose::Undetected,
        window: Some(WINDOW),
        needs: &["CONFIG_VSOCKETS_LOOPBACK (module vsock_loopback)"],
        ..waiting::<Block>(STREAM)
    };
    type Options = VsockOptions;
    type Port = StreamPort<Block>;

    fn probe(options: &VsockOptions) -> Result<(), Missing> {
        vsock::probe(Kind::Stream, options.buffer).map_err(crate::missing)
    }

    fn window(size: usize, options: &VsockOptions) -> Option<u32> {
        options.window(size)
    }

    fn listener(_: &VsockOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Vsock)
    }

    fn open(_: &Shape, options: &VsockOptions) -> Result<Link, SetupError> {
        listen(Kind::Stream, options)
    }

    fn attach(mut end: Attach<'_, VsockOptions>) -> Result<Self::Port, SetupError> {
        StreamPort::of_socket(connect(Kind::Stream, &mut end)?, end.shape)
    }
}

/// In the coordinator: a listener for the follow and its port for the lead.
pub(crate) fn listen(kind: Kind, options: &VsockOptions) -> Result<Link, SetupError> {
    let (listener, port) = vsock::listen(kind, options.buffer)?;
    let lead = Wiring::of_words([port.into()]);
    Ok(Link { lead, follow: Wiring::of_fds([listener]), ..Link::default() })
}

/// In a worker: the lead connects, the follow admits it; tells what the knob became.
pub(crate) fn connect(
    kind: Kind,
    end: &mut Attach<'_, VsockOptions>,
) -> Result<OwnedFd, SetupError> {
    let own = match end.seat {
        Seat::Lead => {
            let port = number(&end.wiring)?;
            vsock::connect(kind, end.options.buffer, port, end.shape.nonce)?
        }
        Seat::Follow => {
            let [listener] = end.descriptors()?;
            meeting::admit(&listener, end.shape.nonce)?
        }
    };
    end.effective("buffer", vsock::buffer_size(&own)?);
    Ok(own)
}
