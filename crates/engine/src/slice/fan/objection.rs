//! Why a fan cannot run over a mechanism.

use crate::hot::fan::LEAST;
use crate::hot::grid::PIECE;
use crate::registry::Entry;
use ipcperf_core::result::CellKey;
use ipcperf_core::{
    BackPressure, Direction, Ends, Family, Missing, Offered, PatternKind, Payload, Peers,
    Placement, Seat, Spec,
};
use std::num::NonZeroU64;

/// Pieces of a message of this size; one, unless it is longer than what a pipe hands over whole.
pub(super) fn pieces(spec: &Spec, size: usize) -> NonZeroU64 {
    let is_pipe = spec.family == Family::Stream && spec.direction == Direction::OneWay;
    let count = if is_pipe && size > PIECE { size.div_ceil(PIECE) } else { 1 };
    NonZeroU64::new(count as u64).unwrap_or(NonZeroU64::MIN)
}

/// Whether processes would share a CPU.
fn is_crowded(key: &CellKey, cpus: usize) -> bool {
    let [leads, follows] = key.load.sides(key.pattern);
    match key.placement {
        place if place.is_one_cpu() => true,
        place if place.is_free() => (cpus as u64) < leads + follows,
        // Each side is on a CPU of its own.
        _ => leads.max(follows) > 1,
    }
}

/// Why a grid cannot run over a mechanism.
fn grid_objection(entry: &Entry, key: &CellKey, size: usize, cpus: usize) -> Option<Missing> {
    let spec = entry.spec;
    let one = [("producer", spec.producers), ("consumer", spec.consumers)]
        .into_iter()
        .find(|(_, allowed)| *allowed == Peers::One);
    let is_pieces = spec.payload == Payload::Stream && size > PIECE;
    let is_cut = pieces(spec, size).get() > 1;
    Some(if spec.wake_word().is_some() {
        Missing::new("a wake-up carries no bytes, so it cannot name its sender", "")
    } else if let Some((who, _)) = one {
        Missing::new(format!("one object takes one {who} only"), "")
    } else if entry.fan.is_none() {
        Missing::new("several could use this object, but its end here serves only one", "")
    } else if spec.back_pressure != BackPressure::Blocks {
        let what = "it drops messages when the receiver is slow, and several senders cannot share the credits that prevent it";
        Missing::new(what, "")
    } else if is_pieces && !is_cut {
        let what = "above 4096 bytes the messages of several producers mix in a stream of bytes";
        Missing::new(what, "use a size of at most 4K")
    } else if is_cut && !size.is_multiple_of(PIECE) {
        let what = "above PIPE_BUF (4096 bytes) a pipe keeps pieces of 4096 bytes whole";
        Missing::new(what, "use a size that is a multiple of 4K")
    } else if size < LEAST {
        let what = format!("the number that proves where a message came from takes {LEAST} bytes");
        Missing::new(what, "use a size of at least 8")
    } else if spec.wait.burns_cpu() && is_crowded(key, cpus) {
        let what = "busy-waiting processes cannot share a CPU";
        Missing::new(
            what,
            "one producer and one consumer on two CPUs, or --place free with a CPU for each",
        )
    } else {
        return None;
    })
}

/// Why so many processes cannot stand on one side of one object of this mechanism; `None` if they can, or need not.
pub(crate) fn objection(entry: &Entry, key: &CellKey, size: usize, cpus: usize) -> Option<Missing> {
    let spec = entry.spec;
    if key.pattern.facts().ends == Ends::Grid {
        return grid_objection(entry, key, size, cpus);
    }
    let many = key.pattern.many()?;
    let (who, allowed) = match many {
        Seat::Lead => ("producer", spec.producers),
        Seat::Follow => ("consumer", spec.consumers),
    };
    let is_pieces = spec.payload == Payload::Stream && size > PIECE;
    let crowded = is_crowded(key, cpus);
    if key.pattern.facts().to_each {
        if key.pattern == PatternKind::Feed
            && let Some(missing) = feed_objection(key)
        {
            return Some(missing);
        }
        return channels_objection(entry, key.pattern, size, crowded);
    }
    let missing = if spec.wake_word().is_some() {
        Missing::new("a wake-up carries no bytes, so it cannot name its sender", "")
    } else if allowed == Peers::One {
        Missing::new(format!("one object takes one {who} only"), "")
    } else if entry.fan.is_none() {
        let what =
            format!("several {who}s could use this object, but its end here serves only one");
        Missing::new(what, "")
    } else if many == Seat::Follow && spec.back_pressure != BackPressure::Blocks {
        let what = "it drops messages when the receiver is slow, and several senders cannot share the credits that prevent it";
        Missing::new(what, "")
    } else if is_pieces {
        let what =
            "above PIPE_BUF (4096 bytes) the messages of several peers mix in a stream of bytes";
        Missing::new(
            what,
            "use a size of at most 4K, or -p grid, which proves the pieces of a pipe",
        )
    } else if size < LEAST {
        let what = format!("the number that proves where a message came from takes {LEAST} bytes");
        Missing::new(what, "use a size of at least 8")
    } else if spec.wait.burns_cpu() && crowded {
        let what = "busy-waiting processes cannot share a CPU";
        Missing::new(what, "one peer on two CPUs, or --place free with a CPU for each")
    } else {
        return None;
    };
    Some(missing)
}

/// Why there cannot be a channel for each consumer, over which one producer sends every message.
fn channels_objection(
    entry: &Entry,
    pattern: PatternKind,
    size: usize,
    crowded: bool,
) -> Option<Missing> {
    let spec = entry.spec;
    // A feed counts what is lost.
    let needs_all = pattern != PatternKind::Feed;
    let (what, how) = if spec.is_floor() {
        ("the floor moves nothing", "")
    } else if spec.wake_word().is_some() {
        (
            "wake-ups that a consumer has not taken yet become one, so that it cannot get each of them",
            "",
        )
    } else if entry.to_each.is_none()
        && (spec.back_pressure != BackPressure::Blocks || entry.is_lossy)
        && (needs_all || !entry.is_lossy)
    {
        let how = "a mechanism that makes the sender wait";
        ("it may lose messages, and every consumer has to get each of them", how)
    } else if entry.is_plugin {
        ("a plug-in has two ends, and this pattern has more", "ping-pong, stream, burst or request")
    } else if entry.meets {
        ("its two ends name each other's process, and here one end has several", "")
    } else if size < LEAST {
        let what = "the number that proves which message this is takes 8 bytes";
        (what, "use a size of at least 8")
    } else if spec.wait.burns_cpu() && crowded {
        let how = "one peer on two CPUs, or --place free with a CPU for each";
        ("busy-waiting processes cannot share a CPU", how)
    } else {
        return None;
    };
    Some(Missing::new(what, how))
}

/// Why a feed cannot be timed, over whatever mechanism.
fn feed_objection(key: &CellKey) -> Option<Missing> {
    Some(match (key.load.rate, key.placement) {
        (None | Some(Offered::OfPeak(_)), _) => {
            Missing::new("a feed has a rate in messages per second", "--rate 10k")
        }
        (_, place) if place.is_free() => Missing::new(
            "the ends are not pinned, so their counters cannot be compared",
            "a place with a CPU for each end, or same-cpu",
        ),
        (_, Placement::OneEnd { .. }) => {
            let what = "one end is not pinned, so that the counters of both cannot be compared";
            Missing::new(what, "name a CPU for each, as 0,1")
        }
        _ => return None,
    })
}
