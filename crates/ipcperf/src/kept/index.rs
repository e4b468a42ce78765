//! An index of kept documents, so that a list need not read them: one line of JSON for each.

use super::archive::{Archive, Document};
use crate::output;
use ipcperf_report::{CellFigure, CellFigures, Kept, Summary, summary};
use ipcperf_sys::store::{Store, StoredFile};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Its file, beside the documents.
const INDEX: &str = "index.jsonl";

/// The version of its lines. Lines of another version are rebuilt from the documents.
const FORM: u32 = 2;

/// By what a line of the index is known to be that of a file as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stamp {
    form: u32,
    file: String,
    bytes: u64,
    written_ns: i64,
}

impl Stamp {
    fn of(file: &StoredFile) -> Self {
        let StoredFile { name, bytes, written_ns } = file.clone();
        Self { form: FORM, file: name, bytes, written_ns }
    }
}

/// A line of the index: of which file it is, what the document says, and its cells.
fn parsed<C: DeserializeOwned>(line: &str) -> Option<(Stamp, Summary, C)> {
    serde_json::from_str(line).ok()
}

/// What is known of all documents, in the order of keeping.
#[derive(Debug)]
pub(crate) struct Index {
    /// What each is, and its line.
    known: Vec<(Kept, String)>,
}

impl Index {
    /// What the index has of these documents; whatever it has not is read from them, and the index is put right.
    pub(crate) fn of(archive: &Archive) -> Self {
        let Some(store) = &archive.store else { return Self { known: Vec::new() } };
        let mut text = Vec::new();
        // What is not text, or cannot be read, is made anew like anything else that is amiss.
        let _ = store.read(INDEX).and_then(|file| file.take(output::MOST).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let mut lines: BTreeMap<String, (Stamp, Summary, &str)> = BTreeMap::new();
        let mut is_right = true;
        for line in text.lines() {
            match parsed::<IgnoredAny>(line) {
                Some((stamp, summary, _)) => {
                    let before = lines.insert(stamp.file.clone(), (stamp, summary, line));
                    is_right &= before.is_none();
                }
                // Whatever it is now, and however long: documents tell what it told.
                None => {
                    is_right = false;
                    break;
                }
            }
        }
        let mut known = Vec::new();
        for (document, name) in archive.documents.iter().zip(archive.names()) {
            let stamp = Stamp::of(&document.file);
            let found = lines.remove(&stamp.file).filter(|(found, ..)| *found == stamp);
            let (summary, line) = match found {
                Some((_, summary, line)) => (summary, line.to_owned()),
                None => {
                    is_right = false;
                    // Removed meanwhile.
                    let Some(read) = summed_up(archive, document, &stamp) else { continue };
                    read
                }
            };
            let Stamp { file, bytes, .. } = stamp;
            known.push((Kept { name, file, bytes, summary }, line));
        }
        let index = Self { known };
        if !is_right || !lines.is_empty() {
            // A process that may not write it, or finds no room for it, has read all the same.
            let _ = index.write(store);
        }
        index
    }

    fn write(&self, store: &Store) -> io::Result<()> {
        let mut file = io::BufWriter::new(store.start(INDEX)?);
        for (_, line) in &self.known {
            writeln!(file, "{line}")?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.publish()
    }

    /// What is known of all documents.
    pub(crate) fn documents(&self) -> impl DoubleEndedIterator<Item = &Kept> {
        self.known.iter().map(|(kept, _)| kept)
    }

    /// The documents that have this cell, with its figure.
    pub(crate) fn with(&self, cell: &str) -> Vec<(Kept, CellFigure)> {
        let Ok(key) = serde_json::to_string(cell).map(|cell| cell + ":") else { return Vec::new() };
        let has = |(kept, line): &(Kept, String)| {
            // Cells come last in a line: what follows the key is read, and not all cells of a thousand documents.
            let figure = &line[line.rfind(&key)? + key.len()..];
            let mut figure = serde_json::Deserializer::from_str(figure).into_iter::<CellFigure>();
            Some((kept.clone(), figure.next()?.ok()?))
        };
        self.known.iter().filter_map(has).collect()
    }

    /// The cells of all documents.
    pub(crate) fn cells(&self) -> Vec<String> {
        let lines = self.known.iter().filter_map(|(_, line)| parsed::<CellFigures>(line));
        let mut all: Vec<String> = lines.flat_map(|(.., cells)| cells.into_keys()).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// What a document says, and the line of it; `None` where it has gone.
fn summed_up(archive: &Archive, document: &Document, stamp: &Stamp) -> Option<(Summary, String)> {
    let mut bytes = Vec::new();
    let file = archive.file(document);
    let (summary, cells) =
        match file.and_then(|file| file.take(output::MOST).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                let problem = Some(output::words(&error));
                (Summary { problem, ..Summary::default() }, CellFigures::new())
            }
            Ok(_) => summary(&String::from_utf8_lossy(&bytes)),
        };
    let line = serde_json::to_string(&(stamp, &summary, cells)).unwrap_or_default();
    Some((summary, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::place::DIRECTORY;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    fn index(data: &Path) -> Index {
        Index::of(&Archive::at(data).expect("readable"))
    }

    #[test]
    fn an_index_that_is_lost_cut_or_wrong_is_made_anew_and_one_that_is_right_stays() {
        let data = tempfile::tempdir().expect("a folder");
        let store = Store::make(data.path(), DIRECTORY).expect("writable");
        let place = store.path().join(INDEX);
        for (file, text) in [("2-b.json", "{}"), ("1-a.json", "nonsense"), ("10-a.json", "[]")] {
            fs::write(store.path().join(file), text).expect("written");
        }
        for (file, text) in
            [("notes.txt", "x"), ("x-y.json", "x"), ("3-.json", "x"), ("4-a b.json", "x")]
        {
            fs::write(store.path().join(file), text).expect("written");
        }
        let names: Vec<String> =
            index(data.path()).documents().map(|one| one.name.clone()).collect();
        assert_eq!(names, ["@a~1", "@b", "@a"], "in the order of their numbers");
        let right = fs::read_to_string(&place).expect("written");
        let lines: Vec<&str> = right.lines().collect();
        let wrong = [
            String::new(),
            "\0\u{1}nonsense".to_owned(),
            right[..right.len() / 2].to_owned(),
            right.repeat(2),
            format!("{}\n{}\n", lines[0], lines[2]),
            right.replace(&format!("\"form\":{FORM}"), "\"form\":0"),
            right.replace("\"bytes\":2", "\"bytes\":3"),
            right.replace("1-a.json", "9-gone.json"),
        ];
        for text in wrong {
            assert_ne!(text, right);
            fs::write(&place, &text).expect("writable");
            assert_eq!(index(data.path()).known.len(), 3, "{text}");
            assert_eq!(fs::read_to_string(&place).expect("there"), right, "{text}");
        }
        for put in ["a FIFO", "a link", "gigabytes", "nothing"] {
            fs::remove_file(&place).expect("there");
            match put {
                "a FIFO" => assert!(
                    Command::new("mkfifo").arg(&place).status().expect("it starts").success()
                ),
                "a link" => symlink("/dev/zero", &place).expect("a link"),
                "gigabytes" => {
                    File::create(&place).and_then(|file| file.set_len(3 << 30)).expect("a hole")
                }
                _ => {}
            }
            assert_eq!(index(data.path()).known.len(), 3, "{put}");
            assert_eq!(fs::read_to_string(&place).expect("there"), right, "{put}");
        }
        // Nothing is amiss: it is not written again.
        let written = || fs::metadata(&place).and_then(|facts| facts.modified()).expect("there");
        let before = written();
        index(data.path());
        assert_eq!(written(), before);
        // Another document of the same name, and one that is gone.
        fs::write(store.path().join("2-b.json"), "{ }").expect("writable");
        fs::remove_file(store.path().join("1-a.json")).expect("there");
        assert_eq!(index(data.path()).known.len(), 2);
        let now = fs::read_to_string(&place).expect("there");
        assert!(now.contains("\"bytes\":3") && !now.contains("1-a.json"), "{now}");
    }
}
