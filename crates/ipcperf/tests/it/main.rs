//! What users can observe of the program: one test binary for everything but the conformance suite.

mod common;
mod watch;

mod calls;
mod choose;
mod closed_output;
mod compare;
mod connect;
mod container;
mod cost;
mod crossover;
mod doctor;
mod documents;
mod exec;
mod explain;
mod fan;
mod faults;
mod formats;
mod history;
mod interruption;
mod limits;
mod messages;
mod page;
mod payload;
mod pipeline;
mod rate;
mod repeat;
mod replicate;
mod restart;
mod rows;
mod selftest;
mod snippets;
mod soak;
mod strangers;
mod timed;
mod transcripts;
