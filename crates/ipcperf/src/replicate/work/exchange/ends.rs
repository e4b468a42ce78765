//! The two ends of exchanges, as worker processes.

use super::mode::{CLIENTS, Call, Mode};
use super::object::{self, Content, Packer, Unpacker};
use super::watch::{Clocked, Timing, Unseen, Watch};
use ipcperf_engine::task::WorkerContext;
use ipcperf_sys::clock::raw_ns;
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::file::file_lock::RecordLock;
use ipcperf_sys::io::file::file_queue::{Layout, Queue};
use ipcperf_sys::io::file::fresh::{self, Access, Handle, Mapping};
use ipcperf_sys::io::file::store;
use ipcperf_sys::io::socket::rights::{Incoming, Outgoing};
use ipcperf_sys::io::{errno, select, stream};
use ipcperf_sys::{procfs, trace};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// How the exchanges are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum View {
    /// From outside, by what they cost.
    Whole,
    /// Each call by a clock.
    Clock,
    /// By a tracer, between marks.
    Marks,
}

/// What both ends must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Params {
    pub(super) mode: Mode,
    pub(super) view: View,
    pub(super) size: usize,
    pub(super) content: Content,
    pub(super) nonce: u64,
    pub(super) warmup: u64,
    pub(super) iterations: u64,
    /// The file, the directory or the queue, where the mode has one.
    pub(super) path: Option<PathBuf>,
    /// Objects for which there is room at a time, where that is a number.
    pub(super) slots: usize,
}

impl Params {
    fn path(&self) -> Result<CString, String> {
        let path = self.path.clone().ok_or("no path was given")?;
        CString::new(path.into_os_string().into_vec()).map_err(|error| error.to_string())
    }

    /// Of the queue.
    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.size, self.slots.saturating_mul(self.size + 128))
    }
}

/// What one end found out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Side {
    /// Exchanges, warm-up included.
    pub(super) exchanges: u64,
    /// When the measured ones began and were over, by a clock that both ends share.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) switches: u64,
    pub(super) calls: BTreeMap<String, Timing>,
    pub(super) clock_us: f64,
    /// Bytes of the last datagram.
    pub(super) datagram: usize,
    /// Bytes of control data.
    pub(super) control: usize,
}

#[cold]
#[inline(never)]
fn failed(call: Call, code: i32) -> String {
    // The socket of a datagram pair whose other end has gone refuses.
    match code {
        errno::ECONNREFUSED | errno::EPIPE => super::GONE.to_owned(),
        _ => format!("{}: {}", call.name(), ipcperf_core::errno::text(code)),
    }
}

#[cold]
#[inline(never)]
fn short(call: Call, got: usize, wanted: usize) -> String {
    format!("{}: {got} bytes of {wanted}", call.name())
}

fn whole(call: Call, step: Result<usize, i32>, wanted: usize) -> Result<(), String> {
    match step {
        Ok(got) if got == wanted => Ok(()),
        Ok(got) => Err(short(call, got, wanted)),
        Err(code) => Err(failed(call, code)),
    }
}

#[inline(always)]
fn select<W: Watch>(
    socket: BorrowedFd<'_>,
    interest: Interest,
    watch: &mut W,
) -> Result<(), String> {
    loop {
        match watch.call(Call::Select, || select::wait(socket, interest)) {
            Ok(()) => return Ok(()),
            Err(errno::EINTR) => {}
            Err(code) => return Err(failed(Call::Select, code)),
        }
    }
}

trait End {
    /// Makes this end's part of exchange `number`.
    fn exchange<W: Watch>(&mut self, number: u64, watch: &mut W) -> Result<(), String>;
    /// Bytes of the last datagram and of control data.
    fn bytes(&self) -> (usize, usize);
}

/// What the sender needs for its mode.
enum Means {
    Message,
    Gzip(Box<Packer>),
    Empty,
    File(CString),
    Unnamed(CString),
    Memfd { sealed: bool },
    Mapped,
    Reused(Vec<Handle>),
    Queue(Queue<RecordLock>),
}

struct Sender<'a> {
    socket: BorrowedFd<'a>,
    nonce: u64,
    object: Vec<u8>,
    means: Means,
    outgoing: Outgoing,
    /// Stay open all the time, as connections of clients do while messages are about them.
    _clients: Vec<UdpSocket>,
    datagram: usize,
}

impl<'a> Sender<'a> {
    fn new(params: &Params, socket: BorrowedFd<'a>) -> Result<Self, String> {
        let means = match params.mode {
            Mode::Message => Means::Message,
            Mode::MessageGzip => Means::Gzip(Box::new(Packer::new(params.size))),
            Mode::Empty => Means::Empty,
            Mode::File => Means::File(params.path()?),
            Mode::OTmpfile => Means::Unnamed(params.path()?),
            Mode::Memfd => Means::Memfd { sealed: false },
            Mode::SealedMemfd => Means::Memfd { sealed: true },
            Mode::MappedMemfd => Means::Mapped,
            Mode::ReusedMemfd => {
                let files = (0..params.slots).map(|_| fresh::empty_memfd());
                Means::Reused(
                    files.collect::<Result<_, _>>().map_err(|code| failed(Call::Open, code))?,
                )
            }
            Mode::Queue | Mode::QueueAmortised => {
                let path = params.path.clone().ok_or("no path was given")?;
                let queue = Queue::sender(&path, params.layout());
                Means::Queue(queue.map_err(|error| error.to_string())?)
            }
        };
        let client = |_| UdpSocket::bind(("127.0.0.1", 0));
        let clients = (0..CLIENTS).map(client).collect::<Result<Vec<_>, _>>();
        let clients = clients.map_err(|error| format!("a socket on 127.0.0.1: {error}"))?;
        let first = usize::from(params.mode.has_file());
        let mut outgoing = Outgoing::padded(first + CLIENTS);
        for (index, client) in clients.iter().enumerate() {
            outgoing.place(first + index, client.as_fd());
        }
        let object = object::make(params.size, params.content, params.nonce);
        Ok(Self {
            socket,
            nonce: params.nonce,
            object,
            means,
            outgoing,
            _clients: clients,
            datagram: 0,
        })
    }
}

/// Sends one datagram once there is room for it.
#[inline(always)]
fn post<W: Watch>(
    socket: BorrowedFd<'_>,
    outgoing: &mut Outgoing,
    message: &[u8],
    watch: &mut W,
) -> Result<(), String> {
    select(socket, Interest::Writable, watch)?;
    whole(
        Call::SendMsg,
        watch.call(Call::SendMsg, || outgoing.send(socket, message)),
        message.len(),
    )
}

#[inline(always)]
fn write<W: Watch>(file: &Handle, object: &[u8], watch: &mut W) -> Result<(), String> {
    whole(Call::Write, watch.call(Call::Write, || stream::write(file.fd(), object)), object.len())
}

impl End for Sender<'_> {
    #[inline(always)]
    fn exchange<W: Watch>(&mut self, number: u64, watch: &mut W) -> Result<(), String> {
        object::stamp(&mut self.object, self.nonce, number);
        let (socket, object, outgoing) = (self.socket, self.object.as_slice(), &mut self.outgoing);
        let open = |step: Result<Handle, i32>| step.map_err(|code| failed(Call::Open, code));
        let file = match &mut self.means {
            Means::Message => {
                self.datagram = object.len();
                return post(socket, outgoing, object, watch);
            }
            Means::Gzip(packer) => {
                let packed = watch.call(Call::Gzip, || packer.pack(object));
                let packed = packed.ok_or("gzip: the object cannot be compressed")?;
                self.datagram = packed.len();
                return post(socket, outgoing, packed, watch);
            }
            Means::Empty => return post(socket, outgoing, &[], watch),
            Means::Queue(queue) => {
                let put = |into: &mut [u8]| into.copy_from_slice(object);
                watch
                    .call(Call::Queue, || queue.send(object.len(), put))
                    .map_err(|fault| format!("queue: {fault:?}"))?;
                return post(socket, outgoing, &[], watch);
            }
            Means::Reused(files) => {
                let index = number as usize % files.len().max(1);
                let file = files.get(index).ok_or("there is no file to reuse")?;
                watch
                    .call(Call::Lseek, || store::rewind(file.fd()))
                    .map_err(|code| failed(Call::Lseek, code))?;
                write(file, object, watch)?;
                outgoing.place(0, file.fd());
                return post(socket, outgoing, &[], watch);
            }
            Means::File(path) => {
                let file = open(watch.call(Call::Open, || store::create(path)))?;
                watch
                    .call(Call::Unlink, || store::unlink(path))
                    .map_err(|code| failed(Call::Unlink, code))?;
                write(&file, object, watch)?;
                file
            }
            Means::Unnamed(directory) => {
                let file = open(watch.call(Call::Open, || store::create_unnamed(directory)))?;
                write(&file, object, watch)?;
                file
            }
            Means::Memfd { sealed } => {
                let file = open(watch.call(Call::Open, fresh::empty_memfd))?;
                write(&file, object, watch)?;
                if *sealed {
                    watch
                        .call(Call::Seal, || fresh::seal(file.fd()))
                        .map_err(|code| failed(Call::Seal, code))?;
                }
                file
            }
            Means::Mapped => {
                let len = object.len();
                let file = open(watch.call(Call::Open, || fresh::memfd(len)))?;
                let mapped = watch.call(Call::Map, || Mapping::new(file.fd(), len, Access::Write));
                let mut mapped = mapped.map_err(|code| failed(Call::Map, code))?;
                if let Some(into) = mapped.bytes_mut() {
                    watch.call(Call::Write, || into.copy_from_slice(object));
                }
                watch.call(Call::Unmap, || drop(mapped));
                file
            }
        };
        outgoing.place(0, file.fd());
        post(socket, outgoing, &[], watch)?;
        watch.call(Call::Close, || drop(file));
        Ok(())
    }

    fn bytes(&self) -> (usize, usize) {
        (self.datagram, self.outgoing.bytes())
    }
}

struct Receiver<'a> {
    socket: BorrowedFd<'a>,
    mode: Mode,
    nonce: u64,
    datagram: Vec<u8>,
    object: Vec<u8>,
    incoming: Incoming,
    unpacker: Unpacker,
    queue: Option<Queue<RecordLock>>,
    /// Bytes of the last datagram.
    last: usize,
}

impl<'a> Receiver<'a> {
    fn new(params: &Params, socket: BorrowedFd<'a>) -> Result<Self, String> {
        let queue = match params.mode {
            Mode::Queue | Mode::QueueAmortised => {
                let path = params.path.clone().ok_or("no path was given")?;
                let queue = Queue::receiver(&path, params.layout());
                Some(queue.map_err(|error| error.to_string())?)
            }
            _ => None,
        };
        Ok(Self {
            socket,
            mode: params.mode,
            nonce: params.nonce,
            // What cannot be compressed grows.
            datagram: vec![0; params.size + params.size / 8 + 1024],
            object: vec![0; params.size],
            incoming: Incoming::default(),
            unpacker: Unpacker::new(),
            queue,
            last: 0,
        })
    }

    /// Brings the object out of its file into memory of this process.
    #[inline(always)]
    fn fetch<W: Watch>(&mut self, file: &Handle, watch: &mut W) -> Result<(), String> {
        let len = self.object.len();
        if self.mode == Mode::MappedMemfd {
            let mapped = watch.call(Call::Map, || Mapping::new(file.fd(), len, Access::Read));
            let mapped = mapped.map_err(|code| failed(Call::Map, code))?;
            watch.call(Call::Read, || self.object.copy_from_slice(mapped.bytes()));
            watch.call(Call::Unmap, || drop(mapped));
            return Ok(());
        }
        if self.mode == Mode::SealedMemfd {
            let is_sealed = watch.call(Call::Seal, || fresh::is_sealed(file.fd()));
            if !is_sealed.map_err(|code| failed(Call::Seal, code))? {
                return Err("seal: the file came without its seals".into());
            }
        }
        watch
            .call(Call::Lseek, || store::rewind(file.fd()))
            .map_err(|code| failed(Call::Lseek, code))?;
        let step = watch.call(Call::Read, || stream::read(file.fd(), &mut self.object));
        whole(Call::Read, step, len)
    }
}

impl End for Receiver<'_> {
    #[inline(always)]
    fn exchange<W: Watch>(&mut self, number: u64, watch: &mut W) -> Result<(), String> {
        select(self.socket, Interest::Readable, watch)?;
        let (socket, datagram) = (self.socket, &mut self.datagram);
        let step = watch.call(Call::RecvMsg, || self.incoming.receive(socket, datagram));
        self.last = step.map_err(|code| failed(Call::RecvMsg, code))?;
        let wanted = CLIENTS + usize::from(self.mode.has_file());
        if self.incoming.is_cut() || self.incoming.count() != wanted {
            return Err(format!("recvmsg: {} descriptors of {wanted}", self.incoming.count()));
        }
        if self.mode.has_file() {
            let file = self.incoming.take_next().ok_or("recvmsg: no file came")?;
            self.fetch(&file, watch)?;
            watch.call(Call::Close, || drop(file));
        }
        let size = self.object.len();
        let got = self.datagram.get(..self.last).unwrap_or_default();
        let object = match (self.mode, &mut self.queue) {
            (Mode::Message, _) => got,
            (Mode::MessageGzip, _) => {
                let (unpacker, object) = (&mut self.unpacker, &mut self.object);
                if !watch.call(Call::Gzip, || unpacker.unpack(got, object)) {
                    return Err(format!("gzip: exchange {number} does not come out as it went in"));
                }
                object
            }
            (mode, Some(queue)) => {
                let object = &mut self.object;
                let amortised = mode == Mode::QueueAmortised;
                watch
                    .call(Call::Queue, || {
                        if amortised {
                            queue.receive_amortised(object)
                        } else {
                            queue.receive(object)
                        }
                    })
                    .map_err(|fault| format!("queue: {fault:?}"))?;
                object
            }
            _ => &self.object,
        };
        let proved = if self.mode == Mode::Empty {
            self.last == 0
        } else {
            object.len() == size && object::proves(object, self.nonce, number)
        };
        while let Some(client) = self.incoming.take_next() {
            watch.call(Call::CloseClient, || drop(client));
        }
        if proved { Ok(()) } else { Err(format!("exchange {number} brought another object")) }
    }

    fn bytes(&self) -> (usize, usize) {
        (self.last, 0)
    }
}

fn serve<E: End>(
    context: &mut WorkerContext<'_>,
    params: &Params,
    mut end: E,
) -> Result<Value, String> {
    if params.view == View::Marks {
        trace::allow_tracers();
    }
    let mut clocked = match params.view {
        View::Clock => Some(usize::try_from(params.iterations).map_err(|error| error.to_string())?),
        _ => None,
    }
    .map(Clocked::new);
    context.ready(&())?;
    for number in 0..params.warmup {
        end.exchange(number, &mut Unseen)?;
    }
    let all = params.warmup..params.warmup + params.iterations;
    let (begin_ns, before) = (raw_ns(), procfs::consumption());
    match (params.view, &mut clocked) {
        (View::Marks, _) => {
            trace::mark(trace::Mark::Begin);
            all.clone().try_for_each(|number| end.exchange(number, &mut Unseen))?;
            trace::mark(trace::Mark::End);
            trace::mark(trace::Mark::Done);
        }
        (_, Some(watch)) => all.clone().try_for_each(|number| end.exchange(number, watch))?,
        _ => all.clone().try_for_each(|number| end.exchange(number, &mut Unseen))?,
    }
    let (after, end_ns) = (procfs::consumption(), raw_ns());
    let (calls, clock_us) = clocked.map(Clocked::finish).unwrap_or_default();
    let (datagram, control) = end.bytes();
    let switches = |side: &procfs::Consumption| side.voluntary_switches + side.involuntary_switches;
    let side = Side {
        exchanges: all.end,
        begin_ns,
        end_ns,
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        switches: switches(&after).saturating_sub(switches(&before)),
        calls,
        clock_us,
        datagram,
        control,
    };
    serde_json::to_value(side).map_err(|error| error.to_string())
}

fn socket(context: &mut WorkerContext<'_>) -> Result<OwnedFd, String> {
    context.fds.pop().ok_or_else(|| "no socket was given".into())
}

/// The sending end.
pub(super) fn send(context: &mut WorkerContext<'_>) -> Result<Value, String> {
    let (params, socket) = (context.params::<Params>()?, socket(context)?);
    let end = Sender::new(&params, socket.as_fd())?;
    serve(context, &params, end)
}

/// The receiving end.
pub(super) fn receive(context: &mut WorkerContext<'_>) -> Result<Value, String> {
    let (params, socket) = (context.params::<Params>()?, socket(context)?);
    let end = Receiver::new(&params, socket.as_fd())?;
    serve(context, &params, end)
}
