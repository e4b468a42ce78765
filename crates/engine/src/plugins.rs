//! What a program knows of the plug-ins that its user has named, and what they leave.

use crate::job::{Failure, SideReport};
use ipcperf_core::{Missing, Wiring};
use ipcperf_sys::program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The task of a process that loads a plug-in for its coordinator.
pub const TASK: &str = "plugin";

/// What the plug-ins of this run declare. A worker gets all of them with its task, and loads the one that it measures.
static NAMED: Mutex<Vec<Value>> = Mutex::new(Vec::new());

fn named() -> MutexGuard<'static, Vec<Value>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the plug-ins that this process knows declare.
#[must_use]
pub fn all() -> Vec<Value> {
    named().clone()
}

/// The most bytes that all declarations have together: they travel with every task, in a message of at most 64 KiB.
const MOST: usize = 32 << 10;

/// Whether one more declaration can travel with the others.
///
/// # Errors
/// How many bytes there are.
pub fn fit(one: &Value) -> Result<(), Missing> {
    let own = one.to_string().len();
    let others: usize = named().iter().map(|known| known.to_string().len()).sum();
    if own + others <= MOST {
        return Ok(());
    }
    let rest =
        if others > 0 { format!(", with {others} of other plug-ins") } else { String::new() };
    let what = format!("its facts have {own} bytes{rest}; {MOST} are the most");
    Err(Missing::new(what, "shorten its texts, or name fewer plug-ins"))
}

/// Adds declarations that are not known yet.
pub(crate) fn learn(more: impl IntoIterator<Item = Value>) {
    let mut known = named();
    for one in more {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

/// The declaration whose field has this text.
pub(crate) fn find(field: &str, text: &str) -> Option<Value> {
    named().iter().find(|one| one[field] == text).cloned()
}

/// Workers know the pipe that is a plug-in while `measured` goes on, and it is no mechanism that a user can name.
pub(crate) fn with_own_pipe<T>(declared: &Value, measured: impl FnOnce() -> T) -> T {
    learn([declared.clone()]);
    let found = measured();
    named().retain(|known| known != declared);
    found
}

/// Open descriptors of a worker before it attaches. Those that it has for its end are the plug-in's from then on.
pub(crate) fn descriptors_before(wiring: &Wiring) -> BTreeMap<RawFd, String> {
    let mut before = descriptors();
    before.retain(|fd, _| !wiring.fds.iter().any(|own| own.as_raw_fd() == *fd));
    before
}

/// Searches for what an end of this plug-in has left, once it is gone.
pub(crate) fn leaving_nothing(
    name: &str,
    before: &BTreeMap<RawFd, String>,
    measured: Result<SideReport, Failure>,
) -> Result<SideReport, Failure> {
    let children = program::end_children();
    let mut report = measured?;
    let known = find("name", name).unwrap_or_default();
    let file = known["file"].as_str().unwrap_or(name);
    let mut left = descriptors();
    left.retain(|fd, _| !before.contains_key(fd));
    let count = left.len();
    let stays = known["stays"] == true;
    if stays && count > 0 {
        report.events.insert("descriptors after detach".into(), count as u64);
    } else if let Some((_, example)) = left.first_key_value() {
        return Err(format!("{file}: descriptors open after detach: {count} ({example})").into());
    }
    if children > 0 {
        return Err(format!("{file}: processes left after detach: {children}").into());
    }
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        report.events.insert("threads after detach".into(), threads as u64 - 1);
    }
    Ok(report)
}

/// Open descriptors of this process, and what they are of.
#[must_use]
pub fn descriptors() -> BTreeMap<RawFd, String> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let each = entries.filter_map(|entry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        // The descriptor of the folder itself is closed by now.
        Some((fd, fs::read_link(format!("/proc/self/fd/{fd}")).ok()?.display().to_string()))
    });
    let mut all: BTreeMap<RawFd, String> = each.collect();
    all.retain(|_, target| !target.starts_with("/proc/"));
    all
}

static FLEETING: AtomicBool = AtomicBool::new(false);

/// Whether messages are sent from memory that is gone when the call returns, so that a plug-in which looks at it later fails.
#[must_use]
pub fn sends_fleeting_memory() -> bool {
    FLEETING.load(Ordering::Relaxed)
}

/// From now on they are, or are not, over ends that are attached for a test.
pub fn send_fleeting_memory(is_so: bool) {
    FLEETING.store(is_so, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_cannot_travel_are_refused() {
        let declares = |bytes| serde_json::json!({ "file": "x.so", "summary": "x".repeat(bytes) });
        fit(&declares(MOST - 100)).expect("room");
        let error = fit(&declares(MOST)).expect_err("too much").to_string();
        assert!(error.contains("its facts have 32") && error.contains("32768"), "{error}");
    }
}
