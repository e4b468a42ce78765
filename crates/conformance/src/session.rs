//! What a worker holds beside its port, and how it meets the other end.

use crate::page::Page;
use crate::script::{Order, Word};
use ipcperf_core::{KnobValue, Meet, SetupError, Wiring};
use ipcperf_engine::protocol::Names;
use ipcperf_sys::control::Control;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The worker of one scenario.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) control: &'a Control,
    pub(crate) page: &'a Page,
    /// Values of knobs that attaching has reported.
    pub(crate) effective: Vec<(String, KnobValue)>,
}

impl Session<'_> {
    fn ask(&self, word: &Word, fds: &[OwnedFd]) -> io::Result<(Order, Vec<OwnedFd>)> {
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        self.control.send(&serde_json::to_string(word)?, &fds)?;
        let parcel = self.control.receive(None)?;
        Ok((serde_json::from_str(&parcel.text)?, parcel.fds))
    }

    /// Waits for the coordinator's word.
    pub(crate) fn hold(&self) -> Result<(), String> {
        match self.ask(&Word::Holding, &[]) {
            Ok((Order::Go, _)) => Ok(()),
            Ok(_) => Err("the coordinator sent something else".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Meet for Session<'_> {
    fn swap(&mut self, mine: Wiring) -> Result<Wiring, SetupError> {
        let word = Word::Swap(Names { names: mine.names, words: mine.words });
        match self.ask(&word, &mine.fds) {
            Ok((Order::Swapped(Names { names, words }), fds)) => Ok(Wiring { fds, names, words }),
            Ok(_) => Err(SetupError::Protocol("swap: wrong answer".into())),
            Err(error) => Err(SetupError::Protocol(format!("swap: {error}"))),
        }
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.effective.push((knob.to_owned(), value));
    }
}
