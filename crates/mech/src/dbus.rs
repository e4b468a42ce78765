//! D-Bus: from process to process, and over a bus.

use crate::port::dbus::{self as ports, DbusPort};
use crate::port::descriptors;
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Guard, Limit, Link, Mechanism, Meet, Memory, Missing, OnClose,
    PatternKind, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::companion::Companion;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::rundir::{self, RunDirectory};
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The payload is one array of bytes.
const LARGEST: Limit = Limit {
    bytes: 64 << 20,
    set_by: "the D-Bus specification: an array has up to 64 MiB",
    raise: "",
};

/// The program that serves a bus.
const DAEMON: &str = "dbus-daemon";

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
                "A dead peer is told only to who subscribed to NameOwnerChanged; nobody does here.",
                "The library decides: another one than zbus gives other numbers over the same bus.",
            ]
        } else {
            &[
                "Not the bus that programs usually mean by D-Bus: there is no broker, no name and no policy in between.",
                "A message is marshalled and parsed; memory is made for each.",
                "The library decides: another one than zbus gives other numbers over the same socket.",
            ]
        },
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::TwoWay,
        reach: if R::IS_BUS { Reach::Named } else { Reach::Related },
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
        syscalls: Syscalls { send: None, recv: None },
        window: None,
        needs: if R::IS_BUS {
            &["CONFIG_UNIX", "built with --features dbus", "dbus-daemon"]
        } else {
            &["CONFIG_UNIX", "built with --features dbus"]
        },
    };
    type Options = NoOptions;
    type Port = DbusPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        ports::built()?;
        if R::IS_BUS {
            try_a_bus()
        } else {
            socket::pair(Kind::Stream).map(drop).map_err(crate::missing)
        }
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        ports::built()?;
        if R::IS_BUS {
            return serve(shape);
        }
        let (lead, follow) = socket::pair(Kind::Stream)?;
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
            ..Link::default()
        })
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        _: &NoOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        if R::IS_BUS {
            return DbusPort::over_bus(&door(shape), shape, meet);
        }
        let [own] = descriptors(wiring)?;
        DbusPort::direct(own, seat, shape)
    }
}

/// Starts a broker and stops it: whether it is installed, and may do what it must, nothing else tells.
fn try_a_bus() -> Result<(), Missing> {
    let nonce = RandomState::new().hash_one(std::process::id());
    let run = RunDirectory::create(&rundir::base(), nonce)
        .map_err(|error| Missing::new(format!("no directory for its socket: {error}"), ""))?;
    let shape = Shape {
        size: 0,
        pattern: PatternKind::PingPong,
        nonce,
        buffer_offset: 0,
        directory: run.path().to_owned(),
    };
    serve(&shape).map(drop).map_err(|error| {
        let what = format!("{DAEMON} is not installed, or cannot be started: {error}");
        Missing::new(what, "install the package dbus-daemon")
    })
}

/// Where the broker of a channel listens.
fn door(shape: &Shape) -> PathBuf {
    shape.directory.join(shape.name("bus"))
}

/// Starts a broker that only this user can reach. It serves no names of its own and starts nothing.
fn serve(shape: &Shape) -> Result<Link, SetupError> {
    let text = configuration(&address(door(shape).as_os_str().as_bytes()));
    let rules = Unlink::write(shape.directory.join(shape.name("bus.conf")), &text)?;
    let door_guard = Unlink::new(door(shape));
    let arguments = ["--nofork".into(), "--nopidfile".into(), "--print-address=1".into()];
    let file = format!("--config-file={}", rules.path().display());
    let broker = Companion::start(DAEMON, arguments.into_iter().chain([file]))?;
    // Dropped in this order: first the broker, then its names.
    Ok(Link { guards: vec![Guard::new((broker, door_guard, rules))], ..Link::default() })
}

/// A path as addresses of D-Bus write it: most letters as they are, every other byte as `%` and two digits.
fn address(path: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.*".contains(&byte);
    path.iter().fold(String::from("unix:path="), |mut text, byte| {
        if plain(*byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
        text
    })
}

/// The limits: messages as large as the specification allows (128 MiB), and a bound for what is under way.
fn configuration(address: &str) -> String {
    format!(
        "<busconfig>\
         <type>session</type><listen>{address}</listen><auth>EXTERNAL</auth>\
         <policy context=\"default\">\
         <allow send_destination=\"*\"/><allow receive_sender=\"*\"/><allow own=\"*\"/>\
         </policy>\
         <limit name=\"max_message_size\">134217728</limit>\
         <limit name=\"max_incoming_bytes\">8388608</limit>\
         <limit name=\"max_outgoing_bytes\">1073741824</limit>\
         </busconfig>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_address_nor_the_rules() {
        assert_eq!(address(b"/run/a-b_1.c"), "unix:path=/run/a-b_1.c");
        assert_eq!(address(b"/a b,<&;"), "unix:path=/a%20b%2c%3c%26%3b");
    }
}
