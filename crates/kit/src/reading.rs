//! Reading the documents that are kept in files, and what must not be in them when they are shared.

use crate::args::{IfDone, OutputArgs};
use crate::command::{Command, documents};
use crate::document::Document;
use crate::error::{Stop, note};
use crate::output;
use crate::paths_in_text;
use crate::work::MeasuredWork;
use flate2::read::MultiGzDecoder;
use ipcperf_core::result::ResultSet;
use ipcperf_judge::{LoadError, Recorded, Repeatable, beside, is_of};
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Reads the text of a document, also of one that gzip packed; '-' is standard input.
pub fn text_of(path: &Path) -> Result<String, Stop> {
    let text = beginning_of(path, output::MOST + 1)?;
    if text.len() as u64 > output::MOST {
        let shown = path.display();
        return Err(Stop::usage(format!("cannot read '{shown}': larger than 256 MiB")));
    }
    Ok(text)
}

/// The same of as many bytes at the most.
pub fn beginning_of(path: &Path, most: u64) -> Result<String, Stop> {
    let failed = |error: io::Error| {
        let shown = path.display();
        Stop::usage(format!("cannot read '{shown}': {}", output::words(&error)))
    };
    let mut bytes = Vec::new();
    let mut source: Box<dyn BufRead> = match is_stdin(path) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(std::fs::File::open(path).map_err(failed)?)),
    };
    // What gzip wrote begins with two bytes that no text begins with.
    let is_packed = source.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let source: Box<dyn Read> = match is_packed {
        true => Box::new(MultiGzDecoder::new(source)),
        false => Box::new(source),
    };
    source.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Whether the path is `-`, standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Why a document is refused.
pub fn refused(path: &Path, error: &LoadError) -> Stop {
    let shown = path.display();
    match error {
        LoadError::Schema(_) => Stop::incomparable(format!("'{shown}': {error}")),
        _ => Stop::usage(format!("'{shown}': {error}")),
    }
}

/// Reads a result document.
pub fn read_result(path: &Path) -> Result<ResultSet, Stop> {
    load(&text_of(path)?).map_err(|error| refused(path, &error))
}

/// Older results lack the comparisons of each cell with its counterpart; they are added.
pub fn load(text: &str) -> Result<ResultSet, LoadError> {
    let mut set = ipcperf_judge::load(text)?;
    beside(&mut set, |_| None);
    Ok(set)
}

/// Reads a result document with the name of its file, both without the home directory, which older ones have.
pub fn recorded(path: &Path) -> Result<Recorded, Stop> {
    let name = paths_in_text::without_home(&path.display().to_string());
    let text = text_of(path)?;
    let text = without_home(&text).unwrap_or(text);
    Recorded::read(name, &text).map_err(|error| refused(path, &error))
}

/// That a result is on both sides.
pub fn same(old: &[Recorded], new: &[Recorded]) -> Option<String> {
    let is_one = |a: &Recorded, b: &Recorded| a.is_in(b) || b.is_in(a);
    let (a, b) = old.iter().find_map(|a| Some((a, new.iter().find(|b| is_one(a, b))?)))?;
    Some(format!("'{}' and '{}' are the same result: nothing can differ", a.name, b.name))
}

/// A document of any kind that these commands write. A text of no known kind is read as the first of them, whose error names
/// what was found.
///
/// # Errors
/// As [`Document::load`]; or it is of no kind, or of another major version of it.
pub fn read(commands: &[Command], text: &str) -> Result<Box<dyn Document>, LoadError> {
    let kinds = documents(commands);
    let found = kinds.iter().find(|kind| is_of(text, (kind.schema)()));
    let first = kinds.iter().find_map(|kind| kind.load);
    match found.and_then(|kind| kind.load).or(first) {
        Some(load) => load(text),
        None => Err(LoadError::Schema("no command of this build reads documents".to_owned())),
    }
}

/// The document as one of this kind.
pub fn cast<D: Document>(document: &dyn Document) -> Option<&D> {
    (document as &dyn Any).downcast_ref()
}

/// The same, taken out of its box.
pub fn cast_box<D: Document>(document: Box<dyn Document>) -> Option<Box<D>> {
    (document as Box<dyn Any>).downcast().ok()
}

/// The same, to be changed.
pub fn cast_mut<D: Document>(document: &mut dyn Document) -> Option<&mut D> {
    (document as &mut dyn Any).downcast_mut()
}

/// The whole result of this work and host that `--if-done skip` finds where the result would go, and says so. An
/// interrupted or damaged one is measured again.
///
/// # Errors
/// No file was named, or it holds a result of other work or of another host, which is not overwritten either.
pub fn done(
    commands: &[Command],
    asked: &MeasuredWork,
    args: &OutputArgs,
) -> Result<Option<Box<dyn Document>>, Stop> {
    let Some(IfDone::Skip) = args.if_done else { return Ok(None) };
    let Some(path) = args.output.as_ref().filter(|path| !is_stdin(path)) else {
        return Err(Stop::usage("--if-done: name the file with -o"));
    };
    let document = if path.is_file() { read(commands, &text_of(path)?).ok() } else { None };
    let Some(document) = document else { return Ok(None) };
    let shown = path.display();
    let in_the_way = |what: String| {
        Err(Stop::usage(format!("--if-done: '{shown}' is a result {what}; name another file")))
    };
    if let Some(what) = document.work().differs(asked) {
        return in_the_way(what);
    }
    let ours = args.label.origin()?;
    if let Some((other, host)) = document.origin().host().zip(ours.host()).filter(|(a, b)| a != b) {
        return in_the_way(format!("of host '{other}', not of '{host}'"));
    }
    if document.is_interrupted() {
        return Ok(None);
    }
    if !args.progress.quiet {
        note(&format!("'{shown}' is done: nothing is measured"));
    }
    Ok(Some(document))
}

/// The document with the home directory shortened wherever it stands (identities of cells, knobs, reasons, findings): a
/// result may be shared.
pub fn shareable<T: Serialize>(document: T, read: impl Fn(&str) -> Option<T>) -> T {
    let Ok(text) = serde_json::to_string(&document) else { return document };
    // As a text, which all documents are read from: reading values would be a quarter of a megabyte of program more.
    let short = without_home(&text).and_then(|text| read(&text));
    short.unwrap_or(document)
}

/// The text of a document with the home directory shortened; `None` where it does not have it, as most do not.
fn without_home(text: &str) -> Option<String> {
    let home = paths_in_text::home()?;
    // Values take five times the memory of their text.
    let written = Value::from(home.as_str()).to_string();
    if !text.contains(written.trim_matches('"')) {
        return None;
    }
    let mut value = serde_json::from_str(text).ok()?;
    shorten(&mut value, &home);
    Some(value.to_string())
}

/// Shortens all texts.
fn shorten(value: &mut Value, home: &str) {
    match value {
        Value::String(text) => *text = paths_in_text::shortened(text, home),
        Value::Array(all) => all.iter_mut().for_each(|one| shorten(one, home)),
        Value::Object(all) => all.values_mut().for_each(|one| shorten(one, home)),
        _ => {}
    }
}
