//! What a program knows of the plug-ins that its user has named.

use serde_json::Value;
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
