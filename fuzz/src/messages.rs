//! What coordinator and worker say to each other: bytes on the socket, and the JSON in them.

use crate::edits;
use ipcperf_engine::protocol::{Kind, Order, Word};
use ipcperf_sys::control::Control;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Messages of real runs.
static SAID: LazyLock<Vec<Value>> = LazyLock::new(|| {
    include_str!("../../crates/ipcperf/tests/it/fixtures/messages.ndjson")
        .lines()
        .map(edits::document)
        .collect()
});
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(ipcperf::messages);

/// A changed message or any bytes.
pub fn check(bytes: &[u8]) {
    let Some(text) = edits::broken(SAID.iter(), bytes).or_else(|| sent(bytes)) else { return };
    if let Some(Word::Ready(told) | Word::Done(told)) = comes_back(&text) {
        is_held(&told);
    }
    if let Some(Order::Task { params: told, .. } | Order::Go(told)) = comes_back(&text) {
        is_held(&told);
    }
}

/// What arrives of these bytes: all of them, or nothing if they are no text.
fn sent(bytes: &[u8]) -> Option<String> {
    let (one, two) = Control::pair().expect("a pair of sockets");
    let one = UnixDatagram::from(one.into_fd());
    if bytes.is_empty() || one.send(bytes).is_err() {
        return None;
    }
    let told = two.receive(Some(Instant::now() + Duration::from_secs(5)));
    match (std::str::from_utf8(bytes), told) {
        (Ok(sent), Ok(parcel)) => {
            assert_eq!((parcel.text.as_str(), parcel.fds.len()), (sent, 0));
            Some(parcel.text)
        }
        (Err(_), Err(error)) => {
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            None
        }
        (sent, told) => panic!("{sent:?} came as {told:?}"),
    }
}

/// What is understood is said again in words that are understood as the same.
fn comes_back<T: Serialize + DeserializeOwned>(text: &str) -> Option<T> {
    let said: T = serde_json::from_str(text).ok()?;
    let once = serde_json::to_string(&said).expect("a message is JSON");
    let again: T = serde_json::from_str(&once).unwrap_or_else(|error| panic!("{once}: {error}"));
    assert_eq!(once, serde_json::to_string(&again).expect("a message is JSON"));
    Some(said)
}

/// So is what it holds, as whatever kind it is taken for.
fn is_held(told: &Value) {
    for kind in KINDS.iter() {
        let Ok(once) = (kind.again)(told.clone()) else { continue };
        let again = (kind.again)(once.clone());
        assert!(again.as_ref().is_ok_and(|again| *again == once), "{}: {again:?}", kind.name);
    }
}
