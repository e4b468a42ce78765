//! The published studies, run again at the smallest scale: their documents, never their figures.

use crate::common::{Sandbox, list, note, text, valid, wait_for, words};
use crate::pipeline::has_socat;
use crate::watch::{has, processes, signal, workers};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// What every replication must hold, whatever the machine.
fn check(study: &Value) {
    let name = text(study, "name");
    for arm in list(study, "arms") {
        let id = text(arm, "id");
        match text(arm, "status") {
            "ok" => assert!(!list(arm, "rounds").is_empty(), "{name} {id}"),
            "unavailable" | "rejected" => {
                assert!(!text(arm, "reason").is_empty(), "{name} {id}");
            }
            // A machine that stands still for long enough loses packets, and the arm says so.
            "failed" if text(arm, "reason").contains("was lost") => {}
            "deadline" => note("a quiet machine", format!("{name} {id}: {}", text(arm, "reason"))),
            other => panic!("{name} {id}: {other}: {}", arm["reason"]),
        }
    }
    for table in list(study, "tables") {
        let columns = list(table, "columns").len();
        for row in list(table, "rows") {
            let what = format!("{name}, {}, {}", text(table, "title"), text(row, "label"));
            let (published, measured) = (list(row, "published"), list(row, "measured"));
            assert!(published.len() >= columns && measured.len() == columns, "{what}");
            for metric in measured {
                let has_number = metric["value"].is_number();
                let is_explained =
                    metric["reason"].as_str().is_some_and(|reason| !reason.is_empty());
                assert!(has_number || is_explained, "{what}: {metric}");
            }
        }
    }
    let grade = text(&study["noise"], "grade");
    let is_measured = |arm: &&Value| arm["work"] == "cell" && arm["status"] == "ok";
    if list(study, "arms").iter().any(|arm| is_measured(&arm)) {
        // One round has no spread, so that only a machine of grade F has a grade.
        let one = (study["rounds"] == 1).then_some("none");
        let known = ["A", "B", "C", "D", "F"].into_iter().chain(one);
        assert!(known.into_iter().any(|known| known == grade), "{name}: '{grade}'");
    }
    for claim in list(study, "claims") {
        let (id, verdict) = (text(claim, "id"), text(claim, "verdict"));
        assert!(!text(claim, "reason").is_empty(), "{name} {id}");
        let own = match text(claim, "kind") {
            "claim" | "reading" if grade == "F" => &["INCONCLUSIVE", "UNTESTABLE"][..],
            "claim" | "reading" => {
                &["REPRODUCED", "DIRECTION", "NOT REPRODUCED", "INCONCLUSIVE", "UNTESTABLE"]
            }
            "extension" => &["MEASURED", "UNTESTABLE"],
            _ => &["HOLDS", "UNTESTABLE"],
        };
        assert!(own.contains(&verdict), "{name} {id}: {claim}");
        let is_published = !claim["published"].is_null();
        let is_theirs = ["claim", "reading"].contains(&text(claim, "kind"));
        assert_eq!(is_published, is_theirs, "{name} {id}");
    }
}

/// Runs a study at the smallest scale: every published cell is a number or explained. Gives its claims. It is about the
/// document: six rounds are just enough for intervals, which one study shows; the others have one.
fn replicate(sandbox: &Sandbox, name: &str, rounds: u64) -> Vec<Value> {
    let (file, count) = (format!("{name}.json"), rounds.to_string());
    let words =
        ["replicate", name, "--scale", "smoke", "--rounds", &count, "--csv", "csv", "-o", &file];
    let ended = sandbox.run(&words);
    let document = valid("replication", &sandbox.read(&file).expect("written"));
    let [study] = list(&document, "studies") else { panic!("{name} is one study") };
    assert_eq!(text(study, "name"), name);
    check(study);
    let has_failed =
        list(study, "arms").iter().any(|arm| ["failed", "deadline"].contains(&text(arm, "status")));
    assert_eq!(ended.status.code(), Some(i32::from(has_failed)), "{}", ended.stderr);
    assert_eq!(study["rounds"], rounds);
    // The same document, shown again.
    assert_eq!(sandbox.run(&["report", &file]).stdout, ended.stdout);
    for format in ["markdown", "csv", "ndjson"] {
        let shown = sandbox.run(&["report", &file, "--format", format]);
        assert!(shown.status.success() && !shown.stdout.is_empty(), "{format}");
    }
    let wide = ended.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "80 columns are enough");
    assert!(ended.stdout.lines().count() <= 60, "{}", ended.stdout);
    let top: Vec<&str> = ended.stdout.lines().take(12).flat_map(str::split_whitespace).collect();
    let top = top.join(" ");
    let outcomes = [
        ": so it is here (",
        ": its direction holds here",
        ": not so here (",
        ": left open here (",
        ": not tested here (",
        ": as published, but by an artefact",
        "too disturbed to judge",
    ];
    assert!(outcomes.iter().any(|outcome| top.contains(outcome)), "{}", ended.stdout);
    let is_theirs = |claim: &&Value| claim["kind"] == "claim";
    for claim in list(study, "claims").iter().filter(is_theirs) {
        let id = text(claim, "id");
        let is_there = ended.stdout.split_whitespace().any(|word| word == id);
        assert!(is_there, "{id}: {}", ended.stdout);
    }
    sandbox.leaves_nothing();
    list(study, "claims").to_vec()
}

#[test]
fn inferno_runs_and_every_cell_is_a_number_or_explained() {
    assert!(replicate(&Sandbox::new(), "inferno", 1).len() >= 13);
}

#[test]
fn qiita_runs_and_every_cell_is_a_number_or_explained() {
    assert!(replicate(&Sandbox::new(), "qiita", 1).len() >= 9);
}

#[test]
fn wisconsin_runs_and_every_cell_is_a_number_or_explained() {
    assert!(replicate(&Sandbox::new(), "wisconsin", 1).len() >= 13);
}

#[test]
fn baeldung_runs_and_every_cell_is_a_number_or_explained() {
    let sandbox = Sandbox::new();
    assert!(replicate(&sandbox, "baeldung", 1).len() >= 17);
    let csv = sandbox.read("csv/anonpipe.csv").expect("written");
    let first = if has_socat() { "N,BS,BITS/S\n1," } else { "N,BS,BITS/S\n" };
    assert!(csv.starts_with(first), "{csv}");
}

#[test]
fn marhubi_runs_and_every_cell_is_a_number_or_explained() {
    let claims = replicate(&Sandbox::new(), "marhubi", 6);
    assert!(claims.len() >= 11);
    let proof = claims.iter().find(|claim| claim["id"] == "s4.c1.proof").expect("of marhubi");
    assert_eq!(proof["verdict"], "HOLDS", "the self-loop is refused");
}

const MINE: &str = r#"
name = "mine"
title = "My own study"
summary = "Is a pipe faster than a UNIX socket?"
statistic = "median"
scale.smoke.rounds = 8
scale.quick.rounds = 8
scale.full.rounds = 8
[[arm]]
id = "pipe"
work = "cell"
mechanism = "pipe"
placement = "same-cpu"
slice = "5ms"
warmup = "2ms"
[[arm]]
id = "socket"
work = "cell"
mechanism = "unix-stream"
placement = "same-cpu"
slice = "5ms"
warmup = "2ms"
[[table]]
title = "Round trip"
unit = "ns"
statistic = "median"
columns = ["p50"]
[[table.row]]
label = "pipe"
cells = "{}_ns(pipe)"
[[claim]]
id = "c1"
text = "A UNIX socket takes longer than a pipe"
test = "p50_ns(socket) / p50_ns(pipe)"
"#;

#[test]
fn a_study_by_somebody_else_neither_leaves_its_folder_nor_commands_the_terminal() {
    let sandbox = Sandbox::new();
    let study = |name: &str, text: &str| {
        fs::write(sandbox.home().join(name), text).expect("a study");
    };
    study("leaves.toml", &MINE.replace("name = \"mine\"", "name = \"../../leaves\""));
    let ended = sandbox.run(&["replicate", "leaves.toml", "--csv", "csv/deep"]);
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(2), ""));
    for part in ["study file 'leaves.toml'", "'../../leaves'", "letters, digits"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let nasty = "\\u001B]52;c;QQ==\\u0007\\u009B2J\\u202E";
    let text = MINE.replace("id = \"pipe\"", &format!("id = \"pipe\"\nlabel = \"{nasty}\""));
    study("commands.toml", &text);
    let plan = sandbox.run(&["replicate", "commands.toml", "--dry-run", "-o", "mine.json"]);
    assert_eq!(plan.status.code(), Some(0), "{}", plan.stderr);
    assert!(plan.stdout.contains("result: mine.json"), "{}", plan.stdout);
    study("wrong.toml", &text.replace("statistic = \"median\"", &format!("\"{nasty}\" = 1")));
    let wrong = sandbox.run(&["replicate", "wrong.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    for said in [plan.stdout, wrong.stderr] {
        assert!(said.contains("?]52;c;QQ=="), "{said:?}");
        let obeyed = |sign: char| (sign != '\n' && sign.is_control()) || sign == '\u{202e}';
        assert!(!said.contains(obeyed), "{said:?}");
    }
}

#[test]
fn a_path_in_a_study_that_leads_out_of_the_current_directory_must_be_typed() {
    let sandbox = Sandbox::new();
    let secret = sandbox.temporary().join("secret");
    fs::write(&secret, "secret").expect("a file");
    let secret = secret.display().to_string();
    let dry = ["replicate", "mine.toml", "--dry-run"];
    let study = |more: &str, differs: &str| {
        let text = MINE.replace("id = \"pipe\"", &format!("id = \"pipe\"\n{more}"));
        let text = text.replace("test = \"p50", &format!("differs = [{differs}]\ntest = \"p50"));
        fs::write(sandbox.home().join("mine.toml"), text).expect("a study");
    };
    study(&format!("touch = \"full\"\npayload = \"{secret}\""), "\"touch\"");
    let setting = format!("pipe.payload={secret}");
    sandbox.refuses(&dry, &format!("--set '{setting}'"));
    sandbox.done(&[&dry[..], &["--set", &setting]].concat());
    study("set = { \"temp-file.dir\" = \"/any/dir\" }", "");
    sandbox.refuses(&dry, "temp-file.dir '/any/dir' lies outside the current directory");
    study("set = { \"temp-file.dir=/any/dir\" = \"x\" }", "");
    sandbox.refuses(&dry, "temp-file.dir '/any/dir=x' lies outside the current directory");
    // Behind the name of its mechanism.
    let mechanism = "mechanism = \"pipe\"";
    assert!(MINE.contains(mechanism));
    let behind = MINE.replace(mechanism, "mechanism = \"temp-file dir=/any/dir\"");
    fs::write(sandbox.home().join("mine.toml"), behind).expect("a study");
    let ended = sandbox.run(&dry);
    let told =
        "temp-file.dir '/any/dir' lies outside the current directory; to allow it, type: --set";
    assert!(ended.status.code() == Some(2) && ended.stderr.contains(told), "{ended:?}");
}

/// Whether all is there that a program needs may be a question of seconds.
#[test]
fn a_study_that_looks_for_what_programs_need_can_be_interrupted() {
    let sandbox = Sandbox::new();
    let arm = |id: &str| {
        format!(
            "[[arm]]\nid = \"{id}\"\nwork = \"exec\"\nprograms = [\"true\"]\nneeds = \"sleep 600\"\n"
        )
    };
    let head = MINE.split("[[arm]]").next().expect("text before the first arm");
    let table = "[[table]]\ntitle = \"Time\"\nunit = \"s\"\nstatistic = \"median\"\ncolumns = [\"wall\"]\n\
                 [[table.row]]\nlabel = \"a\"\ncells = \"{}_s(a)\"\n";
    let study = format!("{head}{}{}{table}", arm("a"), arm("b"));
    fs::write(sandbox.home().join("slow.toml"), study).expect("a study");
    let running = sandbox.start(&["replicate", "slow.toml", "--allow-exec", "-o", "slow.json"]);
    let looks = |pid: &u32| has(*pid, "cmdline", "600");
    wait_for("a program that looks", || processes(&sandbox).iter().any(looks).then_some(()));
    signal("TERM", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let document = valid("replication", &sandbox.read("slow.json").expect("written"));
    assert_eq!(document["interrupted"], true);
    for arm in list(&list(&document, "studies")[0], "arms") {
        assert_eq!(text(arm, "status"), "skipped", "{arm}");
    }
}

#[test]
fn a_study_of_ones_own_is_run_like_the_others() {
    let sandbox = Sandbox::new();
    let csv =
        "[[csv]]\nfile = \"f.csv\"\nheader = [\"=1+2\"]\narms = [\"pipe\"]\nvalues = [\"arm\"]\n";
    fs::write(sandbox.home().join("mine.toml"), format!("{MINE}{csv}")).expect("a study");
    let words = ["replicate", "./mine.toml", "--format", "json", "--seed", "7", "--csv", "csv"];
    let ended = sandbox.done(&words);
    let document = valid("replication", &ended.stdout);
    let study = &list(&document, "studies")[0];
    check(study);
    let csv = sandbox.read("csv/f.csv").expect("written");
    assert_eq!(csv, format!("'=1+2\n{}", "pipe\n".repeat(8)), "a text is no formula");
    let claim = &list(study, "claims")[0];
    assert_eq!(claim["verdict"], "MEASURED", "nobody published it: {claim}");
    assert!(claim["measured"]["ci95"].is_array());
    for arm in list(study, "arms") {
        assert_eq!(list(arm, "rounds").len(), 8);
    }
    let wrong = MINE.replace("unix-stream", "unix-steam");
    fs::write(sandbox.home().join("wrong.toml"), wrong).expect("a study");
    sandbox.refuses(&["replicate", "wrong.toml"], "did you mean 'unix-stream'");
    let large = MINE.replace("id = \"pipe\"", "id = \"pipe\"\nsize = 2305843009213693952");
    let large = large.replace("test = \"p50", "differs = [\"size\"]\ntest = \"p50");
    fs::write(sandbox.home().join("large.toml"), large).expect("a study");
    sandbox.refuses(&["replicate", "large.toml"], "is above 1G, the largest message");
    sandbox.leaves_nothing();
}

/// A size that a user added to an arm was measured, and shown nowhere.
#[test]
fn more_sizes_have_columns_and_what_no_table_shows_is_refused() {
    let sandbox = Sandbox::new();
    let study = r#"
name = "sizes"
title = "Sizes"
scale.smoke.rounds = 1
scale.quick.rounds = 1
scale.full.rounds = 1
scale.smoke.cell = { slice = "2ms" }
[[arm]]
id = "pipe"
work = "cell"
mechanism = "pipe"
placement = "free"
each = { size = [64, 128] }
[[table]]
title = "Times"
unit = "ns"
statistic = "median"
columns = ["64", "128"]
[[table.row]]
label = "pipe"
cells = "p50_ns(pipe[{}])"
published = [1, 2]
"#;
    fs::write(sandbox.home().join("sizes.toml"), study).expect("a study");
    let words = ["replicate", "./sizes.toml", "--blocks", "96,128", "-q", "-o", "r.json"];
    let ended = sandbox.run(&words);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let document = valid("replication", &sandbox.read("r.json").expect("written"));
    let table = &list(&list(&document, "studies")[0], "tables")[0];
    assert_eq!(table["columns"], serde_json::json!(["64", "128", "96"]));
    let measured = list(&list(table, "rows")[0], "measured");
    assert!(measured.iter().all(|one| one["value"].as_f64() > Some(0.0)), "{table}");
    let wide = study.replace("[64, 128]", "[64, 128, 96]");
    fs::write(sandbox.home().join("sizes.toml"), wide).expect("a study");
    sandbox.refuses(
        &["replicate", "./sizes.toml"],
        "arm pipe[96]: no table, claim or csv file has a reading of it",
    );
}

#[test]
fn the_published_programs_of_a_study_are_a_script() {
    let sandbox = Sandbox::new();
    let words = ["replicate", "--export-script", "baeldung", "--blocks", "4096", "--rounds", "1"];
    assert_eq!(sandbox.run(&words).status.code(), Some(0));
    let script = sandbox.read("baeldung.sh").expect("written");
    for part in ["run 'named pipe 100'", "-b 4096", "mkfifo namedpipe"] {
        assert!(script.contains(part), "{script}");
    }
    if has_socat() {
        let home = sandbox.home();
        let ended = Command::new("sh").arg("baeldung.sh").current_dir(home).output();
        let said = String::from_utf8(ended.expect("sh runs").stdout).expect("text");
        let is_rate = |line: &&str| {
            line.split_once('\t').is_some_and(|(_, rate)| rate.parse::<u64>().is_ok())
        };
        assert_eq!(
            said.lines().filter(is_rate).count(),
            script.matches("  run '").count(),
            "{said}"
        );
    }
    sandbox.refuses(&["replicate", "--export-script", "qiita"], "baeldung does");
}

#[test]
fn a_study_whose_arm_fails_says_so_by_its_exit_code() {
    let sandbox = Sandbox::new();
    let arm = "[[arm]]\nid = \"never\"\nwork = \"exec\"\nprograms = [\"false\"]\n";
    let head = MINE.split("[[arm]]").next().expect("text before the first arm");
    let table = "[[table]]\ntitle = \"Time\"\nunit = \"s\"\nstatistic = \"median\"\ncolumns = [\"wall\"]\n\
                 [[table.row]]\nlabel = \"never\"\ncells = \"{}_s(never)\"\n";
    fs::write(sandbox.home().join("never.toml"), format!("{head}{arm}{table}")).expect("a study");
    let ended = sandbox.run(&["replicate", "never.toml", "--allow-exec", "-o", "never.json"]);
    assert_eq!(ended.status.code(), Some(1), "{}{}", ended.stdout, ended.stderr);
    let document = valid("replication", &sandbox.read("never.json").expect("written"));
    let arm = &list(&list(&document, "studies")[0], "arms")[0];
    assert_eq!(text(arm, "status"), "failed");
}

#[test]
fn a_file_beside_the_document_that_cannot_be_written_costs_no_measurement() {
    let sandbox = Sandbox::new();
    let csv =
        "[[csv]]\nfile = \"f.csv\"\nheader = [\"a\"]\narms = [\"pipe\"]\nvalues = [\"arm\"]\n";
    fs::write(sandbox.home().join("mine.toml"), format!("{MINE}{csv}")).expect("a study");
    fs::create_dir_all(sandbox.home().join("csv/f.csv")).expect("a folder in the file's place");
    let ended = sandbox.run(&["replicate", "mine.toml", "--csv", "csv", "-o", "mine.json"]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("My own study"), "it is shown: {}", ended.stdout);
    assert!(ended.stderr.contains("cannot write 'csv/f.csv'"), "{}", ended.stderr);
    let document = valid("replication", &sandbox.read("mine.json").expect("kept"));
    check(&list(&document, "studies")[0]);
}

/// Nor do the directories of killed runs outlive it.
#[test]
fn a_study_removes_what_a_killed_run_left() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("mine.toml"), MINE).expect("a study");
    let mut killed = sandbox.start(&["run", "-m", "pipe", "--slice", "60s", "-o", "x.json"]);
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    killed.child.kill().expect("our own child");
    drop(killed.end());
    assert_eq!(fs::read_dir(sandbox.run_directories()).expect("a folder").count(), 1);
    sandbox.done(&["replicate", "mine.toml", "--rounds", "1"]);
    sandbox.leaves_nothing();
}

#[test]
fn a_study_is_exported_and_no_file_is_lost_by_it() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["replicate", "--export", "marhubi"]);
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("Study: marhubi.toml"), "{}", ended.stderr);
    let text = sandbox.read("marhubi.toml").expect("written");
    assert_eq!(sandbox.run(&["replicate", "--export", "marhubi", "-o", "-"]).stdout, text);
    let plan = sandbox.run(&["replicate", "marhubi.toml", "--dry-run"]);
    assert!(plan.stdout.contains("marhubi: "), "{}{}", plan.stdout, plan.stderr);
    fs::write(sandbox.home().join("marhubi.toml"), "mine").expect("writable");
    sandbox.refuses(&["replicate", "--export", "marhubi"], "'marhubi.toml' is here already");
    assert_eq!(sandbox.read("marhubi.toml").expect("untouched"), "mine");
    let over = sandbox.run(&["replicate", "--export", "marhubi", "-o", "marhubi.toml"]);
    assert!(over.stderr.contains("in place of what was there"), "{}", over.stderr);
    sandbox.refuses(&["replicate", "--export", "marhubbi"], "did you mean 'marhubi'?");
}

#[test]
fn of_one_claim_only_what_it_needs_is_measured_drawn_and_held_against_another_run() {
    let sandbox = Sandbox::new();
    let line = "replicate --only s4.c2 --set samples=200 --rounds 6 --plots pictures \
                --format markdown -o a.json";
    let ended = sandbox.done(&words(line));
    let document = valid("replication", &sandbox.read("a.json").expect("written"));
    let [study] = list(&document, "studies") else { panic!("one study has this claim") };
    check(study);
    let ids: Vec<&str> = list(study, "arms").iter().map(|arm| text(arm, "id")).collect();
    assert_eq!(ids, ["pipes", "eventfd"]);
    let cuts: Vec<&str> = list(study, "cuts").iter().filter_map(Value::as_str).collect();
    assert_eq!(cuts, ["Limited to s4.c2 (--only).", "Not as its file says: samples=200."]);
    assert!(ended.stdout.contains("](<pictures/marhubi-tails.svg>)"), "{}", ended.stdout);
    let svg = sandbox.read("pictures/marhubi-tails.svg").expect("drawn");
    assert!(svg.starts_with("<svg") && svg.contains(">eventfd</text>"), "{svg}");
    let across = sandbox.run(&["replicate", "--across", "a.json", "a.json"]);
    assert_eq!(across.status.code(), Some(0), "{}", across.stderr);
    for part in ["s4.c2", "No claim of an author"] {
        assert!(across.stdout.contains(part), "{part}: {}", across.stdout);
    }
    for (words, code, part) in [
        (["--only", "s4.c22"], 2, "did you mean 's4.c2"),
        (["--set", "sampels=2"], 2, "did you mean 'samples'?"),
        (["--set", "cell.samples=-2"], 2, "invalid value"),
        (["--set", "block=4096"], 2, "'ipcperf replicate --export baeldung'"),
        (["--set", "slice=10000"], 2, "has no unit"),
        (["--set", "cell.samples=1000000000000"], 2, "is above 100000000"),
        (["--budget", "soon"], 2, "--budget"),
        (["--across", "/dev/null"], 4, "no result of 'ipcperf replicate'"),
    ] {
        let ended = sandbox.run(&["replicate", words[0], words[1]]);
        assert_eq!(
            (ended.status.code(), ended.stderr.lines().count()),
            (Some(code), 1),
            "{words:?}"
        );
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
    sandbox.leaves_nothing();
}

#[test]
fn a_budget_cuts_the_scale_and_says_so_before_it_begins_and_in_the_document() {
    let sandbox = Sandbox::new();
    let mine = MINE.replacen(
        "scale.full.rounds = 8",
        "scale.full = { rounds = 8, pipe = { slice = \"60s\" } }",
        1,
    );
    fs::write(sandbox.home().join("mine.toml"), mine).expect("a study");
    let words = ["replicate", "mine.toml", "--scale", "full", "--budget", "20s", "-o", "x.json"];
    let ended = sandbox.done(&words);
    let document = valid("replication", &sandbox.read("x.json").expect("written"));
    let study = &list(&document, "studies")[0];
    check(study);
    assert_ne!(text(study, "scale"), "full");
    let cut = list(study, "cuts")[0].as_str().expect("a sentence");
    assert!(cut.starts_with("Cut to fit the budget: ") && cut.contains("and not full"), "{cut}");
    assert!(ended.stderr.contains(cut) && ended.stdout.contains("Cut to fit"), "{}", ended.stderr);
}

/// They are not shipped, so arms that run them are there only where the user says where they are.
#[test]
fn files_of_an_author_are_run_where_the_user_says_they_are_and_what_they_write_is_read() {
    let sandbox = Sandbox::new();
    let arm = "[[arm]]\nid = \"theirs\"\nwork = \"exec\"\nfigures = true\nfiles = [\"table.sh\"]\n\
               programs = ['sh {folder}/table.sh {directory}']\n";
    let rest = "[[table]]\ntitle = \"Theirs\"\nunit = \"s\"\nstatistic = \"median\"\ncolumns = [\"user\"]\n\
                [[table.row]]\nlabel = \"theirs\"\ncells = \"{}_s.tcp__1(theirs)\"\n\
                [[claim]]\nid = \"c2\"\ntext = \"Theirs\"\ntest = \"user_s.tcp__1(theirs)\"\nvalue = true\n";
    fs::write(sandbox.home().join("mine.toml"), format!("{MINE}{arm}{rest}")).expect("a study");
    fs::create_dir(sandbox.home().join("theirs")).expect("a folder");
    let common = ["replicate", "mine.toml", "--allow-exec", "--rounds", "2", "-o", "x.json"];
    let with = |more: &[&'static str]| [&common[..], more].concat();
    sandbox.done(&common);
    let document = valid("replication", &sandbox.read("x.json").expect("written"));
    let ids = |document: &Value| {
        let arms = list(&list(document, "studies")[0], "arms").iter();
        arms.map(|arm| text(arm, "id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&document), ["pipe", "socket"]);
    sandbox.refuses(&with(&["--only", "c2"]), "claim c2 is of the author's own files: --files DIR");
    sandbox
        .refuses(&with(&["--files", "nowhere"]), "--files: 'nowhere' cannot be read as a folder");
    fs::write(sandbox.home().join("theirs/tabel.sh"), "").expect("a file");
    let near = "there is no file 'table.sh' in 'theirs'; did you mean 'tabel.sh'?";
    sandbox.refuses(&with(&["--files", "theirs"]), near);
    sandbox.refuses(
        &["replicate", "marhubi", "--files", "theirs"],
        "--files: nothing that is measured runs files of an author; qiita does",
    );
    let file = "test -d \"$1\" && echo user_s.tcp__1 1.5";
    fs::write(sandbox.home().join("theirs/table.sh"), file).expect("a file");
    sandbox.done(&with(&["--files", "theirs"]));
    let document = valid("replication", &sandbox.read("x.json").expect("written"));
    assert_eq!(ids(&document), ["pipe", "socket", "theirs"]);
    let study = &list(&document, "studies")[0];
    let table = list(study, "tables").last().expect("the table of theirs");
    let cell = &list(&list(table, "rows")[0], "measured")[0];
    assert_eq!(cell["value"], 1.5, "{cell}");
    let cut = list(study, "cuts")[0].as_str().expect("a sentence");
    assert_eq!(cut, "The author's own files were run, too: table.sh.");
    let home = sandbox.home().display().to_string();
    assert!(!document.to_string().contains(&home), "a result may be shared: {document}");
    let needs = format!("{MINE}{arm}needs = 'sh -c \"echo no gem >&2; exit 1\"'\n{rest}");
    fs::write(sandbox.home().join("mine.toml"), needs).expect("a study");
    sandbox.refuses(&with(&["--files", "theirs"]), "--files: sh: exit code 1: no gem");
}

#[test]
fn a_replication_that_is_given_twice_is_one_machine() {
    let sandbox = Sandbox::new();
    let text = include_str!("../../../studies/src/screens/fixtures/marhubi.json");
    for name in ["here.json", "again.json"] {
        fs::write(sandbox.home().join(name), text).expect("written");
    }
    let twice = sandbox.run(&["replicate", "--across", "here.json", "again.json"]);
    let once = sandbox.run(&["replicate", "--across", "here.json"]);
    assert_eq!((twice.stdout, twice.status.code()), (once.stdout, Some(0)));
    let told = "Left out: 'again.json' is the same result as 'here.json', or a part of it\n";
    assert_eq!((once.stderr.as_str(), twice.stderr.as_str()), ("", told));
}
