//! Shared memory of mechanisms that map it: the knobs that choose its kind, and its way to both ends.

use ipcperf_core::units::format_size;
use ipcperf_core::{Guard, KnobValue, Link, Missing, SetupError, Wiring};
use ipcperf_sys::io::memory::segment::{Backing, Kind, Segment, Ticket};
use ipcperf_sys::io::sysctl;

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

/// Refuses what would take more than half of the memory there is. Pages of a memfd are taken when they are first
/// touched: without this the kernel would end a process instead.
pub(crate) fn fits(what: &str, bytes: usize, how: &str) -> Result<(), Missing> {
    let bytes = bytes as u64;
    match sysctl::memory_available() {
        Some(available) if bytes > available / 2 => {
            let (bytes, available) = (format_size(bytes), format_size(available));
            let what =
                format!("{what} of {bytes} would take more than half of {available} of memory");
            Err(Missing::new(what, how))
        }
        _ => Ok(()),
    }
}

/// The link to `memory`, which the coordinator holds until the channel is closed.
pub(crate) fn link(
    memory: Segment,
    effective: Vec<(String, KnobValue)>,
) -> Result<Link, SetupError> {
    let wiring = |ticket| match ticket {
        Ticket::File(fd) => Wiring::of_fds([fd]),
        // An identifier is never negative.
        Ticket::Id(id) => {
            Wiring { words: vec![u64::from(id.cast_unsigned())], ..Wiring::default() }
        }
    };
    let (lead, follow) = (wiring(memory.ticket()?), wiring(memory.ticket()?));
    Ok(Link { lead, follow, guards: vec![Guard::new(memory)], effective })
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
