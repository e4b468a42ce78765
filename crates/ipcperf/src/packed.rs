//! Texts that are part of the program, compressed by `build.rs`.

use flate2::read::GzDecoder;
use std::io::Read;

const SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));
const STUDIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/studies.gz"));

/// The studies in the order in which they run.
pub(crate) const STUDY_NAMES: [&str; 5] = ["inferno", "qiita", "baeldung", "wisconsin", "marhubi"];

/// The JSON Schemas of all documents, with the names of these.
pub(crate) fn schemas() -> Vec<(String, String)> {
    texts(SCHEMAS)
}

/// The studies with their names, in the order of [`STUDY_NAMES`].
pub(crate) fn studies() -> Vec<(String, String)> {
    let mut studies = texts(STUDIES);
    studies.sort_by_key(|(name, _)| STUDY_NAMES.iter().position(|known| known == name));
    studies
}

/// The text of a study.
pub(crate) fn study(name: &str) -> Option<String> {
    studies().into_iter().find_map(|(known, text)| (known == name).then_some(text))
}

fn texts(packed: &[u8]) -> Vec<(String, String)> {
    let mut all = String::new();
    GzDecoder::new(packed).read_to_string(&mut all).expect("packed by build.rs");
    let parts = all.split('\0').filter_map(|part| part.split_once('\n'));
    parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
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
