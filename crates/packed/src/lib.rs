//! Texts that are part of the program: a build script packs files of its package into one compressed file of `OUT_DIR`
//! (schemas to a sixth of their size, studies to a fifth), and the program unpacks them when it needs one.
#![forbid(unsafe_code)]

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Packs every file of the package whose name ends in `ending` into `OUT_DIR/NAME.gz`, wherever it lies. Call it from a build
/// script, whose current directory is that of the package; Cargo runs it again when any file of the package changes.
///
/// # Errors
/// A file cannot be read or is not UTF-8, or `OUT_DIR` cannot be written.
pub fn pack(ending: &str, name: &str) -> io::Result<()> {
    pack_below(".", ending, name)
}

/// [`pack`] of the files below a folder of the package.
///
/// # Errors
/// As [`pack`].
pub fn pack_below(folder: &str, ending: &str, name: &str) -> io::Result<()> {
    let mut all = Vec::new();
    collect(Path::new(folder), ending, &mut all)?;
    all.sort();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(out.join(name).with_extension("gz"), packed(&all)?)
}

/// Adds the files below a folder, but for what Cargo builds there.
fn collect(folder: &Path, ending: &str, all: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && file != "target" {
            collect(&path, ending, all)?;
        } else if file.ends_with(ending) && file != "Cargo.toml" {
            all.push((name_of(&file).to_owned(), std::fs::read_to_string(path)?));
        }
    }
    Ok(())
}

/// `result` of `ipcperf.result-2.schema.json`, `qiita` of `qiita.toml`.
fn name_of(file: &str) -> &str {
    file.trim_start_matches("ipcperf.").split(['.', '-']).next().unwrap_or_default()
}

/// Each name, its text, and a zero, compressed.
fn packed(all: &[(String, String)]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for (name, text) in all {
        write!(packed, "{name}\n{text}\0")?;
    }
    packed.finish()
}

/// The texts that [`pack`] packed, each with its name: what stands in the name of its file before the first `.` or `-`,
/// without `ipcperf.`.
///
/// # Panics
/// The bytes are not what [`pack`] wrote.
#[must_use]
pub fn texts(packed: &[u8]) -> Vec<(String, String)> {
    let mut all = String::new();
    GzDecoder::new(packed).read_to_string(&mut all).expect("packed by a build script");
    let parts = all.split('\0').filter_map(|part| part.split_once('\n'));
    parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The text of this name.
///
/// # Panics
/// As [`texts`].
#[must_use]
pub fn text(packed: &[u8], name: &str) -> Option<String> {
    texts(packed).into_iter().find_map(|(known, text)| (known == name).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_comes_back_with_the_name_of_its_file() {
        let all: Vec<(String, String)> =
            [("a", "one\ntwo\n"), ("b", "")].map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        let bytes = packed(&all).expect("written to memory");
        assert_eq!(texts(&bytes), all);
        assert_eq!(text(&bytes, "a").as_deref(), Some("one\ntwo\n"));
        assert_eq!(text(&bytes, "c"), None);
        assert_eq!(
            ["ipcperf.result-2.schema.json", "qiita.toml"].map(name_of),
            ["result", "qiita"]
        );
    }
}
