//! Payload in an object of its own, handed over as a descriptor or a name.

pub mod fd_pass;
pub mod file_rename;
mod files;
pub mod handover_port;
pub mod memfd;
pub mod named_port;
pub mod packets;
pub mod pidfd_getfd;
pub mod slotted_port;
pub mod taking_port;
pub mod temp_file;
