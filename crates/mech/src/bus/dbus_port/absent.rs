//! In place of D-Bus ports, where the program is built without D-Bus: nothing that could be made.

use ipcperf_core::{Fault, Meet, Missing, Port, Seat, SetupError, Shape};
use std::os::fd::OwnedFd;
use std::path::Path;

/// There is none.
pub enum DbusPort {}

/// Whether D-Bus is built in.
///
/// # Errors
/// It is not.
pub(crate) fn built() -> Result<(), Missing> {
    Err(missing())
}

fn missing() -> Missing {
    Missing::new(
        "not built: this binary has no D-Bus support",
        "cargo install with --features dbus",
    )
}

impl DbusPort {
    /// # Errors
    /// Always.
    pub fn direct(_: OwnedFd, _: Seat, _: &Shape) -> Result<Self, SetupError> {
        Err(missing().into())
    }

    /// # Errors
    /// Always.
    pub fn over_bus(_: &Path, _: &Shape, _: &mut dyn Meet) -> Result<Self, SetupError> {
        Err(missing().into())
    }
}

impl Port for DbusPort {
    fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        match *self {}
    }

    fn recv<T>(&mut self, _: usize, _: impl FnOnce(&[u8]) -> Result<T, Fault>) -> Result<T, Fault> {
        match *self {}
    }

    fn finish(&mut self) -> Result<(), Fault> {
        match *self {}
    }
}
