//! C23: every knob takes its whole range and nothing else, and the granted value is reported.

use crate::entry::Entry;
use crate::scene::{Scene, Trouble, ensure, mirror};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{Knob, KnobKind, KnobValue, OptionSet};
use std::collections::BTreeMap;

/// Values in force, by the name of their knob.
type Effective = BTreeMap<String, Vec<KnobValue>>;

pub(crate) fn options(scene: &Scene<'_>) -> Result<(), Trouble> {
    let entry = scene.entry;
    effective(scene, &OptionSet::default())?;
    for knob in entry.base.knobs {
        let name = full_name(entry, knob);
        let (taken, refused) = values(&knob.kind);
        for value in refused {
            ensure(entry.base.probe(&entry.with(knob.name, &value)).is_err(), || {
                format!("{name} takes {}, but '{value}' was accepted", knob.kind)
            })?;
        }
        let mut least = None;
        for value in taken {
            let Some(all) = effective(scene, &entry.with(knob.name, &value))? else { continue };
            for granted in &all[knob.name] {
                fits(&name, &knob.kind, &value, granted, &mut least)?;
            }
        }
    }
    Ok(())
}

fn full_name(entry: &Entry, knob: &Knob) -> String {
    format!("{}.{}", entry.spec().name, knob.name)
}

/// What a knob must take, from its smallest value on, and what it must refuse.
fn values(kind: &KnobKind) -> (Vec<String>, Vec<String>) {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    match kind {
        KnobKind::Bytes { min, max } | KnobKind::Count { min, max } => {
            let beyond = [min.checked_sub(1), max.checked_add(1)];
            let mut refused: Vec<String> =
                beyond.iter().flatten().map(ToString::to_string).collect();
            refused.extend(owned(&["", "many", "-1"]));
            (vec![min.to_string(), max.to_string()], refused)
        }
        KnobKind::Flag => (owned(&["off", "on"]), owned(&["", "maybe", "2"])),
        KnobKind::Choice { words } => (owned(words), owned(&["", "no-such-word"])),
        KnobKind::Place { words } => (owned(words), owned(&["", "no-such-word", "not/absolute"])),
        KnobKind::Text { max } => {
            let text = |bytes| "t".repeat(usize::try_from(bytes).unwrap_or(usize::MAX));
            (vec![text(1), text(*max)], vec![String::new(), text(max + 1)])
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// The values in force of all knobs, from all three processes, over a channel that works; `None` where this host does
/// not allow it and the mechanism says what does not.
fn effective(scene: &Scene<'_>, options: &OptionSet) -> Result<Option<Effective>, Trouble> {
    let entry = scene.entry;
    let told = |reason: &str| {
        // A missing thing is told with the way to get it.
        ensure(reason.contains("; "), || {
            format!("{}: '{reason}' does not say how to get it", settings(options))
        })
    };
    match entry.base.probe(options) {
        Err(error) => {
            return Err(Trouble::failed(format!("{} is refused: {error}", settings(options))));
        }
        Ok(Err(missing)) => return told(&missing.to_string()).map(|()| None),
        Ok(Ok(())) => {}
    }
    let size = scene.size(64, options);
    let script =
        Script::default().exchange(Batch::new(1, Sizes::List(vec![size]), 0)).both(Step::Knobs);
    let mut pair = scene.pair(options)?;
    let played = pair.open(size, script).and_then(|()| pair.done());
    let seen = match played {
        Err(Trouble::Unavailable(reason)) => return told(&reason).map(|()| None),
        Err(trouble) => {
            return Err(Trouble::failed(format!("{}: {trouble}", settings(options))));
        }
        Ok(seen) => seen,
    };
    mirror(&seen)?;
    let mut all = Effective::new();
    let workers = seen.iter().flatten().flat_map(|seen| &seen.knobs);
    for (name, value) in pair.effective.iter().chain(workers) {
        all.entry(name.clone()).or_default().push(value.clone());
    }
    let knobs = entry.base.knobs;
    let silent = knobs.iter().find(|knob| !all.contains_key(knob.name));
    ensure(silent.is_none(), || {
        let name = silent.map_or_else(String::new, |knob| full_name(entry, knob));
        format!("{}: the value of {name} in force is not reported", settings(options))
    })?;
    let unknown = all.keys().find(|name| !knobs.iter().any(|knob| knob.name == *name));
    ensure(unknown.is_none(), || format!("{unknown:?} is reported and no declared knob"))?;
    Ok(Some(all))
}

fn settings(options: &OptionSet) -> String {
    let all: Vec<_> = options.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if all.is_empty() { "defaults".into() } else { all.join(" ") }
}

/// A word or a switch is what was asked for. The kernel may round a number, or cut it at a limit of its own, but what
/// comes of the largest is not below what comes of the smallest (`least`).
fn fits(
    name: &str,
    kind: &KnobKind,
    asked: &str,
    granted: &KnobValue,
    least: &mut Option<u64>,
) -> Result<(), Trouble> {
    let is_kept = match (kind, granted) {
        (KnobKind::Bytes { min, .. } | KnobKind::Count { min, .. }, KnobValue::Number(number)) => {
            let floor = *least.get_or_insert(*number);
            *number >= *min && *number >= floor
        }
        (KnobKind::Bytes { .. } | KnobKind::Count { .. }, _) | (_, KnobValue::Number(_)) => false,
        (_, value) => value.to_string() == asked,
    };
    ensure(is_kept, || format!("{name}={asked} became {granted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_tried_at_both_ends_and_one_beyond_each() {
        let (taken, refused) = values(&KnobKind::Count { min: 1, max: 10 });
        assert_eq!(taken, ["1", "10"]);
        assert_eq!(refused[..2], ["0", "11"]);
        let (_, refused) = values(&KnobKind::Bytes { min: 0, max: u64::MAX });
        assert!(!refused.contains(&"0".to_owned()), "{refused:?}");
    }
}
