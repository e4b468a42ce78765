//! What a command is: its row, its arguments, what it reads and writes, and how it ends.
//!
//! A command implements [`command::CommandArgs`], and a list of [`command::Command`] has its row. Everything that knows all
//! commands (the help, manual pages, completions, hints, the dispatch, the tasks of workers, the kinds of documents) is made
//! from the rows. This crate knows no single command.
#![forbid(unsafe_code)]

pub mod args;
pub mod build;
pub mod cli;
pub mod command;
pub mod counts;
pub mod document;
pub mod document_kind;
pub mod documentation;
pub mod error;
pub mod external;
pub mod foreign;
pub mod gates;
pub mod hint;
pub mod loads;
pub mod measure;
pub mod output;
pub mod paths_in_text;
mod plugins;
pub mod progress;
pub mod reading;
pub mod request;
pub mod word;
pub mod words;
pub mod work;
