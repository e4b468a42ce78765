//! TCP over the loopback interface, sent without copying: `MSG_ZEROCOPY`.

use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::zerocopy_port::ZerocopyPort;
use crate::stream::tcp::{LOOPBACK, tcp_knobs};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::{meeting, zerocopy};

ipcperf_core::options! {
    /// Knobs of TCP, and of what is sent without copying.
    pub struct TcpZerocopyOptions {
        /// Buffers that take turns; one is written again once the kernel has given notice.
        pub buffers: u64 = (16, "16", Count { min: 1, max: 64 }),
        /// Send small segments at once (TCP_NODELAY).
        pub nodelay: bool = (true, "on", Flag),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for and stops tuning it.
        pub sndbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_wmem)", Bytes { min: 16_384, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); with less than a segment in it, pinned pages only move by timers of 200 ms.
        pub rcvbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_rmem)", Bytes { min: 16_384, max: 1 << 30 }),
        /// Microseconds for which a receive polls the network device before it sleeps (SO_BUSY_POLL).
        pub busy_poll: Option<u64> = (None, "net.core.busy_read (0)", Count { min: 0, max: 1_000_000 }),
        /// Connections that may wait at the listener.
        pub backlog: u64 = (meeting::backlog(), "511, or net.core.somaxconn", Count { min: 0, max: 65_535 }),
    }
}

tcp_knobs!(TcpZerocopyOptions);

/// A TCP connection to 127.0.0.1 that sends without copying where it can.
#[derive(Debug)]
pub struct TcpZerocopy;

impl Mechanism for TcpZerocopy {
    const SPEC: &'static Spec = &Spec {
        name: "tcp-zerocopy",
        wait: Wait::Block,
        summary: "A TCP connection over 127.0.0.1 whose sender asks the kernel not to copy; a reader sleeps in read.",
        manual: &["send(2)", "socket(7)", "tcp(7)"],
        pitfalls: &[
            "On the loopback interface the kernel copies anyway, after pinning the pages: the counts show how often.",
            "A buffer must not be written before its notice has come; here buffers take turns, which costs cache.",
            "The notice is read with a call of its own, one for each message here, though one may stand for many sends.",
            "Pinned pages of all processes of a user count against RLIMIT_MEMLOCK: beyond it a send waits, or copies.",
            "Pinning costs more than copying a few KiB: the kernel's manual names 10 KiB as about the least that pays.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        // On loopback, where pinned pages are copied before they reach a receiver (Documentation/networking/
        // msg_zerocopy.rst, "Loopback"), and once more by the read.
        copies: 2,
        // A send, and a look for the notice of an earlier one.
        syscalls: Syscalls { send: Some(2.0), recv: Some(1.0) },
        needs: &[
            "Linux 4.14 (SO_ZEROCOPY)",
            "RLIMIT_MEMLOCK above the message",
            "the loopback interface up",
        ],
        ..KERNEL_COPY
    };
    type Options = TcpZerocopyOptions;
    type Port = ZerocopyPort;

    fn probe(options: &TcpZerocopyOptions) -> Result<(), Missing> {
        options.tcp().probe(LOOPBACK)?;
        zerocopy::probe(LOOPBACK, 1).map_err(crate::missing)
    }

    fn lends(_: &TcpZerocopyOptions) -> [Lends; 2] {
        // Whole pages, which the kernel pins.
        [Lends::Place, Lends::Buffer]
    }

    fn open(shape: &Shape, options: &TcpZerocopyOptions) -> Result<Link, SetupError> {
        zerocopy::probe(LOOPBACK, shape.size)?;
        options.tcp().listen(LOOPBACK, shape)
    }

    fn attach(mut end: Attach<'_, TcpZerocopyOptions>) -> Result<Self::Port, SetupError> {
        let socket = end.options.tcp().connect(LOOPBACK, &mut end)?;
        let port = ZerocopyPort::new(socket, end.options.buffers, end.shape)?;
        end.effective("buffers", port.count());
        Ok(port)
    }
}
