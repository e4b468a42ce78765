//! The same result in every format, printed at once and shown again later.

use crate::common::{Sandbox, cells, rounds, valid, words};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

const FORMATS: [&str; 5] = ["table", "markdown", "csv", "json", "ndjson"];

/// Three cells that can run everywhere, one that cannot.
const RUN: &str = "run -m pipe,eventfd,unix-stream,pipe/spin --place same-cpu --rounds 2 \
                   --slice 5ms --warmup 2ms --seed 7";

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&words(RUN)[..], more].concat()
}

/// What is in a text of that format, checked as far as the format allows.
fn check(format: &str, text: &str, document: &Value) {
    let names = cells(document).iter().filter_map(|cell| cell["mechanism"].as_str());
    for name in names {
        assert!(text.contains(name), "{format} leaves out {name}:\n{text}");
    }
    let count = cells(document).len();
    match format {
        "json" => assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), document),
        "ndjson" => {
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let kinds: Vec<_> = lines.map(|line| line["type"].clone()).collect();
            assert_eq!(kinds[0], "run");
            assert_eq!(kinds.iter().filter(|kind| **kind == "cell").count(), count);
        }
        "csv" => {
            assert_eq!(
                text.lines().filter(|line| line.contains(",same-cpu,")).count(),
                count,
                "{text}"
            );
        }
        "markdown" => assert!(text.contains("| pipe |"), "{text}"),
        "table" => {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(!text.contains('\u{1b}'), "no colour without a terminal");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_format_shows_every_cell_and_the_file_shows_it_again() {
    let sandbox = Sandbox::new();
    for format in FORMATS {
        let ended = sandbox.run(&run(&["--format", format, "-o", "result.json"]));
        assert_eq!(ended.status.code(), Some(0), "{format}: {}", ended.stderr);
        let written = sandbox.read("result.json").expect("written");
        let document = valid("result", &written);
        check(format, &ended.stdout, &document);
        let again = sandbox.run(&["report", "result.json", "--format", format]);
        assert_eq!((again.status.code(), again.stdout), (Some(0), ended.stdout), "{format}");
        if format == "json" {
            assert_eq!(sandbox.run(&["report", "result.json", "--format", "json"]).stdout, written);
        }
        let words = ["report", "result.json", "--format", format, "-o", "again"];
        assert_eq!(sandbox.run(&words).stdout, "");
        check(format, &sandbox.read("again").expect("written"), &document);
        fs::remove_file(sandbox.home().join("again")).expect("it was there");
    }
    let found = fs::read_dir(sandbox.home()).expect("a folder").count();
    assert_eq!(found, 1, "the result file was replaced each time and nothing lies beside it");
}

#[test]
fn a_file_has_the_format_of_its_ending() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("old.json"), FIRST).expect("written");
    for (name, format) in [
        ("a.txt", "table"),
        ("a.md", "markdown"),
        ("A.CSV", "csv"),
        ("a.json", "json"),
        ("a.html", "html"),
        ("a.ndjson", "ndjson"),
        ("a.jsonl", "ndjson"),
    ] {
        let told = sandbox.run(&["report", "old.json", "--format", format]).stdout;
        for more in [&[][..], &["--format", format]] {
            let ended = sandbox.run(&[&["report", "old.json", "-o", name], more].concat());
            assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""), "{name}");
            assert_eq!(sandbox.read(name).expect("written"), told, "{name}");
        }
    }
    let printed = sandbox.run(&["report", "old.json", "-o", "-", "--format", "csv"]);
    assert_eq!(printed.stdout, sandbox.read("A.CSV").expect("written"));
    let before = fs::read_dir(sandbox.home()).expect("a folder").count();
    for words in [
        &["report", "old.json", "-o", "x.xlsx"][..],
        &["report", "old.json", "-o", "x"],
        &["report", "old.json", "-o", "x.csv", "--format", "json"],
        &["run", "-m", "pipe", "-o", "x.csv"],
        // What would be refused is no plan.
        &["run", "-m", "pipe", "--dry-run", "-o", "x.csv"],
        &["exec", "true", "--dry-run", "-o", "x.csv"],
        &["run", "-m", "pipe", "--dry-run", "--format", "jsn"],
        &["survey", "-o", "x.md"],
        &["compare", "old.json", "old.json", "-o", "x.txt"],
        &["replicate", "inferno", "-o", "x.parquet"],
    ] {
        sandbox.refuses(words, words[words.len() - 1]);
    }
    assert_eq!(fs::read_dir(sandbox.home()).expect("a folder").count(), before);
}

#[test]
fn a_dash_prints_the_document_and_nothing_else() {
    let sandbox = Sandbox::new();
    for format in ["table", "json"] {
        let ended = sandbox.run(&run(&["-o", "-", "--format", format]));
        let document = valid("result", &ended.stdout);
        assert_eq!(cells(&document).len(), 4);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    }
    assert_eq!(fs::read_dir(sandbox.home()).expect("a folder").count(), 0, "no file was written");
}

#[test]
fn without_a_name_the_result_is_where_the_program_says() {
    let sandbox = Sandbox::new();
    for quiet in [false, true] {
        let ended = sandbox.run(&run(if quiet { &["-q"] } else { &[] }));
        assert_eq!(ended.status.code(), Some(0));
        if quiet {
            assert_eq!(ended.stderr, "");
            continue;
        }
        let name = ended.stderr.trim().strip_prefix("Result: ").expect("one line");
        assert!(name.starts_with("ipcperf-") && name.ends_with(".json"), "{name}");
        sandbox.result(name);
    }
    assert_eq!(fs::read_dir(sandbox.home()).expect("a folder").count(), 2);
}

#[test]
fn a_packed_result_is_read_as_the_plain_one_and_a_survey_has_one() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&run(&["-o", "a.json.gz"]));
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let packed = fs::read(sandbox.home().join("a.json.gz")).expect("a file");
    assert_eq!(packed[..2], [0x1f, 0x8b]);
    let plain = sandbox.done(&["report", "a.json.gz", "--format", "json"]).stdout;
    valid("result", &plain);
    assert!(packed.len() * 3 < plain.len(), "{} of {}", packed.len(), plain.len());
    for file in ["a.json.gz", "."] {
        assert_eq!(sandbox.done(&["report", file]).stdout, ended.stdout, "{file}");
    }
    fs::write(sandbox.home().join("cut.json.gz"), &packed[..packed.len() / 2]).expect("a file");
    let cut = sandbox.run(&["report", "cut.json.gz"]);
    assert_eq!((cut.status.code(), cut.stderr.lines().count()), (Some(2), 1), "{}", cut.stderr);
    assert!(cut.stderr.starts_with("ipcperf: cannot read 'cut.json.gz': "), "{}", cut.stderr);
    let planned = sandbox.done(&["survey", "--dry-run"]).stdout;
    assert!(planned.contains(", result: ipcperf-UTC.json.gz"), "{planned}");
}

#[test]
fn keys_of_a_newer_minor_version_are_ignored() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&run(&["-o", "old.json"]));
    let mut document = sandbox.result("old.json");
    document["schema"] = "ipcperf.result/2.7".into();
    document["weather"] = serde_json::json!({"sun": [1, 2]});
    document["cells"][0]["colour"] = "blue".into();
    document["cells"][0]["rounds"]["proof"]["witness"] = serde_json::json!([3, 4]);
    let newer = document.to_string();
    valid("result", &newer);
    fs::write(sandbox.home().join("new.json"), newer).expect("a file");
    let shown = sandbox.run(&["report", "new.json"]);
    assert_eq!((shown.status.code(), shown.stdout), (Some(0), ended.stdout));
}

#[test]
fn a_file_cut_anywhere_is_one_clear_line() {
    let sandbox = Sandbox::new();
    sandbox.run(&run(&["-o", "whole.json"]));
    let whole = sandbox.read("whole.json").expect("written");
    for tenth in 0..10 {
        let part = &whole.as_bytes()[..whole.len() * tenth / 10];
        fs::write(sandbox.home().join("cut.json"), part).expect("a file");
        let ended = sandbox.run(&["report", "cut.json"]);
        assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(2), ""), "{tenth} tenths");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("cut off"), "{}", ended.stderr);
    }
}

#[test]
fn the_list_keeps_its_schema_and_every_format_names_every_mechanism() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["list", "--json"]);
    let document = valid("mechanisms", &listed.stdout);
    let mechanisms = document["mechanisms"].as_array().expect("a list");
    for mechanism in mechanisms {
        let available = mechanism["available"] == true;
        assert_eq!(available, mechanism["missing"].is_null(), "{mechanism}");
    }
    for format in FORMATS {
        let ended = sandbox.run(&["list", "--format", format]);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{format}");
        for mechanism in mechanisms {
            let name = mechanism["name"].as_str().expect("a name");
            assert!(ended.stdout.contains(name), "{format} leaves out {name}");
        }
        let read = serde_json::from_str::<Value>(&ended.stdout);
        let is_it = read.is_ok_and(|read| read["mechanisms"] == document["mechanisms"]);
        assert_eq!(format == "json", is_it, "{format}");
    }
    for mechanism in mechanisms {
        let name = mechanism["name"].as_str().expect("a name");
        let ended = sandbox.run(&["describe", name]);
        assert_eq!(ended.status.code(), Some(0), "{name}");
        assert!(ended.stdout.starts_with(name), "{}", ended.stdout);
        let ended = sandbox.run(&["describe", name, "--format", "json"]);
        let one = valid("mechanisms", &ended.stdout);
        assert_eq!(one["mechanisms"], Value::from(vec![mechanism.clone()]));
    }
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let sandbox = Sandbox::new();
    let commands = ["survey", "run", "list", "describe", "report", "clean", "completions", "man"];
    let texts = [
        &["man"][..],
        &["completions", "bash"],
        &["completions", "elvish"],
        &["completions", "fish"],
        &["completions", "powershell"],
        &["completions", "zsh"],
    ];
    for words in texts {
        let ended = sandbox.run(words);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{words:?}");
        for command in commands {
            assert!(ended.stdout.contains(command), "{words:?} leaves out {command}");
        }
        // A worker is the program's own business.
        assert!(!ended.stdout.contains("__worker"), "{words:?}");
    }
}

#[test]
fn the_pages_of_the_manual_are_written_as_any_other_file() {
    let sandbox = Sandbox::new();
    sandbox.done(&["man", "--dir", "man"]);
    let page = |name: &str| sandbox.read(&format!("man/{name}.1")).expect("written");
    for name in ["ipcperf", "ipcperf-run", "ipcperf-trend"] {
        assert!(page(name).contains(&format!(".TH {name} ")), "{}", page(name));
    }
    let place = sandbox.home().join("man/ipcperf-run.1");
    fs::remove_file(&place).expect("it is there");
    std::os::unix::fs::symlink("/dev/full", &place).expect("a link");
    sandbox.refuses(&["man", "--dir", "man"], "only if it is standard output");
}

#[test]
fn a_flag_wins_over_the_job_file_even_if_it_says_the_usual() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("job.toml"), "format = 'csv'\n").expect("a file");
    let csv = sandbox.run(&run(&["job.toml", "-q"]));
    let table = sandbox.run(&run(&["job.toml", "-q", "--format", "table"]));
    assert!(csv.stdout.contains(",same-cpu,"), "{}{}", csv.stdout, csv.stderr);
    assert!(table.stdout.contains("Round trip"), "{}{}", table.stdout, table.stderr);
}

#[test]
fn a_job_file_writes_below_the_current_directory_and_replaces_only_results() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.home().join(name);
    let ended = |output: &str, more: &[&str]| {
        fs::write(at("job.toml"), format!("output = \"{output}\"\n")).expect("a file");
        sandbox.run(&run(&[&["job.toml", "-q"], more].concat()))
    };
    fs::write(at("notes.txt"), "mine").expect("a file");
    fs::create_dir(at("below")).expect("a folder");
    symlink("..", at("below/up")).expect("a link");
    symlink(sandbox.temporary(), at("out")).expect("a link");
    symlink("notes.txt", at("link")).expect("a link");
    let outside = sandbox.temporary().join("x.json").display().to_string();
    for (output, part) in [
        (outside.as_str(), "lies outside the current directory"),
        ("../tmp/x.json", "lies outside the current directory"),
        ("below/../../tmp/x.json", "lies outside the current directory"),
        ("out/x.json", "lies outside the current directory"),
        ("notes.txt", "is not an ipcperf result"),
        ("below/up/notes.txt", "is not an ipcperf result"),
        ("link", "is not an ipcperf result"),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let ended = ended(output, more);
            assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(2), ""), "{output}");
            for part in [part, output, "job file 'job.toml'", "-o"] {
                assert!(ended.stderr.contains(part), "{output}: {}", ended.stderr);
            }
        }
    }
    assert_eq!(sandbox.read("notes.txt").expect("there"), "mine");
    assert_eq!(fs::read_dir(sandbox.temporary()).expect("a folder").count(), 0);

    for shown in ["result: below/x.json\n", "result: below/x.json (replaces what is there)\n"] {
        let plan = ended("below/x.json", &["--dry-run"]);
        assert!(plan.stdout.contains(shown), "{}", plan.stdout);
        let ended = ended("below/x.json", &[]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        sandbox.result("below/x.json");
    }
    fs::write(at("notes.json"), "mine").expect("a file");
    fs::set_permissions(at("notes.json"), PermissionsExt::from_mode(0o640)).expect("ours");
    let typed = ended("../x.json", &["-o", "notes.json"]);
    assert_eq!(typed.status.code(), Some(0), "{}", typed.stderr);
    sandbox.result("notes.json");
    let mode = fs::metadata(at("notes.json")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// Paths of jobs, results and studies, which may be somebody else's, lead nowhere but below the current directory, unless
/// they are typed.
#[test]
fn a_path_in_a_file_that_leads_out_of_the_current_directory_must_be_typed() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.home().join(name);
    let secret = sandbox.temporary().join("secret");
    fs::write(&secret, "secret").expect("a file");
    fs::write(at("own"), "mine").expect("a file");
    symlink(&secret, at("link")).expect("a link");
    symlink(sandbox.temporary(), at("out")).expect("a link");
    let (secret, tmp) = (secret.display().to_string(), sandbox.temporary().display().to_string());
    let of_payload = |file: &str| format!("mechanism = 'pipe'\ntouch = 'full'\npayload = {file}\n");
    let of_knob = |dir: &str| format!("mechanism = 'temp-file'\nset.temp-file.dir = '{dir}'\n");
    let set = format!("--set temp-file.dir={tmp}");
    for (job, flag) in [
        (of_payload(&format!("'{secret}'")), format!("--payload {secret}")),
        (of_payload(&format!("['own', '{secret}']")), format!("--payload {secret}")),
        (of_payload("'own, ../tmp/secret'"), "--payload ../tmp/secret".to_owned()),
        (of_payload("'link'"), "--payload link".to_owned()),
        (of_payload("'out/secret'"), "--payload out/secret".to_owned()),
        (of_knob(&tmp), set.clone()),
        (of_knob("~/x"), "--set temp-file.dir=~/x".to_owned()),
        (format!("mechanism = 'pipe'\n[set]\n'file-rename.dir' = ' {tmp}'\n"), tmp.clone()),
    ] {
        fs::write(at("job.toml"), job).expect("a file");
        for more in [&[][..], &["--dry-run"]] {
            sandbox.refuses(&[&["run", "job.toml"], more].concat(), &flag);
        }
    }
    let dry = ["--place", "same-cpu", "--dry-run"];
    let planned = |words: &[&str]| sandbox.done(&[&["run"], words, &dry].concat()).stdout;
    for payload in ["'own'", "['./own']"] {
        fs::write(at("job.toml"), of_payload(payload)).expect("a file");
        assert!(planned(&["job.toml"]).contains("Messages are cut in turn from "));
    }
    // What is typed is meant, also in place of what the file says.
    fs::write(at("job.toml"), of_payload(&format!("'{secret}'"))).expect("a file");
    assert!(planned(&["job.toml", "--payload", &secret]).contains("payload=secret#"));
    assert!(planned(&["job.toml", "--payload", "own"]).contains("payload=own#"));
    fs::write(at("job.toml"), of_knob("/any/dir")).expect("a file");
    assert!(planned(&["job.toml", "--set", "temp-file.dir=tmpfs"]).contains("temp-file"));

    // A result is repeated likewise.
    let short = ["--rounds", "1", "--slice", "1ms", "--place", "same-cpu", "-o", "run.json"];
    let payload = ["run", "-m", "pipe", "--touch", "full", "--payload", &secret];
    sandbox.done(&[&payload[..], &short].concat());
    sandbox.refuses(&["repeat", "run.json"], &format!("--payload {secret}"));
    let from = ["repeat", "run.json", "--dry-run"];
    sandbox.done(&[&from[..], &["--payload", &secret]].concat());
    let other = [&from[..], &["--payload", &secret, "--payload", "own"]].concat();
    sandbox.refuses(&other, "'payload' would change it");
    for (setting, told) in
        [("pipe.size=1M", "'set' would change it"), ("nonsense", "mechanism.knob=value")]
    {
        sandbox.refuses(&[&from[..], &["--set", setting]].concat(), told);
    }
    let knob = format!("temp-file.dir={tmp}");
    let files = ["run", "-m", "temp-file", "--set", &knob];
    sandbox.done(&[&files[..], &short].concat());
    sandbox.refuses(&["repeat", "run.json"], &set);
    sandbox.done(&[&from[..], &["--set", &knob]].concat());
    let other = [&from[..], &["--set", "temp-file.dir=/other"]].concat();
    sandbox.refuses(&other, "'set' would change it");
}

/// In a sticky directory somebody else may put a folder where one is expected, with links in it.
#[test]
fn nothing_is_written_into_a_folder_that_another_user_put_where_all_may_write() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.home().join(name);
    fs::create_dir_all(at("all/theirs")).expect("folders");
    fs::set_permissions(at("all"), PermissionsExt::from_mode(0o1777)).expect("ours");
    fs::write(at("precious"), "mine").expect("a file");
    for name in ["ipcperf.1", "run.json", "run.csv", "qiita.toml", "new"] {
        symlink(at("precious"), at("all/theirs").join(name)).expect("a link");
    }
    if let Err(error) = chown(at("all/theirs"), Some(65534), None) {
        return crate::common::skipped("another user", error);
    }
    let short = ["--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];
    let measured = |name: &'static str| [&["run", "-m", "pipe", "-o", name], &short[..]].concat();
    sandbox.done(&measured("run.json"));
    for words in [
        &["man", "--dir", "all/theirs"][..],
        &["man", "--dir", "all/theirs/new"],
        &["replicate", "marhubi", "--csv", "all/theirs"],
        &["replicate", "marhubi", "--plots", "all/theirs/new/below"],
        &["replicate", "--export", "qiita", "-o", "all/theirs/qiita.toml"],
        &["report", "run.json", "-o", "all/theirs/run.csv"],
        &measured("all/theirs/run.json"),
        &measured("all/theirs/other.json"),
    ] {
        sandbox.refuses(words, "'theirs' was put into a directory for all by another user");
    }
    assert_eq!(sandbox.read("precious").expect("there"), "mine");
    assert_eq!(fs::read_dir(at("all/theirs")).expect("readable").count(), 5);
}

#[test]
fn what_a_job_file_says_commands_no_terminal() {
    let sandbox = Sandbox::new();
    let nasty = "\\u001B]52;c;QQ==\\u0007\\u009B2J\\u202E";
    let said = |text: String, words: &[&str]| {
        fs::write(sandbox.home().join("job.toml"), text).expect("a file");
        let ended = sandbox.run(&run(&[&["job.toml"], words].concat()));
        assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
        ended.stdout + &ended.stderr
    };
    for said in [
        said(format!("output = \"{nasty}.json\""), &["--dry-run"]),
        said(format!("output = \"{nasty}.json\""), &["--format", "csv"]),
        said(format!("format = \"{nasty}\""), &[]),
        said(format!("\"{nasty}\" = 1"), &[]),
    ] {
        assert!(said.contains("?]52;c;QQ=="), "{said:?}");
        let obeyed = |sign: char| (sign != '\n' && sign.is_control()) || sign == '\u{202e}';
        assert!(!said.contains(obeyed), "{said:?}");
    }
}

#[test]
fn a_device_is_no_place_for_a_result_unless_it_is_standard_output() {
    let sandbox = Sandbox::new();
    sandbox.refuses(&run(&["-o", "/dev/full"]), "only if it is standard output");
    let ended = sandbox.done(&run(&["-q", "-o", "/dev/stdout"]));
    assert!(ended.stdout.contains("\"schema\": \"ipcperf.result/2"), "{}", ended.stdout);
}

/// Written by the program as it was before there was a minor version: six patterns, two rounds.
const FIRST: &str = include_str!("fixtures/result-1.0.json");

#[test]
fn a_document_of_the_first_version_is_shown_with_the_figures_it_had() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("old.json"), FIRST).expect("written");
    let old: Value = serde_json::from_str(FIRST).expect("JSON");
    let written = sandbox.run(&["report", "old.json", "--format", "json"]).stdout;
    let document = valid("result", &written);
    for (old, new) in cells(&old).iter().zip(cells(&document)) {
        assert_eq!(rounds(old), rounds(new));
        let [old, new] = [old, new].map(|cell| {
            let mut cell = cell.clone();
            cell["rounds"] = Value::Null;
            cell
        });
        assert_eq!(old, new);
    }
    for format in FORMATS {
        let ended = sandbox.run(&["report", "old.json", "--format", format]);
        assert_eq!(ended.status.code(), Some(0), "{format}: {}", ended.stderr);
        check(format, &ended.stdout, &document);
    }
    let table = sandbox.run(&["report", "old.json"]).stdout;
    // Round trip, stream, open loop, burst and fan of the pipe.
    for figure in ["4.31 us", "175 MB/s", "8.22 us", "12.3 us", "71.8 MB/s"] {
        assert!(table.contains(figure), "{figure} is missing:\n{table}");
    }
}

#[test]
fn a_report_shows_the_cells_that_are_asked_for_and_names_the_nearest_of_what_is_not_there() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("old.json"), FIRST).expect("written");
    let shown = |more: &[&str]| sandbox.run(&[&["report", "old.json"], more].concat());
    let streams = shown(&["-p", "stream"]);
    assert!(streams.stdout.contains("175 MB/s"), "{}{}", streams.stdout, streams.stderr);
    assert!(!streams.stdout.contains("8.22 us"), "{}", streams.stdout);
    let cut = shown(&["--top", "1", "-m", "all"]);
    assert!(
        cut.stdout.lines().count() <= shown(&["--full"]).stdout.lines().count(),
        "{}",
        cut.stdout
    );
    for (words, told) in [
        (["-m", "pip"], "did you mean 'pipe'"),
        (["-p", "streams"], "did you mean 'stream'"),
        (["-s", "7"], "no cell left with size 7"),
        (["--place", "smt"], "no cell left with placement smt"),
    ] {
        sandbox.refuses(&[&["report", "old.json"], &words[..]].concat(), told);
    }
}

#[test]
fn columns_of_the_environment_count_where_standard_output_is_no_terminal() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("old.json"), FIRST).expect("written");
    let widest = |columns: &str| {
        let ended = sandbox.command(&["report", "old.json"]).env("COLUMNS", columns).output();
        let text = String::from_utf8(ended.expect("runs").stdout).expect("text");
        text.lines().map(str::len).max().expect("lines")
    };
    assert!(widest("140") > 80 && widest("140") <= 140);
    for strange in ["", "nonsense", "-3"] {
        assert!(widest(strange) <= 80, "{strange}");
    }
    // What is beyond the range is the end of it.
    assert!(widest("0") <= 20 && widest("10") == widest("20"));
    assert!(widest("99999") > 140 && widest("99999") == widest("1000"));
}

#[test]
fn what_is_no_result_among_several_files_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    let first = include_str!("fixtures/result-1.0.json");
    let other = first.replacen("\"seed\":1,", "\"seed\":12,", 1);
    assert!(first != other, "another run");
    for (name, text) in [
        ("a.json", first),
        ("b.json", &other),
        ("copy.json", first),
        ("cut.json", &first[..first.len() / 2]),
        ("package.json", "{\"name\": \"x\"}"),
    ] {
        fs::write(sandbox.home().join(name), text).expect("written");
    }
    let all = ["report", "a.json", "b.json", "copy.json", "cut.json", "package.json"];
    let others = |told: &str| {
        let line = told.lines().last().unwrap_or_default().to_owned();
        assert!(line.starts_with("Left out: 2 of 5 files are not results: 'cut.json' ("), "{told}");
        assert!(
            line.contains("'package.json' (not an ipcperf result (no \"schema\" key))"),
            "{told}"
        );
    };
    let shown = sandbox.run(&all);
    assert_eq!(shown.status.code(), Some(4), "{}", shown.stderr);
    others(&shown.stderr);
    let heads: Vec<&str> = shown.stdout.lines().filter(|line| line.starts_with("==>")).collect();
    assert_eq!(heads, ["==> a.json <==", "==> b.json <==", "==> copy.json <=="]);
    let alone = sandbox.run(&["report", "a.json"]).stdout;
    assert!(shown.stdout.starts_with(&format!("==> a.json <==\n{alone}\n")), "{}", shown.stdout);
    let rows = sandbox.run(&[&all[..], &["--format", "csv"]].concat());
    assert_eq!(rows.status.code(), Some(4), "{}", rows.stderr);
    others(&rows.stderr);
    let copy = "Left out: 'copy.json' is the same result as 'a.json', or a part of it";
    assert_eq!(rows.stderr.lines().next(), Some(copy));
    let both = sandbox.run(&["report", "a.json", "b.json", "--format", "csv"]);
    assert_eq!((rows.stdout, ""), (both.stdout, both.stderr.as_str()));
    let none = sandbox.run(&["report", "cut.json", "package.json"]);
    assert_eq!((none.status.code(), none.stdout.as_str()), (Some(2), ""));
    assert!(none.stderr.starts_with("ipcperf: none of 2 files is a result: 'cut.json' ("));
}

#[test]
fn a_folder_and_a_list_stand_for_their_files() {
    let sandbox = Sandbox::new();
    let first = include_str!("fixtures/result-1.0.json");
    let folder = sandbox.home().join("fleet");
    fs::create_dir_all(folder.join("inner")).expect("a folder");
    for (name, seed) in [("b.json", 3), ("a.json", 2), ("inner/c.json", 4)] {
        let text = first.replacen("\"seed\":1,", &format!("\"seed\":{seed},"), 1);
        fs::write(folder.join(name), text).expect("written");
    }
    fs::write(folder.join("notes.txt"), "no result").expect("written");
    let by = |words: &[&str]| sandbox.run(&[&["report"], words, &["--format", "csv"]].concat());
    let [a, b, c] = ["fleet/a.json", "fleet/b.json", "fleet/inner/c.json"];
    let (folder, named) = (by(&["fleet"]), by(&[a, b]));
    assert_eq!((folder.stdout.as_str(), folder.status.code()), (named.stdout.as_str(), Some(0)));
    fs::write(sandbox.home().join("list"), format!("{c}\n\n{a}\nabsent.json\n")).expect("written");
    let (list, named) = (by(&["--files-from", "list"]), by(&[c, a]));
    assert_eq!((list.stdout.as_str(), list.status.code()), (named.stdout.as_str(), Some(4)));
    let told = "Left out: 1 of 3 files is not a result: cannot read 'absent.json': No such file";
    assert!(list.stderr.starts_with(told), "{}", list.stderr);
    // A study among results is named, and nothing is missing.
    let study = include_str!("../../../studies/src/screens/fixtures/marhubi.json");
    fs::write(sandbox.home().join("study.json"), study).expect("written");
    let mixed = by(&[a, "study.json"]);
    assert!(mixed.stderr.starts_with("Left out: 1 of 2 files is not a result: 'study.json'"));
    assert_eq!((mixed.stdout, mixed.status.code()), (by(&[a]).stdout, Some(0)));
    fs::create_dir(sandbox.home().join("none")).expect("a folder");
    sandbox.refuses(&["report", "none"], "no .json file in 'none'");
    fs::write(sandbox.home().join("empty"), "\n").expect("written");
    sandbox.refuses(&["report", "--files-from", "empty"], "--files-from names no file");
}

/// Reading a FIFO would wait for a writer that may never come, and a link without a target was left out unnamed.
#[test]
fn what_is_no_file_in_a_folder_or_a_list_is_named_and_never_opened() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join("fleet");
    fs::create_dir_all(folder.join("folder.json")).expect("a folder");
    fs::write(folder.join("a.json"), include_str!("fixtures/result-1.0.json")).expect("written");
    for name in ["fleet/fifo.json", "fifo"] {
        let made = Command::new("mkfifo").arg(sandbox.home().join(name)).status();
        assert!(made.expect("mkfifo").success());
    }
    symlink("nowhere", folder.join("link.json")).expect("a link");
    symlink("/dev/zero", folder.join("zero.json")).expect("a link");
    for (words, count) in [
        (&["report", "fleet", "--format", "csv"][..], 4),
        (&["report", "fleet"], 4),
        (&["trend", "fleet"], 4),
    ] {
        let ended = sandbox.run(words);
        assert_eq!(ended.status.code(), Some(4), "{words:?} {ended:?}");
        assert_ne!(ended.stdout, "", "{words:?}");
        for told in [
            &format!("Left out: 3 of {count} files are not results"),
            "'fleet/fifo.json': it is a FIFO",
            "'fleet/zero.json': it is a device",
            "'fleet/link.json': No such file",
        ] {
            assert!(ended.stderr.contains(told), "{words:?} {}", ended.stderr);
        }
    }
    sandbox.refuses(
        &["report", "--files-from", "fifo"],
        "--files-from: cannot read 'fifo': it is a FIFO",
    );
    sandbox.refuses(
        &["report", "--files-from", "/dev/zero"],
        "cannot read '/dev/zero': it is a device",
    );
    fs::write(sandbox.home().join("list"), "fifo\n").expect("written");
    sandbox.refuses(&["report", "--files-from", "list"], "cannot read 'fifo': it is a FIFO");
    fs::write(sandbox.home().join("list"), "fleet/a.json\nfifo\n").expect("written");
    for more in [&[][..], &["--format", "csv"]] {
        let ended = sandbox.run(&[&["report", "--files-from", "list"], more].concat());
        assert_eq!(ended.status.code(), Some(4), "{ended:?}");
        let told = "Left out: 1 of 2 files is not a result: cannot read 'fifo': it is a FIFO";
        assert!(ended.stderr.contains(told) && !ended.stdout.is_empty(), "{ended:?}");
    }
    // What a shell opens for the program has a writer.
    let command = "exec \"$0\" report --files-from <(echo fleet/a.json)";
    let mut bash = Command::new("bash");
    bash.args(["-c", command, env!("CARGO_BIN_EXE_ipcperf")]);
    let ended = sandbox.spawn(sandbox.surround(bash, &[])).end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

/// It said nothing of what the run would come to.
#[test]
fn a_dry_run_ends_as_its_run_would_and_sums_up_what_is_long() {
    let sandbox = Sandbox::new();
    let empty = ["run", "-m", "pipe", "-p", "stream", "-s", "0", "--place", "same-cpu"];
    for more in [&["--dry-run"][..], &["-o", "-"]] {
        let ended = sandbox.run(&[&empty[..], more].concat());
        assert_eq!(ended.status.code(), Some(3), "{more:?}: {}", ended.stderr);
    }
    let short = sandbox.done(&["survey", "--dry-run", "--seed", "1"]).stdout;
    let long = sandbox.done(&["survey", "--dry-run", "--seed", "1", "-v"]).stdout;
    assert_eq!(short.lines().next(), long.lines().next());
    assert!(short.lines().count() < long.lines().count() / 3, "{short}");
    assert!(long.contains("\n  pipe ping-pong 64B same-cpu\n"), "{long}");
    let counted = |line: &str| {
        let (_, count) = line.strip_prefix("  ").and_then(|line| line.rsplit_once(": "))?;
        count.strip_suffix(" cells").or(count.strip_suffix(" cell"))?.parse::<u64>().ok()
    };
    let cells: u64 = short.lines().filter_map(counted).sum();
    assert!(short.starts_with(&format!("{cells} cells in ")), "{short}");
}
