//! Payload in an object of its own, handed over as a descriptor or a name.

pub mod fd_pass;
pub mod file_rename;
mod files;
pub mod handover_port;
pub mod memfd;
pub mod named_port;
pub mod packets;
pub mod pidfd_getfd;
pub mod taking_port;
pub mod temp_file;

use ipcperf_core::prelude::*;

/// Facts of what travels beside a socket.
pub(crate) const BY_REFERENCE: Spec = Spec {
    family: Family::ByReference,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    descriptors: true,
    ..Spec::NOTHING
};
