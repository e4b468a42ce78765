//! Why a slice does not count.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The finding by which a slice does not count, and what was found. In a document it is a text: `E-MIGRATE: pinned to CPU 1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Rejection {
    /// The code of the finding; empty in a document that names none.
    pub code: Cow<'static, str>,
    /// What was found.
    pub reason: String,
}

impl From<String> for Rejection {
    fn from(text: String) -> Self {
        match text.split_once(": ") {
            Some((code, reason)) if !code.is_empty() => {
                Self { code: code.to_owned().into(), reason: reason.to_owned() }
            }
            _ => Self { code: Cow::Borrowed(""), reason: text },
        }
    }
}

impl From<Rejection> for String {
    fn from(rejection: Rejection) -> Self {
        rejection.to_string()
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.code {
            "" => out.write_str(&self.reason),
            code => write!(out, "{code}: {}", self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;

    #[test]
    fn a_document_keeps_its_text_and_only_the_row_of_the_code_has_the_reason() {
        for text in ["E-MIGRATE: pinned to CPU 1: moved", "moved", "", ": x", "a: ", "E-MIGRATE"] {
            let document = serde_json::to_string(text).expect("a text");
            let read: Rejection = serde_json::from_str(&document).expect("any text is one");
            assert_eq!(serde_json::to_string(&read).expect("a text"), document);
        }
        let made = findings::MIGRATE.rejection("pinned to CPU 1: moved");
        assert_eq!(Rejection::from(made.to_string()), made);
        assert_eq!(findings::MIGRATE.reason(&made), Some("pinned to CPU 1: moved"));
        assert_eq!(findings::MOVED.reason(&made), None);
    }
}
