//! Several channels of the same kind at work at the same time.

use crate::common::{Sandbox, cells, rounds, wait_for};
use crate::watch::{signal, workers};
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

fn measured(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let brief = ["--rounds", "2", "--warmup", "2ms", "-o", "channels.json"];
    let time = if words.contains(&"--samples") { &[][..] } else { &["--slice", "20ms"] };
    let ended = sandbox.done(&[&["run"], words, &brief, time].concat());
    (sandbox.result("channels.json"), ended.stdout)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// What must hold of every cell that was measured.
fn check(cell: &Value) {
    let count = cell["load"]["channels"].as_u64().expect("a number") as usize;
    let channels = &cell["channels"];
    assert_eq!(
        (cell["verified"].as_bool(), number(&channels["count"])),
        (Some(true), count as f64)
    );
    assert!(number(&cell["cpu_ns_per_message"]["lead"]) > 0.0, "{cell}");
    for round in &rounds(cell) {
        let of = &round["channels"];
        assert!(list(&of["proved"]).iter().all(|proved| proved == true), "{round}");
        let pids: BTreeSet<u64> = list(&of["pids"])
            .iter()
            .flat_map(|pair| list(pair).iter().map(|pid| pid.as_u64().expect("a number")))
            .collect();
        assert_eq!(pids.len(), 2 * count, "a process for each end: {round}");
        let arrived: f64 = list(&of["arrived"]).iter().map(number).sum();
        assert!(list(&of["arrived"]).iter().all(|count| number(count) > 0.0), "{round}");
        assert_eq!(number(&round["proof"]["follow"][1]), arrived);
        assert_eq!(number(&round["proof"]["lead"][0]), arrived + number(&round["lost"]));
        // On a busy machine one may be done before another has begun, and then says so.
        assert!([0, count].contains(&list(&of["per_second"]).len()), "{round}");
    }
    if channels["sum_per_second"]["value"].is_null() {
        assert!(channels["sum_per_second"]["reason"].is_string(), "{channels}");
        return;
    }
    let jain = number(&channels["jain"]["value"]);
    assert!((1.0 / count as f64 - 1e-6..=1.0 + 1e-6).contains(&jain), "{channels}");
    let ratio = number(&channels["slowest_of_fastest"]["value"]);
    assert!((0.0..=1.0).contains(&ratio), "{channels}");
    let sum = number(&channels["sum_per_second"]["value"]);
    assert!(sum > 0.0 && number(&channels["median_per_second"]["value"]) <= sum * 1.001);
    if count == 1 {
        assert!(channels["of_ideal"].is_null() && jain > 0.999_999 && ratio > 0.999_999);
    }
}

#[test]
fn every_channel_is_proved_and_held_against_one() {
    let mechanisms = "pipe,unix-stream,posix-mq,eventfd,udp,tcp,shm-ring/futex,process-vm";
    let words = ["-p", "ping-pong,stream", "-m", mechanisms, "-s", "64", "--channels", "1,3"];
    let (document, shown) = measured(&[&words[..], &["--place", "same-cpu,free"]].concat());
    let mut ok = BTreeSet::new();
    for cell in cells(&document) {
        match cell["status"].as_str() {
            Some("ok") => {
                check(cell);
                ok.insert(cell["pattern"].as_str().expect("a word"));
            }
            Some("unavailable") => assert!(cell["reason"].is_string(), "{cell}"),
            _ => panic!("{cell}"),
        }
    }
    assert_eq!(ok.len(), 2, "{shown}");
    let scaling = list(&document["scaling"]);
    assert!(!scaling.is_empty(), "{shown}");
    for one in scaling {
        assert_eq!(list(&one["cells"]).len(), 2, "{one}");
        assert!(one["contention"]["reason"].as_str().is_some_and(|why| why.contains("needs 4")));
    }
    let has_ratio = |cell: &Value| !cell["channels"]["of_ideal"]["value"].is_null();
    assert!(cells(&document).iter().any(has_ratio), "{shown}");
    for words in ["Channels at the same time", "of ideal", "No scalability law can be fitted"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn contents_windows_and_counted_samples_go_with_channels() {
    let words = ["-m", "pipe", "-s", "100,70000", "--channels", "2", "--place", "free"];
    for more in [
        &["-p", "ping-pong", "--samples", "200"][..],
        &["-p", "stream", "--window", "8", "--touch", "full"],
        &["-p", "ping-pong,stream", "--transform", "crc32"],
        &["-p", "ping-pong,stream", "--packet", "4K"],
    ] {
        let (document, shown) = measured(&[&words[..], more].concat());
        for cell in cells(&document) {
            assert_eq!(cell["status"], "ok", "{cell}{shown}");
            check(cell);
        }
    }
}

#[test]
fn what_has_one_channel_alone_is_refused_or_explained() {
    let sandbox = Sandbox::new();
    for (wrong, part) in [
        (&["--channels", "0"][..], "between 1 and 64"),
        (&["--channels", "65"], "between 1 and 64"),
        (&["--channels", "2", "-p", "burst"], "--channels needs the pattern ping-pong or stream"),
        (
            &["--channels", "2", "-p", "stream,burst"],
            "--channels does not work with the pattern burst",
        ),
        (&["--channels", "2", "--think", "1ms"], "--channels does not work with --think"),
        (&["--channels", "2", "--one-way"], "--channels does not work with --one-way"),
        (&["--channels", "2", "--nice", "5"], "--channels does not work with --nice"),
    ] {
        sandbox.refuses(&[&["run", "-m", "pipe"], wrong].concat(), part);
    }
    let plan = |words: &[&str]| sandbox.run(&[&["run", "--dry-run"], words].concat()).stdout;
    let spinning = plan(&["-m", "pipe/spin", "--channels", "64", "--place", "free"]);
    assert!(spinning.contains("cannot share"), "{spinning}");
    let one_end = plan(&["-m", "pipe", "--channels", "2", "--place", "0,free"]);
    assert!(one_end.contains("both ends have a CPU of their own"), "{one_end}");
    let program = plan(&["-m", "pipe", "--channels", "2", "--follow", "cat"]);
    assert!(program.contains("has one channel"), "{program}");
    let many = ["-m", "pipe", "--channels", "1", "--samples", "9M", "--rounds", "1"];
    let ended = sandbox.run(&[&["run", "--place", "free"], &many[..]].concat());
    assert!(
        ended.stdout.contains("each of several channels keeps"),
        "{}{}",
        ended.stdout,
        ended.stderr
    );
}

/// One end of one channel, in turn of either side.
#[test]
fn a_killed_end_of_one_channel_costs_its_cell_and_not_the_run() {
    for (pattern, which) in [("ping-pong", 1), ("stream", 4)] {
        let sandbox = Sandbox::new();
        let words = ["run", "-p", pattern, "-m", "pipe,fifo", "--channels", "3", "-o", "rest.json"];
        let brief = ["--place", "free", "--rounds", "10000", "--slice", "300ms", "--warmup", "5ms"];
        let running = sandbox.start(&[&words[..], &brief].concat());
        let fresh = |known: &[u32]| {
            wait_for("six other workers", || {
                let all = workers(&sandbox);
                let is_fresh = all.len() == 6 && all.iter().all(|pid| !known.contains(pid));
                is_fresh.then_some(all)
            })
        };
        let killed = wait_for("six workers of one slice", || {
            let all = workers(&sandbox);
            if all.len() != 6 {
                return None;
            }
            // On a busy machine the slice may be over by now; else its coordinator waits for whom this stops.
            signal("STOP", all[which]);
            sleep(Duration::from_millis(500));
            if workers(&sandbox) == all {
                return Some(all);
            }
            signal("CONT", all[which]);
            None
        });
        signal("KILL", killed[which]);
        // The other cell goes on.
        let next = fresh(&killed);
        fresh(&next);
        signal("INT", running.child.id());
        let ended = running.end();
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        let document = sandbox.result("rest.json");
        let of = |status: &str| {
            let all = cells(&document).iter().filter(|cell| cell["status"] == status);
            all.collect::<Vec<_>>()
        };
        let ([failed], [other]) = (&of("failed")[..], &of("ok")[..]) else {
            panic!("one of each: {}{}", ended.stdout, ended.stderr)
        };
        let reason = failed["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("of channel ") && reason.contains("killed by signal 9"),
            "{reason}"
        );
        assert!(failed.get("channels").is_none(), "{failed}");
        check(other);
        wait_for("the end of every worker", || workers(&sandbox).is_empty().then_some(()));
    }
}
