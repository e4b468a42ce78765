//! Every input of ipcperf under bytes that libFuzzer chooses by what they reach. `cargo xtask fuzz` builds and runs it; the
//! environment says which of [`TARGETS`] is meant.
//!
//! A target is a function of bytes that panics where something does not hold that must hold for whatever was read.
#![no_main]

mod conditions;
mod documents;
mod edits;
mod files;
mod messages;
mod procfs;
mod soundness;
mod units;

use std::sync::LazyLock;

/// Panics where something does not hold of these bytes.
type Target = fn(&[u8]);

/// Every target by its name, which is also that of the folder of its corpus.
const TARGETS: &[(&str, Target)] = &[
    ("job", files::job),
    ("study", files::study),
    ("expression", files::expression),
    ("condition", conditions::check),
    ("units", units::check),
    ("text", documents::text),
    ("result", documents::result),
    ("replication", documents::replication),
    ("comparison", documents::comparison),
    ("profile", documents::profile),
    ("message", messages::check),
    ("procfs", procfs::check),
];

/// The target that is meant.
static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("IPCPERF_FUZZ").unwrap_or_default();
    let known = TARGETS.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("IPCPERF_FUZZ={name}: no such target")).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
