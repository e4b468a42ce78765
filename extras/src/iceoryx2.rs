//! iceoryx2: publish and subscribe in shared memory, woken by events or polled.

use crate::ffi;
use crate::library::LIBRARY;
use ::iceoryx2::config::Config;
use ::iceoryx2::port::listener::{Listener, ListenerWaitError};
use ::iceoryx2::port::notifier::Notifier;
use ::iceoryx2::port::publisher::Publisher;
use ::iceoryx2::port::subscriber::Subscriber;
use ::iceoryx2::prelude::*;
use ipcperf::prelude::*;
use ipcperf::tools::PosixMemories;
use ipcperf::tools::Scratch;
use ipcperf::tools::errno;
use std::fmt::Display;

ipcperf::options! {
    /// Knobs of iceoryx2.
    pub struct Iceoryx2Options {
        /// Messages that a subscriber holds before its publisher waits.
        pub depth: u64 = (8, "8", Count { min: 1, max: 1024 }),
    }
}

/// A service of publish and subscribe for each direction, which its subscriber polls or is told of by an event.
#[derive(Debug)]
pub struct Iceoryx2<const POLLS: bool>;

const PITFALLS: &[&str] = &[
    "A publisher whose subscriber is full tries again until there is room, and does not sleep in the kernel meanwhile.",
    "Nothing tells of a dead peer but a look at the nodes (Node::list); a receiver waits for ever.",
    "A message is written where it is read, but each send counts and looks for subscribers first.",
    "Every user may write to the library's count of nodes in /dev/shm (global_mgmt, 16 bytes); no message is in it.",
];

impl<const POLLS: bool> Iceoryx2<POLLS> {
    const FACTS: Spec = Spec {
        manual: &["shm_overview(7)", "unix(7)"],
        pitfalls: PITFALLS,
        payload: Payload::Message { max: None },
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        producers: Peers::Many,
        consumers: Peers::Many,
        on_death: OnClose::Undetected,
        on_restart: OnRestart::GoesOn,
        memory: Memory::Reused,
        copies: 0,
        needs: &["/dev/shm"],
        ..LIBRARY
    };
}

impl<const POLLS: bool> Mechanism for Iceoryx2<POLLS> {
    const SPEC: &'static Spec = if POLLS {
        &Spec {
            name: "iceoryx2/poll",
            wait: Wait::Spin,
            summary: "Two iceoryx2 services of publish and subscribe in shared memory; an end polls its subscriber.",
            over: Some("shm-ring/spin"),
            ..Self::FACTS
        }
    } else {
        &Spec {
            name: "iceoryx2",
            wait: Wait::Block,
            summary: "Two iceoryx2 services of publish and subscribe in shared memory, each with an event; an end sleeps until it comes.",
            over: Some("shm-ring/futex"),
            ..Self::FACTS
        }
    };
    type Options = Iceoryx2Options;
    type Port = Iceoryx2Port<POLLS>;

    fn probe(options: &Iceoryx2Options) -> Result<(), Missing> {
        let (_run, shape) = ipcperf::tools::trial()?;
        let open = || {
            let link = Self::open(&shape, options)?;
            let name = link.follow.names.first().cloned().unwrap_or_default();
            let node = node(&name, &shape)?;
            Outlet::<POLLS>::new(&node, WAYS[0], &shape, options).map(drop)
        };
        open().map_err(ipcperf::tools::missing)
    }

    fn lends(_: &Iceoryx2Options) -> [Lends; 2] {
        [Lends::Shared, Lends::Shared]
    }

    fn open(shape: &Shape, options: &Iceoryx2Options) -> Result<Link, SetupError> {
        let base = std::env::temp_dir();
        let memory = PosixMemories::noted(shape.directory()?, &prefix(shape))?;
        let scratch = Scratch::create(shape.directory()?, &base, &shape.name("iceoryx2"))?;
        let name = scratch.path().to_string_lossy().into_owned();
        let mut link = Link::default().granted("depth", options.depth);
        link = link.guarded(memory).guarded(scratch);
        link.lead.names.push(name.clone());
        link.follow.names.push(name);
        Ok(link)
    }

    fn attach(mut end: Attach<'_, Iceoryx2Options>) -> Result<Iceoryx2Port<POLLS>, SetupError> {
        let directory = end.wiring.names.pop();
        let directory =
            directory.ok_or_else(|| SetupError::Protocol("no directory arrived".into()))?;
        let node = node(&directory, end.shape)?;
        let [ping, pong] = WAYS;
        let (to, from) = match end.seat {
            Seat::Lead => (ping, pong),
            Seat::Follow => (pong, ping),
        };
        let inlet = Inlet::new(&node, from, end.options)?;
        // A publisher sends to the subscribers that there are.
        end.meet.swap(Wiring::default())?;
        let outlet = Outlet::new(&node, to, end.shape, end.options)?;
        end.meet.swap(Wiring::default())?;
        // A subscriber is connected once it has looked for publishers; what comes before and finds no room is dropped.
        inlet.subscriber.has_samples().map_err(failed("connection"))?;
        end.meet.swap(Wiring::default())?;
        Ok(Iceoryx2Port { outlet, inlet, has_ended: false, _node: node })
    }
}

/// From lead to follow, and back.
const WAYS: [&str; 2] = ["ping", "pong"];

/// Of a message and of the end, in the header of each.
const MESSAGE: u64 = 0;
const END: u64 = 1;

fn prefix(shape: &Shape) -> String {
    format!("{}_", shape.name("iox2"))
}

fn failed<E: Display>(what: &'static str) -> impl Fn(E) -> SetupError {
    move |error| SetupError::Protocol(format!("iceoryx2: {what}: {error}"))
}

/// A node whose files lie in this directory, and whose memory has names of this run.
fn node(directory: &str, shape: &Shape) -> Result<Node<ipc::Service>, SetupError> {
    let mut config = Config::default();
    let root = Path::new(directory.as_bytes());
    config.global.set_root_path(&root.map_err(|error| failed("path")(format!("{error:?}")))?);
    let prefix = FileName::new(prefix(shape).as_bytes());
    config.global.prefix = prefix.map_err(|error| failed("prefix")(format!("{error:?}")))?;
    NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()
        .map_err(failed("node"))
}

fn named(way: &str) -> Result<ServiceName, SetupError> {
    ServiceName::new(way).map_err(|error| failed("name")(format!("{error:?}")))
}

/// Where an end sends to.
struct Outlet<const POLLS: bool> {
    publisher: Publisher<ipc::Service, [u8], u64>,
    notifier: Option<Notifier<ipc::Service>>,
}

/// Where it receives from.
struct Inlet<const POLLS: bool> {
    subscriber: Subscriber<ipc::Service, [u8], u64>,
    listener: Option<Listener<ipc::Service>>,
}

macro_rules! service {
    (event $node:expr, $way:expr) => {
        $node.service_builder(&named($way)?).event().open_or_create().map_err(failed("event"))?
    };
    ($node:expr, $way:expr, $options:expr) => {
        $node
            .service_builder(&named($way)?)
            .publish_subscribe::<[u8]>()
            .user_header::<u64>()
            .enable_safe_overflow(false)
            .history_size(0)
            .subscriber_max_buffer_size($options.depth as usize)
            .subscriber_max_borrowed_samples(1)
            .max_publishers(1)
            .max_subscribers(1)
            .open_or_create()
            .map_err(failed("service"))?
    };
}

impl<const POLLS: bool> Outlet<POLLS> {
    fn new(
        node: &Node<ipc::Service>,
        way: &str,
        shape: &Shape,
        options: &Iceoryx2Options,
    ) -> Result<Self, SetupError> {
        let publisher = service!(node, way, options)
            .publisher_builder()
            .initial_max_slice_len(shape.size.max(1))
            .max_loaned_samples(1)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()
            .map_err(failed("publisher"))?;
        let notifier = match POLLS {
            true => None,
            false => Some(
                service!(event node, way)
                    .notifier_builder()
                    .create()
                    .map_err(failed("notifier"))?,
            ),
        };
        Ok(Self { publisher, notifier })
    }

    fn send(&self, len: usize, kind: u64, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let loan = self.publisher.loan_slice_uninit(len);
        let mut sample = ffi::initialised(loan.map_err(|_| Fault::Sys(errno::ENOBUFS))?);
        *sample.user_header_mut() = kind;
        fill(sample.payload_mut());
        match sample.send() {
            Ok(1..) => {}
            // To nobody.
            Ok(0) | Err(_) => return Err(Fault::Closed),
        }
        match &self.notifier {
            Some(notifier) => notifier.notify().map(drop).map_err(|_| Fault::Closed),
            None => Ok(()),
        }
    }
}

impl<const POLLS: bool> Inlet<POLLS> {
    fn new(
        node: &Node<ipc::Service>,
        way: &str,
        options: &Iceoryx2Options,
    ) -> Result<Self, SetupError> {
        let subscriber = service!(node, way, options)
            .subscriber_builder()
            .buffer_size(options.depth as usize)
            .create()
            .map_err(failed("subscriber"))?;
        let listener = match POLLS {
            true => None,
            false => Some(
                service!(event node, way)
                    .listener_builder()
                    .create()
                    .map_err(failed("listener"))?,
            ),
        };
        Ok(Self { subscriber, listener })
    }
}

/// One end: the publisher to the peer, and the subscriber to what it publishes.
pub struct Iceoryx2Port<const POLLS: bool> {
    outlet: Outlet<POLLS>,
    inlet: Inlet<POLLS>,
    has_ended: bool,
    // Dropped after all that was made by it.
    _node: Node<ipc::Service>,
}

impl<const POLLS: bool> Port for Iceoryx2Port<POLLS> {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.outlet.send(len, MESSAGE, fill)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.has_ended {
            return Err(Fault::Closed);
        }
        loop {
            match self.inlet.subscriber.receive() {
                Ok(Some(sample)) if *sample.user_header() == END => {
                    self.has_ended = true;
                    return Err(Fault::Closed);
                }
                Ok(Some(sample)) if sample.payload().len() == len => return take(sample.payload()),
                Ok(Some(_)) => return Err(Fault::Truncated),
                Ok(None) => match &self.inlet.listener {
                    Some(listener) => match listener.blocking_wait(|_| ()) {
                        Ok(_) | Err(ListenerWaitError::InterruptSignal) => {}
                        Err(_) => return Err(Fault::Closed),
                    },
                    None => std::hint::spin_loop(),
                },
                Err(_) => return Err(Fault::Closed),
            }
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        match self.outlet.send(1, END, |_| ()) {
            // A peer that is gone need not know.
            Err(Fault::Closed) => Ok(()),
            done => done,
        }
    }
}
