//! What users can observe of the program: one test binary for everything but the conformance suite.

mod common;
mod watch;

mod calls;
mod closed_output;
mod compare;
mod connect;
mod container;
mod cost;
mod doctor;
mod documents;
mod exec;
mod explain;
mod fan;
mod formats;
mod interruption;
mod pipeline;
mod rate;
mod repeat;
mod replicate;
mod selftest;
mod soak;
mod transcripts;
