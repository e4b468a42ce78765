//! `explain`: words, and real round trips with the arms that isolate their parts.

use crate::common::{Sandbox, skipped};
use ipcperf_sys::seccomp;
use std::collections::BTreeMap;

#[test]
fn a_word_is_explained_and_an_unknown_one_names_the_nearest() {
    let sandbox = Sandbox::new();
    for (word, said) in [
        ("W-LOSS", "W-LOSS: a finding of a run\nSome messages were lost"),
        ("i-vm", "VM: a finding about the machine\n"),
        ("~", "~: a mark in tables\nSpins briefly before it sleeps"),
        ("grade", "grade: a noise grade\n"),
        ("slower", "SLOWER: a verdict of compare\n"),
        ("±", "+/-: a mark in tables\n"),
    ] {
        let ended = sandbox.run(&["explain", word]);
        assert!(ended.status.success() && ended.stdout.starts_with(said), "{ended:?}");
        assert!(ended.stdout.contains("\nWhat to do: "), "{ended:?}");
    }
    for (words, said) in [
        (&["explain", "W-LOS"][..], "unknown mechanism or word 'W-LOS'; did you mean 'W-LOSS'?"),
        (&["explain", "w-steel"], "did you mean 'W-STEAL'?"),
        (&["explain", "unix-steam"], "did you mean 'unix-stream'?"),
        (&["explain", "qqq"], "'ipcperf list' and 'ipcperf explain' show them all"),
        (&["explain", "pipe", "grade"], "'grade' is a word, not a mechanism; explain it alone"),
        (&["explain", "pipe", "fifo", "--what-if"], "--what-if changes one mechanism; name one"),
        (&["explain", "pipe", "-s", "1,2"], "--size: one size is explained at a time"),
        (&["explain", "W-LOSS", "--format", "json"], "words are shown as table, markdown or html"),
        (&["explain", "W-LOSS", "-o", "f.json"], "a word is explained from a table"),
    ] {
        sandbox.refuses(words, said);
    }
}

/// With 5 s for messages of 1 GiB eight rounds of five minutes were planned.
#[test]
fn a_budget_holds_and_one_that_cannot_is_told_before() {
    let planned = |words: &[&str]| {
        let ended = Sandbox::new()
            .run(&[&["explain", "pipe", "--place", "same-cpu", "--dry-run"], words].concat());
        assert!(ended.status.success(), "{ended:?}");
        let seconds = ended.stdout.split_once(": about ").expect("a plan").1;
        let seconds: f64 = seconds.split(' ').next().expect("a number").parse().expect("seconds");
        (seconds, ended.stdout, ended.stderr)
    };
    let (seconds, plan, told) = planned(&["--budget", "10s"]);
    assert!(seconds <= 11.0 && told.is_empty(), "{plan} {told}");
    let (seconds, plan, told) = planned(&["--budget", "20s", "-s", "64M"]);
    assert!(seconds <= 21.0, "{plan}");
    assert!(told.contains(" into --budget 20s, and an interval takes 6: --budget "), "{told}");
    let (seconds, plan, told) = planned(&["--budget", "5s", "-s", "512M"]);
    assert!(seconds > 5.0 && plan.contains(" x 1 round x "), "{plan}");
    assert!(told.starts_with("One round takes about "), "{told}");
    assert!(told.contains("although --budget is 5s") && told.lines().count() == 1, "{told}");
}

#[test]
fn a_mechanism_has_the_names_here_that_it_has_elsewhere() {
    for (typed, named) in
        [("uds", "unix-stream ping-pong"), ("shm-ring", "shm-ring/adaptive ping-pong")]
    {
        let ended = Sandbox::new().run(&["explain", typed, "--dry-run"]);
        assert!(ended.status.success() && ended.stdout.contains(named), "{ended:?}");
    }
}

#[test]
fn a_round_trip_is_explained_and_its_document_explains_it_again() {
    let sandbox = Sandbox::new();
    let words = ["explain", "unix-stream", "--place", "same-cpu", "--budget", "5s"];
    let ended = sandbox.run(&[&words[..], &["-o", "why.json", "-q"]].concat());
    assert!(ended.status.success(), "{ended:?}");
    let text = &ended.stdout;
    for part in ["send and receive", "copies", "wake-up and switch", "unexplained", "On one CPU"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 80), "{text}");
    let document = sandbox.result("why.json");
    let cells = document["cells"].as_array().expect("cells");
    let ids: Vec<&str> = cells.iter().filter_map(|cell| cell["id"].as_str()).collect();
    assert_eq!(
        ids,
        [
            "unix-stream ping-pong 64B same-cpu",
            "unix-stream burst 1B same-cpu burst=64",
            "unix-stream burst 1B same-cpu burst=1",
            "eventfd-semaphore burst 0B same-cpu burst=64",
            "eventfd-semaphore burst 0B same-cpu burst=1",
            "eventfd-semaphore ping-pong 0B same-cpu",
            "shm-ring/futex burst 64B same-cpu burst=64",
            "shm-ring/futex burst 1B same-cpu burst=64",
        ]
    );
    for again in [&["explain", "--from", "why.json"][..], &["report", "why.json"]] {
        assert_eq!(sandbox.run(again).stdout, *text);
    }
    let tables = sandbox.run(&["report", "why.json", "--full"]).stdout;
    assert!(
        tables.contains("Bursts in a closed loop") && tables.contains("unexplained"),
        "{tables}"
    );
    let ended = sandbox.run(&["explain", "--from", "other.json"]);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
}

/// What a round trip and its parts take, ns, as the screen says; `None` where one of them could not be measured.
fn parts(screen: &str) -> Option<BTreeMap<String, f64>> {
    let named = ["send and receive", "copies", "wake-up and switch", "unexplained", "round trip"];
    let first = |name: &str| {
        let line = screen.lines().map(str::trim).find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {screen}"));
        line[name.len()..].split_whitespace().next().expect("a word")
    };
    let scale = match first("Where the time goes (").trim_end_matches(')') {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        other => panic!("{other}: {screen}"),
    };
    let figure = |name: &str| {
        let number = first(name);
        if number == "-" {
            return None;
        }
        Some(number.parse::<f64>().expect("a number") * scale)
    };
    named.iter().map(|name| Some(((*name).to_owned(), figure(name)?))).collect()
}

/// What a round trip and its parts take without a delay in each system call and with it, as far as they could be measured;
/// `None`: no filters here.
fn delayed() -> Option<[Option<BTreeMap<String, f64>>; 2]> {
    let explained = || {
        let words = ["explain", "unix-stream", "--place", "same-cpu", "--budget", "5s", "-q"];
        let ended = Sandbox::new().run(&words);
        assert!(ended.status.success(), "{ended:?}");
        parts(&ended.stdout)
    };
    let before = explained();
    // A filter cannot be taken back: in a thread of its own.
    let after = std::thread::scope(|scope| {
        let slowly = || seccomp::delay(5).map(|()| explained());
        scope.spawn(slowly).join().expect("it ends")
    });
    Some([before, after.ok()?])
}

/// Every system call goes through filters that do nothing: a round trip of a socket has four. What runs beside the test
/// disturbs the parts as much as the delay is long, or keeps one from being measured, now and then, but not each time.
#[test]
fn a_delay_of_real_system_calls_is_found_in_them_and_in_no_other_part() {
    const TRIES: usize = 8;
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let Some(both) = delayed() else {
            return skipped("seccomp", "no filters of system calls");
        };
        if let [Some(before), Some(after)] = &both {
            let grown = |name: &str| after[name] - before[name];
            let calls = grown("send and receive");
            let others = grown("copies").max(grown("wake-up and switch"));
            if calls > before["send and receive"] && others < calls / 2.0 {
                return;
            }
        }
        seen.push(both);
    }
    panic!("{seen:?}");
}
