//! Keeps a document under a name.

use super::archive::{Archive, Document, SIGN, cannot, file_name, objection};
use super::index::Index;
use super::place::{DIRECTORY, data};
use crate::error::{Code, Stop, note};
use ipcperf_sys::store::Store;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a document is going to be kept.
#[derive(Debug)]
pub(crate) struct Keeper {
    data: PathBuf,
    store: Store,
    name: String,
}

impl Keeper {
    /// Fails now rather than after a minute of measuring if nothing can be kept under this name.
    pub(crate) fn open(name: Option<&str>) -> Result<Option<Self>, Stop> {
        name.map(|name| Self::at(&data()?, name)).transpose()
    }

    /// Whether it could be, without making anything.
    pub(crate) fn check(name: Option<&str>) -> Result<(), Stop> {
        match name.and_then(|name| Some((name, objection(name)?))) {
            Some((name, objection)) => Err(Stop::usage(format!("--keep: '{name}' {objection}"))),
            None => Ok(()),
        }
    }

    fn at(data: &Path, name: &str) -> Result<Self, Stop> {
        Self::check(Some(name))?;
        let store = Store::make(data, DIRECTORY).and_then(|store| {
            next_number(&store)?;
            store.start(name).map(|_| store)
        });
        let store =
            store.map_err(|error| cannot("keep anything in", &data.join(DIRECTORY), &error))?;
        Ok(Self { data: data.to_owned(), store, name: name.to_owned() })
    }

    /// Keeps a document that has been published as the latest of its name. A failure is told and ends in a code of its
    /// own; nothing of what was measured is lost by it.
    pub(crate) fn keep(
        &self,
        quiet: bool,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Option<Code> {
        if let Err(error) = self.publish(fill) {
            let why = cannot("keep it in", self.store.path(), &error);
            note(&format!("ipcperf: --keep {}: {why}", self.name));
            return Some(Code::Internal);
        }
        // The next reader does what is left undone here.
        let _ = Archive::at(&self.data).map(|archive| Index::of(&archive));
        if !quiet {
            note(&format!("Kept as {SIGN}{}", self.name));
        }
        None
    }

    /// The document alone.
    fn publish(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let Self { store, name, .. } = self;
        let mut file = io::BufWriter::new(store.start(name)?);
        fill(&mut file)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Another process that keeps something of this name meanwhile takes a number; then the next one is free.
        let numbers = next_number(store)?..=u64::MAX;
        file.publish_new(numbers.map(|number| file_name(number, name))).map(drop)
    }
}

/// The number of what is kept next.
fn next_number(store: &Store) -> io::Result<u64> {
    let known = store.files()?.into_iter().filter_map(Document::of);
    let Some(last) = known.max_by_key(|one| one.number) else { return Ok(1) };
    last.number.checked_add(1).ok_or_else(|| {
        let name = last.file.name;
        io::Error::other(format!("no number is above that of '{name}'; rename or remove it"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A document as short as can be read.
    fn keep(keeper: &Keeper, text: &str) {
        assert_eq!(keeper.keep(true, |out| out.write_all(text.as_bytes())), None);
    }

    fn files(data: &Path) -> Vec<String> {
        let all = fs::read_dir(data.join(DIRECTORY)).expect("there").flatten();
        let mut names: Vec<String> =
            all.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn listed(data: &Path) -> Vec<String> {
        let index = Index::of(&Archive::at(data).expect("readable"));
        index.documents().map(|kept| format!("{} {}", kept.file, kept.name)).collect()
    }

    #[test]
    fn documents_of_one_name_are_a_series_and_what_is_removed_makes_room_for_nothing() {
        let data = tempfile::tempdir().expect("a folder");
        let keeper = |name: &str| Keeper::at(data.path(), name).expect("writable");
        for name in ["nightly", "baseline", "nightly", "nightly"] {
            keep(&keeper(name), "{}");
        }
        let all = [
            "1-nightly.json @nightly~2",
            "2-baseline.json @baseline",
            "3-nightly.json @nightly~1",
            "4-nightly.json @nightly",
        ];
        assert_eq!(listed(data.path()), all);
        let archive = Archive::at(data.path()).expect("readable");
        assert_eq!(archive.remove(&["nightly~1".into()], false).expect("there"), ["@nightly~1"]);
        keep(&keeper("baseline"), "{}");
        let all =
            ["1-nightly.json @nightly~1", "2-baseline.json @baseline~1", "4-nightly.json @nightly"];
        assert_eq!(listed(data.path())[..3], all);
        let archive = Archive::at(data.path()).expect("readable");
        assert_eq!(
            archive.remove(&["@baseline".into()], true).expect("there"),
            ["@baseline~1", "@baseline"]
        );
        assert_eq!(files(data.path()), ["1-nightly.json", "4-nightly.json", "index.jsonl"]);
    }

    #[test]
    fn no_number_of_a_file_makes_what_is_kept_next_the_oldest_or_is_taken_for_another() {
        let data = tempfile::tempdir().expect("a folder");
        let keeper = Keeper::at(data.path(), "x").expect("writable");
        let place = |name: &str| data.path().join(DIRECTORY).join(name);
        for name in ["+8-x.json", "07-x.json", "18446744073709551616-x.json"] {
            fs::write(place(name), "{}").expect("written");
        }
        keep(&keeper, "{}");
        assert_eq!(listed(data.path()), ["1-x.json @x"], "what nobody kept counts for nothing");
        fs::write(place("18446744073709551614-x.json"), "{}").expect("written");
        keep(&keeper, "{}");
        let last = listed(data.path()).pop();
        assert_eq!(last.as_deref(), Some("18446744073709551615-x.json @x"));
        let told = Keeper::at(data.path(), "x").expect_err("there is no number").to_string();
        assert!(told.contains("above that of '18446744073709551615-x.json'; rename"), "{told}");
        let kept = keeper.keep(true, |out| out.write_all(b"{}"));
        assert_eq!((kept, files(data.path()).len()), (Some(Code::Internal), 7));
    }

    #[test]
    fn keeping_at_the_same_time_loses_nothing() {
        let data = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for name in ["a", "a", "b"] {
                let data = data.path();
                scope.spawn(move || {
                    let keeper = Keeper::at(data, name).expect("writable");
                    (0..20).for_each(|_| keep(&keeper, "{}"));
                });
            }
        });
        let count =
            |name: &str| listed(data.path()).iter().filter(|one| one.contains(name)).count();
        assert_eq!((count("-a.json"), count("-b.json")), (40, 20));
        // Nothing but documents and the index is left.
        assert_eq!(files(data.path()).len(), 61);
    }

    #[test]
    fn who_is_killed_between_a_document_and_its_index_has_kept_it() {
        let data = tempfile::tempdir().expect("a folder");
        let keeper = Keeper::at(data.path(), "x").expect("writable");
        keep(&keeper, "{}");
        keeper.publish(|out| out.write_all(b"{}")).expect("written");
        let index = fs::read_to_string(data.path().join("ipcperf/index.jsonl")).expect("there");
        assert_eq!(index.lines().count(), 1);
        assert_eq!(listed(data.path()), ["1-x.json @x~1", "2-x.json @x"]);
        let index = fs::read_to_string(data.path().join("ipcperf/index.jsonl")).expect("there");
        assert_eq!(index.lines().count(), 2);
    }

    #[test]
    fn a_name_that_cannot_be_one_is_refused_with_the_nearest_that_can() {
        let data = tempfile::tempdir().expect("a folder");
        let told = |name: &str| match Keeper::at(data.path(), name) {
            Ok(_) => String::new(),
            Err(stop) => stop.to_string(),
        };
        for name in
            ["a", "v6.18", "2026-11-22", "kernel_6.18-rc1", "n\u{e4}chtlich", &"x".repeat(100)]
        {
            assert_eq!(told(name), "", "{name}");
        }
        for (name, near) in [
            ("a/b", "'a-b' is"),
            ("../x", "'x' is"),
            ("a..b", "'a.b' is"),
            ("x\n", "'x-' is"),
            ("@x", "'x' is"),
            ("nightly~1", "'nightly-1' is"),
            ("", "without '..'"),
            ("..", "without '..'"),
            (".hidden", "'hidden' is"),
            ("last", "is reserved: @last means the latest result"),
            (&"x".repeat(101), "longer than 100 bytes"),
        ] {
            let told = told(name);
            assert!(
                told.starts_with("--keep: '") && told.ends_with(near) || told.contains(near),
                "{name}: {told}"
            );
        }
    }
}
