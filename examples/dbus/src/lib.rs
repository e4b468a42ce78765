//! D-Bus: signals from process to process, and over a bus.
//!
//! `dbus` is the mechanism as ipcperf sees it, `port` moves its messages, `executor` runs zbus on one thread, and `broker`
//! starts the daemon of a bus.

mod broker;
mod dbus;
mod executor;
mod port;

pub use dbus::{Broker, Dbus, Direct};

use ipcperf::Visitor;

/// Shows both mechanisms to `visitor`.
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<Dbus<Direct>>();
    visitor.visit::<Dbus<Broker>>();
}
