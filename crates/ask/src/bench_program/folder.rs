//! Where a bench program keeps its results: `ipcperf` in the target folder of its package, one file for each run.

use ipcperf_core::result::ResultSet;
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

/// The last whole result of this bench that has all of these cells, or else the last of those that have most of them: a
/// filter measures some. Files that are no result are passed over.
pub(super) fn last(folder: &Path, bench: &str, cells: &[String]) -> Option<(ResultSet, PathBuf)> {
    let files = std::fs::read_dir(folder).ok()?;
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut dated: Vec<(String, u64, String)> = names
        .filter_map(|name| of_bench(&name, bench).map(|(time, number)| (time, number, name)))
        .collect();
    dated.sort_unstable();
    let mut best = None;
    let mut most = 0;
    for (_, _, name) in dated.into_iter().rev() {
        let path = folder.join(name);
        let Ok(set) = read_result(&path) else { continue };
        let has = |id: &&String| set.cells.iter().any(|cell| cell.id == **id);
        let found = cells.iter().filter(has).count();
        if set.interrupted || found <= most {
            continue;
        }
        (best, most) = (Some((set, path)), found);
        if most == cells.len() {
            break;
        }
    }
    best
}

/// The time in the name of a result of this bench, and the number that follows where a second had several:
/// `mine-20260821T100000Z.json`, `mine-20260821T100000Z-2.json`.
fn of_bench(file: &str, bench: &str) -> Option<(String, u64)> {
    let rest = file.strip_prefix(bench)?.strip_prefix('-')?.strip_suffix(".json")?;
    let (time, number) = match rest.split_once('-') {
        Some((time, number)) => (time, number.parse().ok()?),
        None => (rest, 1),
    };
    let is_time =
        time.len() == 16 && time.chars().all(|sign| sign.is_ascii_digit() || "TZ".contains(sign));
    is_time.then(|| (time.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{self, Build, ONE};

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
        let time = "20260821T100000Z".to_owned();
        let file = |end: &str| of_bench(&format!("mine-{time}{end}"), "mine");
        assert_eq!(file(".json"), Some((time.clone(), 1)));
        assert_eq!(file("-12.json"), Some((time.clone(), 12)));
        assert_eq!(file(".interrupted.json"), None);
        for other in ["mine-2-20260821T100000Z.json", "mine.json", "other-20260821T100000Z.json"] {
            assert_eq!(of_bench(other, "mine"), None, "{other}");
        }
    }

    #[test]
    fn a_run_of_some_cells_does_not_take_the_place_of_one_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let cell = |size: u64| sample::cell("pipe", size, ONE).rtt(10_000.0, 100.0);
        let write = |time: &str, sizes: &[u64], interrupted: bool| {
            let cells = sizes.iter().map(|size| cell(*size)).collect();
            let set = ResultSet { interrupted, ..sample::set(cells) };
            let name = format!("mine-2026082{time}T100000Z.json");
            std::fs::write(folder.path().join(&name), serde_json::to_string(&set).unwrap())
                .unwrap();
        };
        write("1", &[64, 4096], false);
        write("2", &[64, 4096], false);
        write("3", &[64], false);
        write("4", &[64, 4096], true);
        let found = |sizes: &[u64]| {
            let ids: Vec<String> = sizes.iter().map(|size| cell(*size).id).collect();
            let (set, path) = last(folder.path(), "mine", &ids)?;
            let name = path.file_name().unwrap().to_str().unwrap();
            Some((name[..13].to_owned(), set.cells.len()))
        };
        assert_eq!(found(&[64, 4096]), Some(("mine-20260822".to_owned(), 2)));
        assert_eq!(found(&[64]), Some(("mine-20260823".to_owned(), 1)));
        // A new cell is in none of them: the last one that has the others.
        assert_eq!(found(&[64, 4096, 65_536]), Some(("mine-20260822".to_owned(), 2)));
        assert_eq!(found(&[65_536]), None);
    }
}
