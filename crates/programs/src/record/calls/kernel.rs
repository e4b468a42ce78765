//! Programs in the kernel at the tracepoints of system calls (`bpf(2)`), and the ring buffer in which they tell what they saw
//! (Linux 5.11).
//!
//! # Safety
//! The ring is mapped for as long as it is read. The kernel writes behind the position that it publishes, and what is before
//! that and after ours stays until ours is published.

use super::bpf::Map;
use super::datagrams::Datagrams;
use super::event::{Class, addresses, heard, named};
use super::programs::{Programs, Within};
use super::{Does, Heard, datagrams, does};
use crate::call_cost::call_ns;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
    Ok(Some(Within { device: (major << 20 | minor).into(), number: facts.ino() }))
}

/// A call with a descriptor, ns.
fn write_ns() -> io::Result<f64> {
    let null = fs::File::create("/dev/null")?;
    Ok(call_ns(&|| {
        let _ = rustix::io::write(&null, &[0]);
    }))
}

/// Recorded processes, and what is heard of them.
#[derive(Debug)]
pub(crate) struct Kernel {
    programs: Programs,
    ring: Ring,
    datagrams: Datagrams,
    /// What a call took before.
    bare_ns: f64,
}

impl Kernel {
    /// Loads the programs. Nothing is recorded yet.
    ///
    /// # Errors
    /// `PermissionDenied` without `CAP_BPF` and `CAP_PERFMON`, `Unsupported` where this kernel has not what they need.
    pub(crate) fn new() -> io::Result<Self> {
        let bare_ns = write_ns()?;
        let programs = Programs::load(own_namespace()?, class_of)?;
        let ring = Ring::of(programs.map("events")?)?;
        Ok(Self { programs, ring, datagrams: Datagrams::default(), bare_ns })
    }

    /// From now on a process is recorded, and every process that it makes.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn add(&self, process: u32) -> io::Result<()> {
        self.programs.map("processes")?.update(&process.to_ne_bytes(), &1_u32.to_ne_bytes())
    }

    /// It is not any more; what it has made is.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn remove(&self, process: u32) -> io::Result<()> {
        self.programs.map("processes")?.delete(&process.to_ne_bytes())
    }

    /// Tells all that has happened since the last time, in its order. Asked too seldom, it loses some.
    pub(crate) fn take(&mut self, hear: &mut dyn FnMut(Heard)) {
        let Self { ring, datagrams, .. } = self;
        ring.take(&mut |event| {
            let Some(mut heard) = heard(event) else { return };
            match &mut heard {
                Heard::Object(object) => {
                    if let Some([own, peer]) = addresses(event) {
                        // A connected socket is known by its addresses, which its peer may name, too.
                        if own != 0 && peer != 0 {
                            object.pair = datagrams::pair(own, peer);
                        }
                        datagrams.learn(object.clone(), own, peer);
                    }
                }
                Heard::Call(call) if call.result >= 0 && datagrams.has(call.object) => {
                    if let Some(does) = does(call.number) {
                        let (end, new) = datagrams.end(call.object, does, named(event));
                        call.object = end;
                        new.into_iter().for_each(|object| hear(Heard::Object(object)));
                    }
                }
                _ => {}
            }
            hear(heard);
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
        let recorded = write_ns()?;
        self.remove(own)?;
        self.take(&mut |_| ());
        Ok(recorded - self.bare_ns)
    }

    /// How many events found no room.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn lost(&self) -> io::Result<u64> {
        self.programs.map("lost")?.first()
    }
}

/// The class of a call, by its number; `None` of one that is not recorded.
fn class_of(number: u32) -> Option<Class> {
    // It comes back into another call, by that one's number.
    let does = does(number.into()).filter(|_| i64::from(number) != libc::SYS_rt_sigreturn)?;
    let is_header = i64::from(number) == libc::SYS_sendmsg;
    let is_message = [libc::SYS_sendmsg, libc::SYS_recvmsg].contains(&number.into());
    let may_name = [libc::SYS_sendto, libc::SYS_recvfrom].contains(&number.into()) || is_message;
    let is_data = matches!(does, Does::Reads | Does::Writes | Does::Passes | Does::Batches);
    let bits = [
        (true, Class::RECORDED),
        (does.has_descriptor(), Class::DESCRIPTOR),
        (is_header, Class::HEADER),
        (does == Does::Executes, Class::EXECUTES),
        (is_data, Class::DATA),
        (may_name, Class::ADDRESS),
        (is_message, Class::MESSAGE),
        (i64::from(number) == libc::SYS_recvfrom, Class::RECEIVES),
    ];
    let bits = bits.into_iter().filter_map(|(is_set, bit)| is_set.then_some(bit));
    Some(Class(bits.sum()))
}

/// The ring, as the kernel shows it: a page with our position, a page with its own, and the events, twice in a row.
#[derive(Debug)]
struct Ring {
    ours: NonNull<c_void>,
    theirs: NonNull<c_void>,
    page: usize,
    /// Bytes of all events.
    size: usize,
}

// SAFETY: the mappings belong to it alone, and are not tied to a thread.
unsafe impl Send for Ring {}

/// Bits of an event's length: it is being written, or is to be skipped (`linux/bpf.h`).
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD: usize = 8;

impl Ring {
    fn of(events: &Map) -> io::Result<Self> {
        let size = events.most() as usize;
        let page = rustix::param::page_size();
        let ours = mapped(events.as_fd(), page, ProtFlags::READ | ProtFlags::WRITE, 0)?;
        let all = page + 2 * size;
        match mapped(events.as_fd(), all, ProtFlags::READ, page as u64) {
            Ok(theirs) => Ok(Self { ours, theirs, page, size }),
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
            let offset = self.page + (at as usize & (self.size - 1));
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
            let _ = munmap(self.theirs.as_ptr(), self.page + 2 * self.size);
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

#[cfg(test)]
mod tests {
    use super::super::{Call, Kind};
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
}
