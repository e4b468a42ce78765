//! What coordinator and workers tell each other is understood as it was meant.

use ipcperf_engine::protocol::{Order, Word};
use serde_json::Value;
use std::collections::BTreeSet;

/// Messages of real runs and of all studies, as `strace -f -e trace=sendmsg,sendto -s 100000` shows them, but for one: an
/// answer of segments is made of those in a report. They are what the fuzz target changes.
const MESSAGES: &str = include_str!("fixtures/messages.ndjson");

/// What a message holds that is another text for each task.
fn held(message: &str) -> Option<Value> {
    match (serde_json::from_str(message), serde_json::from_str(message)) {
        (Ok(Word::Ready(told) | Word::Done(told)), _) => Some(told),
        (_, Ok(Order::Task { params: told, .. } | Order::Go(told))) => Some(told),
        (Err(word), Err(order)) => panic!("{message}: {word}; {order}"),
        _ => None,
    }
}

#[test]
fn messages_of_real_runs_come_back_and_every_kind_is_among_them() {
    let kinds = ipcperf::messages();
    let mut unheard: BTreeSet<&str> = kinds.iter().map(|kind| kind.name).collect();
    for message in MESSAGES.lines() {
        let Some(told) = held(message) else { continue };
        let as_meant = |kind: &&ipcperf_engine::protocol::Kind| {
            (kind.again)(told.clone()).is_ok_and(|again| again == told)
        };
        let meant: Vec<&str> = kinds.iter().filter(as_meant).map(|kind| kind.name).collect();
        assert!(!meant.is_empty(), "nobody understands {message}");
        unheard.retain(|name| !meant.contains(name));
    }
    assert!(unheard.is_empty(), "recorded in no run: {unheard:?}");
}
