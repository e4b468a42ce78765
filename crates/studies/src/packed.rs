//! The studies that are part of the program.

use ipcperf_packed::{text, texts};

const SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));
const STUDIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/studies.gz"));

/// The studies in the order in which they run.
pub(crate) const STUDY_NAMES: [&str; 8] =
    ["inferno", "qiita", "baeldung", "wisconsin", "marhubi", "ipcbench", "mazzoli", "uring"];

/// The JSON Schema of a replication.
pub(crate) fn schema() -> String {
    text(SCHEMAS, "replication").unwrap_or_default()
}

/// The studies with their names, in the order of [`STUDY_NAMES`].
pub(crate) fn studies() -> Vec<(String, String)> {
    let mut studies = texts(STUDIES);
    studies.sort_by_key(|(name, _)| STUDY_NAMES.iter().position(|known| known == name));
    studies
}

/// The text of a study.
pub(crate) fn study(name: &str) -> Option<String> {
    text(STUDIES, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_text_and_each_text_a_name() {
        let studies = studies();
        assert!(studies.iter().map(|(name, _)| name).eq(STUDY_NAMES));
        for (name, text) in studies {
            assert!(text.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
