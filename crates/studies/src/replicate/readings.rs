//! The readings of each kind of work, so that a name that none has is refused before anything is measured.

use super::bounds;
use super::cell::ArmKeys;
use super::kinds::CELL;
use super::{after_kill, emsgsize, exec, pipeline};
use crate::claims::{Arm, QUANTILES, Study};
use crate::replication::Scale;
use ipcperf_core::{Ends, PatternKind, Seat};
use std::collections::HashSet;

/// Of every cell.
const OF_CELLS: &[&str] = &[
    "cpu_ns",
    "user_ns",
    "system_ns",
    "switches_per_message",
    "page_faults_per_message",
    "migrations_per_message",
    "ipis_per_message",
    "messages",
    "lost",
    "messages_per_second",
    "bytes_per_second",
];

/// Of operations that are timed one by one, beside their quantiles.
const OF_OPERATIONS: &[&str] = &["least_ns", "mean_ns"];

/// Of clients and their server.
const OF_REQUESTS: &[&str] = &[
    "request_us",
    "client_cpu_us",
    "server_cpu_us",
    "requests_per_second",
    "asked",
    "answered",
    "failed",
    "refused",
];

/// The same where a connection is made for each request.
const OF_CONNECTS: &[&str] = &[
    "user_s",
    "system_s",
    "total_s",
    "real_s",
    "server_user_s",
    "server_system_s",
    "server_total_s",
    "retried",
    "client_connect_share",
    "connect_share",
    "time_wait_before",
    "time_wait_after",
    "ports_used_before",
    "ports_used_after",
    "*_p50_us",
    "*_p99_us",
];

/// Of cells whose system calls are timed.
const OF_CALLS: &[&str] = &[
    "empty_call_us",
    "calls.send",
    "calls.recv",
    "call.*_times",
    "call.*_median_us",
    "call.*_mean_us",
];

/// The readings that an arm of this work can have, in which `*` stands for anything; `None` where they are the words of
/// programs or of mechanisms.
fn known(work: &str, keys: &toml::Table) -> Option<Vec<&'static str>> {
    let quantiles = || QUANTILES.iter().map(|(name, _)| *name);
    Some(match work {
        CELL => {
            let keys = ArmKeys::of(keys).ok()?;
            if keys.times_calls() {
                return Some(OF_CALLS.to_vec());
            }
            let facts = keys.pattern().unwrap_or(PatternKind::PingPong).facts();
            let mut all = OF_CELLS.to_vec();
            if matches!(facts.ends, Ends::Clients | Ends::Connected) {
                all.extend(OF_REQUESTS);
            }
            if facts.ends == Ends::Clients {
                all.extend(OF_CONNECTS);
            }
            if facts.timed_by == Seat::Lead {
                all.extend(quantiles());
                all.extend(OF_OPERATIONS);
            }
            all
        }
        "self-loop" => {
            quantiles().chain(OF_OPERATIONS.iter().copied()).chain(["refused"]).collect()
        }
        "copying" => vec!["pipe_us.*", "copy_us.*"],
        "clocks" => vec![
            "mono_ns.*",
            "counter_ns.*",
            "nominal_ns.*",
            "mono_slope*",
            "counter_slope*",
            "nominal_slope*",
            "nominal_mhz",
        ],
        bounds::APART => vec![
            "mono_ns",
            "mono_bound_ns",
            "mono_offset_ns",
            "mono_apart_ns",
            "counter_ticks",
            "counter_bound_ticks",
            "counter_offset_ns",
            "counter_bound_ns",
            "counter_apart_ns",
        ],
        "after-kill" => after_kill::READINGS.to_vec(),
        "probe-emsgsize" => emsgsize::READINGS.to_vec(),
        pipeline::KIND => pipeline::READINGS.to_vec(),
        exec::KIND if !exec::has_figures(keys) => exec::readings(keys),
        _ => return None,
    })
}

/// Whether a name is one of a pattern with at most one `*`.
fn is_of(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((before, after)) => name
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|between| !between.is_empty() || after.is_empty()),
    }
}

/// Checks every reading of a study's tables, claims and files.
///
/// # Errors
/// The first that its arm cannot have, with the nearest and with all that it can have.
pub(super) fn check(study: &Study) -> Result<(), String> {
    for (place, metric, id) in study.readings() {
        let Some(arm) = study.arms.iter().find(|arm| arm.id == id) else { continue };
        let keys = study.keys(arm, Scale::Full);
        let Some(known) = known(&arm.work, &keys) else { continue };
        if !known.iter().any(|pattern| is_of(metric, pattern)) {
            let near = ipcperf_core::nearest(metric, known.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let (work, all) = (&arm.work, known.join(", "));
            return Err(format!(
                "{place}: '{metric}({id})': an arm of work {work} has no reading '{metric}'{hint}; known: {all}"
            ));
        }
    }
    // A value that was added to an arm whose other values are shown; arms without any table are for the document.
    let shown: HashSet<&str> = study.readings().map(|(_, _, id)| id).collect();
    let is_shown = |arm: &Arm| shown.contains(arm.id.as_str());
    let has_shown = |base: &str| study.arms.iter().any(|one| one.base == base && is_shown(one));
    match study.arms.iter().find(|arm| !is_shown(arm) && has_shown(&arm.base)) {
        Some(arm) => {
            Err(format!("arm {}: no table, claim or csv file has a reading of it", arm.id))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::replicate::kinds;

    /// A study of one arm with these keys, whose claim asks for this reading.
    pub(crate) fn of_one_arm(keys: &str, reading: &str) -> String {
        format!(
            r#"
name = "one"
title = "One arm"
scale.smoke.rounds = 2
scale.quick.rounds = 2
scale.full.rounds = 2
[[arm]]
id = "one"
{keys}
[[claim]]
id = "c"
text = "how long it takes"
test = "{reading}(one)"
value = true
"#
        )
    }

    fn checked(keys: &str, reading: &str) -> Result<(), String> {
        check(&Study::parse(&of_one_arm(keys, reading), &kinds::check).expect("well formed"))
    }

    #[test]
    fn a_reading_that_an_arm_cannot_have_is_refused_with_the_nearest() {
        let cell = |pattern: &str| {
            format!(
                "work = \"cell\"\nmechanism = \"tcp\"\nplacement = \"free\"\npattern = \"{pattern}\""
            )
        };
        let calls = cell("stream") + "\ntime-calls = true";
        let exec = "work = \"exec\"\nprograms = [\"true\"]";
        for (keys, reading) in [
            (cell("ping-pong").as_str(), "mean_ns"),
            (&cell("ping-pong"), "p99.9_ns"),
            (&cell("serve"), "requests_per_second"),
            (&cell("connect"), "accept_p50_us"),
            (&cell("stream"), "bytes_per_second"),
            (&calls, "call.send.write_times"),
            (exec, "cpu_s.1"),
            ("work = \"facts\"", "pipe.copies"),
            (&format!("{exec}\nfigures = true"), "whatever_it_prints"),
        ] {
            assert_eq!(checked(keys, reading), Ok(()), "{reading}");
        }
        for (keys, reading, near) in [
            (cell("ping-pong").as_str(), "mean_us", "mean_ns"),
            (&cell("ping-pong"), "p98_ns", "p99_ns"),
            (&cell("stream"), "byte_per_second", "bytes_per_second"),
            (&cell("serve"), "request_per_second", "requests_per_second"),
            (exec, "wall_ms", "wall_s"),
        ] {
            let error = checked(keys, reading).expect_err(reading);
            let start = format!("claim c: '{reading}(one)': ");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.contains(&format!("; did you mean '{near}'?; known: ")), "{error}");
        }
    }
}
