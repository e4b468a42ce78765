//! What a test cannot do on this host: the tests of all crates say it in one way. Nothing else calls this.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Whether everything is expected to be here (`IPCPERF_EXPECT_ALL=1`).
#[must_use]
pub fn expects_all() -> bool {
    std::env::var_os("IPCPERF_EXPECT_ALL").is_some_and(|on| on == "1")
}

/// Whether this, a mechanism or what else a test needs, may be lacking here: where not everything is expected, or where
/// `IPCPERF_MAY_LACK` names it, with commas between several.
#[must_use]
pub fn may_lack(what: &str) -> bool {
    let named = std::env::var("IPCPERF_MAY_LACK").unwrap_or_default();
    !expects_all() || named.split(',').any(|name| name == what)
}

/// Says that a test, or a part of one, was not done for lack of this, and why: a line on standard error, past the test
/// harness, which hides what passing tests print, and a line of the file that `IPCPERF_SKIPPED` names.
pub fn note(what: &str, why: impl Display) {
    let why = why.to_string();
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let thread = std::thread::current();
    // The harness names the thread of a test after it.
    let test = thread.name().filter(|name| *name != "main");
    let test = test.map_or_else(String::new, |name| format!(" ({name})"));
    let line = format!("skipped: {what}: {why}{test}\n");
    // In one call, so that the lines of several processes do not mix. Where neither can be written, nobody is told.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("IPCPERF_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The same, and a failure of the test where it may not be lacking.
///
/// # Panics
/// Unless [`may_lack`] allows it.
pub fn skipped(what: &str, why: impl Display) {
    note(what, &why);
    assert!(may_lack(what), "IPCPERF_EXPECT_ALL=1, but {what}: {why}");
}
