//! Programs that nobody here wrote: every byte is counted, what goes wrong is one clear line, and nothing is left.

use crate::common::{Sandbox, can_run, skipped, valid, wait_for};
use crate::watch::{processes, signal, workers};
use ipcperf_sys::program::counts_bytes;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn words<'a>(programs: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["exec"], programs, more, &["-o", "exec.json"]].concat()
}

/// Runs pipelines, and shows them as the valid document has them, with the exit code.
fn measure(sandbox: &Sandbox, programs: &[&str], more: &[&str]) -> (Vec<Value>, i32) {
    let ended = sandbox.run(&words(programs, more));
    let text = sandbox.read("exec.json").unwrap_or_else(|_| panic!("{}", ended.stderr));
    let document = valid("result", &text);
    assert_eq!(document["cells"], Value::Array(Vec::new()));
    assert!(processes(sandbox).is_empty());
    let pipelines = document["pipelines"].as_array().expect("a list").clone();
    (pipelines, ended.status.code().expect("it ends by itself"))
}

/// What is no number has a reason, in every metric below.
fn explained(value: &Value) {
    match value {
        Value::Object(keys) if keys.contains_key("value") => {
            let [figure, reason] = ["value", "reason"].map(|key| keys.get(key));
            let is_number = figure.is_some_and(Value::is_number);
            assert!(is_number || reason.is_some_and(Value::is_string), "{value}");
            assert!(keys.contains_key("ci95") || reason.is_some_and(Value::is_string), "{value}");
        }
        Value::Object(keys) => keys.values().for_each(explained),
        Value::Array(items) => items.iter().for_each(explained),
        _ => {}
    }
}

#[test]
fn every_byte_of_a_pipeline_is_counted_and_every_figure_explained() {
    let sandbox = Sandbox::new();
    let programs = ["head -c 3M /dev/zero", "cat", "wc -c"];
    let (pipelines, code) = measure(&sandbox, &programs, &["--rounds", "7"]);
    assert_eq!((pipelines.len(), code), (1, 0));
    let one = &pipelines[0];
    explained(one);
    assert_eq!(one["id"], "head -c 3M /dev/zero | cat | wc -c");
    assert_eq!((&one["status"], one["rounds"].as_array().map(Vec::len)), (&"ok".into(), Some(7)));
    // Of two modes the figures are those of the larger one, which may have too few rounds for an interval.
    let is_bimodal = one["elapsed_ns"]["modes"].is_array();
    for key in ["elapsed_ns", "bytes_per_second", "cpu_ns"] {
        assert!(one[key]["value"].as_f64().is_some_and(|value| value > 0.0), "{key}: {one}");
        assert!(is_bimodal || one[key]["ci95"].is_array(), "{key}: {one}");
    }
    let names: Vec<_> = one["programs"].as_array().expect("a list").iter().collect();
    assert!(names.iter().zip(programs).all(|(one, name)| one["command"] == name));
    for round in one["rounds"].as_array().expect("a list") {
        assert_eq!(round["arrived_bytes"], "3145728\n".len());
        assert_eq!(round["programs"][1]["unread_bytes"], 0);
    }
    if counts_bytes() {
        assert_eq!(
            (&one["counted"], &one["bytes"]["value"]),
            (&"taken".into(), &3_145_728.0.into())
        );
        assert_eq!(one["proof"]["kind"], "bytes", "{one}");
    }
    for format in ["table", "markdown", "csv", "json", "ndjson"] {
        let shown = sandbox.run(&["report", "exec.json", "--format", format]);
        assert_eq!(shown.status.code(), Some(0), "{}", shown.stderr);
        assert!(shown.stdout.contains("wc -c"), "{format}: {}", shown.stdout);
    }
}

#[test]
fn several_pipelines_are_measured_in_one_run() {
    let sandbox = Sandbox::new();
    let programs = ["head -c 10K /dev/zero", ",", "printf '%s|%s' 'a b' c", "cat"];
    let (pipelines, code) = measure(&sandbox, &programs, &["--rounds", "3"]);
    assert_eq!((pipelines.len(), code), (2, 0));
    for (one, bytes) in pipelines.iter().zip([10_240.0, 5.0]) {
        assert_eq!((&one["counted"], &one["bytes"]["value"]), (&"arrived".into(), &bytes.into()));
    }
}

#[test]
fn what_goes_wrong_is_one_clear_line_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let cases: &[(&[&str], &str, &str)] = &[
        (&["sh -c 'echo oh no >&2; exit 3'", "cat"], "failed", "exit code 3: oh no"),
        (&["sh -c 'kill -9 $$'"], "failed", "sh -c 'kill -9 $$': killed by signal 9"),
        (&["head -c 9 /dev/zero", "true"], "failed", "no bytes: nothing came out of 'true'"),
        (&["yes", "head -c 10"], "ok", "unread"),
        (&["true"], "failed", "no bytes: nothing came out of 'true'"),
        (&["sleep 600", "cat"], "deadline", "'sleep 600', 'cat' had not ended after 0.3 s"),
        // One that goes into a session of its own, and its child.
        (
            &["sh -c 'setsid sh -c \"sleep 600 & sleep 600\" & wait'"],
            "deadline",
            "had not ended after 0.3 s and was killed; --deadline allows more",
        ),
        (&["sh -c 'setsid sleep 600 >/dev/null & echo x'"], "ok", ""),
        // More than anybody reads, on both sides; the first line is told.
        (
            &["sh -c 'yes too much | head -c 9M >&2; exit 4'", "cat"],
            "failed",
            "exit code 4: too much",
        ),
        (&["sh -c 'head -c 9M /dev/zero; exit 5'", "wc -c"], "failed", "exit code 5"),
        (&["yes", "true"], "failed", "no bytes: nothing came out of 'true'"),
        (&["yes", "sh -c 'exec cat >/dev/null'"], "deadline", "had not ended after 0.3 s"),
        // What cannot be asked to end, what stands still, and what has hung up and goes on.
        (
            &["sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done'"],
            "deadline",
            "had not ended after 0.3 s and was killed",
        ),
        (&["sh -c 'kill -STOP $$; echo x'"], "deadline", "had not ended after 0.3 s"),
        (&["sh -c 'exec >&-; sleep 600'", "cat"], "deadline", "had not ended after 0.3 s"),
        (&["head -c 9 /dev/zero", "sh -c 'cat; sleep 600'"], "deadline", "'sh -c 'cat; sleep"),
    ];
    let has_setsid = can_run("setsid", &["true"]);
    let can_be_had = |programs: &[&str]| has_setsid || !programs[0].contains("setsid");
    for (programs, status, part) in cases.iter().filter(|(programs, ..)| can_be_had(programs)) {
        let deadline = if *status == "deadline" { "300ms" } else { "60s" };
        let more = ["--rounds", "1", "--deadline", deadline];
        let (pipelines, code) = measure(&sandbox, programs, &more);
        let one = &pipelines[0];
        assert_eq!(
            (&one["status"], code),
            (&(*status).into(), i32::from(*status != "ok")),
            "{one}"
        );
        let reason = if *status == "ok" { &one["proof"]["reason"] } else { &one["reason"] };
        assert!(reason.as_str().unwrap_or_default().contains(part), "{part}: {one}");
        explained(one);
    }
}

#[test]
fn what_a_program_complains_of_is_shown_and_does_nothing() {
    let sandbox = Sandbox::new();
    let program =
        "sh -c 'printf \"\\033]52;c;aGk=\\007\\0oh \\302\\233 no\\377\\nmore\\n\" >&2; exit 6'";
    let (pipelines, code) = measure(&sandbox, &[program], &["--rounds", "1"]);
    assert_eq!((&pipelines[0]["status"], code), (&"failed".into(), 1));
    for format in ["table", "markdown", "csv"] {
        let shown = sandbox.run(&["report", "exec.json", "--format", format]);
        assert!(shown.stdout.contains("]52;c;aGk="), "{format}: {}", shown.stdout);
        assert!(!shown.stdout.contains("more\n"), "one line of it: {}", shown.stdout);
        let is_odd = |sign: char| sign.is_control() && sign != '\n';
        assert!(!shown.stdout.contains(is_odd), "{format}: {:?}", shown.stdout);
    }
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("plain");
    fs::write(&file, "x").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("our own file");
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&["headd -c 1"], &[], "no program 'headd' in PATH; did you mean 'head'?"),
        (&["./nothing"], &[], "there is no file './nothing'"),
        (&["./plain"], &[], "'./plain' is not executable (chmod +x)"),
        (&["/"], &[], "'/' is a directory"),
        (&["a | b"], &[], "'|' means something to a shell only"),
        (&["cat 'x"], &[], "program 'cat 'x': the quote ' is not closed"),
        (&["  "], &[], "'  ' names no program"),
        (&["cat", ","], &[], "no program on one side of ','"),
        (&["cat"], &["-m", "pipe"], "unexpected argument '-m'"),
        (&["cat"], &["--rounds", "0"], "--rounds: 0 is not between 1 and 10000"),
        (&["cat"], &["--deadline", "soon"], "--deadline: 'soon' is not a time"),
        (&[], &[], "which program?"),
    ];
    for (programs, more, part) in cases {
        sandbox.refuses(&words(programs, more), part);
        assert!(sandbox.read("exec.json").is_err());
    }
}

#[test]
fn calls_are_counted_in_rounds_of_their_own() {
    let sandbox = Sandbox::new();
    // The subshells are processes of their own.
    let programs = ["sh -c '(printf x); (printf y); printf z'", "wc -c"];
    let (pipelines, _) = measure(&sandbox, &programs, &["--rounds", "2", "--trace-calls"]);
    let one = &pipelines[0];
    if let Some(reason) = one["reason"].as_str().filter(|reason| reason.contains("ptrace is")) {
        return skipped("ptrace", reason);
    }
    assert_eq!((&one["status"], &one["traced_rounds"]), (&"ok".into(), &2.into()), "{one}");
    assert_eq!(one["rounds"].as_array().map(Vec::len), Some(2));
    assert_eq!(one["programs"][0]["calls"]["write"]["median"], 3.0, "{one}");
    assert_eq!(one["programs"][1]["calls"]["write"]["median"], 1.0, "{one}");
}

#[test]
fn programs_of_a_file_are_shown_and_run_only_if_allowed() {
    let sandbox = Sandbox::new();
    let job = "exec = [['head -c 10 /dev/zero', 'cat'], ['printf x']]\nrounds = 1\n";
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let study = "name = 's'\ntitle = 's'\n[scale.smoke]\nrounds = 1\n[scale.quick]\nrounds = 1\n\
                 [scale.full]\nrounds = 1\n[[arm]]\nid = 'a'\nwork = 'exec'\n\
                 programs = ['head -c 10 /dev/zero', 'cat']\n";
    fs::write(sandbox.home().join("study.toml"), study).expect("a file");
    for (words, told) in [
        (
            &["exec", "job.toml", "-o", "x.json"][..],
            "job file 'job.toml' runs programs: head -c 10 /dev/zero | cat , printf x; --allow-exec lets it",
        ),
        (
            &["replicate", "./study.toml", "-o", "x.json"],
            "study file './study.toml' runs programs: head -c 10 /dev/zero | cat; --allow-exec lets it",
        ),
    ] {
        let ended = sandbox.run(words);
        assert_eq!((ended.status.code(), ended.stderr), (Some(2), format!("ipcperf: {told}\n")));
        assert!(sandbox.read("x.json").is_err());
        let dry = sandbox.run(&[words, &["--dry-run"]].concat());
        assert_eq!(dry.status.code(), Some(0), "{}", dry.stderr);
        sandbox.done(&[words, &["--allow-exec"]].concat());
        let document: Value =
            serde_json::from_str(&sandbox.read("x.json").expect("written")).expect("JSON");
        let study = &document["studies"][0]["arms"][0];
        let found = if study.is_null() { &document["pipelines"][1] } else { study };
        assert_eq!(found["status"], "ok", "{found}");
        fs::remove_file(sandbox.home().join("x.json")).expect("it was written");
    }
}

#[test]
fn a_plan_of_programs_says_where_the_result_goes_and_commands_no_terminal() {
    let sandbox = Sandbox::new();
    let job = "exec = \"printf '\\u001B]52;c;QQ==\\u0007\\u009B2J\\u202E'\"\noutput = 'it.json'\n";
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let plan = sandbox.done(&["exec", "job.toml", "--dry-run"]).stdout;
    assert!(plan.contains("result: it.json\n") && plan.contains("?]52;c;QQ=="), "{plan:?}");
    let meant = "'job.toml' is the file of a pipeline; did you mean 'ipcperf exec job.toml'?";
    sandbox.refuses(&["run", "job.toml"], meant);
    let obeyed = |sign: char| (sign != '\n' && sign.is_control()) || sign == '\u{202e}';
    assert!(!plan.contains(obeyed), "{plan:?}");
}

#[test]
fn a_run_that_is_stopped_leaves_no_program() {
    let sandbox = Sandbox::new();
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let running = sandbox.start(&words(&["sleep 600", "cat"], &[]));
        // Beside the coordinator and the watch.
        wait_for("both programs", || (processes(&sandbox).len() == 4).then_some(()));
        signal(name, running.child.id());
        assert_eq!(running.end().status.code(), code);
        wait_for("the end of both programs", || (processes(&sandbox).is_empty()).then_some(()));
    }
    let document = sandbox.result("exec.json");
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["pipelines"][0]["status"], "skipped");
    assert_eq!(sandbox.run(&["clean"]).status.code(), Some(0));
}

/// What programs have started goes with the coordinator as they do, whichever of our two processes is killed.
#[test]
fn nothing_of_the_programs_is_left_after_any_kill() {
    // It leaves its group, and nobody waits for it.
    let leaves = "sh -c 'setsid sleep 601 </dev/null >/dev/null 2>&1 & exec sleep 600'";
    if !can_run("setsid", &["true"]) {
        return;
    }
    for (is_coordinator, name) in [(true, "KILL"), (false, "KILL"), (false, "TERM")] {
        let sandbox = Sandbox::new();
        let running = sandbox.start(&words(&[leaves, "cat"], &[]));
        let sleeps = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).next() == Some(b"sleep")
        };
        let sleeping = || processes(&sandbox).iter().filter(|pid| sleeps(pid)).count();
        wait_for("both who sleep", || (sleeping() == 2).then_some(()));
        // `cat` has the command line of the watch until it is executed.
        let watch = wait_for("the watch alone", || <[u32; 1]>::try_from(workers(&sandbox)).ok());
        signal(name, if is_coordinator { running.child.id() } else { watch[0] });
        let ended = running.end();
        wait_for("the end of all programs", || processes(&sandbox).is_empty().then_some(()));
        if !is_coordinator {
            assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
            let pipeline = &sandbox.result("exec.json")["pipelines"][0];
            let reason = pipeline["reason"].as_str().expect("a reason");
            assert!(reason.contains("the watch over the programs"), "{reason}");
        }
        assert_eq!(sandbox.run(&["clean"]).status.code(), Some(0));
    }
}

/// A command line may be longer than a message between processes, and what programs see of theirs is what they would see
/// without us.
#[test]
fn a_long_command_line_and_an_environment_arrive_as_they_are() {
    let sandbox = Sandbox::new();
    let long = format!("printf %s {}", "x".repeat(100_000));
    let (pipelines, code) = measure(&sandbox, &[&long, "wc -c"], &["--rounds", "1"]);
    assert_eq!((&pipelines[0]["status"], code), (&"ok".into(), 0), "{}", pipelines[0]["reason"]);
    sandbox.done(&words(&["env", "tee seen"], &["--rounds", "1"]));
    let seen = sandbox.read("seen").expect("written");
    assert!(seen.contains("XDG_RUNTIME_DIR="), "{seen}");
    // The tests themselves are given some.
    let is_known = |name: &str| std::env::var_os(name).is_some();
    let mut ours = seen.lines().filter(|line| line.starts_with("IPCPERF_"));
    assert!(ours.all(|line| is_known(line.split('=').next().unwrap_or(line))), "{seen}");
}
