//! Where a bench program keeps its results: `ipcperf` in the target folder of its package, one file for each run.

use ipcperf_kit::reading::read_result;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What cargo writes into the root of a target folder.
const MARK: &str = "CACHEDIR.TAG";

/// The folder of results. The program lies in the target folder, wherever that is; one that was copied keeps them here.
pub(super) fn results(program: &Path) -> PathBuf {
    let marked = program.ancestors().skip(1).find(|folder| folder.join(MARK).exists());
    let set = || std::env::var_os("CARGO_TARGET_DIR").filter(|path| !path.is_empty());
    let target = marked.map(Path::to_owned).or_else(|| set().map(PathBuf::from));
    target.unwrap_or_else(|| "target".into()).join("ipcperf")
}

/// The name of a bench: its program's name without the hash that cargo appends.
pub(super) fn name(program: &Path) -> String {
    let stem = program.file_stem().and_then(OsStr::to_str).unwrap_or("bench");
    let is_hash = |end: &str| end.len() == 16 && end.chars().all(|sign| sign.is_ascii_hexdigit());
    match stem.rsplit_once('-') {
        Some((name, end)) if is_hash(end) => name.to_owned(),
        _ => stem.to_owned(),
    }
}

/// The last whole result of this bench that has one of these cells. Files that are none are passed over.
pub(super) fn last(folder: &Path, bench: &str, cells: &[String]) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| is_of(name, bench));
    names.sort_unstable();
    names.iter().rev().map(|name| folder.join(name)).find(|path| {
        let has = |set: ipcperf_core::result::ResultSet| {
            !set.interrupted && set.cells.iter().any(|cell| cells.contains(&cell.id))
        };
        read_result(path).is_ok_and(has)
    })
}

/// Whether a file has the name of a result of this bench: `mine-20260821T100000Z.json`.
fn is_of(file: &str, bench: &str) -> bool {
    let time =
        file.strip_prefix(bench).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".json"));
    time.is_some_and(|time| {
        time.len() == 16 && time.chars().all(|sign| sign.is_ascii_digit() || "TZ".contains(sign))
    })
}

/// A file for a result that begins now.
pub(super) fn file(folder: &Path, bench: &str, started: &jiff::Timestamp) -> PathBuf {
    folder.join(format!("{bench}-{}.json", started.strftime("%Y%m%dT%H%M%SZ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_has_the_name_of_its_program_without_a_hash() {
        for (program, bench) in [
            ("target/release/deps/mine-0123456789abcdef", "mine"),
            ("target/release/deps/my-bench-0123456789abcdef", "my-bench"),
            ("/kept/my-bench", "my-bench"),
            ("/kept/base", "base"),
        ] {
            assert_eq!(name(Path::new(program)), bench);
        }
    }

    #[test]
    fn results_lie_in_the_target_folder_that_the_program_lies_in() {
        let root = tempfile::tempdir().unwrap();
        let deps = root.path().join("built/release/deps");
        std::fs::create_dir_all(&deps).unwrap();
        std::fs::write(root.path().join("built").join(MARK), "").unwrap();
        assert_eq!(results(&deps.join("mine")), root.path().join("built/ipcperf"));
    }

    #[test]
    fn only_results_of_the_same_bench_are_looked_at() {
        assert!(is_of("mine-20260821T100000Z.json", "mine"));
        for other in ["mine-2-20260821T100000Z.json", "mine.json", "other-20260821T100000Z.json"] {
            assert!(!is_of(other, "mine"), "{other}");
        }
    }
}
