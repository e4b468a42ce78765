//! D-Bus: from process to process, and over a bus.

use crate::broker;
use crate::port::DbusPort;
use ipcperf::prelude::*;
use ipcperf::tools::socket::{self, Kind};
use std::marker::PhantomData;

/// Which way messages take, as a type.
pub trait Route: 'static {
    /// Through a broker.
    const IS_BUS: bool;
}

/// From process to process.
#[derive(Debug)]
pub struct Direct;

/// Through a broker that serves this channel alone.
#[derive(Debug)]
pub struct Broker;

impl Route for Direct {
    const IS_BUS: bool = false;
}

impl Route for Broker {
    const IS_BUS: bool = true;
}

/// Signals of D-Bus with an array of bytes.
#[derive(Debug)]
pub struct Dbus<R>(PhantomData<R>);

impl<R: Route> Mechanism for Dbus<R> {
    const SPEC: &'static Spec = &Spec {
        name: "dbus",
        variant: if R::IS_BUS { Some("bus") } else { Some("p2p") },
        family: Family::Bus,
        wait: Wait::Epoll,
        default: R::IS_BUS,
        summary: if R::IS_BUS {
            "Unicast D-Bus signals through a dbus-daemon of their own, by zbus; a receiver sleeps in poll."
        } else {
            "D-Bus signals over a pair of UNIX sockets without a bus, by zbus; a receiver sleeps in poll."
        },
        manual: if R::IS_BUS {
            &["dbus-daemon(1)", "unix(7)", "poll(2)"]
        } else {
            &["unix(7)", "socketpair(2)", "poll(2)"]
        },
        pitfalls: if R::IS_BUS {
            &[
                "The broker's CPU time is in no figure, and it runs wherever the scheduler likes: only the ends are pinned.",
                "A message is marshalled, read by the broker, written again and parsed; memory is made for each.",
                "The broker is told to stop reading a sender of which 8 MiB are undelivered; a session bus reads on.",
                "What the broker has not read of a sender that closes may be lost: an end here waits for it, up to 5 s.",
                "The ends call each other by unique names, which a restart changes; a well-known name would outlive it.",
                "Only a subscriber to NameOwnerChanged learns that its peer has died; nobody subscribes here.",
                "The library decides: another one than zbus gives other numbers over the same bus.",
            ]
        } else {
            &[
                "Not the bus that programs usually mean by D-Bus: there is no broker, no name and no policy in between.",
                "A message is marshalled and parsed; memory is made for each.",
                "The library decides: another one than zbus gives other numbers over the same socket.",
            ]
        },
        // The payload is one array of bytes.
        payload: Payload::up_to(64 << 20, "the D-Bus specification: an array has up to 64 MiB"),
        direction: Direction::TwoWay,
        reach: if R::IS_BUS { Reach::Named } else { Reach::Related },
        // zbus asks for the process at the other end of a socket, which has no number in another PID namespace.
        shares: if R::IS_BUS { Namespaces::MNT } else { Namespaces::PID },
        shares_by_name: if R::IS_BUS { Namespaces::MNT } else { Namespaces::PID },
        producers: if R::IS_BUS { Peers::Many } else { Peers::One },
        consumers: if R::IS_BUS { Peers::Many } else { Peers::One },
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: if R::IS_BUS { OnClose::Undetected } else { OnClose::Told },
        descriptors: true,
        memory: Memory::Fresh,
        // The body, the message, into the kernel and out of it; the broker copies a body once and makes two more in
        // the kernel.
        copies: if R::IS_BUS { 7 } else { 4 },
        needs: if R::IS_BUS { &["CONFIG_UNIX", "dbus-daemon"] } else { &["CONFIG_UNIX"] },
        ..Spec::NOTHING
    };
    type Options = NoOptions;
    type Port = DbusPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        if R::IS_BUS {
            return broker::try_one();
        }
        let tried = socket::pair(Kind::Stream);
        tried.map(drop).map_err(|error| Missing::new(error.to_string(), "a sandbox that allows it"))
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        if R::IS_BUS {
            return broker::serve(shape);
        }
        let (lead, follow) = socket::pair(Kind::Stream)?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        if R::IS_BUS {
            return DbusPort::over_bus(&broker::door(end.shape)?, end.shape, end.meet);
        }
        let [own] = end.descriptors()?;
        DbusPort::direct(own, end.seat, end.shape)
    }
}
