//! How the kernel schedules, from what it shows. Whatever cannot be read is absent: nothing is concluded from a default.

use ipcperf_core::map_of;
use ipcperf_core::result::{DYNAMIC, Kernel, NO_SCHED_EXT};
use std::fs;
use std::path::Path;

/// Adds to a kernel what the files below `root` say. Its release is known already; `configuration` is what it was built
/// with, and `step_ns` the step of its coarse clocks.
pub(crate) fn describe(
    kernel: &mut Kernel,
    root: &Path,
    configuration: Option<&str>,
    step_ns: Option<u64>,
) {
    let text = |path: &str| Some(fs::read_to_string(root.join(path)).ok()?.trim().to_owned());
    kernel.preemption = preemption(&Sources {
        switch: text("sys/kernel/debug/sched/preempt").as_deref(),
        is_realtime: text("sys/kernel/realtime").as_deref() == Some("1"),
        version: &text("proc/version").unwrap_or_default(),
        release: &kernel.release,
        command_line: &text("proc/cmdline").unwrap_or_default(),
        configuration,
    })
    .map(ToOwned::to_owned);
    let extension = |path: &str| text(&format!("sys/kernel/sched_ext/{path}"));
    kernel.sched_ext = extension("state").and_then(|state| sched_ext(&state, extension(SCHEDULER)));
    let autogroup = text("proc/sys/kernel/sched_autogroup_enabled");
    kernel.autogroup = autogroup.and_then(|value| switch(&value));
    // The second is the place before Linux 5.13.
    let features = text("sys/kernel/debug/sched/features");
    let features = features.or_else(|| text("sys/kernel/debug/sched_features"));
    let features = features.unwrap_or_default();
    kernel.sched_features = map_of(features.split_ascii_whitespace().map(feature));
    let built = || option(configuration?, "CONFIG_HZ")?.parse().ok();
    kernel.hz = step_ns.and_then(hz_of_step).or_else(built);
    let shared = text("sys/kernel/mm/transparent_hugepage/shmem_enabled");
    kernel.shmem_huge_pages = shared.as_deref().and_then(chosen).map(ToOwned::to_owned);
}

/// The name of the loaded scheduler, in the folder of sched_ext.
const SCHEDULER: &str = "root/ops";

/// What says when the kernel takes the CPU from code of its own.
struct Sources<'a> {
    /// All models with the present one in parentheses (debugfs, root alone).
    switch: Option<&'a str>,
    /// What a kernel with `PREEMPT_RT` says of itself.
    is_realtime: bool,
    /// `/proc/version`.
    version: &'a str,
    /// `uname -r`.
    release: &'a str,
    /// `/proc/cmdline`.
    command_line: &'a str,
    /// Lines `CONFIG_NAME=value`.
    configuration: Option<&'a str>,
}

/// The models that can be chosen, as all sources name them, and the option of the configuration that chooses each.
const MODELS: [(&str, &str); 4] = [
    ("none", "CONFIG_PREEMPT_NONE"),
    ("voluntary", "CONFIG_PREEMPT_VOLUNTARY"),
    ("full", "CONFIG_PREEMPT"),
    ("lazy", "CONFIG_PREEMPT_LAZY"),
];

fn preemption(sources: &Sources<'_>) -> Option<&'static str> {
    let is_in_version =
        |word: &str| sources.version.split_ascii_whitespace().any(|one| one == word);
    let is_built =
        |name: &str| sources.configuration.and_then(|text| option(text, name)) == Some("y");
    if sources.is_realtime || is_in_version("PREEMPT_RT") || is_built("CONFIG_PREEMPT_RT") {
        return Some("rt");
    }
    let model = |word: &str| MODELS.iter().find(|(name, _)| *name == word).map(|(name, _)| *name);
    let built = || MODELS.iter().find(|(_, option)| is_built(option)).map(|(name, _)| *name);
    if let Some(present) = sources.switch.and_then(|text| between(text, '(', ')')) {
        return model(present);
    }
    if is_in_version("PREEMPT_DYNAMIC") {
        // What follows the two dashes is for the first process. Of several the last one holds.
        let words = sources.command_line.split_ascii_whitespace().take_while(|word| *word != "--");
        let chosen = words.filter_map(|word| model(word.strip_prefix("preempt=")?)).last();
        return chosen.or_else(built).or(Some(DYNAMIC));
    }
    // Since Linux 6.13 the version says the same of `lazy`.
    let is_full = is_in_version("PREEMPT") && is_before(sources.release, (6, 13));
    built().or(is_full.then_some("full"))
}

/// Whether a release (`6.12.57+deb13-amd64`) is older than this version; `false` if it is not a release.
fn is_before(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|sign: char| !sign.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < version,
        _ => false,
    }
}

/// The name of the scheduler that is loaded as programs.
fn sched_ext(state: &str, name: Option<String>) -> Option<String> {
    match state {
        "" => None,
        NO_SCHED_EXT => Some(NO_SCHED_EXT.to_owned()),
        other => Some(name.filter(|name| !name.is_empty()).unwrap_or_else(|| other.to_owned())),
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// A feature of the scheduler and whether it is on: `NO_HRTICK` is the feature `HRTICK`, off.
fn feature(word: &str) -> (String, bool) {
    let off = word.strip_prefix("NO_");
    (off.unwrap_or(word).to_owned(), off.is_none())
}

/// The value of an option of the configuration.
fn option<'a>(configuration: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix('=');
    configuration.lines().find_map(value)
}

/// Timer interrupts per second from the step of the coarse clocks, which advance at each of them: the kernel rounds the
/// time between two (`TICK_NSEC`). `None` if no whole number of interrupts has this step, as where another program plays
/// the kernel.
fn hz_of_step(step_ns: u64) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    let hz = SECOND.checked_add(step_ns / 2)?.checked_div(step_ns)?;
    let is_exact = (24..=10_000).contains(&hz) && (SECOND + hz / 2) / hz == step_ns;
    is_exact.then_some(hz)
}

/// The word in brackets: of `always [madvise] never` it is `madvise`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    between(text, '[', ']')
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}

#[cfg(test)]
mod tests;
