//! Which mechanisms are meant, with which knobs, is said in one way everywhere.

use crate::common::Sandbox;
use std::fs;

/// The plan that a command prints.
fn plan(sandbox: &Sandbox, words: &[&str]) -> String {
    let ended = sandbox.run(&[words, &["--dry-run"]].concat());
    assert_eq!(ended.status.code(), Some(0), "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn other_names_and_knobs_mean_the_same_to_every_command() {
    let sandbox = Sandbox::new();
    fs::write(
        sandbox.home().join("job.toml"),
        "mechanism = ['unix bind=path', 'tcp']\nplace = 'same-cpu'\n",
    )
    .expect("written");
    fs::write(sandbox.home().join("set.toml"), "mechanism = 'uds'\n[set]\nbind = 'path'\n")
        .expect("written");
    for words in [
        &["run", "-m", "unix bind=path"][..],
        &["run", "-m", "pipe", "-m", "unix-stream bind=path,tcp"],
        &["run", "-m", "uds", "--set", "bind=path"],
        &["run", "-m", "unix-stream,pipe", "--set", "unix.bind=path"],
        &["run", "job.toml"],
        &["run", "set.toml"],
        &["crossover", "unix bind=path", "pipe", "--over", "size"],
        &["crossover", "uds", "tcp", "--over", "size", "--set", "unix.bind=path"],
        &["survey", "-m", "unix bind=path,pipe", "--budget", "5s"],
        &["-m", "uds bind=path", "--budget", "5s"],
        &["choose", "-m", "unix bind=path", "-m", "pipe", "--budget", "5s"],
        &["explain", "unix bind=path", "pipe"],
        &["explain", "uds", "--set", "bind=path"],
    ] {
        let plan = plan(&sandbox, words);
        let own: Vec<&str> = plan
            .lines()
            .filter(|line| line.trim_start().starts_with("unix-stream ping-pong"))
            .collect();
        assert!(!own.is_empty(), "{words:?}: {plan}");
        for line in own {
            assert!(line.contains(" unix-stream.bind=path"), "{words:?}: {line}");
        }
    }
}

#[test]
fn a_flag_that_is_said_again_adds_to_its_list() {
    let sandbox = Sandbox::new();
    let same = |one: &[&str], other: &[&str]| {
        let [one, other] = [one, other].map(|words| {
            let plan = plan(&sandbox, &[words, &["--seed", "1"]].concat());
            plan.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        });
        assert!(one.len() > 1, "{one:?}");
        assert_eq!(one, other);
    };
    same(
        &[
            "run", "-m", "pipe", "-m", "tcp", "-s", "1", "-s", "64", "-p", "burst", "--burst", "2",
            "--burst", "4",
        ],
        &["run", "-m", "pipe,tcp", "-s", "1,64", "-p", "burst", "--burst", "2,4"],
    );
    same(
        &["choose", "--can", "unrelated", "--can", "two-way", "--budget", "5s"],
        &["choose", "--can", "unrelated,two-way", "--budget", "5s"],
    );
    let list =
        |words: &[&str]| sandbox.done(&[&["list", "--format", "csv"], words].concat()).stdout;
    assert_eq!(
        list(&[
            "--can",
            "unrelated",
            "--can",
            "two-way",
            "--family",
            "stream",
            "--family",
            "queue"
        ]),
        list(&["--can", "unrelated,two-way", "--family", "stream,queue"])
    );
}

#[test]
fn a_survey_of_some_mechanisms_has_no_others() {
    let sandbox = Sandbox::new();
    let plan = plan(&sandbox, &["survey", "-m", "pipe,unix", "--budget", "5s"]);
    // The second line says that all are confirmed.
    for line in plan.lines().skip(2) {
        let name = line.split_whitespace().next();
        assert!(matches!(name, Some("pipe" | "unix-stream")), "{line}");
    }
    assert!(plan.contains("unix-stream.bind=path"), "sockets of unrelated processes, too: {plan}");
    let refused = sandbox.run(&["survey", "-m", "pipe,pipe size=1M", "--dry-run"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("'pipe' is named with different knobs"), "{}", refused.stderr);
    let both = plan_of_both(&sandbox);
    assert_eq!(both.matches(" pipe.size=1M").count(), 1, "{both}");
    let known = sandbox.run(&["describe", "uds bind=path"]);
    assert!(known.stdout.starts_with("unix-stream ("), "{}", known.stderr);
}

/// One mechanism twice, with and without a knob.
fn plan_of_both(sandbox: &Sandbox) -> String {
    let plan = plan(sandbox, &["run", "-m", "pipe,pipe size=1M", "--place", "same-cpu"]);
    assert_eq!(plan.lines().count(), 3, "{plan}");
    plan
}
