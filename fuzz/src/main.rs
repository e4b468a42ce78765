//! Every input of ipcperf under bytes that libFuzzer chooses by what they reach. `cargo xtask fuzz` builds and runs it; the
//! environment says which of the targets is meant.
#![no_main]

use ipcperf_fuzz::{TARGETS, Target};
use std::sync::LazyLock;

/// The target that is meant.
static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("IPCPERF_FUZZ").unwrap_or_default();
    let known = TARGETS.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("IPCPERF_FUZZ={name}: no such target")).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
