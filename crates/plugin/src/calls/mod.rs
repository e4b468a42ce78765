//! The only part with `unsafe`: foreign functions, and the structs that they take.
//!
//! # Safety
//! What is behind a pointer of a plug-in cannot be checked: a plug-in is code of the user, which runs as the user, in a
//! process that has nothing else to do. The code here keeps what the header promises: structs have their size, texts end
//! with a zero, pointers are valid during the call, and an end is used by one thread and not after `detach`.

mod abi;
mod codes;
mod end;
mod host;
mod hosted;
mod library;
mod pipes;
mod words;
mod worker;

pub(crate) use end::{CallOutcome, TransportEnd};
pub(crate) use host::{Cables, HostContext, Setup};
pub(crate) use hosted::{execute, is_hosted};
pub(crate) use library::Library;
pub(crate) use pipes::NAME;
