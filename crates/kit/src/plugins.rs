//! Plug-ins on the command line: the path of a shared library, or of a file of Python, in place of a mechanism's name.

use crate::error::Stop;
use ipcperf_core::Missing;
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run;
use std::ffi::OsString;
use std::path::Path;

/// Whether a word is the file of a plug-in: a path, so that no name of a mechanism is one.
#[must_use]
pub(crate) fn is_plugin(word: &str) -> bool {
    let file = word.rsplit('/').next().unwrap_or_default();
    let is_version = |text: &str| text.split('.').all(|part| part.parse::<u64>().is_ok());
    let is_library =
        |(_, rest): (&str, &str)| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_version);
    let is_python = file.len() > 3 && file.ends_with(".py");
    word.contains('/') && (is_python || file.rsplit_once(".so").is_some_and(is_library))
}

/// The mechanism in the file of a plug-in.
pub(crate) fn plugin(registry: &Registry, word: &str) -> Result<&'static Entry, Stop> {
    if !is_allowed(word, std::env::args_os()) {
        return Err(Stop::usage(format!(
            "plug-in {word}: a file names it, and its code would run as you; allow it with --allow-exec"
        )));
    }
    let refused = |missing: Missing| Stop::usage(missing.to_string());
    let entry = registry.plugin(Path::new(word)).map_err(refused)?;
    run::price_pointers(registry).map_err(refused)?;
    Ok(entry)
}

/// The error for a word that is the name of such a file in this folder, and no path.
pub(crate) fn meant_plugin(word: &str) -> Option<Stop> {
    let path = format!("./{word}");
    let text = format!("unknown mechanism '{word}'; did you mean the plug-in '{path}'?");
    is_plugin(&path).then(|| Stop::usage(text))
}

/// Whether the user has typed the file of a plug-in, or allows what files name.
fn is_allowed(word: &str, typed: impl Iterator<Item = OsString>) -> bool {
    // An argument that is no text may name any other file.
    typed.filter_map(|argument| argument.into_string().ok()).any(|argument| {
        let mut words = argument.split([',', '=', ' ', '\t', '\n']);
        argument == "--allow-exec" || words.any(|one| one == word)
    })
}

/// The mechanisms of this program, and the plug-ins that were named.
pub(crate) fn known(registry: &Registry) -> impl Iterator<Item = &Entry> + Clone {
    registry.entries().iter().chain(registry.plugins())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn the_file_of_a_plugin_is_a_path_to_a_shared_library() {
        for word in ["./libmine.so", "/a/libmine.so.1", "a/b.so.1.2", "../x.so", "./mine.py"] {
            assert!(is_plugin(word), "{word}");
        }
        for word in [
            "libmine.so",
            "./libmine.so.conf",
            "./libmine.a",
            "pipe/spin",
            "./so",
            "./x.so.",
            "mine.py",
            "./.py",
        ] {
            assert!(!is_plugin(word), "{word}");
        }
    }

    #[test]
    fn a_file_without_its_folder_is_meant_as_a_path() {
        let error = meant_plugin("mine.py").expect("a file").to_string();
        assert_eq!(error, "unknown mechanism 'mine.py'; did you mean the plug-in './mine.py'?");
        assert!(meant_plugin("libmine.so.1").is_some() && meant_plugin("pipe").is_none());
    }

    #[test]
    fn a_plugin_is_loaded_where_it_was_typed_or_is_allowed() {
        let typed = |words: &[&str]| is_allowed("./x.so", words.iter().map(OsString::from));
        assert!(typed(&["ipcperf", "run", "-m", "pipe,./x.so depth=1"]));
        assert!(typed(&["ipcperf", "run", "--mechanism=./x.so"]));
        assert!(typed(&["ipcperf", "run", "job.toml", "--allow-exec"]));
        assert!(!typed(&["ipcperf", "run", "job.toml", "-m", "../y/./x.so"]));
        assert!(!typed(&["ipcperf", "run", "job.toml"]));
        let no_text = OsString::from_vec(b"-o\xff.json".to_vec());
        let mut words = vec![no_text, "-m".into()];
        assert!(!is_allowed("./x.so", words.clone().into_iter()));
        words.push("./x.so".into());
        assert!(is_allowed("./x.so", words.into_iter()), "whatever else was typed");
    }
}
