//! What tells a document from all others: its identity, and what its user says of it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most labels of a document.
const MOST_LABELS: usize = 16;
/// The longest key of a label, bytes.
const LONGEST_KEY: usize = 32;
/// The longest value of a label, bytes.
const LONGEST_VALUE: usize = 128;

/// Which document it is, and what its user says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// 128 random bits in hexadecimal digits, of this document alone and never from the seed. Absent from simulated hosts and
    /// older documents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run_id: String,
    /// What the user said of it (`--label KEY=VALUE`, `IPCPERF_LABELS`): which host, which job. As typed, but `~` for the home
    /// directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Origin {
    /// The label `host`: which machine of many.
    #[must_use]
    pub fn host(&self) -> Option<&String> {
        self.labels.get("host")
    }

    /// Adds a label that was typed as `KEY=VALUE`, in place of one with this key.
    ///
    /// # Errors
    /// It is no label, or it is one more than 16.
    pub fn label(&mut self, text: &str) -> Result<(), String> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(format!("'{text}' is not a label: KEY=VALUE, like host=n1"));
        };
        let is_of_a_key =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        if !(1..=LONGEST_KEY).contains(&key.len()) || !key.chars().all(is_of_a_key) {
            return Err(format!(
                "'{key}' is not a key of a label: 1 to {LONGEST_KEY} of a-z (lower case), 0-9 and _"
            ));
        }
        if value.is_empty() {
            return Err(format!("label '{key}' has no value"));
        }
        if value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
            return Err(format!(
                "the value of label '{key}' has more than {LONGEST_VALUE} bytes, or control characters"
            ));
        }
        self.labels.insert(key.to_owned(), value.to_owned());
        match self.labels.len() {
            0..=MOST_LABELS => Ok(()),
            _ => Err(format!("more than {MOST_LABELS} labels")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_pairs_and_the_last_of_a_key_holds() {
        let mut origin = Origin::default();
        for text in ["host=n1", "job_2=a=b, c", "note= ", "host=n2"] {
            origin.label(text).unwrap();
        }
        assert_eq!(origin.host().map(String::as_str), Some("n2"));
        assert_eq!(origin.labels["job_2"], "a=b, c");
        for (text, why) in [
            ("host", "'host' is not a label"),
            ("host=", "'host' has no value"),
            ("Host=n1", "'Host' is not a key"),
            ("=n1", "'' is not a key"),
            (&format!("{}=x", "k".repeat(33)), "1 to 32"),
            (&format!("k={}", "v".repeat(129)), "more than 128 bytes"),
            ("k=a\nb", "control characters"),
        ] {
            let told = origin.label(text).expect_err(text);
            assert!(told.contains(why), "{told}");
        }
        let many = (0..14).try_for_each(|at| origin.label(&format!("k{at}=x")));
        assert_eq!(many, Err("more than 16 labels".to_owned()));
    }
}
