//! Shared memory of mechanisms that map it: the knobs that choose its kind, and its way to both ends.

use ipcperf_core::{Link, Namespaces, SetupError, Wiring};
use ipcperf_sys::io::memory::segment::{Backing, Kind, Segment, Ticket};

/// The kind that the knobs `backing` and `huge` name; they take no other words than these.
pub(crate) fn kind(backing: &str, huge: &str) -> Kind {
    let backing = match backing {
        "dev-shm" => Backing::DevShm,
        "sysv" => Backing::SysV,
        "file" => Backing::File,
        _ => Backing::Memfd,
    };
    Kind { backing, huge: huge == "2M" }
}

/// The namespaces that both ends of such memory must share: descriptors are handed over, an identifier is looked up.
pub(crate) fn shares(backing: &str) -> Namespaces {
    if backing == "sysv" { Namespaces::IPC } else { Namespaces::NONE }
}

/// The link to `memory`, which the coordinator holds until the channel is closed.
pub(crate) fn link(memory: Segment) -> Result<Link, SetupError> {
    let wiring = |ticket| match ticket {
        Ticket::File(fd) => Wiring::of_fds([fd]),
        // An identifier is never negative.
        Ticket::Id(id) => Wiring::of_words([u64::from(id.cast_unsigned())]),
    };
    let (lead, follow) = (wiring(memory.ticket()?), wiring(memory.ticket()?));
    Ok(Link { lead, follow, ..Link::default() }.guarded(memory))
}

/// Maps the memory of a [`link`]. What else is in the wiring stays there.
pub(crate) fn attach(kind: Kind, wiring: &mut Wiring) -> Result<Segment, SetupError> {
    let ticket = if kind.backing == Backing::SysV {
        let id = wiring.words.pop().and_then(|id| u32::try_from(id).ok());
        id.map(|id| Ticket::Id(id.cast_signed()))
    } else {
        (!wiring.fds.is_empty()).then(|| Ticket::File(wiring.fds.remove(0)))
    };
    let ticket = ticket.ok_or_else(|| SetupError::Protocol("no shared memory arrived".into()))?;
    Segment::attach(kind, ticket)
}
