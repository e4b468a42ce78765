//! What is kept under a name, in real processes.

use crate::common::{Sandbox, at_once, wait_for};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

/// A run that is over soon.
const RUN: [&str; 12] = [
    "run",
    "-m",
    "pipe",
    "--place",
    "same-cpu",
    "--slice",
    "1ms",
    "--warmup",
    "1ms",
    "--rounds",
    "1",
    "--no-progress",
];

fn data(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/ipcperf")
}

/// What is listed: names, the latest first.
fn listed(sandbox: &Sandbox) -> Vec<String> {
    let ended = sandbox.run(&["history", "list", "--format", "json"]);
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    let all: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let names = all.as_array().expect("a list").iter().map(|one| one["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

#[test]
fn what_is_kept_stands_for_its_file_wherever_one_is_read() {
    let sandbox = Sandbox::new();
    let said = |words: &[&str]| {
        let ended = sandbox.done(words);
        ended.stdout + &ended.stderr
    };
    assert!(said(&["history", "list"]).starts_with("0 documents in ~/.local/share/ipcperf"));
    for file in ["a.json", "b.json"] {
        let told = said(&[&RUN[..], &["--keep", "nightly", "-o", file]].concat());
        assert!(told.contains("Kept as @nightly\n"), "{told}");
    }
    said(&["replicate", "marhubi", "--rounds", "1", "-q", "-o", "c.json", "--keep", "paper"]);
    let kept = |name: &str| fs::read_to_string(data(&sandbox).join(name)).expect("kept");
    assert_eq!(kept("1-nightly.json"), sandbox.read("a.json").expect("written"));
    assert_eq!(kept("2-nightly.json"), sandbox.read("b.json").expect("written"));
    assert_eq!(kept("3-paper.json"), sandbox.read("c.json").expect("written"));
    let mode = |path: PathBuf| fs::metadata(path).expect("there").mode() & 0o777;
    let modes =
        [data(&sandbox), data(&sandbox).join("1-nightly.json"), data(&sandbox).join("index.jsonl")];
    assert_eq!(modes.map(mode), [0o700, 0o600, 0o600]);
    assert_eq!(listed(&sandbox), ["@paper", "@nightly", "@nightly~1"]);
    for (word, file) in [
        ("@nightly~1", "a.json"),
        ("@nightly", "b.json"),
        ("@last", "c.json"),
        ("@last~2", "a.json"),
    ] {
        assert_eq!(said(&["report", word]), said(&["report", file]), "{word}");
    }
    assert_eq!(
        said(&["history", "show", "nightly", "--format", "csv"]),
        said(&["report", "b.json", "--format", "csv"])
    );
    let compared = said(&["compare", "@nightly~1", "@nightly"]);
    assert!(compared.contains("A: @nightly~1 ("), "{compared}");
    assert!(!compared.contains("the same result"), "{compared}");
    let same = said(&["compare", "b.json", "@nightly"]);
    let told = "'b.json' and '@nightly' are the same result: nothing can differ\n";
    assert!(same.contains(told), "{same}");
    assert!(
        said(&["run", "--from", "@nightly", "--dry-run"]).contains("pipe ping-pong 64B same-cpu")
    );
    assert!(said(&["replicate", "--across", "@paper"]).contains("marhubi"));
    // A cell by either of its names.
    let cell = "pipe ping-pong 64B same-cpu";
    let trend = said(&["history", "trend", cell]);
    assert!(
        trend.starts_with(&format!("{cell}: ")) && trend.contains("\n2 documents of "),
        "{trend}"
    );
    assert_eq!(trend, said(&["history", "trend", "pipe same-cpu", "@nightly"]));
    // To a file in the format of its ending.
    for (file, format) in [
        ("trend.txt", "table"),
        ("trend.md", "markdown"),
        ("trend.json", "json"),
        ("trend.html", "html"),
    ] {
        assert_eq!(said(&["history", "trend", cell, "-o", file]), "");
        let shown = said(&["history", "trend", cell, "--format", format]);
        assert_eq!(sandbox.read(file).expect("written"), shown, "{file}");
    }
    // Nothing is written among the documents.
    let first = ".local/share/ipcperf/1-nightly.json";
    let other = ".local/share/ipcperf/other.json";
    for words in [
        &["history", "trend", cell, "-o", first][..],
        &["report", "b.json", "--format", "json", "-o", first],
        &["report", "b.json", "--format", "json", "-o", other],
        &[&RUN[..], &["-o", first]].concat(),
    ] {
        let told = "would lie among the kept documents, which nothing changes; name another file";
        sandbox.refuses(words, told);
    }
    assert_eq!(kept("1-nightly.json"), sandbox.read("a.json").expect("written"));
    assert!(!sandbox.home().join(other).exists());
    assert_eq!(said(&["history", "rm", "@nightly~1"]), "removed @nightly~1\n");
    assert_eq!(listed(&sandbox), ["@paper", "@nightly"]);
    // A file may be called like a name.
    fs::copy(sandbox.home().join("a.json"), sandbox.home().join("@nightly")).expect("a copy");
    assert_eq!(said(&["report", "./@nightly"]), said(&["report", "a.json"]));
}

#[test]
fn two_who_keep_at_the_same_time_keep_two() {
    let sandbox = Sandbox::new();
    at_once(["a.json", "b.json", "c.json"], |file| {
        let ended = sandbox.run(&[&RUN[..], &["-q", "--keep", "same", "-o", file]].concat());
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    });
    assert_eq!(listed(&sandbox), ["@same", "@same~1", "@same~2"]);
}

#[test]
fn what_cannot_be_kept_is_told_before_measuring_and_after_it_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let mut words = [&RUN[..], &["--keep", "x", "-o", "a.json"]].concat();
    let mut command = sandbox.command(&words);
    command.env("XDG_DATA_HOME", "/proc/nowhere");
    let ended = sandbox.spawn(command).end();
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("ipcperf: cannot keep anything in '/proc/nowhere/ipcperf': "),
        "{}",
        ended.stderr
    );
    assert_eq!((ended.stderr.lines().count(), sandbox.read("a.json").is_err()), (1, true));
    // The directory goes away while it is measured.
    words[10] = "200";
    let running = sandbox.start(&words);
    wait_for("the measuring", || {
        let mut directories = fs::read_dir(sandbox.run_directories()).expect("a folder");
        directories.next().map(drop)
    });
    fs::remove_dir(data(&sandbox)).expect("it is empty");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("Result: a.json\n"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("ipcperf: --keep x: cannot keep it in '~/.local/share/ipcperf': "),
        "{}",
        ended.stderr
    );
    assert_eq!(sandbox.run(&["report", "a.json"]).status.code(), Some(0));
}

#[test]
fn nothing_is_written_in_place_of_a_kept_document_wherever_a_link_leads() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    sandbox.done(&[&RUN[..], &["--keep", "x", "-o", "a.json"]].concat());
    let kept = data(&sandbox).join("1-x.json");
    let before = fs::read(&kept).expect("kept");
    symlink(&kept, sandbox.home().join("link.json")).expect("a link");
    symlink(data(&sandbox).join("2-x.json"), sandbox.home().join("new.json")).expect("a link");
    symlink(data(&sandbox), sandbox.home().join("folder")).expect("a link");
    fs::create_dir(sandbox.home().join("pages")).expect("a folder");
    symlink(&kept, sandbox.home().join("pages/ipcperf.1")).expect("a link");
    for words in [
        &[&RUN[..], &["-o", "link.json"]].concat()[..],
        &[&RUN[..], &["-o", "new.json"]].concat(),
        &[&RUN[..], &["-o", "folder/a.json"]].concat(),
        &["report", "a.json", "--format", "json", "-o", "link.json"],
        &["replicate", "--export", "qiita", "-o", "link.json"],
        &["man", "--dir", "pages"],
    ] {
        sandbox.refuses(words, "would lie among the kept documents");
    }
    assert_eq!(fs::read(&kept).expect("kept"), before);
    assert_eq!(listed(&sandbox), ["@x"]);
}

#[test]
fn a_store_full_of_what_nobody_kept_is_listed_and_kept_in() {
    let sandbox = Sandbox::new();
    let keep = [&RUN[..], &["--keep", "x", "-o", "a.json"]].concat();
    sandbox.done(&keep);
    let index = data(&sandbox).join("index.jsonl");
    fs::remove_file(&index).expect("made");
    assert!(Command::new("mkfifo").arg(&index).status().expect("coreutils").success());
    assert_eq!(listed(&sandbox), ["@x"]);
    fs::remove_file(&index).expect("made anew");
    let hole = fs::File::create(&index).and_then(|file| file.set_len(3 << 30));
    hole.expect("a file system with holes");
    sandbox.done(&keep);
    assert_eq!(listed(&sandbox), ["@x", "@x~1"]);
    // The numbers of documents end there.
    fs::write(data(&sandbox).join(format!("{}-y.json", u64::MAX)), "{}").expect("written");
    sandbox.refuses(&keep, "rename or remove it");
    assert_eq!(listed(&sandbox), ["@y", "@x", "@x~1"]);
}

/// Listing and following read the index, which is made when the documents are first looked at.
#[test]
fn a_thousand_documents_are_listed_and_a_cell_is_followed_over_all() {
    const DOCUMENTS: usize = 1000;
    let sandbox = Sandbox::new();
    sandbox.done(&[&RUN[..], &["--keep", "nightly", "-o", "a.json"]].concat());
    let first = sandbox.result("a.json");
    for number in 2..=DOCUMENTS {
        let mut one = first.clone();
        one["started_utc"] =
            format!("2026-01-01T{:02}:{:02}:{:02}Z", number / 3600, number / 60 % 60, number % 60)
                .into();
        one["cells"][0]["rtt_ns"]["p50"] = serde_json::json!({ "value": 1000.0 + number as f64 });
        let text = serde_json::to_string(&one).expect("JSON");
        fs::write(data(&sandbox).join(format!("{number}-nightly.json")), text).expect("written");
    }
    let said = |words: &[&str]| {
        let ended = sandbox.run(words);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{words:?}");
        ended.stdout
    };
    let list: Value =
        serde_json::from_str(&said(&["history", "list", "--format", "json"])).expect("JSON");
    let names: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    let name = |back: usize| match back {
        0 => "@nightly".to_owned(),
        back => format!("@nightly~{back}"),
    };
    assert_eq!(names, (0..DOCUMENTS).map(name).collect::<Vec<_>>());
    assert_eq!(said(&["history", "list", "--format", "csv"]).lines().count(), 1 + DOCUMENTS);
    let cell = "pipe ping-pong 64B same-cpu";
    let csv = said(&["history", "trend", cell, "--format", "csv"]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().expect("heads");
    let at = heads.iter().position(|head| *head == "value").expect("a column");
    let values: Vec<f64> = lines.map(|line| line[at].parse().expect("a number")).collect();
    // In the order in which they were kept; the first is the one that was measured.
    let made: Vec<f64> = (2..=DOCUMENTS).map(|number| 1000.0 + number as f64).collect();
    assert!(values[1..] == made, "{} figures", values.len());
}
