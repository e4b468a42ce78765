//! Reading a result document that anybody may have written.

use ipcperf_core::result::{NO_SCHEMA, ResultSet, SCHEMA, check_schema, read};
use ipcperf_core::text;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use std::borrow::Cow;
use std::fmt;

/// Why a text is not a result set. Its display is one line without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// It is JSON, but not a result document that this build reads.
    Schema(String),
    /// It is not JSON or ends early, or it lacks a key or has one of another type.
    Damaged(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Schema(what) | Self::Damaged(what)) = self;
        out.write_str(what)
    }
}

impl std::error::Error for LoadError {}

/// Keys that come first in documents that are written here, of which the last ends the reading. What stands before and
/// between them is passed over, and what stands behind is left to the reader of all of it.
struct FirstKeys<'a, const N: usize>([&'static str; N], &'a mut [Option<Value>; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for FirstKeys<'_, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for FirstKeys<'_, N> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<(), A::Error> {
        while let Some(key) = keys.next_key::<Cow<'_, str>>()? {
            let Some(at) = self.0.iter().position(|name| *name == key) else {
                keys.next_value::<IgnoredAny>()?;
                continue;
            };
            self.1[at] = Some(keys.next_value()?);
            if at + 1 == N {
                return Err(A::Error::custom("found"));
            }
        }
        Ok(())
    }
}

/// Reads a result document. Keys this build does not know are ignored, so newer minor versions load.
///
/// # Errors
/// The text is not JSON (or cut off), not a result document of this major version, or a key is missing or mistyped.
pub fn load(text: &str) -> Result<ResultSet, LoadError> {
    load_with(text, read)
}

/// The same with a way of reading.
pub(crate) fn load_with(
    text: &str,
    read: impl FnOnce(&str) -> Result<ResultSet, serde_json::Error>,
) -> Result<ResultSet, LoadError> {
    let found = schema(text)?;
    check_schema(found.as_deref()).map_err(LoadError::Schema)?;
    let mut set = read(text).map_err(|error| damaged(&error, text))?;
    // What is written of it again has the form of today.
    if set.schema.split('.').nth(1) == Some("result/1") {
        SCHEMA.clone_into(&mut set.schema);
    }
    Ok(set)
}

/// Whether a text says that it has this schema, of whatever minor version.
pub fn is_of(text: &str, kind: &str) -> bool {
    schema(text).ok().flatten().is_some_and(|found| {
        found == kind || found.strip_prefix(kind).is_some_and(|minor| minor.starts_with('.'))
    })
}

/// Whether a text says that it is a result document, of whatever kind and version.
#[must_use]
pub fn is_document(text: &str) -> bool {
    schema(text).ok().flatten().is_some_and(|found| found.starts_with("ipcperf."))
}

/// What two documents of one run have alike, from the beginning of a text: nothing where they cannot be told.
#[must_use]
pub fn run_key(text: &str) -> Option<String> {
    let mut found = [None, None];
    let read = FirstKeys(["run_id", "started_utc"], &mut found);
    let _ = read.deserialize(&mut serde_json::Deserializer::from_str(text));
    let [run_id, started] = found;
    Some(format!("{} {}", run_id.unwrap_or_default(), started?))
}

fn schema(text: &str) -> Result<Option<String>, LoadError> {
    let mut found = [None];
    let read = FirstKeys(["schema"], &mut found);
    let read = read.deserialize(&mut serde_json::Deserializer::from_str(text));
    let [found] = found;
    match (found, read) {
        (Some(Value::String(schema)), _) => Ok(Some(short(&schema))),
        (Some(other), _) => Ok(Some(short(&other.to_string()))),
        (None, Ok(())) => Ok(None),
        (None, Err(error)) => Err(damaged(&error, text)),
    }
}

/// Why a text could not be read.
pub fn damaged(error: &serde_json::Error, text: &str) -> LoadError {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Data if !text.trim_start().starts_with('{') => {
            LoadError::Schema(NO_SCHEMA.to_owned())
        }
        Category::Data => {
            let what = short(&error.to_string());
            LoadError::Damaged(format!("not a well-formed result document: {what}"))
        }
        category => {
            let full = error.to_string();
            let what = full.split(" at line ").next().unwrap_or_default();
            // A number that is cut off (`58.`) is not reported as an early end.
            let is_last = is_end(text, line, column) && !what.starts_with("trailing");
            let what = if category == Category::Eof || is_last {
                "the text ends here; the file is cut off or still being written".to_owned()
            } else {
                short(what)
            };
            let place = format!("line {line} column {column}");
            LoadError::Damaged(format!("not valid JSON at {place}: {what}"))
        }
    }
}

/// Whether nothing follows that place.
fn is_end(text: &str, line: usize, column: usize) -> bool {
    let mut rest = text.split('\n').skip(line.saturating_sub(1));
    rest.next().is_none_or(|last| last.len() <= column) && rest.next().is_none()
}

/// One line of bounded length: errors quote the document.
fn short(words: &str) -> String {
    text::clip(&text::clean(words, true), 200, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, Build};

    fn sample_text() -> String {
        serde_json::to_string(&sample::survey()).unwrap()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let text = sample_text();
        let set = load(&text).unwrap();
        assert_eq!(serde_json::to_string(&set).unwrap(), text);
    }

    /// Some numbers of seventeen digits were read as their neighbour.
    #[test]
    fn every_figure_is_read_back_to_the_last_digit() {
        let mut set = sample::small();
        for figure in [98_314_988.486_078_19, 3_740.884_517_566_119_5, 5e-324, f64::MAX, 0.1 + 0.2]
        {
            set.duration_s = figure;
            let text = serde_json::to_string(&set).unwrap();
            assert_eq!(load(&text).unwrap().duration_s.to_bits(), figure.to_bits(), "{figure}");
        }
    }

    #[test]
    fn a_file_cut_at_any_byte_is_one_clear_line() {
        let cell = sample::cell("pipe", 64, sample::TWO).modes([(4200.0, 1), (71_000.0, 1)]);
        let text = serde_json::to_string_pretty(&sample::set(vec![cell])).unwrap();
        for end in 0..text.len() {
            let Some(start) = text.get(..end) else { continue };
            let error = load(start).expect_err("cut off").to_string();
            assert_eq!(error.lines().count(), 1);
            assert!(error.contains("cut off"), "{end}: {error}");
        }
    }

    #[test]
    fn keys_from_the_future_are_ignored() {
        let mut value = serde_json::to_value(sample::survey()).unwrap();
        value["schema"] = "ipcperf.result/2.9".into();
        value["comparisons"] = serde_json::json!([{"deep": [1, 2]}]);
        value["cells"][0]["temperature"] = 31.into();
        value["cells"][0]["rounds"]["covariates"]["moon"] =
            value["cells"][0]["rounds"]["order"].clone();
        load(&value.to_string()).unwrap();
    }

    #[test]
    fn other_documents_and_majors_are_refused_before_their_content_is_read() {
        let schema = |text: &str| match load(text) {
            Err(LoadError::Schema(error)) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            schema(r#"{"schema": "ipcperf.result/3", "cells": 7}"#),
            "written as 'ipcperf.result/3'; this build reads 'ipcperf.result/1' and '/2'"
        );
        for text in [
            r#"{"schema": "other/1"}"#,
            r#"{"schema": 1}"#,
            "{}",
            "[]",
            "null",
            "3",
            r#"["ipcperf.result/1"]"#,
        ] {
            assert!(schema(text).starts_with("not an ipcperf result"), "{text}");
        }
    }

    #[test]
    fn a_missing_or_mistyped_key_is_named_with_its_place() {
        let mut value = serde_json::to_value(sample::survey()).unwrap();
        value["cells"][0].as_object_mut().unwrap().remove("wait");
        let error = load(&value.to_string()).expect_err("incomplete").to_string();
        assert!(error.contains("missing field `wait`") && error.contains("line 1"), "{error}");
    }

    #[test]
    fn hostile_texts_are_errors_of_one_printable_line() {
        let long = format!(r#"{{"schema": "{}"}}"#, "x".repeat(100_000));
        let words = sample_text().replace("\"block\"", "\"a\\n\\u001b[2J\\u202eb\"");
        let texts = [
            "[".repeat(100_000),
            r#"{"a":"#.repeat(100_000),
            long,
            words,
            "\u{feff}{}".to_owned(),
            sample_text().replacen("\"duration_s\":", "\"duration_s\":1e999,\"x\":", 1),
            sample_text().replacen("\"size_bytes\":64", "\"size_bytes\":-64", 1),
        ];
        for text in texts {
            let error = load(&text).expect_err("hostile").to_string();
            assert!(error.chars().all(|sign| !sign.is_control()), "{error:?}");
            assert!(error.len() < 400, "{}", error.len());
        }
    }

    #[test]
    fn a_document_of_any_version_is_known_and_nothing_else_is() {
        for text in [&sample_text(), r#"{"schema": "ipcperf.replication/7", "x": 1}"#] {
            assert!(is_document(text), "{text}");
        }
        for text in ["", "#!/bin/sh", "{}", r#"{"schema": "other/1"}"#, r#"["ipcperf.result/1"]"#] {
            assert!(!is_document(text), "{text}");
        }
    }
}
