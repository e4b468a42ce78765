//! The kernel objects and the memory of a bare pair, made before the fork.

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};

use super::bare_memory::{lane_bytes, ring_bytes};
use super::bare_sys::Errno;
use super::case::Carrier;

/// Which end of the pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    Lead,
    Follow,
}

/// Anonymous memory, unmapped when dropped.
pub(crate) struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Mapping {
    /// Zeroed memory that a fork shares.
    pub(crate) fn shared(len: usize) -> Result<Self> {
        Self::map(len, libc::MAP_SHARED)
            .map_err(|errno| std::io::Error::from_raw_os_error(-errno))
            .context("mmap")
    }

    /// Zeroed memory of this process, every page present.
    pub(crate) fn private(len: usize) -> Result<Self, Errno> {
        Self::map(len, libc::MAP_PRIVATE)
    }

    fn map(len: usize, sharing: i32) -> Result<Self, Errno> {
        let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(-std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM));
        }
        Ok(Self { start: start.cast(), len })
    }

    /// Page-aligned.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Bytes asked for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A fork copies no page table of shared memory, so each end faults its pages in once more.
    fn prefault(&self) {
        // SAFETY: changes no content. A kernel before 5.14 refuses; the warm-up then faults them in.
        unsafe { libc::madvise(self.start.cast(), self.len, libc::MADV_POPULATE_WRITE) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; borrowers of `start` do not outlive it (see `Ends`).
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Everything both ends need, owned by the parent until the pair has ended.
pub(crate) struct Plumbing {
    /// Read and write descriptor of the lead, then of the follow; a socket serves as both.
    lead: Vec<OwnedFd>,
    follow: Vec<OwnedFd>,
    memory: Mapping,
    bytes: usize,
}

/// What one end holds in its own process, which ends with it.
pub(crate) struct Ends {
    pub(crate) read: i32,
    pub(crate) write: i32,
    /// The shared memory of the carrier; at least a page, zeroed before the first phase.
    pub(crate) memory: *mut u8,
    pub(crate) bytes: usize,
    /// Private buffers of one message each.
    pub(crate) outgoing: &'static mut [u8],
    pub(crate) incoming: &'static mut [u8],
    /// Messages of all phases so far, for carriers whose state goes on from phase to phase.
    pub(crate) seq: u64,
    /// Round trips per reading of the clock, for carriers too fast to be timed singly.
    pub(crate) batch: u64,
}

impl Plumbing {
    /// Makes what the carrier needs for messages of `bytes`.
    pub(crate) fn lay(carrier: Carrier, bytes: usize) -> Result<Self> {
        let mut memory = 4096;
        let (lead, follow) = match carrier {
            Carrier::Pipe => {
                let (ping, pong) = (std::io::pipe()?, std::io::pipe()?);
                (vec![pong.0.into(), ping.1.into()], vec![ping.0.into(), pong.1.into()])
            }
            Carrier::UnixStream => {
                let (lead, follow) = UnixStream::pair()?;
                (vec![lead.into()], vec![follow.into()])
            }
            Carrier::Tcp => {
                let (lead, follow) = tcp_pair().context("TCP over loopback")?;
                (vec![lead.into()], vec![follow.into()])
            }
            Carrier::Eventfd => {
                let (ping, pong) = (eventfd()?, eventfd()?);
                (vec![pong.try_clone()?, ping.try_clone()?], vec![ping, pong])
            }
            Carrier::Futex | Carrier::CacheLine => (vec![], vec![]),
            Carrier::Flag => {
                memory = 2 * lane_bytes(bytes);
                (vec![], vec![])
            }
            Carrier::Ring => {
                memory = 2 * ring_bytes(bytes);
                (vec![], vec![])
            }
        };
        Ok(Self { lead, follow, memory: Mapping::shared(memory)?, bytes })
    }

    /// In the child: this end, its buffers present.
    pub(crate) fn ends(&self, seat: Seat) -> Result<Ends, Errno> {
        self.memory.prefault();
        let fds = if seat == Seat::Lead { &self.lead } else { &self.follow };
        Ok(Ends {
            read: fds.first().map_or(-1, AsRawFd::as_raw_fd),
            write: fds.last().map_or(-1, AsRawFd::as_raw_fd),
            memory: self.memory.start(),
            bytes: self.bytes,
            outgoing: buffer(self.bytes)?,
            incoming: buffer(self.bytes)?,
            seq: 0,
            batch: 1,
        })
    }
}

/// Page-aligned and present until the process ends.
fn buffer(bytes: usize) -> Result<&'static mut [u8], Errno> {
    let mapping = std::mem::ManuallyDrop::new(Mapping::private(bytes)?);
    // SAFETY: never unmapped, and nobody else has it.
    Ok(unsafe { std::slice::from_raw_parts_mut(mapping.start(), bytes) })
}

fn tcp_pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let lead = TcpStream::connect(listener.local_addr()?)?;
    let follow = loop {
        let (follow, from) = listener.accept()?;
        // Any local process may connect to the port; only ours is wanted.
        if from == lead.local_addr()? {
            break follow;
        }
    };
    lead.set_nodelay(true)?;
    follow.set_nodelay(true)?;
    Ok((lead, follow))
}

fn eventfd() -> Result<OwnedFd> {
    // SAFETY: takes two integers; a non-negative result is a descriptor that is ours alone.
    unsafe {
        let fd = libc::eventfd(0, libc::EFD_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).context("eventfd");
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
