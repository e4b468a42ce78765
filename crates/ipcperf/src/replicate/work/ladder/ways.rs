//! What carries the messages. Pipe, TCP, UDP and the mailbox are the project's own mechanisms; the buffer with
//! semaphores is too, in a file in `/dev/shm` instead of anonymous memory, because the study maps a file.

use super::channel::{Channel, Whole};
use super::load::Keys;
use super::packets::Packets;
use ipcperf_core::{
    Guard, KnobValue, Link, Mechanism, Meet, Missing, OptionSet, Options, Seat, SetupError, Shape,
    Wiring,
};
use ipcperf_mech::datagram::udp::Udp;
use ipcperf_mech::shared_memory::sem_port::SemPort;
use ipcperf_mech::shared_memory::shm_mailbox::ShmMailbox;
use ipcperf_mech::stream::pipe::Pipe;
use ipcperf_mech::stream::tcp::Tcp;
use ipcperf_mech::wait::{Block, Spin};
use ipcperf_sys::io::memory::segment::{Backing, Kind, Segment, Ticket};
use ipcperf_sys::io::memory::shm_sem::{self, Ends};
use serde::{Deserialize, Serialize};

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Way {
    /// Two anonymous pipes.
    #[serde(rename = "pipe")]
    Pipe,
    /// A mapped file, and semaphores in it.
    #[serde(rename = "shm-sem")]
    Semaphores,
    /// A mapped file, and both ends watch a word in it.
    #[serde(rename = "shm-spin")]
    Spinning,
    /// A connection with `TCP_NODELAY`, which is the default of the mechanism.
    #[serde(rename = "tcp")]
    Tcp,
    /// Messages cut into packets.
    #[serde(rename = "udp")]
    Udp,
}

/// A file in `/dev/shm` that loses its name at once.
const FILE: Kind = Kind { backing: Backing::DevShm, huge: false };

/// The loop over an open channel, whatever its type.
pub(super) trait Walk {
    type Result;

    fn walk<C: Channel>(self, channel: C) -> Self::Result;
}

/// What a mechanism may ask of the outside; these need nobody.
struct Alone;

impl Meet for Alone {
    fn swap(&mut self, _: Wiring) -> Result<Wiring, SetupError> {
        Err(SetupError::Protocol("there is nothing to swap".into()))
    }

    fn effective(&mut self, _: &str, _: KnobValue) {}
}

/// The knobs of a mechanism, all at their defaults but these.
fn options<M: Mechanism>(knobs: &[&str]) -> Result<M::Options, SetupError> {
    let mut set = OptionSet::default();
    let refused = |error: ipcperf_core::OptionError| SetupError::Protocol(error.to_string());
    for knob in knobs {
        set.set(knob).map_err(refused)?;
    }
    M::Options::parse(M::SPEC.name, &set).map_err(refused)
}

fn open<M: Mechanism>(shape: &Shape, knobs: &[&str]) -> Result<Link, SetupError> {
    M::open(shape, &options::<M>(knobs)?)
}

fn probe<M: Mechanism>(knobs: &[&str]) -> Result<(), SetupError> {
    Ok(M::probe(&options::<M>(knobs)?)?)
}

const MAILBOX: &[&str] = &["shm-mailbox.backing=dev-shm"];

impl Way {
    /// Whether messages are cut into packets.
    pub(super) fn cuts(self) -> bool {
        self == Self::Udp
    }

    /// Whether both ends burn their CPU.
    pub(super) fn spins(self) -> bool {
        self == Self::Spinning
    }

    /// What this host has not.
    pub(super) fn missing(self) -> Option<String> {
        let name = format!("ipcperf-trial-{}", ipcperf_sys::process::own_pid());
        let tried = match self {
            Self::Pipe => probe::<Pipe<Block>>(&[]),
            Self::Semaphores => shm_sem::create(FILE, 1, None, &name).map(drop),
            Self::Spinning => probe::<ShmMailbox<Spin>>(MAILBOX),
            Self::Tcp => probe::<Tcp<Block>>(&[]),
            Self::Udp => probe::<Udp<Block>>(&[]),
        };
        tried.err().map(|error| error.to_string())
    }

    /// In the coordinator: the channel.
    pub(super) fn open(self, shape: &Shape) -> Result<Link, SetupError> {
        match self {
            Self::Pipe => open::<Pipe<Block>>(shape, &[]),
            Self::Spinning => open::<ShmMailbox<Spin>>(shape, MAILBOX),
            Self::Tcp => open::<Tcp<Block>>(shape, &[]),
            Self::Udp => open::<Udp<Block>>(shape, &[]),
            Self::Semaphores => {
                let name = shape.name("ladder");
                let memory = shm_sem::create(FILE, shape.size, Some(&shape.directory), &name)?;
                let wiring = || match memory.ticket()? {
                    Ticket::File(fd) => Ok(Wiring::of_fds([fd])),
                    Ticket::Id(_) => Err(SetupError::Protocol("the memory is not a file".into())),
                };
                let (lead, follow) = (wiring()?, wiring()?);
                let guards = vec![Guard::new(memory)];
                Ok(Link { lead, follow, guards, effective: Vec::new() })
            }
        }
    }

    /// In a worker: becomes one end and walks.
    pub(super) fn attach<W: Walk>(
        self,
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        keys: &Keys,
        walk: W,
    ) -> Result<W::Result, SetupError> {
        let alone = &mut Alone;
        match self {
            Self::Pipe => {
                let port = Pipe::<Block>::attach(
                    wiring,
                    seat,
                    shape,
                    &options::<Pipe<Block>>(&[])?,
                    alone,
                )?;
                Ok(walk.walk(Whole::copied_by_the_kernel(port)))
            }
            Self::Tcp => {
                let port =
                    Tcp::<Block>::attach(wiring, seat, shape, &options::<Tcp<Block>>(&[])?, alone)?;
                Ok(walk.walk(Whole::copied_by_the_kernel(port)))
            }
            Self::Spinning => {
                let options = options::<ShmMailbox<Spin>>(MAILBOX)?;
                let port = ShmMailbox::<Spin>::attach(wiring, seat, shape, &options, alone)?;
                Ok(walk.walk(Whole::copied_by_the_sender(port, shape.size)))
            }
            Self::Semaphores => {
                let memory = Segment::attach(FILE, Ticket::File(only(wiring)?))?;
                let port = SemPort::new(Ends::attach(memory, seat, shape.size)?, shape)?;
                Ok(walk.walk(Whole::copied_by_the_sender(port, shape.size)))
            }
            Self::Udp => {
                let packet = keys.packet.ok_or_else(|| Missing::new("no size of a packet", ""))?;
                let window = window(packet)?;
                let channel = Packets::new(only(wiring)?, shape.size, packet, window);
                Ok(walk.walk(channel))
            }
        }
    }
}

/// Packets of this size that are sure to fit the receive buffer.
pub(super) fn window(packet: usize) -> Result<u32, SetupError> {
    let options = options::<Udp<Block>>(&[])?;
    Ok(Udp::<Block>::window(packet, &options).unwrap_or(1))
}

fn only(wiring: Wiring) -> Result<std::os::fd::OwnedFd, SetupError> {
    let fds = wiring.into_fds();
    let [fd] = fds.ok_or_else(|| SetupError::Protocol("one descriptor was expected".into()))?;
    Ok(fd)
}
