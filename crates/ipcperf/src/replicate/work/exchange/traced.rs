//! Exchanges under a tracer: which system calls they make, and what strace says that these take.

use super::ends::View;
use super::pair::Pair;
use super::strace::{self, Strace};
use super::watch::Timing;
use super::{Keys, Readings, Turn, Work};
use ipcperf_engine::task::TaskError;
use ipcperf_sys::trace::{self, Tally, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Exchanges of one turn: each call stops twice.
const MOST: u64 = 100_000;

fn read(table: &toml::Table) -> Result<Keys, String> {
    let keys = Keys::read(table)?;
    if keys.iterations > MOST {
        return Err(format!("iterations: at most {MOST} under a tracer"));
    }
    Ok(keys)
}

pub(super) fn count(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys = read(table)?;
    let expected = keys.mode.calls().ok_or("mode: its system calls depend on chance")?;
    let expected = expected.map(|calls| {
        let mut counts = BTreeMap::new();
        for (name, times) in calls {
            *counts.entry(name).or_default() += times;
        }
        counts
    });
    Ok(Box::new(Count { keys, expected }))
}

struct Count {
    keys: Keys,
    /// For one exchange, of the sender and of the receiver.
    expected: [BTreeMap<&'static str, u64>; 2],
}

impl Work for Count {
    fn missing(&self) -> Option<String> {
        self.keys.missing()
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let mut pair = Pair::open(turn, &self.keys, View::Marks)?;
        let trace = Trace::of(&pair.pids()).map_err(|error| {
            TaskError::Failed(format!("ptrace is refused here ({error}); allow it to this user"))
        })?;
        pair.go()?;
        let tallies = match trace.count(turn.deadline) {
            Ok(tallies) => tallies,
            // What went wrong is the better reason why marks are missing.
            Err(error) => return Err(pair.reason().unwrap_or_else(|| error.into())),
        };
        let (_, mut readings) = pair.done()?;
        let mut unexpected = 0;
        for ((tally, expected), side) in
            tallies.iter().zip(&self.expected).zip(["sender", "receiver"])
        {
            let counts = by_name(tally);
            unexpected += differences(&counts, expected, self.keys.iterations);
            let per = |total: u64| total as f64 / self.keys.iterations as f64;
            let list = counts.iter().map(|(name, total)| format!("{name} {}", per(*total)));
            readings.facts.insert(
                format!("calls of the {side} per exchange"),
                list.collect::<Vec<_>>().join(", "),
            );
            readings.set(format!("{side}_calls"), per(tally.total()));
        }
        readings.set("unexpected_calls", unexpected as f64);
        Ok(readings)
    }
}

fn by_name(tally: &Tally) -> BTreeMap<String, u64> {
    tally.calls.iter().map(|(number, count)| (trace::name(*number), *count)).collect()
}

/// Calls too many and calls too few.
fn differences(
    counts: &BTreeMap<String, u64>,
    expected: &BTreeMap<&str, u64>,
    exchanges: u64,
) -> u64 {
    let names: BTreeSet<&str> =
        counts.keys().map(String::as_str).chain(expected.keys().copied()).collect();
    let differs = |name: &str| {
        let wanted = expected.get(name).copied().unwrap_or(0) * exchanges;
        counts.get(name).copied().unwrap_or(0).abs_diff(wanted)
    };
    names.into_iter().map(differs).sum()
}

pub(super) fn strace(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    Ok(Box::new(Under { keys: read(table)?, program: strace::find() }))
}

struct Under {
    keys: Keys,
    program: Option<PathBuf>,
}

impl Work for Under {
    fn missing(&self) -> Option<String> {
        match self.program {
            None => Some("strace is not installed (no such program in PATH)".into()),
            Some(_) => self.keys.missing(),
        }
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let program = self.program.as_ref().ok_or_else(|| TaskError::Failed("no strace".into()))?;
        let pair = Pair::open(turn, &self.keys, View::Marks)?;
        let pids = pair.pids();
        let strace = Strace::attach(program, &pids, turn)?;
        pair.go()?;
        let (_, mut readings) = pair.done()?;
        let text = strace.finish()?;
        // The sender closes nothing but files.
        let files = [usize::MAX, usize::from(self.keys.mode.has_file())];
        for ((pid, side), files) in pids.into_iter().zip(["send", "recv"]).zip(files) {
            let times = strace::times(&text, pid, files);
            if times.is_empty() {
                return Err(TaskError::Failed("strace wrote no times of the exchanges".into()));
            }
            for (call, mut nanos) in times {
                let Some(timing) = Timing::of(&mut nanos, 1e-3) else { continue };
                readings.set(format!("call.{side}.{call}_median_us"), timing.median_us);
                readings.set(format!("call.{side}.{call}_mean_us"), timing.mean_us);
            }
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_too_many_and_too_few_both_count() {
        let counts = |pairs: &[(&str, u64)]| {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let expected = BTreeMap::from([("read", 1), ("close", 4)]);
        assert_eq!(differences(&counts(&[("read", 50), ("close", 200)]), &expected, 50), 0);
        assert_eq!(
            differences(&counts(&[("read", 51), ("close", 198), ("brk", 1)]), &expected, 50),
            4
        );
        assert_eq!(differences(&counts(&[("read", 50)]), &expected, 50), 200);
    }

    #[test]
    fn a_mode_without_a_fixed_list_is_not_counted() {
        let table = "mode = 'queue-amortised'\niterations = 5".parse().expect("TOML");
        assert!(count(&table).is_err_and(|reason| reason.contains("chance")));
        let many = "mode = 'file'\niterations = 100001".parse().expect("TOML");
        assert!(strace(&many).is_err_and(|reason| reason.contains("at most")));
    }
}
