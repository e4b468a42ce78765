//! The conformance suite over the mechanisms of this program.

fn main() {}
