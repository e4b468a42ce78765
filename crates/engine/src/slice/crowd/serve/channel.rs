//! The channels that are the connections of a server without a listener.

use crate::job::{Failure, Job};
use crate::registry::{Entry, Registry};
use ipcperf_core::{Attach, DynPort, KnobValue, Meet, Seat, SetupError, Shape, Wiring};

/// An end, and knobs as granted.
pub(super) type Attached = (Box<dyn DynPort>, Vec<(String, KnobValue)>);

/// What the channel of a connection has to carry.
pub(super) fn shape(job: &Job, connection: u64) -> Shape {
    job.shape.numbered(connection)
}

/// Becomes one end of the channel of a connection.
pub(super) fn attach(
    job: &Job,
    entry: &Entry,
    connection: u64,
    seat: Seat,
    wiring: Wiring,
) -> Result<Attached, Failure> {
    let (mut meet, shape) = (Alone(Vec::new()), shape(job, connection));
    let options = &job.options;
    let port = entry.attach(Attach { wiring, seat, shape: &shape, options, meet: &mut meet })?;
    Ok((port, meet.0))
}

/// The mechanism of this name.
pub(super) fn entry(registry: &Registry, name: &str) -> Result<Entry, Failure> {
    let found = registry.find(name).copied();
    found.ok_or_else(|| format!("there is no mechanism '{name}'").into())
}

/// An end that needs nothing from the other one to attach; the knobs as granted.
struct Alone(Vec<(String, KnobValue)>);

impl Meet for Alone {
    fn swap(&mut self, _: Wiring) -> Result<Wiring, SetupError> {
        Err(SetupError::Protocol("its ends ask each other for something".to_owned()))
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.0.push((knob.to_owned(), value));
    }
}
