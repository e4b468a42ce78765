//! Every input of ipcperf under whatever bytes there are.
//!
//! A target is a function of bytes that panics where something does not hold that must hold for whatever was read.

mod conditions;
mod documents;
mod edits;
mod files;
mod messages;
mod procfs;
mod soundness;
mod units;

/// Panics where something does not hold of these bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of the folder of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn everything_holds_of_the_corpus() {
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let files = std::fs::read_dir(&folder).expect("each target has a corpus");
            for file in files.map(|file| file.expect("a file").path()) {
                // What does not hold is said by the target; this says of what.
                println!("{}", file.display());
                target(&std::fs::read(&file).expect("a file"));
            }
        }
    }
}
