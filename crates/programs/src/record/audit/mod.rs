//! What is wrong with somebody's benchmark, as far as its calls tell: of the channels with most messages each rule looks at one
//! thing, and says what it has seen.

pub(crate) mod command;
mod delivery;
mod examined;
pub(crate) mod findings;
mod group;
mod looks;
mod nagle;
mod pauses;
mod rules;
pub(crate) mod screen;
mod shares;
mod spans;
mod timed;

use super::log::Log;
use crate::profile::{Audit, TimedMessages};
use crate::record::calls::Clock;
use examined::Examined;

/// Applies all rules. `size` is that which messages should have; `is_cut` says that it did not end by itself.
pub(super) fn audit(log: &Log, size: Option<u64>, is_cut: bool) -> Audit {
    let groups = group::groups(log);
    let by = |of: fn(Clock) -> Option<u64>| timed::timed(log, &groups, of);
    let [timed, by_cpu, by_coarse] = [
        by(|clock| if let Clock::Precise(clock) = clock { Some(clock) } else { None }),
        by(|clock| if let Clock::Cpu(clock) = clock { Some(clock) } else { None }),
        by(|clock| if let Clock::Coarse(clock) = clock { Some(clock) } else { None }),
    ];
    let examined = Examined { log, groups, timed, by_cpu, by_coarse, size, is_cut };
    let timed = examined.timed.iter().filter_map(|one| {
        let group = examined.groups.get(one.group)?;
        Some(TimedMessages {
            channel: group.name.clone(),
            program: log.program(one.process).to_owned(),
            spans: one.spans.len() as u64,
            messages: one.messages as u64,
            of: group.writes.len() as u64,
            shares: Some(shares::shares(&examined, group, one)),
        })
    });
    let messages = examined.groups.iter().map(|group| group.writes.len() as u64).sum();
    let mut audit = Audit { messages, timed: timed.collect(), ..Audit::default() };
    rules::apply(&examined, &mut audit);
    audit
}
