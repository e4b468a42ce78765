//! C13: channels that were let go of leave no descriptor and no mapping, in any of the three processes.

use crate::census::Descriptors;
use crate::scene::{Amount, Scene, Trouble, ensure};
use crate::script::{Batch, Script, Sizes, Step, StepOutcome};
use ipcperf_core::Seat;

/// Channels before the first census: allocators and caches have their memory by then.
const WARM_UP: usize = 5;
/// Channels with the default setup, and with each other one. A page that stays mapped next to the one before it shows among
/// the long amount only.
const CYCLES: Amount<[usize; 2]> = Amount { short: [50, 10], long: [200, 20] };

pub(crate) fn descriptors_and_mappings(scene: &Scene<'_>) -> Result<(), Trouble> {
    for (index, options) in scene.entry.setups().iter().enumerate() {
        let cycles = scene.amount(CYCLES)[index.min(1)];
        let size = scene.size(4096, options);
        let mut pair = scene.pair(options)?;
        let mut before = None;
        for cycle in 0..=WARM_UP + cycles {
            let mut script = Script::default().exchange(Batch::new(1, Sizes::List(vec![size]), 0));
            let is_counted = cycle == WARM_UP || cycle == WARM_UP + cycles;
            if is_counted {
                // A library whose peer is gone looks for it, by a descriptor more or less.
                script = script.both(Step::Census).both(Step::Hold);
            }
            pair.open(size, script)?;
            if is_counted {
                pair.wait("both to be counted", |ends| ends.iter().all(|end| end.is_holding))?;
                pair.go_both()?;
            }
            let seen = pair.done()?;
            pair.close()?;
            if is_counted {
                let after = [census(&seen[0]), census(&seen[1]), Descriptors::take()];
                if let Some(before) = &before {
                    compare(before, &after, cycles as u64)?;
                }
                before = Some(after);
            }
        }
    }
    Ok(())
}

fn census(seen: &[StepOutcome]) -> Descriptors {
    seen.iter().find_map(|seen| seen.census.clone()).unwrap_or_default()
}

fn compare(
    before: &[Descriptors; 3],
    after: &[Descriptors; 3],
    cycles: u64,
) -> Result<(), Trouble> {
    let names =
        Seat::BOTH.map(|seat| format!("{seat:?}")).into_iter().chain(["coordinator".into()]);
    for ((name, before), after) in names.zip(before).zip(after) {
        let more = after.beyond(before);
        ensure(after.fds.len() <= before.fds.len(), || {
            let examples: Vec<_> = more.iter().take(4).map(String::as_str).collect();
            let (all, examples) = (more.len(), examples.join(", "));
            format!("{name}: {cycles} channels left {all} descriptors open: {examples}")
        })?;
        // An allocator may take another piece or two; a channel that leaks one mapping takes one every time, and
        // neighbours that the kernel merges still grow.
        let (count, bytes) = after.mappings;
        let grown =
            (count.saturating_sub(before.mappings.0), bytes.saturating_sub(before.mappings.1));
        ensure(grown.0 < cycles / 2 && grown.1 < cycles * 4096 / 2 + (256 << 10), || {
            format!("{name}: {cycles} channels left {} mappings, {} bytes", grown.0, grown.1)
        })?;
    }
    Ok(())
}
