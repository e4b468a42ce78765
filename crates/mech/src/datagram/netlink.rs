//! Netlink from one process to another: unicast over `NETLINK_USERSOCK`.

use crate::budget;
use crate::datagram::DATAGRAM;
use crate::port::message::{Carrier, MessagePort};
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket;
use ipcperf_sys::io::socket::netlink;
use std::os::fd::OwnedFd;

ipcperf_core::options! {
    /// Knobs of netlink sockets.
    pub struct NetlinkOptions {
        /// Send buffer (SO_SNDBUF), which limits the message and nothing else; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF), which stops the sender; the kernel doubles what is asked for.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

/// Netlink sockets.
#[derive(Debug, Default)]
pub struct Netlinks;

impl Carrier for Netlinks {
    const ENDS: bool = false;

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // Netlink sockets cannot be shut down.
        Ok(())
    }
}

/// Two netlink sockets.
#[derive(Debug)]
pub struct Netlink;

impl Mechanism for Netlink {
    const SPEC: &'static Spec = &Spec {
        name: "netlink",
        summary: "Two netlink sockets of the family left to programs, connected to each other; a receiver sleeps in recv.",
        manual: &["netlink(7)", "socket(7)"],
        pitfalls: &[
            "Made for talking to the kernel: between two processes it does what a UNIX datagram socket does.",
            "The usual header (nlmsghdr) is a convention that the kernel ignores between processes; it is left out here.",
            "A full receiver makes a unicast sender wait; what overruns with ENOBUFS is multicast and the kernel itself.",
            "There are no empty messages: the kernel refuses them with ENODATA.",
            "A receiver does not notice that its peer is gone; a sender gets ECONNREFUSED.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::One,
        needs: &["CONFIG_NET"],
        ..waiting::<Block>(DATAGRAM)
    };
    type Options = NetlinkOptions;
    type Port = MessagePort<Netlinks, Block>;
    const SHARES: bool = true;

    fn probe(options: &NetlinkOptions) -> Result<(), Missing> {
        let tried = netlink::pair()
            .and_then(|(one, _)| socket::set_buffers(one, options.sndbuf, options.rcvbuf));
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(options: &NetlinkOptions) -> Option<Limit> {
        let bytes = socket::largest_message(netlink::pair, options.sndbuf).ok()?;
        let raise = "--set netlink.sndbuf=BYTES, up to net.core.wmem_max";
        Some(Limit { bytes, set_by: "SO_SNDBUF less 32 bytes", raise })
    }

    fn open(shape: &Shape, options: &NetlinkOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "netlink has no empty messages")?;
        let (lead, follow) = netlink::pair()?;
        let buffers = socket::set_buffers(&lead, options.sndbuf, options.rcvbuf)?;
        socket::set_buffers(&follow, options.sndbuf, options.rcvbuf)?;
        Ok(Link::of_fds([lead], [follow])
            .granted("sndbuf", buffers.send)
            .granted("rcvbuf", buffers.receive))
    }

    fn attach(mut end: Attach<'_, NetlinkOptions>) -> Result<Self::Port, SetupError> {
        let [own] = end.descriptors()?;
        MessagePort::of_socket(own, end.shape)
    }
}
