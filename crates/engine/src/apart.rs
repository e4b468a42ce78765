//! Ends in namespaces of their own: what a worker enters before it attaches.

use crate::job::{Failure, Job};
use crate::task::WorkerContext;
use ipcperf_core::{FollowIn, Meet, Seat, SetupError, Shape, Wiring};
use ipcperf_sys::{namespaces, network};
use std::path::{Path, PathBuf};

/// Enters what the job of this end asks for. The channel must not be attached to yet; what it takes has arrived.
///
/// # Errors
/// A right or a kind of device is missing.
pub(crate) fn enter(
    job: &Job,
    wiring: &Wiring,
    context: &mut WorkerContext<'_>,
) -> Result<(), Failure> {
    let load = &job.key.load;
    if !load.net.is_loopback() {
        match job.seat {
            Seat::Follow => drop(context.swap(Wiring::of_fds(network::between(load.net)?))?),
            Seat::Lead => namespaces::join(&context.swap(Wiring::default())?.fds)?,
        }
    }
    match (job.seat, load.follow_in) {
        (Seat::Follow, Some(which)) => Ok(follow(which, &job.shape, wiring)?),
        _ => Ok(()),
    }
}

/// The follow enters these namespaces. In one of mounts of its own nothing is left of the directories that the channel's names
/// are in.
///
/// # Errors
/// A right is missing.
pub fn follow(which: FollowIn, shape: &Shape, wiring: &Wiring) -> Result<(), SetupError> {
    let named = wiring.names.iter().map(Path::new).filter(|name| name.is_absolute());
    // A tree of which nothing is left has no programs either.
    let parents = named.filter_map(Path::parent).filter(|parent| parent.parent().is_some());
    let hidden: Vec<PathBuf> =
        shape.directory.as_deref().into_iter().chain(parents).map(Path::to_owned).collect();
    namespaces::enter(which, &hidden)
}
