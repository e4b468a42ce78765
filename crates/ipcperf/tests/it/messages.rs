//! What coordinator and workers tell each other is understood as it was meant.

use ipcperf_engine::protocol::{Order, Word};
use serde_json::Value;
use std::collections::BTreeSet;

/// Messages of runs of every pattern and of all studies, as `strace -f -e trace=sendmsg,sendto -s 100000` shows them. Three
/// are changed by hand, since no run said these words: the segments of a report as an answer, and two kinds of failures. They
/// are what the fuzz target changes.
const MESSAGES: &str = include_str!("fixtures/messages.ndjson");

/// A message as it is understood and said again, and what it holds that is another thing for each task.
fn understood(message: &str) -> (Value, Option<Value>) {
    let again = |said: serde_json::Result<Value>| said.expect("a message is JSON");
    match (serde_json::from_str(message), serde_json::from_str(message)) {
        (Ok(word), _) => {
            let said = again(serde_json::to_value(&word));
            match word {
                Word::Ready(told) | Word::Done(told) => (said, Some(told)),
                Word::Swap(_) | Word::Alarm(_) | Word::Failed(_) | Word::Panicked(_) => {
                    (said, None)
                }
            }
        }
        (_, Ok(order)) => {
            let said = again(serde_json::to_value(&order));
            match order {
                Order::Task { params: told, .. } | Order::Go(told) => (said, Some(told)),
                Order::Wiring(_) => (said, None),
            }
        }
        (Err(word), Err(order)) => panic!("{message}: {word}; {order}"),
    }
}

#[test]
fn messages_of_real_runs_come_back_and_every_kind_is_among_them() {
    let kinds = ipcperf::messages();
    let mut unheard: BTreeSet<&str> = kinds.iter().map(|kind| kind.name).collect();
    for message in MESSAGES.lines() {
        let (said, told) = understood(message);
        let meant: Value = serde_json::from_str(message).expect("JSON");
        assert_eq!(said, meant);
        let Some(told) = told else { continue };
        let as_meant = |kind: &&ipcperf_engine::protocol::Kind| {
            (kind.again)(told.clone()).is_ok_and(|again| again == told)
        };
        let names: Vec<&str> = kinds.iter().filter(as_meant).map(|kind| kind.name).collect();
        assert!(!names.is_empty(), "nobody understands {message}");
        unheard.retain(|name| !names.contains(name));
    }
    assert!(unheard.is_empty(), "recorded in no run: {unheard:?}");
}
