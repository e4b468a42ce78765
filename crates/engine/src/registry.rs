//! The list of mechanisms, erased to function pointers: one indirect call per slice, none per message.

use crate::faulty;
use crate::hot::AnyWork;
use crate::job::{Failure, Job, SideReport};
use crate::needs;
use crate::packets::PacketPort;
use crate::page::Page;
use crate::shim;
use crate::task::WorkerContext;
use crate::worker::fans::FanLoops;
use crate::worker::runner::{self, Measure};
use crate::worker::{Loops, measure};
use ipcperf_core::{
    Attach, AttachToEach, Capability, DynPort, Erased, Knob, Lends, Limit, Link, ListenerKind,
    Mechanism, Missing, Namespaces, OptionError, OptionSet, Options, Payload, Port, Seat, Serving,
    SetupError, Shape, Spec, Usual, Visitor, Wait, Wiring,
};
use std::marker::PhantomData;

/// One mechanism without its types.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its facts.
    pub spec: &'static Spec,
    /// Its knobs.
    pub knobs: &'static [Knob],
    probe: fn(&OptionSet) -> Result<Result<(), Missing>, OptionError>,
    limit: fn(&OptionSet) -> Result<Option<Limit>, OptionError>,
    window: fn(usize, &OptionSet) -> Result<Option<u32>, OptionError>,
    lends: fn(&OptionSet) -> Result<[Lends; 2], OptionError>,
    listener: fn(&OptionSet) -> Result<Option<ListenerKind>, OptionError>,
    shares: fn(&OptionSet) -> Result<Namespaces, OptionError>,
    usual: fn() -> Option<Usual>,
    open: fn(&Shape, &OptionSet) -> Result<Link, SetupError>,
    attach: Attached,
    drive: fn(Wiring, &Job, &Page, &mut WorkerContext<'_>) -> Result<SideReport, Failure>,
    /// The loops of a fan, where several processes can stand on one side of one object: nobody else pays for their code.
    pub(crate) fan: Option<AttachFan>,
    /// The object with which one send reaches all consumers of a broadcast, where there is one.
    pub(crate) to_each: Option<Each>,
    /// Whether its ends ask each other for something while they attach.
    pub(crate) meets: bool,
    /// Messages may be lost without an error on either side ([`Port::LOSSY`]).
    pub is_lossy: bool,
    /// A program that has its descriptors can be an end ([`Port::PLAIN`]).
    pub is_plain: bool,
}

/// Files that a coordinator has open with one channel and its two ends, at the most: 22 were counted (`shm-ring/eventfd`).
pub(crate) const OPEN_FILES: u64 = 24;

type Attached = fn(Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError>;

pub(crate) type AttachFan = fn(Attach<'_, OptionSet>) -> Result<Box<dyn FanLoops>, SetupError>;

/// See [`ToEach`](ipcperf_core::ToEach).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each {
    pub(crate) open: fn(&Shape, u64, &OptionSet) -> Result<Link, SetupError>,
    pub(crate) attach: AttachToEach<OptionSet>,
}

type Over<P> = fn(&mut P, &Job, AnyWork<'_>, Measure<'_>) -> Result<SideReport, Failure>;

/// Why a mechanism that is simulated has no channel.
#[cfg(any(test, feature = "simulate"))]
const SIMULATED: &str = "it is simulated";

/// What is compiled for some mechanisms only.
struct OptionalLoops<M>(PhantomData<M>);

impl<M: Mechanism> OptionalLoops<M> {
    const OVER: Over<M::Port> = if M::SPEC.syscalls.are_rare() {
        runner::over_cheap::<M::Port>
    } else {
        |port, job, work, with| runner::over(port, job, work, with)
    };

    const EACH: Option<Each> = if M::TO_EACH.is_some() {
        Some(Each {
            open: |shape, consumers, set| {
                let to_each = M::TO_EACH.ok_or_else(no_object)?;
                (to_each.open)(shape, consumers, &options::<M>(set)?)
            },
            attach: |end, consumer| {
                let to_each = M::TO_EACH.ok_or_else(no_object)?;
                let Attach { wiring, seat, shape, options: set, meet } = end;
                let options = &options::<M>(set)?;
                (to_each.attach)(Attach { wiring, seat, shape, options, meet }, consumer)
            },
        })
    } else {
        None
    };

    const FAN: Option<AttachFan> =
        if M::SHARES { Some(|end| Ok(Box::new(attach::<M>(end)?))) } else { None };
}

impl Entry {
    /// Erases `M`.
    #[must_use]
    pub const fn of<M: Mechanism>() -> Self {
        Self {
            spec: M::SPEC,
            knobs: <M::Options as Options>::KNOBS,
            probe: |set| Ok(M::probe(&M::Options::parse(M::SPEC.name, set)?)),
            limit: |set| Ok(M::limit(&M::Options::parse(M::SPEC.name, set)?)),
            window: |size, set| Ok(M::window(size, &M::Options::parse(M::SPEC.name, set)?)),
            lends: |set| Ok(M::lends(&M::Options::parse(M::SPEC.name, set)?)),
            listener: |set| Ok(M::listener(&M::Options::parse(M::SPEC.name, set)?)),
            shares: |set| Ok(M::shares(&M::Options::parse(M::SPEC.name, set)?)),
            usual: M::usual,
            open: |shape, set| M::open(shape, &options::<M>(set)?),
            attach: |end| Ok(Box::new(attach::<M>(end)?)),
            drive: drive::<M>,
            fan: OptionalLoops::<M>::FAN,
            to_each: OptionalLoops::<M>::EACH,
            meets: M::MEETS,
            is_lossy: <M::Port as Port>::LOSSY,
            is_plain: <M::Port as Port>::PLAIN,
        }
    }

    /// Facts without a mechanism: a simulated slice opens no channel.
    #[cfg(any(test, feature = "simulate"))]
    pub(crate) const fn simulated(spec: &'static Spec) -> Self {
        Self {
            spec,
            knobs: &[],
            probe: |_| Ok(Ok(())),
            limit: |_| Ok(None),
            window: |_, _| Ok(None),
            lends: |_| Ok([Lends::Buffer; 2]),
            listener: |_| Ok(None),
            shares: |_| Ok(Namespaces::NONE),
            usual: || None,
            open: |_, _| Err(SetupError::Protocol(SIMULATED.to_owned())),
            attach: |_| Err(SetupError::Protocol(SIMULATED.to_owned())),
            drive: |_, _, _, _| Err(SIMULATED.to_owned().into()),
            fan: None,
            to_each: None,
            meets: false,
            is_lossy: false,
            is_plain: false,
        }
    }

    /// Whether this host can run it with these knobs.
    ///
    /// # Errors
    /// The knobs are refused. The inner error says what the host lacks.
    pub fn probe(&self, options: &OptionSet) -> Result<Result<(), Missing>, OptionError> {
        let found = (self.probe)(options)?;
        Ok(needs::probe().and(found))
    }

    /// The largest message with these knobs.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn limit(&self, options: &OptionSet) -> Result<Option<Limit>, OptionError> {
        (self.limit)(options)
    }

    /// Messages under way before a credit is needed.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn window(&self, size: usize, options: &OptionSet) -> Result<Option<u32>, OptionError> {
        (self.window)(size, options)
    }

    /// In what memory an end writes messages and looks at them.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn lends(&self, options: &OptionSet) -> Result<[Lends; 2], OptionError> {
        (self.lends)(options)
    }

    /// The namespaces that both ends must share.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn shares(&self, options: &OptionSet) -> Result<Namespaces, OptionError> {
        (self.shares)(options)
    }

    /// Where clients connect to for a single request, and how the server waits for them.
    ///
    /// # Errors
    /// The knobs are refused. The inner error says why nobody can connect.
    pub fn listener(
        &self,
        options: &OptionSet,
    ) -> Result<Result<(ListenerKind, Serving), Missing>, OptionError> {
        let serving = match self.spec.wait {
            Wait::Block => Some(Serving::Accept),
            Wait::Epoll => Some(Serving::Epoll),
            _ => None,
        };
        Ok((self.listener)(options)?.zip(serving).ok_or_else(|| {
            Missing::new(
                "has no listener that sleeps until a client connects",
                "unix-stream, unix-seqpacket, tcp, tcp6, vsock and fifo have one, plain or /epoll",
            )
        }))
    }

    /// The knob that the kernel sets lower where a quota of the user is used up.
    pub(crate) fn usual(&self) -> Option<Usual> {
        (self.usual)()
    }

    /// Creates the kernel objects of one channel.
    ///
    /// # Errors
    /// What could not be created.
    pub fn open(&self, shape: &Shape, options: &OptionSet) -> Result<Link, SetupError> {
        (self.open)(shape, options)
    }

    /// In a worker: becomes one end behind a table, for tests and for messages in packets.
    ///
    /// # Errors
    /// What could not be attached.
    pub fn attach(&self, end: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError> {
        (self.attach)(end)
    }

    /// In a worker: attaches and measures.
    ///
    /// # Errors
    /// What went wrong.
    pub(crate) fn drive(
        &self,
        wiring: Wiring,
        job: &Job,
        page: &Page,
        context: &mut WorkerContext<'_>,
    ) -> Result<SideReport, Failure> {
        if let (Some(program), Seat::Follow) = (&job.program, job.seat) {
            // Who is running already has its end.
            let port = match program.running {
                Some(_) => None,
                None => Some(self.attach(job.end(wiring, context))?),
            };
            return shim::drive(port, program, job, page, context);
        }
        if job.key.load.packet > 0 || !job.injections.is_empty() {
            return self.drive_erased(wiring, job, page, context);
        }
        (self.drive)(wiring, job, page, context)
    }

    /// The same for messages in packets, and where something is to go wrong on purpose: one loop for all mechanisms, behind
    /// which an operation is many calls.
    fn drive_erased(
        &self,
        wiring: Wiring,
        job: &Job,
        page: &Page,
        context: &mut WorkerContext<'_>,
    ) -> Result<SideReport, Failure> {
        let mut port = faulty::around(self.attach(job.end(wiring, context))?, job);
        let window = self.window(job.shape.size, &job.options).map_err(refused)?;
        let (len, packet) = (job.len, job.key.load.packet);
        // Messages in packets are put together in memory of the end.
        let lends = if packet > 0 {
            [Lends::Place; 2]
        } else {
            self.lends(&job.options).map_err(refused)?
        };
        let mut lossy;
        let mut lossless;
        let port: &mut dyn DynPort = match (packet, self.is_lossy) {
            (0, _) => &mut *port,
            (_, true) => {
                lossy = PacketPort::<true>::new(Erased(&mut *port), len, packet, window);
                &mut lossy
            }
            (_, false) => {
                lossless = PacketPort::<false>::new(Erased(&mut *port), len, packet, window);
                &mut lossless
            }
        };
        if self.is_lossy {
            let mut port = Erased::<true>(port);
            let loops: Loops<'_> = &mut |work, with| runner::over(&mut port, job, work, with);
            measure(loops, lends, job, page, context)
        } else {
            let mut port = Erased::<false>(port);
            let loops: Loops<'_> = &mut |work, with| runner::over(&mut port, job, work, with);
            measure(loops, lends, job, page, context)
        }
    }

    /// Whether one process can wait for several of its channels: by descriptors, which tell that the peer has closed.
    #[must_use]
    pub fn can_be_polled(&self) -> bool {
        self.is_plain && self.spec.can(Capability::NoticesClose)
    }

    /// Bytes the port moves for a cell of `size`.
    #[must_use]
    pub fn port_len(&self, size: usize) -> usize {
        self.spec.wake_word().unwrap_or(size)
    }

    /// Why it cannot carry messages of `size` with these knobs; `None` if it can.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn size_objection(
        &self,
        size: usize,
        options: &OptionSet,
    ) -> Result<Option<Missing>, OptionError> {
        if size == 0 && self.spec.payload == Payload::Stream {
            return Ok(Some(Missing::new(
                "a byte stream has no empty messages",
                "use a size of at least 1",
            )));
        }
        Ok(self.limit(options)?.filter(|limit| size > limit.bytes).map(|limit| {
            let carries = ipcperf_core::units::format_size(limit.bytes as u64);
            Missing::new(
                format!("carries at most {carries} per message ({})", limit.set_by),
                limit.raise,
            )
        }))
    }
}

fn no_object() -> SetupError {
    SetupError::Protocol("no object reaches several consumers".into())
}

fn refused(error: OptionError) -> SetupError {
    SetupError::Protocol(error.to_string())
}

fn options<M: Mechanism>(set: &OptionSet) -> Result<M::Options, SetupError> {
    M::Options::parse(M::SPEC.name, set).map_err(refused)
}

fn attach<M: Mechanism>(end: Attach<'_, OptionSet>) -> Result<M::Port, SetupError> {
    let Attach { wiring, seat, shape, options: set, meet } = end;
    M::attach(Attach { wiring, seat, shape, options: &options::<M>(set)?, meet })
}

fn drive<M: Mechanism>(
    wiring: Wiring,
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
) -> Result<SideReport, Failure> {
    let mut port = attach::<M>(job.end(wiring, context))?;
    let over = OptionalLoops::<M>::OVER;
    let mut loops = |work: AnyWork<'_>, with: Measure<'_>| over(&mut port, job, work, with);
    let report = measure(&mut loops, M::lends(&options::<M>(&job.options)?), job, page, context)?;
    if job.program.is_some() {
        shim::tell_the_end(&mut port, M::SPEC);
    }
    Ok(report)
}

/// All mechanisms a program knows, in the order of their list.
#[derive(Clone, Debug, Default)]
pub struct Registry(Vec<Entry>);

impl Registry {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one mechanism.
    pub fn visit<M: Mechanism>(&mut self) {
        self.0.push(Entry::of::<M>());
    }

    /// The same in a row: how an out-of-tree program brings its own.
    #[must_use]
    pub fn with<M: Mechanism>(mut self) -> Self {
        self.visit::<M>();
        self
    }

    /// All of them.
    #[doc(hidden)]
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// By full name: `pipe`, `pipe/spin`.
    #[doc(hidden)]
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.spec.full_name() == name)
    }
}

impl Visitor for Registry {
    fn visit<M: Mechanism>(&mut self) {
        Self::visit::<M>(self);
    }
}
