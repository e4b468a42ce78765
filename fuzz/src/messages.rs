//! What coordinator and worker say to each other: bytes on the socket, and the JSON in them.

use ipcperf_engine::job::{BoundJob, BoundReport, Job, SideReport};
use ipcperf_engine::protocol::{Order, Word};
use ipcperf_sys::control::Control;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

pub fn check(bytes: &[u8]) {
    transport(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    comes_back::<Order>(text);
    comes_back::<Word>(text);
    comes_back::<Job>(text);
    comes_back::<BoundJob>(text);
    let word = || serde_json::from_str::<Word>(text).ok();
    if let Some(word) = word() {
        drop(word.ready::<SideReport>());
    }
    if let Some(word) = word() {
        drop(word.done::<BoundReport>());
    }
    if let Some(report) = word().and_then(|word| word.done::<SideReport>().ok()) {
        comes_back::<SideReport>(&serde_json::to_string(&report).expect("a report is JSON"));
    }
}

/// A message arrives whole, and what is no text is refused.
fn transport(bytes: &[u8]) {
    let (one, two) = Control::pair().expect("a pair of sockets");
    let one = UnixDatagram::from(one.into_fd());
    if bytes.is_empty() || one.send(bytes).is_err() {
        return;
    }
    let told = two.receive(Some(Instant::now() + Duration::from_secs(5)));
    match (std::str::from_utf8(bytes), told) {
        (Ok(sent), Ok(parcel)) => assert_eq!((parcel.text.as_str(), parcel.fds.len()), (sent, 0)),
        (Err(_), Err(error)) => assert_eq!(error.kind(), ErrorKind::InvalidData),
        (sent, told) => panic!("{sent:?} came as {told:?}"),
    }
}

/// What is understood is said again in words that are understood as the same.
fn comes_back<T: Serialize + DeserializeOwned>(text: &str) {
    let Ok(said) = serde_json::from_str::<T>(text) else { return };
    let once = serde_json::to_string(&said).expect("a message is JSON");
    let again: T = serde_json::from_str(&once).unwrap_or_else(|error| panic!("{once}: {error}"));
    assert_eq!(once, serde_json::to_string(&again).expect("a message is JSON"));
}
