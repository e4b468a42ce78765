//! Programs in the kernel at the tracepoints of system calls (`bpf(2)`), and the ring buffer in which they tell what they saw
//! (Linux 5.11).
//!
//! # Safety
//! Attributes of `bpf(2)` are arrays of numbers, zero where nothing is said; the memory they point to lives through the call.
//! The ring is mapped for as long as it is read. The kernel writes behind the position that it publishes, and what is before
//! that and after ours stays until ours is published.

use super::btf::Types;
use super::programs::{self, CALLS, Maps, Places, Within, class, event};
use super::{Call, Does, Heard, Kind, Object, does};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Commands of `bpf(2)` and kinds of maps and programs (`linux/bpf.h`).
const MAP_CREATE: usize = 0;
const MAP_LOOK_UP: usize = 1;
const MAP_UPDATE: usize = 2;
const MAP_DELETE: usize = 3;
const PROGRAM_LOAD: usize = 5;
const TRACEPOINT_OPEN: usize = 17;
const HASH: u32 = 1;
const ARRAY: u32 = 2;
const RECENT_HASH: u32 = 9;
const RING: u32 = 27;
const TRACING: u32 = 26;
const AT_TRACEPOINT: u64 = 23;

/// The functions that read the kernel's memory are for programs that declare a licence like its own.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// Bytes of events that wait to be read: at 88 bytes a call, 190,000 calls, which is half a second of the busiest programs
/// seen here.
const RING_SIZE: u32 = 16 << 20;

/// Processes, threads and objects at a time.
const MOST: u32 = 1 << 16;

/// Calls of a block by which the price is found, and blocks: 2 ms in all.
const IN_BLOCK: u32 = 200;
const BLOCKS: usize = 25;

/// The first PID namespace (`PROC_PID_INIT_INO`, `linux/proc_ns.h`).
const FIRST_PIDS: &str = "pid:[4026531836]";

/// The PID namespace of this process, unless it is the first.
fn own_namespace() -> io::Result<Option<Within>> {
    const OWN: &str = "/proc/self/ns/pid";
    if fs::read_link(OWN)?.as_os_str() == FIRST_PIDS {
        return Ok(None);
    }
    let facts = fs::metadata(OWN)?;
    let (major, minor) = (libc::major(facts.dev()), libc::minor(facts.dev()));
    // The kernel has 20 bits for the minor number (`linux/kdev_t.h`).
    let too_large = |_| io::Error::from(ErrorKind::InvalidData);
    let number = u32::try_from(facts.ino()).map_err(too_large)?;
    Ok(Some(Within { device: major << 20 | minor, number }))
}

/// Where the kernel says what its types look like.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// A call with a descriptor, ns: the median of blocks of them.
fn call_ns() -> io::Result<f64> {
    let null = fs::File::create("/dev/null")?;
    let mut blocks = [0.0; BLOCKS];
    for block in &mut blocks {
        let begin = Instant::now();
        for _ in 0..IN_BLOCK {
            rustix::io::write(&null, &[0])?;
        }
        *block = begin.elapsed().as_nanos() as f64 / f64::from(IN_BLOCK);
    }
    blocks.sort_by(f64::total_cmp);
    Ok(blocks[BLOCKS / 2])
}

/// Recorded processes, and what is heard of them.
#[derive(Debug)]
pub(crate) struct Kernel {
    processes: OwnedFd,
    lost: OwnedFd,
    ring: Ring,
    /// What a call took before.
    bare_ns: f64,
    /// Programs run for as long as these are open.
    _links: Vec<OwnedFd>,
}

impl Kernel {
    /// Loads the programs. Nothing is recorded yet.
    ///
    /// # Errors
    /// `PermissionDenied` without `CAP_BPF` and `CAP_PERFMON`, `Unsupported` where this kernel has not what they need.
    pub(crate) fn new() -> io::Result<Self> {
        let bare_ns = call_ns()?;
        let maps = Maps {
            processes: map(HASH, 4, 4, MOST)?,
            calls: map(ARRAY, 4, 1, CALLS.cast_unsigned())?,
            begun: map(ARRAY, 4, 16, MOST)?,
            known: map(RECENT_HASH, 8, 8, MOST)?,
            recent: map(ARRAY, 4, 8, MOST)?,
            lost: map(ARRAY, 4, 8, 1)?,
            events: map(RING, 0, 0, RING_SIZE)?,
            within: own_namespace()?,
        };
        let types = fs::read(TYPES).map_err(|error| {
            let why = format!("this kernel does not describe its types at {TYPES} ({error})");
            io::Error::new(ErrorKind::Unsupported, why)
        })?;
        let types = Types::read(&types).ok_or(ErrorKind::InvalidData)?;
        let places = Places::of(&types)?;
        for number in 0..CALLS {
            if let Some(does) = does(number.into()) {
                update(&maps.calls, &number.to_ne_bytes(), &[class_of(number.into(), does)])?;
            }
        }
        let links = [
            ("sched_process_fork", programs::fork(&maps, &places)),
            ("sched_process_exit", programs::task_end(&maps, &places)),
            ("sys_exit", programs::exit(&maps, &places)),
            ("sys_enter", programs::entry(&maps)),
        ];
        let links = links.iter().map(|(point, program)| {
            let of = types.synonym(&format!("btf_trace_{point}"))?;
            attach(point, of, program)
        });
        let links = links.collect::<io::Result<_>>()?;
        let ring = Ring::of(maps.events)?;
        Ok(Self { processes: maps.processes, lost: maps.lost, ring, bare_ns, _links: links })
    }

    /// From now on a process is recorded, and every process that it makes.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn add(&self, process: u32) -> io::Result<()> {
        update(&self.processes, &process.to_ne_bytes(), &1_u32.to_ne_bytes())
    }

    /// It is not any more; what it has made is.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn remove(&self, process: u32) -> io::Result<()> {
        let key = process.to_ne_bytes();
        let attribute =
            [self.processes.as_raw_fd().cast_unsigned().into(), key.as_ptr() as u64, 0, 0];
        // SAFETY: see the module.
        unsafe { bpf(MAP_DELETE, &attribute) }.map(drop)
    }

    /// Tells all that has happened since the last time, in its order. Asked too seldom, it loses some.
    pub(crate) fn take(&mut self, hear: &mut dyn FnMut(Heard)) {
        self.ring.take(&mut |event| {
            if let Some(heard) = heard(event) {
                hear(heard);
            }
        });
    }

    /// What recording adds to a call of this process, ns: the median of blocks of calls that are recorded less that before
    /// there were programs at the tracepoints.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn price(&mut self) -> io::Result<f64> {
        let own = std::process::id();
        self.add(own)?;
        let recorded = call_ns()?;
        self.remove(own)?;
        self.take(&mut |_| ());
        Ok(recorded - self.bare_ns)
    }

    /// How many events found no room.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn lost(&self) -> io::Result<u64> {
        let (key, mut value) = (0_u32, 0_u64);
        let attribute = [
            self.lost.as_raw_fd().cast_unsigned().into(),
            &raw const key as u64,
            &raw mut value as u64,
            0,
        ];
        // SAFETY: see the module.
        unsafe { bpf(MAP_LOOK_UP, &attribute) }?;
        Ok(value)
    }
}

fn class_of(number: i64, does: Does) -> u8 {
    let descriptor = if does.has_descriptor() { class::DESCRIPTOR } else { 0 };
    let header = if number == libc::SYS_sendmsg { class::HEADER } else { 0 };
    let program = if does == Does::Executes { class::PROGRAM } else { 0 };
    let is_data = matches!(does, Does::Reads | Does::Writes | Does::Passes | Does::Batches);
    let data = if is_data { class::DATA } else { 0 };
    class::RECORDED | descriptor | header | program | data
}

/// `bpf(2)`.
///
/// # Safety
/// See the module.
unsafe fn bpf(command: usize, attribute: &[u64]) -> io::Result<usize> {
    let (at, size) = (attribute.as_ptr() as usize, size_of_val(attribute));
    // SAFETY: the caller's promise.
    let call = || match unsafe { libc::syscall(libc::SYS_bpf, command, at, size) } {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done as usize),
    };
    // The verifier gives up when a signal is pending. The thread takes the signal when the call returns.
    let is_cut = |done: &io::Result<usize>| {
        let code = done.as_ref().err().and_then(io::Error::raw_os_error);
        matches!(code, Some(libc::EAGAIN | libc::EINTR))
    };
    let done = (0..TRIES).map(|_| call()).find(|done| !is_cut(done));
    done.unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::EAGAIN))).map_err(explained)
}

/// How often a call is tried that signals interrupt (libbpf: 5).
const TRIES: usize = 20;

/// Which right is missing.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => io::Error::new(
            ErrorKind::PermissionDenied,
            "programs in the kernel need CAP_BPF and CAP_PERFMON, and a sandbox that lets bpf(2) through",
        ),
        _ => error,
    }
}

/// # Safety
/// The result of the call is a new descriptor.
unsafe fn descriptor(result: io::Result<usize>) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    result.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn map(kind: u32, key: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let attribute = [pair(kind, key), pair(value, entries), 0];
    // SAFETY: see the module.
    unsafe { descriptor(bpf(MAP_CREATE, &attribute)) }
}

fn update(map: &OwnedFd, key: &[u8], value: &[u8]) -> io::Result<()> {
    let map = map.as_raw_fd().cast_unsigned().into();
    let attribute = [map, key.as_ptr() as u64, value.as_ptr() as u64, 0];
    // SAFETY: see the module.
    unsafe { bpf(MAP_UPDATE, &attribute) }.map(drop)
}

/// Loads a program and lets it run at a tracepoint for as long as the descriptor is open.
fn attach(point: &str, of: u32, program: &[u64]) -> io::Result<OwnedFd> {
    let mut attribute = [0_u64; 15];
    attribute[0] = u64::from(TRACING) | (program.len() as u64) << 32;
    attribute[1] = program.as_ptr() as u64;
    attribute[2] = LICENCE.as_ptr() as u64;
    // Where it is to run, and the type of what it is given there.
    attribute[8] = AT_TRACEPOINT << 32;
    attribute[13] = u64::from(of) << 32;
    // SAFETY: see the module.
    let loaded = unsafe { descriptor(bpf(PROGRAM_LOAD, &attribute)) };
    let loaded = loaded.map_err(|error| {
        let (kind, why) = (error.kind(), objection(&mut attribute));
        let of = if kind == ErrorKind::InvalidInput { ErrorKind::Unsupported } else { kind };
        io::Error::new(of, format!("the kernel refuses the program for {point}: {error}{why}"))
    })?;
    let attribute = [0, loaded.as_raw_fd().cast_unsigned().into()];
    // SAFETY: see the module.
    unsafe { descriptor(bpf(TRACEPOINT_OPEN, &attribute)) }
}

/// The last words of the kernel's verifier about a program that it refuses.
fn objection(attribute: &mut [u64; 15]) -> String {
    let mut log = vec![0_u8; 1 << 20];
    attribute[3] = 1 | (log.len() as u64) << 32;
    attribute[4] = log.as_mut_ptr() as u64;
    // SAFETY: see the module.
    let _ = unsafe { bpf(PROGRAM_LOAD, attribute) };
    let text = String::from_utf8_lossy(&log);
    let mut lines = text.trim_end_matches('\0').lines().rev();
    let last = lines.find(|line| !line.starts_with("processed"));
    last.map(|line| format!(" ({line})")).unwrap_or_default()
}

/// The ring, as the kernel shows it: a page with our position, a page with its own, and the events, twice in a row.
#[derive(Debug)]
struct Ring {
    ours: NonNull<c_void>,
    theirs: NonNull<c_void>,
    page: usize,
    _events: OwnedFd,
}

// SAFETY: the mappings belong to it alone, and are not tied to a thread.
unsafe impl Send for Ring {}

/// Bits of an event's length: it is being written, or is to be skipped (`linux/bpf.h`).
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD: usize = 8;

impl Ring {
    fn of(events: OwnedFd) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let ours = mapped(events.as_fd(), page, ProtFlags::READ | ProtFlags::WRITE, 0)?;
        let all = page + 2 * RING_SIZE as usize;
        match mapped(events.as_fd(), all, ProtFlags::READ, page as u64) {
            Ok(theirs) => Ok(Self { ours, theirs, page, _events: events }),
            Err(error) => {
                // SAFETY: mapped above, and nobody has its address.
                let _ = unsafe { munmap(ours.as_ptr(), page) };
                Err(error)
            }
        }
    }

    fn take(&mut self, read: &mut dyn FnMut(&[u8])) {
        // SAFETY: both pages begin with such a number, and stay mapped.
        let (ours, theirs) = unsafe {
            (self.ours.cast::<AtomicU64>().as_ref(), self.theirs.cast::<AtomicU64>().as_ref())
        };
        let mut at = ours.load(Ordering::Relaxed);
        while at < theirs.load(Ordering::Acquire) {
            let offset = self.page + (at & u64::from(RING_SIZE - 1)) as usize;
            // SAFETY: within the mapping, which has all events twice.
            let head = unsafe { self.theirs.byte_add(offset) };
            // SAFETY: an event begins with its length, 8 bytes aligned.
            let length = unsafe { head.cast::<AtomicU32>().as_ref() }.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let size = (length & !(BUSY | DISCARDED)) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: the kernel has published so many bytes, and leaves them alone until our position is beyond them.
                let event = unsafe {
                    std::slice::from_raw_parts(head.byte_add(HEAD).cast::<u8>().as_ptr(), size)
                };
                read(event);
            }
            at += (HEAD + size).next_multiple_of(HEAD) as u64;
            ours.store(at, Ordering::Release);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped with these lengths; nothing refers to them any more.
        unsafe {
            let _ = munmap(self.ours.as_ptr(), self.page);
            let _ = munmap(self.theirs.as_ptr(), self.page + 2 * RING_SIZE as usize);
        }
    }
}

fn mapped(
    fd: BorrowedFd<'_>,
    length: usize,
    how: ProtFlags,
    at: u64,
) -> io::Result<NonNull<c_void>> {
    // SAFETY: a new mapping, where nothing is.
    let place = unsafe { mmap(std::ptr::null_mut(), length, how, MapFlags::SHARED, fd, at)? };
    NonNull::new(place).ok_or_else(|| ErrorKind::OutOfMemory.into())
}

/// Numbers at places of an event.
struct Parts<'a>(&'a [u8]);

impl Parts<'_> {
    fn long(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn half(&self, at: usize) -> Option<u16> {
        Some(u16::from_ne_bytes(self.0.get(at..at + 2)?.try_into().ok()?))
    }

    /// Up to the first zero.
    fn text(&self, at: usize, most: usize) -> Option<String> {
        let bytes = self.0.get(at..)?;
        let bytes = &bytes[..most.min(bytes.len())];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// What an event says.
fn heard(event: &[u8]) -> Option<Heard> {
    let parts = Parts(event);
    Some(match parts.word(0)? {
        event::CALL => {
            let numbers = parts.long(8)?;
            Heard::Call(Call {
                number: parts.word(4)?.into(),
                process: (numbers >> 32) as u32,
                thread: numbers as u32,
                begun: parts.long(16)?,
                ended: parts.long(24)?,
                result: parts.long(32)?.cast_signed(),
                arguments: [parts.long(40)?, parts.long(48)?, parts.long(56)?, parts.long(64)?],
                object: parts.long(72)?,
                control: parts.word(84)?,
            })
        }
        event::OBJECT => Heard::Object(object(&parts)?),
        event::FORK => {
            Heard::Fork { parent: (parts.long(8)? >> 32) as u32, child: parts.long(16)? as u32 }
        }
        event::NAME => {
            Heard::Program { process: (parts.long(8)? >> 32) as u32, name: parts.text(24, 16)? }
        }
        _ => return None,
    })
}

/// `TCP_LISTEN` (`net/tcp_states.h`), which UNIX sockets have as well.
const LISTENS: u8 = 10;

fn object(parts: &Parts<'_>) -> Option<Object> {
    let (mode, id) = (parts.word(4)?, parts.long(8)?);
    let mut found = Object {
        id,
        kind: Kind::Other,
        pair: [0; 2],
        name: String::new(),
        owns_name: false,
        ports: [0; 2],
        listens: false,
    };
    match mode & libc::S_IFMT {
        libc::S_IFIFO => {
            (found.kind, found.name) = (Kind::Pipe, parts.text(88, 64)?);
        }
        libc::S_IFSOCK => {
            let (family, sort) = (i32::from(parts.half(32)?), i32::from(parts.half(36)?));
            found.listens = *parts.0.get(34)? == LISTENS;
            match family {
                libc::AF_UNIX => {
                    found.kind = Kind::Unix(sort);
                    found.pair = [parts.long(16)?, parts.long(24)?].map(u128::from);
                    found.owns_name = *parts.0.get(35)? == 0;
                    found.name = unix_name(parts.0.get(88..)?, parts.word(52)? as usize);
                }
                libc::AF_INET | libc::AF_INET6 => {
                    let version = if family == libc::AF_INET { 4 } else { 6 };
                    found.kind = Kind::Internet(sort, version);
                    // The peer's comes first, in the order of the network.
                    let ports = parts.word(48)?;
                    let (far, near) = (u16::from_be(ports as u16), (ports >> 16) as u16);
                    found.ports = [near, far];
                    found.pair = pair_of(parts, [near, far])?;
                }
                // The kernel is at the other end.
                libc::AF_NETLINK => {}
                _ => found.kind = Kind::Socket(sort),
            }
        }
        _ => found.name = parts.text(88, 64)?,
    }
    Some(found)
}

/// Both ends in an order that the other end has the other way round: addresses and ports, of which none leaves this process.
fn pair_of(parts: &Parts<'_>, [near, far]: [u16; 2]) -> Option<[u128; 2]> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let addresses = parts.long(40)?;
    let [far_address, near_address] = [addresses as u32, (addresses >> 32) as u32];
    let half = |own: (u32, u16), other: (u32, u16)| {
        let mut hasher = DefaultHasher::new();
        (own, other).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    let (near, far) = ((near_address, near), (far_address, far));
    Some([half(near, far), half(far, near)])
}

/// The last part of a path; an abstract name with its sign.
fn unix_name(bytes: &[u8], length: usize) -> String {
    // The family comes before the name, in two bytes.
    let name = bytes.get(2..length.min(bytes.len())).unwrap_or_default();
    match name.split_first() {
        None => String::new(),
        Some((0, rest)) => format!("@{}", String::from_utf8_lossy(rest)),
        Some(_) => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            let path = String::from_utf8_lossy(&name[..end]);
            path.rsplit('/').next().unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;
    use std::os::unix::net::UnixStream;

    /// Everything that this process does meanwhile, or nothing where the rights are missing.
    fn recorded(job: impl FnOnce()) -> Option<Vec<Heard>> {
        let mut kernel = match Kernel::new() {
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
            {
                ipcperf_sys::skipped::skipped("bpf", error);
                return None;
            }
            other => other.expect("it loads"),
        };
        let own = std::process::id();
        kernel.add(own).expect("room");
        job();
        kernel.remove(own).expect("it is there");
        let mut all = Vec::new();
        kernel.take(&mut |heard| all.push(heard));
        assert_eq!(kernel.lost().expect("a number"), 0);
        Some(all)
    }

    fn calls(all: &[Heard], number: i64) -> Vec<Call> {
        let own = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let calls = all.iter().filter_map(|heard| match heard {
            Heard::Call(call) if call.number == number && call.thread == own => Some(*call),
            _ => None,
        });
        calls.collect()
    }

    #[test]
    fn every_call_is_seen_with_its_object() {
        let (reader, writer) = pipe().expect("a pipe");
        let (a, b) = UnixStream::pair().expect("two sockets");
        let all = recorded(|| {
            for _ in 0..1000 {
                rustix::io::write(&writer, b"seven..").expect("room");
                rustix::io::read(&reader, &mut [0_u8; 64][..]).expect("there is some");
            }
            rustix::io::write(&a, b"abc").expect("room");
            rustix::io::read(&b, &mut [0_u8; 64][..]).expect("there is some");
        });
        let Some(all) = all else { return };
        let (writes, reads) = (calls(&all, libc::SYS_write), calls(&all, libc::SYS_read));
        assert_eq!([writes.len(), reads.len()], [1001, 1001]);
        let same = writes[0].object;
        assert_ne!(same, 0);
        let of_pipe = writes[..1000].iter().zip(&reads);
        for (write, read) in of_pipe {
            assert_eq!([write.result, read.result], [7, 7]);
            assert_eq!([write.object, read.object], [same, same]);
            assert_eq!([write.arguments[2], read.arguments[2]], [7, 64]);
            assert!(0 < write.begun && write.begun <= write.ended && write.ended <= read.begun);
        }
        let socket = |call: &Call| {
            let mut found = all.iter().filter_map(|heard| match heard {
                Heard::Object(object) if object.id == call.object => Some(object),
                _ => None,
            });
            found.next().cloned().expect("it was told of")
        };
        let (a, b) = (socket(&writes[1000]), socket(&reads[1000]));
        assert_eq!(a.kind, Kind::Unix(libc::SOCK_STREAM));
        assert_eq!([a.pair[0], a.pair[1]], [b.pair[1], b.pair[0]]);
        assert_eq!(socket(&writes[0]).kind, Kind::Pipe);
    }

    #[test]
    fn names_are_the_last_parts_of_paths() {
        let of = |path: &str| {
            let bytes = [b"\x01\0", path.as_bytes()].concat();
            unix_name(&[&bytes[..], b"\0\0garbage"].concat(), bytes.len())
        };
        assert_eq!(of("/run/user/1000/s.sock\0"), "s.sock");
        assert_eq!(of("\0abstract"), "@abstract");
        assert_eq!(of(""), "");
    }
}
