//! The cells that are measured of every mechanism that may be chosen, and their names.

use ipcperf_core::PatternKind;
use ipcperf_core::result::{Cell, Goal, Requirements};
use ipcperf_core::units::{format_duration, format_per_second};
use ipcperf_judge::{MetricKind, ROUND_TRIP, figures};
use ipcperf_render::text;

/// One thing that is measured of every mechanism: a pattern at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) pattern: PatternKind,
    pub(super) size: u64,
}

impl Workload {
    /// All of these patterns at all sizes.
    pub(super) fn all(wanted: &Requirements, patterns: &[PatternKind]) -> Vec<Self> {
        let of = |size: u64| patterns.iter().map(move |pattern| Self { pattern: *pattern, size });
        wanted.sizes.iter().copied().flat_map(of).collect()
    }

    pub(super) fn kind(self, by: Goal) -> MetricKind {
        match by {
            Goal::P99 if self.pattern != PatternKind::Stream => MetricKind::P99,
            Goal::P999 if self.pattern != PatternKind::Stream => MetricKind::P999,
            Goal::Cpu => MetricKind::Cpu,
            Goal::P50 if self.pattern == PatternKind::Serve => ROUND_TRIP,
            _ => MetricKind::of(self.pattern),
        }
    }

    pub(super) fn is_of(self, wanted: &Requirements, cell: &Cell) -> bool {
        let key = &cell.key;
        (key.pattern, key.size_bytes) == (self.pattern, self.size)
            && key.load == wanted.load(self.pattern)
    }

    /// `4 KiB at 20 k/s`, `4 KiB after pauses of 100us`, `streams of 4 KiB`.
    pub(super) fn words(self, wanted: &Requirements) -> String {
        let size = figures::size(self.size);
        match self.pattern {
            PatternKind::Stream => format!("streams of {size}"),
            PatternKind::Serve => {
                let (flight, load) = (in_flight(wanted), load_words(wanted, self.pattern));
                format!("requests of {size}{flight}{load}")
            }
            PatternKind::Broadcast => {
                format!("messages of {size}{}", load_words(wanted, self.pattern))
            }
            pattern => format!("{size}{}", load_words(wanted, pattern)),
        }
    }
}

/// ` with 4 requests in flight`, on each connection where there are several; nothing where there is one.
pub(super) fn in_flight(wanted: &Requirements) -> String {
    let each = if wanted.conns > 1 { " on each connection" } else { "" };
    match wanted.inflight {
        0 => String::new(),
        count => format!(" with {} in flight{each}", text::counted(count, "request")),
    }
}

/// ` over 16 connections at 20 k/s`, ` at 20 k/s`, ` after pauses of 100us next to cpu:2@free`; nothing where each message follows at once.
pub(super) fn load_words(wanted: &Requirements, pattern: PatternKind) -> String {
    if pattern == PatternKind::Serve {
        let conns = match wanted.conns {
            0 => String::new(),
            conns => format!(" over {}", text::counted(conns, "connection")),
        };
        let rate = wanted.rate_per_second.map(|rate| format!(" at {}", format_per_second(rate)));
        return conns + &rate.unwrap_or_default();
    }
    if pattern == PatternKind::Broadcast {
        return format!(" to {}", text::counted(wanted.consumers, "consumer"));
    }
    let pace = match (pattern, wanted.rate_per_second, wanted.think_ns) {
        (PatternKind::Rate, Some(rate), _) => format!(" at {}", format_per_second(rate)),
        (PatternKind::PingPong, _, think @ 1..) => {
            format!(" after pauses of {}", format_duration(think))
        }
        _ => String::new(),
    };
    let near = wanted.neighbour.as_ref().map(|neighbour| format!(" next to {neighbour}"));
    pace + &near.unwrap_or_default()
}
