//! Documents that are kept under a name, and their index.
//!
//! A kept document is a file `NUMBER-NAME.json` in the user's data directory, which nobody changes. The number is that of
//! keeping, so that documents of one name are a series, and the highest is the latest. The index has one line of JSON for
//! each. It is made from the documents alone: what it lacks is read, what is gone or not as it was is replaced, and it is
//! written anew where anything was amiss. So it may be lost, cut or overwritten at any moment, by whomever.

mod archive;
mod index;
mod keeper;
mod place;

pub(crate) use archive::{Archive, SIGN, named};
pub(crate) use index::Index;
pub(crate) use keeper::Keeper;
pub(crate) use place::would_hold;
