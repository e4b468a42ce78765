//! The directory of kept documents, and their names.

use super::place::{DIRECTORY, data};
use crate::error::{Stop, unknown};
use crate::output;
use ipcperf_sys::store::{Store, StoredFile};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The latest document of all names.
const LAST: &str = "last";

/// Longest name: with its number it is the name of a file.
const LONGEST: usize = 100;

/// What stands before a name where the path of a file could stand.
pub(crate) const SIGN: char = '@';

pub(super) fn cannot(what: &str, path: &Path, error: &io::Error) -> Stop {
    let shown = output::without_home(&path.display().to_string());
    Stop::usage(format!("cannot {what} '{shown}': {}", output::words(error)))
}

/// What the file of a document is called.
pub(super) fn file_name(number: u64, name: &str) -> String {
    format!("{number}-{name}.json")
}

/// A document in its directory.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) number: u64,
    name: String,
    pub(super) file: StoredFile,
}

impl Document {
    /// `None` for what is no document: the index, a file that is being written, whatever somebody put there.
    pub(super) fn of(file: StoredFile) -> Option<Self> {
        let (number, name) = file.name.strip_suffix(".json")?.split_once('-')?;
        let (number, name) = (number.parse().ok()?, name.to_owned());
        // What is parsed may have signs and zeros in front that we never write.
        let is_ours = objection(&name).is_none() && file.name == file_name(number, &name);
        is_ours.then_some(Self { number, name, file })
    }
}

/// What is kept, as its directory tells of it: in the order of keeping.
#[derive(Debug)]
pub(crate) struct Archive {
    /// `None` before anything was kept.
    pub(super) store: Option<Store>,
    place: PathBuf,
    pub(super) documents: Vec<Document>,
}

impl Archive {
    /// What the user has kept so far.
    pub(crate) fn open() -> Result<Self, Stop> {
        Self::at(&data()?)
    }

    /// What is kept in this data directory.
    pub(super) fn at(data: &Path) -> Result<Self, Stop> {
        let place = data.join(DIRECTORY);
        match Store::open(data, DIRECTORY) {
            Ok(store) => Self::of(store),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { store: None, place, documents: Vec::new() })
            }
            Err(error) => Err(cannot("read", &place, &error)),
        }
    }

    pub(super) fn of(store: Store) -> Result<Self, Stop> {
        let place = store.path().to_owned();
        let files = store.files().map_err(|error| cannot("read", &place, &error))?;
        let mut documents: Vec<Document> = files.into_iter().filter_map(Document::of).collect();
        documents.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
        Ok(Self { store: Some(store), place, documents })
    }

    /// Where it is, as it is shown.
    pub(crate) fn place(&self) -> String {
        output::without_home(&self.place.display().to_string())
    }

    /// What each document is called: `@NAME` the latest of its name, `@NAME~1` the one before it.
    pub(super) fn names(&self) -> Vec<String> {
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        for document in self.documents.iter().rev() {
            let back = seen.entry(&document.name).or_default();
            names.push(match *back {
                0 => format!("{SIGN}{}", document.name),
                back => format!("{SIGN}{}~{back}", document.name),
            });
            *back += 1;
        }
        names.reverse();
        names
    }

    /// The document that `NAME`, `NAME~1` or `last` stands for, with or without the sign in front.
    fn find(&self, word: &str) -> Result<&Document, Stop> {
        let word = word.strip_prefix(SIGN).unwrap_or(word);
        let (name, back) = match word.rsplit_once('~') {
            Some((name, back)) => (name, back.parse::<usize>().ok()),
            None => (word, Some(0)),
        };
        let is_it = |one: &&Document| name == LAST || one.name == name;
        let mut series = self.documents.iter().rev().filter(is_it);
        let count = series.clone().count();
        if count == 0 {
            let listed = match self.documents.is_empty() {
                true => "nothing is saved yet (use --keep NAME)",
                false => "'ipcperf history list' shows them all",
            };
            let names: Vec<String> =
                self.documents.iter().map(|one| format!("{SIGN}{}", one.name)).collect();
            let (given, names) = (format!("{SIGN}{word}"), names.iter().map(String::as_str));
            return Err(unknown("document", &given, names, listed));
        }
        let first = match count {
            1 => format!("{SIGN}{name} alone"),
            _ => format!("{SIGN}{name} to {SIGN}{name}~{}", count - 1),
        };
        let missing =
            || Stop::usage(format!("no document '{SIGN}{word}'; of that name there is {first}"));
        back.and_then(|back| series.nth(back)).ok_or_else(missing)
    }

    /// Refuses a name that no document has.
    pub(crate) fn knows(&self, name: &str) -> Result<(), Stop> {
        self.find(name).map(drop)
    }

    /// Opens the document that a word stands for.
    pub(crate) fn read(&self, word: &str) -> Result<File, Stop> {
        let document = self.find(word)?;
        self.file(document)
            .map_err(|error| cannot("read", &self.place.join(&document.file.name), &error))
    }

    pub(super) fn file(&self, document: &Document) -> io::Result<File> {
        let store = self.store.as_ref().ok_or(io::ErrorKind::NotFound)?;
        store.read(&document.file.name)
    }

    /// Removes the documents that these words stand for, or all of their names; says which.
    pub(crate) fn remove(&self, words: &[String], all: bool) -> Result<Vec<String>, Stop> {
        let mut chosen = Vec::new();
        for word in words {
            let one = self.find(word)?;
            let is_it = |other: &&Document| match all {
                true => other.name == one.name,
                false => other.file.name == one.file.name,
            };
            chosen.extend(self.documents.iter().filter(is_it).map(|one| one.file.name.clone()));
        }
        let names = self.names();
        let mut removed = Vec::new();
        for (document, name) in self.documents.iter().zip(names) {
            let file = &document.file.name;
            let Some(store) = self.store.as_ref().filter(|_| chosen.contains(file)) else {
                continue;
            };
            store.remove(file).map_err(|error| cannot("remove", &self.place.join(file), &error))?;
            removed.push(name);
        }
        Ok(removed)
    }
}

/// Reads the document that a path means which begins with the sign: a name has no '/', so that `./@file` is a file.
pub(crate) fn named(path: &Path) -> Option<Result<File, Stop>> {
    let word = path.to_str().filter(|text| text.starts_with(SIGN) && !text.contains('/'))?;
    Some(Archive::open().and_then(|archive| archive.read(word)))
}

/// Why this cannot be a name.
pub(super) fn objection(name: &str) -> Option<String> {
    let is_sign = |sign: char| sign.is_alphanumeric() || ['.', '_', '-'].contains(&sign);
    if name.len() > LONGEST {
        return Some(format!("is longer than {LONGEST} bytes"));
    }
    let begins_well = name.starts_with(char::is_alphanumeric);
    if begins_well && name.chars().all(is_sign) && !name.contains("..") {
        return (name == LAST)
            .then(|| format!("is reserved: {SIGN}{LAST} means the latest result"));
    }
    let near: String = name.chars().map(|sign| if is_sign(sign) { sign } else { '-' }).collect();
    let near = near.replace("..", ".");
    let near = near.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    let rule = "is not a valid name (letters, digits, '.', '_' and '-', starting with a letter or digit, without '..')";
    Some(match near {
        "" => rule.to_owned(),
        near => format!("{rule}; '{near}' is"),
    })
}
