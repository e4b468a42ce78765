//! What must hold for every input of ipcperf, whatever bytes it has.
//!
//! A target is a function of bytes that panics when one of its rules is broken.

mod conditions;
mod documents;
mod edits;
mod files;
mod messages;
mod procfs;
mod soundness;
mod units;

/// Panics when a rule is broken for these bytes.
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
            let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
            assert!(!files.is_empty(), "{name}");
            for file in files {
                // The target says which rule is broken; this says by which file.
                println!("{}", file.display());
                target(&std::fs::read(&file).expect("a file"));
            }
        }
    }
}
