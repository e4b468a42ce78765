//! The list of mechanisms without their types.

use crate::faulty;
use crate::hot::AnyWork;
use crate::job::{Failure, Job, SideReport};
use crate::needs;
use crate::packets::PacketPort;
use crate::page::Page;
use crate::plugins;
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
use serde_json::Value;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One mechanism without its types.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its facts.
    pub spec: &'static Spec,
    /// Its knobs.
    pub knobs: &'static [Knob],
    mechanism: &'static dyn AnyMechanism,
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
    /// It comes from a file. ipcperf does not know what it does, and searches for everything it leaves.
    pub is_plugin: bool,
}

/// Files that a coordinator has open with one channel and its two ends, at the most: 22 were counted (`shm-ring/eventfd`).
pub(crate) const OPEN_FILES: u64 = 24;

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

/// What one end is measured with.
#[derive(Debug)]
pub struct Driven<'a, 'b> {
    /// What the end is made of.
    pub wiring: Wiring,
    /// What is measured.
    pub job: &'a Job,
    /// What both ends share.
    pub page: &'a Page,
    /// The worker.
    pub context: &'a mut WorkerContext<'b>,
}

/// What a mechanism does, without its types: one call through a table for each slice, none for a message.
pub trait AnyMechanism: Debug + Sync {
    /// See [`Mechanism::probe`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn probe(&self, set: &OptionSet) -> Result<Result<(), Missing>, OptionError>;

    /// See [`Mechanism::limit`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn limit(&self, _set: &OptionSet) -> Result<Option<Limit>, OptionError> {
        Ok(None)
    }

    /// See [`Mechanism::window`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn window(&self, _size: usize, _set: &OptionSet) -> Result<Option<u32>, OptionError> {
        Ok(None)
    }

    /// See [`Mechanism::lends`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn lends(&self, set: &OptionSet) -> Result<[Lends; 2], OptionError>;

    /// See [`Mechanism::shares`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn shares(&self, set: &OptionSet) -> Result<Namespaces, OptionError>;

    /// See [`Mechanism::listener`].
    ///
    /// # Errors
    /// The knobs are refused.
    fn listener(&self, _set: &OptionSet) -> Result<Option<ListenerKind>, OptionError> {
        Ok(None)
    }

    /// See [`Mechanism::usual`].
    fn usual(&self) -> Option<Usual> {
        None
    }

    /// See [`Mechanism::open`].
    ///
    /// # Errors
    /// What could not be created.
    fn open(&self, shape: &Shape, set: &OptionSet) -> Result<Link, SetupError>;

    /// See [`Mechanism::attach`].
    ///
    /// # Errors
    /// What could not be attached.
    fn attach(&self, end: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError>;

    /// In a worker: attaches, and measures with the loops over its own type of port.
    ///
    /// # Errors
    /// What went wrong.
    fn drive(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure>;
}

/// A mechanism that is a type.
struct Typed<M>(PhantomData<fn() -> M>);

impl<M: Mechanism> Debug for Typed<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Typed")
    }
}

impl<M: Mechanism> Typed<M> {
    fn parse(set: &OptionSet) -> Result<M::Options, OptionError> {
        M::Options::parse(M::SPEC.name, set)
    }
}

impl<M: Mechanism> AnyMechanism for Typed<M> {
    fn probe(&self, set: &OptionSet) -> Result<Result<(), Missing>, OptionError> {
        Ok(M::probe(&Self::parse(set)?))
    }

    fn limit(&self, set: &OptionSet) -> Result<Option<Limit>, OptionError> {
        Ok(M::limit(&Self::parse(set)?))
    }

    fn window(&self, size: usize, set: &OptionSet) -> Result<Option<u32>, OptionError> {
        Ok(M::window(size, &Self::parse(set)?))
    }

    fn lends(&self, set: &OptionSet) -> Result<[Lends; 2], OptionError> {
        Ok(M::lends(&Self::parse(set)?))
    }

    fn shares(&self, set: &OptionSet) -> Result<Namespaces, OptionError> {
        Ok(M::shares(&Self::parse(set)?))
    }

    fn listener(&self, set: &OptionSet) -> Result<Option<ListenerKind>, OptionError> {
        Ok(M::listener(&Self::parse(set)?))
    }

    fn usual(&self) -> Option<Usual> {
        M::usual()
    }

    fn open(&self, shape: &Shape, set: &OptionSet) -> Result<Link, SetupError> {
        M::open(shape, &options::<M>(set)?)
    }

    fn attach(&self, end: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError> {
        Ok(Box::new(attach::<M>(end)?))
    }

    fn drive(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure> {
        let Driven { wiring, job, page, context } = driven;
        let mut port = attach::<M>(job.end(wiring, context))?;
        let over = OptionalLoops::<M>::OVER;
        let mut loops = |work: AnyWork<'_>, with: Measure<'_>| over(&mut port, job, work, with);
        let lends = M::lends(&options::<M>(&job.options)?);
        let report = measure(&mut loops, lends, job, page, context)?;
        if job.program.is_some() {
            shim::tell_the_end(&mut port, M::SPEC);
        }
        Ok(report)
    }
}

/// A mechanism that is simulated has no channel.
#[cfg(any(test, feature = "simulate"))]
#[derive(Debug)]
struct Simulated;

#[cfg(any(test, feature = "simulate"))]
impl AnyMechanism for Simulated {
    fn probe(&self, _: &OptionSet) -> Result<Result<(), Missing>, OptionError> {
        Ok(Ok(()))
    }

    fn lends(&self, _: &OptionSet) -> Result<[Lends; 2], OptionError> {
        Ok([Lends::Buffer; 2])
    }

    fn shares(&self, _: &OptionSet) -> Result<Namespaces, OptionError> {
        Ok(Namespaces::NONE)
    }

    fn open(&self, _: &Shape, _: &OptionSet) -> Result<Link, SetupError> {
        Err(SetupError::Protocol(SIMULATED.to_owned()))
    }

    fn attach(&self, _: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError> {
        Err(SetupError::Protocol(SIMULATED.to_owned()))
    }

    fn drive(&self, _: Driven<'_, '_>) -> Result<SideReport, Failure> {
        Err(SIMULATED.to_owned().into())
    }
}

impl Entry {
    /// Erases `M`.
    #[must_use]
    pub const fn of<M: Mechanism>() -> Self {
        Self {
            spec: M::SPEC,
            knobs: <M::Options as Options>::KNOBS,
            mechanism: &Typed::<M>(PhantomData),
            fan: OptionalLoops::<M>::FAN,
            to_each: OptionalLoops::<M>::EACH,
            meets: M::MEETS,
            is_lossy: <M::Port as Port>::LOSSY,
            is_plain: <M::Port as Port>::PLAIN,
            is_plugin: false,
        }
    }

    /// Facts without a mechanism: a simulated slice opens no channel.
    #[cfg(any(test, feature = "simulate"))]
    pub(crate) const fn simulated(spec: &'static Spec) -> Self {
        Self {
            spec,
            knobs: &[],
            mechanism: &Simulated,
            fan: None,
            to_each: None,
            meets: false,
            is_lossy: false,
            is_plain: false,
            is_plugin: false,
        }
    }

    /// What a plug-in declares, as a mechanism.
    #[must_use]
    pub fn of_plugin(
        spec: &'static Spec,
        knobs: &'static [Knob],
        mechanism: &'static dyn AnyMechanism,
        is_lossy: bool,
    ) -> Self {
        Self {
            spec,
            knobs,
            mechanism,
            fan: None,
            to_each: None,
            meets: true,
            is_lossy,
            is_plain: false,
            is_plugin: true,
        }
    }

    /// Whether this host can run it with these knobs.
    ///
    /// # Errors
    /// The knobs are refused. The inner error says what the host lacks.
    pub fn probe(&self, options: &OptionSet) -> Result<Result<(), Missing>, OptionError> {
        let found = self.mechanism.probe(options)?;
        Ok(needs::probe().and(found))
    }

    /// The largest message with these knobs.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn limit(&self, options: &OptionSet) -> Result<Option<Limit>, OptionError> {
        self.mechanism.limit(options)
    }

    /// Messages under way before a credit is needed.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn window(&self, size: usize, options: &OptionSet) -> Result<Option<u32>, OptionError> {
        self.mechanism.window(size, options)
    }

    /// In what memory an end writes messages and looks at them.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn lends(&self, options: &OptionSet) -> Result<[Lends; 2], OptionError> {
        self.mechanism.lends(options)
    }

    /// The namespaces that both ends must share.
    ///
    /// # Errors
    /// The knobs are refused.
    pub fn shares(&self, options: &OptionSet) -> Result<Namespaces, OptionError> {
        self.mechanism.shares(options)
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
        Ok(self.mechanism.listener(options)?.zip(serving).ok_or_else(|| {
            Missing::new(
                "has no listener that sleeps until a client connects",
                "unix-stream, unix-seqpacket, tcp, tcp6, vsock and fifo have one, plain or /epoll",
            )
        }))
    }

    /// The knob that the kernel sets lower where a quota of the user is used up.
    pub(crate) fn usual(&self) -> Option<Usual> {
        self.mechanism.usual()
    }

    /// Creates the kernel objects of one channel.
    ///
    /// # Errors
    /// What could not be created.
    pub fn open(&self, shape: &Shape, options: &OptionSet) -> Result<Link, SetupError> {
        self.mechanism.open(shape, options)
    }

    /// In a worker: becomes one end behind a table, for tests and for messages in packets.
    ///
    /// # Errors
    /// What could not be attached.
    pub fn attach(&self, end: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError> {
        self.mechanism.attach(end)
    }

    /// In a worker: attaches and measures.
    ///
    /// # Errors
    /// What went wrong.
    pub(crate) fn drive(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure> {
        let job = driven.job;
        if let (Some(program), Seat::Follow) = (&job.program, job.seat) {
            let Driven { wiring, page, context, .. } = driven;
            // Who is running already has its end.
            let port = match program.running {
                Some(_) => None,
                None => Some(self.attach(job.end(wiring, context))?),
            };
            return shim::drive(port, program, job, page, context);
        }
        let drive = |driven: Driven<'_, '_>| {
            if job.key.load.packet > 0 || !job.injections.is_empty() {
                self.drive_erased(driven)
            } else {
                self.mechanism.drive(driven)
            }
        };
        if self.is_plugin {
            let before = plugins::descriptors_before(&driven.wiring);
            plugins::leaving_nothing(&self.spec.full_name(), &before, drive(driven))
        } else {
            drive(driven)
        }
    }

    /// The same for messages in packets, and where something is to go wrong on purpose: one loop for all mechanisms, behind
    /// which an operation is many calls.
    fn drive_erased(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure> {
        let Driven { wiring, job, page, context } = driven;
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

/// Measures with the loops of a job over a port.
///
/// # Errors
/// What went wrong.
pub fn measure_over<P: Port>(
    port: &mut P,
    lends: [Lends; 2],
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
) -> Result<SideReport, Failure> {
    let mut loops = |work: AnyWork<'_>, with: Measure<'_>| runner::over(port, job, work, with);
    measure(&mut loops, lends, job, page, context)
}

/// All mechanisms a program knows, in the order of their list, and the loader that makes mechanisms from files.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    loader: Option<&'static Loader>,
}

/// Mechanisms from plug-ins. Each is created once and lives as long as the process, like the built-in ones.
static OF_PLUGINS: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

fn of_plugins() -> MutexGuard<'static, Vec<&'static Entry>> {
    OF_PLUGINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a plug-in is taken.
fn taken(declared: &Value, owner: &str) -> Missing {
    let [name, file] = ["name", "file"].map(|key| declared[key].as_str().unwrap_or_default());
    let what = format!("plug-in {file}: its facts name it '{name}', which is the name of {owner}");
    Missing::new(what, "give it a name of its own")
}

impl Registry {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one mechanism.
    pub fn visit<M: Mechanism>(&mut self) {
        self.entries.push(Entry::of::<M>());
    }

    /// The same in a row: how an out-of-tree program brings its own.
    #[must_use]
    pub fn with<M: Mechanism>(mut self) -> Self {
        self.visit::<M>();
        self
    }

    /// With the loader that makes mechanisms from files.
    #[doc(hidden)]
    #[must_use]
    pub fn with_plugins(mut self, loader: &'static Loader) -> Self {
        self.loader = Some(loader);
        self
    }

    /// All of them but plug-ins, which are measured only where they are named.
    #[doc(hidden)]
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The plug-ins that were named so far.
    #[must_use]
    pub fn plugins(&self) -> Vec<&'static Entry> {
        of_plugins().clone()
    }

    /// By full name: `pipe`, `pipe/spin`, or the name of a plug-in that this run has named.
    #[doc(hidden)]
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let is_it = |entry: &&Entry| entry.spec.full_name() == name;
        self.entries.iter().find(is_it).or_else(|| {
            let known = of_plugins().iter().copied().find(is_it);
            known.or_else(|| self.made(&plugins::find("name", name)?).ok())
        })
    }

    /// The mechanism in this file.
    ///
    /// # Errors
    /// It is no plug-in, or its name is taken.
    pub fn plugin(&self, path: &Path) -> Result<&'static Entry, Missing> {
        let loader = self.loader()?;
        if let Some(known) =
            path.canonicalize().ok().and_then(|path| plugins::find("path", path.to_str()?))
            && let Some(entry) =
                of_plugins().iter().copied().find(|entry| known["name"] == *entry.spec.full_name())
        {
            return Ok(entry);
        }
        let declared = (loader.declared)(path)?;
        let name = declared["name"].as_str().unwrap_or_default();
        let base = name.split('/').next().unwrap_or(name);
        let own = (loader.own_pipe)()?;
        let is_own = declared["name"] == own["name"];
        if is_own || self.entries.iter().any(|entry| entry.spec.name == base) {
            return Err(taken(&declared, "a mechanism of ipcperf"));
        }
        match plugins::find("name", name) {
            Some(known) if known != declared => {
                Err(taken(&declared, known["file"].as_str().unwrap_or_default()))
            }
            _ => {
                let file = declared["file"].as_str().unwrap_or_default();
                plugins::fit(&declared).map_err(|missing| {
                    Missing::new(format!("plug-in {file}: {}", missing.what), missing.how)
                })?;
                self.made(&declared).inspect(|_| plugins::learn([declared]))
            }
        }
    }

    /// The mechanism that a plug-in declares.
    fn made(&self, declared: &Value) -> Result<&'static Entry, Missing> {
        let entry: &'static Entry = Box::leak(Box::new((self.loader()?.entry)(declared)?));
        of_plugins().push(entry);
        Ok(entry)
    }

    /// The work of a process that loads a plug-in for its coordinator.
    ///
    /// # Errors
    /// What went wrong there.
    pub fn serve_plugin(&self, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
        let loader = self.loader().map_err(SetupError::from)?;
        (loader.serve)(context)
    }

    /// What makes mechanisms of files.
    pub(crate) fn loader(&self) -> Result<&'static Loader, Missing> {
        self.loader.ok_or_else(|| Missing::new("this program loads no plug-ins", ""))
    }
}

/// What makes mechanisms of files. It is a value, so that a program without plug-ins does without the code.
#[derive(Clone, Copy, Debug)]
pub struct Loader {
    /// What the plug-in in a file declares, with its `name` and its `file`. The file is loaded in a process of its own.
    pub declared: fn(&Path) -> Result<Value, Missing>,
    /// What the pipe declares that is part of this program, behind the same table of functions.
    pub own_pipe: fn() -> Result<Value, Missing>,
    /// The mechanism that it declares; nothing is loaded.
    pub entry: fn(&Value) -> Result<Entry, Missing>,
    /// In a worker with this coordinator, before it takes its task: becomes an interpreter if the task is one of these, and
    /// is about a plug-in that needs one. Otherwise it returns; the error is why it cannot become one.
    pub host: fn(u32, &[&str]) -> Result<(), Missing>,
    /// The work of the process that loads it.
    pub serve: fn(&mut WorkerContext<'_>) -> Result<Value, Failure>,
}

impl Visitor for Registry {
    fn visit<M: Mechanism>(&mut self) {
        Self::visit::<M>(self);
    }
}
