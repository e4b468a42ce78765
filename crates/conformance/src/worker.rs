//! A worker: one end of one channel after another, in a process of its own.

use crate::entry::Entries;
use crate::page::Page;
use crate::script::{Order, Part, Word};
use crate::session::Session;
use ipcperf_core::{SetupError, Wiring};
use ipcperf_engine::protocol::Names;
use ipcperf_sys::control::Control;
use ipcperf_sys::seccomp::{self, Refusal};
use ipcperf_sys::{affinity, process};
use std::io;

/// Plays scenarios until the coordinator closes the channel. Standard input is the control channel.
pub(crate) fn main(entries: &Entries, parent: u32) -> bool {
    // Any failure here is seen from outside: the channel closes without an answer.
    process::enlist(parent).and_then(|control| serve(entries, &control)).is_ok()
}

fn serve(entries: &Entries, control: &Control) -> io::Result<()> {
    let parcel = control.receive(None)?;
    let part: Part = serde_json::from_str(&parcel.text)?;
    let page = parcel.fds.into_iter().next().ok_or(io::ErrorKind::InvalidData)?;
    let page = Page::from_fd(page)?;
    let entry = entries.find(&part.mechanism).ok_or(io::ErrorKind::NotFound)?;
    if let Some(cpu) = part.cpu {
        affinity::pin(cpu)?;
    }
    if !part.refused.is_empty() {
        seccomp::refuse(&part.refused, Refusal::NotPermitted)?;
    }
    loop {
        let parcel = match control.receive(None) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        };
        let Order::Play(scenario) = serde_json::from_str(&parcel.text)? else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let Names { names, words } = scenario.names.clone();
        let wiring = Wiring { fds: parcel.fds, names, words };
        let mut session = Session { control, page: &page, effective: Vec::new() };
        let word = match entry.play(wiring, &part, &scenario, &mut session) {
            Ok(seen) => Word::Done(seen),
            Err(error) => Word::Refused {
                unavailable: matches!(error, SetupError::Unavailable(_)),
                reason: error.to_string(),
            },
        };
        control.send(&serde_json::to_string(&word)?, &[])?;
    }
}
