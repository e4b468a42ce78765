//! The same by `ptrace(2)`, which needs no rights: every call stops its thread twice, and what its descriptor stands for
//! is looked up while it is stopped.

use super::datagrams::{Address, Datagrams};
use super::details::{self, Details};
use super::event::shown_name;
use super::memory::read;
use super::{Call, Does, Heard, Kind, Object, datagrams, does};
use ipcperf_engine::keeper::Keeper;
use ipcperf_sys::affinity;
use ipcperf_sys::trace::{CallsSeen, Follow, Returned};
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

/// Programs that stop at each call, with all that they start. Dropping it ends those that it has started.
#[derive(Debug)]
pub(crate) struct Traced {
    /// What keeps the programs. The thread that starts them is the one that must go on with them.
    pub(crate) keeper: Keeper,
    heard: Rc<RefCell<Vec<Heard>>>,
}

impl Traced {
    /// Nothing yet. With `closely`, looks at clocks are calls, and the CPUs that threads may use are reported.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(closely: bool) -> io::Result<Self> {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let mut look = Look { heard: Rc::clone(&heard), closely, ..Look::default() };
        let watch = move |seen| match seen {
            CallsSeen::Returned(call) => look.take(&call),
            CallsSeen::Made { thread, child } => {
                let parent = look.process(thread);
                look.tell(Heard::Fork { parent, child });
            }
        };
        let follow = Follow::watched(Box::new(watch), closely)?;
        Ok(Self { keeper: Keeper::Traced(follow), heard })
    }

    /// Lets everybody go on, and tells all that has happened since the last time.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn take(&mut self, hear: &mut dyn FnMut(Heard)) -> io::Result<()> {
        self.keeper.go_on()?;
        self.heard.borrow_mut().drain(..).for_each(hear);
        Ok(())
    }
}

/// What is known of the programs.
#[derive(Default)]
struct Look {
    heard: Rc<RefCell<Vec<Heard>>>,
    /// The process of each thread.
    processes: HashMap<u32, u32>,
    named: HashSet<u32>,
    /// Objects of which all is known.
    known: HashSet<u64>,
    datagrams: Datagrams,
    /// The CPUs of threads are wanted.
    closely: bool,
    /// Those that each thread had when it last moved data.
    cpus: HashMap<u32, Vec<usize>>,
    details: Details,
}

impl Look {
    fn take(&mut self, call: &Returned) {
        let Some(does) = does(call.number) else { return };
        let process = self.process(call.thread);
        if does == Does::Executes && call.result == 0 || self.named.insert(process) {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            let is_go = self.closely && details::is_go(process);
            self.tell(Heard::Program { process, name: name.trim_end().to_owned(), is_go });
        }
        let [a, b, c, mut d] = if self.closely {
            self.details.arguments(process, call)
        } else {
            let [a, b, c, d, ..] = call.arguments;
            [a, b, c, d]
        };
        let mut object = match does.has_descriptor() {
            true => self.object(process, a as u32 as i32, does).unwrap_or(0),
            false => 0,
        };
        if call.result >= 0 && self.datagrams.has(object) {
            let named = datagrams::peer_address(process, call);
            let (end, new) = self.datagrams.end(object, does, named);
            object = end;
            new.into_iter().for_each(|object| self.tell(Heard::Object(object)));
        }
        if let Some((semaphore, change)) = semaphore(process, call) {
            (object, d) = (semaphore.id, change.cast_unsigned());
            if self.known.insert(object) {
                self.tell(Heard::Object(semaphore));
            }
        }
        let has_header = [libc::SYS_sendmsg, libc::SYS_recvmsg].contains(&call.number);
        if self.closely && matches!(does, Does::Reads | Does::Writes | Does::Sends) {
            self.look_at_cpus(call.thread);
        }
        self.tell(Heard::Call(Call {
            number: call.number,
            process,
            thread: call.thread,
            begun: call.begun,
            ended: call.ended,
            result: call.result,
            arguments: [a, b, c, d],
            object,
            control: if has_header { control(process, b) } else { 0 },
        }));
    }

    fn process(&mut self, thread: u32) -> u32 {
        *self.processes.entry(thread).or_insert_with(|| process_of(thread).unwrap_or(thread))
    }

    /// Tells where a thread may run, if that has changed.
    fn look_at_cpus(&mut self, thread: u32) {
        let Ok(cpus) = affinity::cpus_of(thread) else { return };
        if self.cpus.get(&thread) != Some(&cpus) {
            self.cpus.insert(thread, cpus.clone());
            self.tell(Heard::Placed { thread, cpus });
        }
    }

    fn tell(&self, heard: Heard) {
        self.heard.borrow_mut().push(heard);
    }

    /// The object of a descriptor; it is told of until all is known.
    fn object(&mut self, process: u32, fd: i32, does: Does) -> Option<u64> {
        let link = format!("/proc/{process}/fd/{fd}");
        let facts = fs::metadata(&link).ok()?;
        let id = id_of(process, fd, &facts);
        if self.known.contains(&id) {
            return Some(id);
        }
        let path = fs::read_link(&link).unwrap_or_default();
        let path = path.to_string_lossy();
        let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
        let last = path.strip_prefix("anon_inode:").or_else(|| path.rsplit('/').next());
        let mut object = Object {
            id,
            kind: Kind::Other,
            pair: [0; 2],
            name: last.unwrap_or_default().to_owned(),
            owns_name: false,
            ports: [0; 2],
            listens: false,
        };
        let mut is_settled = true;
        match facts.mode() & libc::S_IFMT {
            libc::S_IFIFO => {
                object.kind = Kind::Pipe;
                if path.starts_with("pipe:") {
                    object.name.clear();
                }
            }
            libc::S_IFSOCK => {
                object.name.clear();
                // Sockets of datagrams have no peer yet, or never.
                let is_data = matches!(does, Does::Reads | Does::Writes | Does::Batches);
                let found = socket(process, fd, facts.ino(), &mut object).ok();
                is_settled = found.is_none_or(|(is_settled, _)| is_settled);
                is_settled |= is_data && object.has_datagrams();
                if let Some((_, [own, peer])) = found.filter(|_| object.has_datagrams()) {
                    self.datagrams.learn(object.clone(), own, peer);
                }
            }
            _ => {}
        }
        if is_settled {
            self.known.insert(id);
        }
        self.tell(Heard::Object(object));
        Some(id)
    }
}

/// The process whose thread this is.
pub(crate) fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// One number for one object. Anonymous files share an inode: counters are known by the number that the kernel gives each.
fn id_of(process: u32, fd: i32, facts: &fs::Metadata) -> u64 {
    let has_inode = matches!(facts.mode() & libc::S_IFMT, libc::S_IFSOCK | libc::S_IFIFO);
    let told = if has_inode {
        None
    } else {
        fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).ok()
    };
    let counter =
        told.iter().flat_map(|told| told.lines()).find_map(|line| line.strip_prefix("eventfd-id:"));
    let mut hasher = DefaultHasher::new();
    // A file system gives numbers of inodes again, to files of other kinds as well.
    (facts.dev(), facts.ino(), facts.mode(), counter).hash(&mut hasher);
    hasher.finish() | 1
}

/// What else goes with a message: as [`Call::control`].
fn control(process: u32, header: u64) -> u32 {
    // struct msghdr, and struct cmsghdr behind its pointer (socket(2)).
    let [header, mut first] = [read(process, header, 56), None];
    let long = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 8).and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
    };
    if let Some(header) = &header
        && long(header, 40) >= Some(16)
    {
        first = long(header, 32).and_then(|at| read(process, at, 16));
    }
    let Some(kinds) = first.and_then(|bytes| long(&bytes, 8)) else { return 0 };
    let (level, kind) = (kinds as u32, (kinds >> 32) as u32);
    if level == libc::SOL_SOCKET.cast_unsigned() { kind + 1 } else { 0 }
}

/// What a call of `semop(2)` changes, and by how much: the first of its changes. The semaphore is as an object.
fn semaphore(process: u32, call: &Returned) -> Option<(Object, i64)> {
    let is_one = [libc::SYS_semop, libc::SYS_semtimedop].contains(&call.number);
    // struct sembuf: number, change and flags.
    let change = read(process, call.arguments[1], 6).filter(|_| is_one && call.result == 0)?;
    let half = |at: usize| Some([*change.get(at)?, *change.get(at + 1)?]);
    let (number, change) = (u16::from_ne_bytes(half(0)?), i16::from_ne_bytes(half(2)?));
    let object = Object {
        // No inode has such a number, and no queue.
        id: 1 << 61 | (call.arguments[0] & u64::from(u32::MAX)) << 16 | u64::from(number),
        kind: Kind::Semaphore,
        pair: [0; 2],
        name: String::new(),
        owns_name: false,
        ports: [0; 2],
        listens: false,
    };
    Some((object, change.into()))
}

/// Fills in what a socket is; whether that is all there will be, and its own and its peer's address.
fn socket(
    process: u32,
    fd: i32,
    inode: u64,
    object: &mut Object,
) -> io::Result<(bool, [Address; 2])> {
    let pid = Pid::from_raw(process.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let socket: OwnedFd = pidfd_getfd(pidfd, fd, PidfdGetfdFlags::empty())?;
    let sort = sockopt::socket_type(&socket)?.as_raw() as i32;
    object.listens = sockopt::socket_acceptconn(&socket)?;
    let own = rustix::net::getsockname(&socket)?;
    let peer = rustix::net::getpeername(&socket).ok().flatten();
    match sockopt::socket_domain(&socket)? {
        AddressFamily::UNIX => {
            object.kind = Kind::Unix(sort);
            let other = peer_inode(inode as u32)?.unwrap_or(0);
            object.pair = [inode.into(), other.into()];
            let name = |address: rustix::net::SocketAddrAny| {
                let address = rustix::net::SocketAddrUnix::try_from(address).ok()?;
                let path = address.path().map(|path| path.to_bytes().to_vec());
                path.or_else(|| Some([b"\0", address.abstract_name()?].concat()))
            };
            let names = [name(own), peer.and_then(name)].map(Option::unwrap_or_default);
            let [own, peer] = &names;
            object.owns_name = !own.is_empty();
            object.name = shown_name(if own.is_empty() { peer } else { own });
            let addresses = names.each_ref().map(|name| datagrams::of_name(name));
            if object.has_datagrams() && !addresses.contains(&0) {
                object.pair = datagrams::pair(addresses[0], addresses[1]);
            }
            Ok((other != 0, addresses))
        }
        family @ (AddressFamily::INET | AddressFamily::INET6) => {
            object.kind = Kind::Internet(sort, if family == AddressFamily::INET { 4 } else { 6 });
            let of = |address: rustix::net::SocketAddrAny| {
                std::net::SocketAddr::try_from(address)
                    .ok()
                    .map(|one| (one.ip().to_canonical(), one.port()))
            };
            let (own, other) = (of(own), peer.and_then(of));
            object.ports = [own, other].map(|one| one.map_or(0, |(_, port)| port));
            let half = |halves: [&Option<(std::net::IpAddr, u16)>; 2]| {
                let mut hasher = DefaultHasher::new();
                halves.hash(&mut hasher);
                u128::from(hasher.finish())
            };
            let addresses = object.ports.map(datagrams::of_port);
            if other.is_some() && sort == libc::SOCK_DGRAM {
                object.pair = datagrams::pair(addresses[0], addresses[1]);
            } else if other.is_some() {
                object.pair = [half([&own, &other]), half([&other, &own])];
            }
            Ok((other.is_some(), addresses))
        }
        // The kernel is at the other end.
        AddressFamily::NETLINK => Ok((true, [0; 2])),
        _ => {
            object.kind = Kind::Socket(sort);
            Ok((true, [0; 2]))
        }
    }
}

/// The inode of a UNIX socket's peer, by `sock_diag(7)`; `None` while there is none.
fn peer_inode(inode: u32) -> io::Result<Option<u32>> {
    use rustix::net::{RecvFlags, SendFlags, SocketFlags, netlink, recv, send, socket_with};
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    // struct nlmsghdr: length, SOCK_DIAG_BY_FAMILY with NLM_F_REQUEST, sequence, port; struct unix_diag_req: family, states,
    // inode, UDIAG_SHOW_PEER, no cookie.
    const SHOW_PEER: u32 = 4;
    let words: [u32; 10] = [
        40,
        20 | 1 << 16,
        1,
        0,
        libc::AF_UNIX as u32,
        u32::MAX,
        inode,
        SHOW_PEER,
        u32::MAX,
        u32::MAX,
    ];
    let request: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 4096];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    let half = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    // Behind the header and struct unix_diag_msg come attributes, each with its length and kind; UNIX_DIAG_PEER is 2.
    let mut at = 32;
    while at + 8 <= length && half(4) == Some(20) {
        let (Some(size), Some(kind)) = (half(at), half(at + 2)) else { break };
        if kind == 2 {
            let peer = answer[at + 4..at + 8].try_into().map(u32::from_ne_bytes);
            return Ok(peer.ok().filter(|peer| *peer != 0));
        }
        at += usize::from(size).max(4).next_multiple_of(4);
    }
    Ok(None)
}
