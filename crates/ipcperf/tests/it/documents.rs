//! Result documents of real, small runs: their structure, never their figures.

use crate::common::{Sandbox, buckets, cells, list, rounds, skipped, text, tries_all, valid};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Small enough for a test.
const SMALL: [&str; 6] = ["--rounds", "2", "--slice", "5ms", "--warmup", "2ms"];

fn run<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["run"], words, &SMALL].concat()
}

/// Five promises about one run of everything there is. Five tests that share the run would hold up four threads while it
/// goes on.
#[test]
fn a_run_over_everything_keeps_every_promise() {
    let sandbox = Sandbox::new();
    // That every mechanism carries every size is for the conformance suite to show.
    let sizes = if tries_all() { &[64, 64 << 10][..] } else { &[64] };
    let listed = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let words = ["run", "-m", "all", "-p", "ping-pong,stream", "-s", &listed];
    let more = ["--place", "same-cpu,same-llc,smt", "-o", "all.json"];
    let brief = ["--rounds", "1", "--slice", "5ms", "--warmup", "2ms"];
    sandbox.done(&[&words[..], &more, &brief].concat());
    let document = sandbox.result("all.json");
    every_cell_asked_for_is_there_with_a_number_or_a_reason(&document, sizes);
    every_number_has_its_proof(&document);
    short_operations_are_timed_in_batches_and_say_so(&document);
    a_figure_that_cannot_be_supported_is_null_with_its_reason(&document);
    two_spinning_ends_are_never_put_on_one_cpu(&document);
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Cells with numbers; there must be some.
fn measured(document: &Value) -> Vec<&Value> {
    let measured: Vec<_> = cells(document).iter().filter(|cell| cell["status"] == "ok").collect();
    assert!(!measured.is_empty(), "nothing was measured");
    measured
}

fn accepted(cell: &Value) -> impl Iterator<Item = Value> {
    rounds(cell).into_iter().filter(|round| round.get("rejected").is_none())
}

fn every_cell_asked_for_is_there_with_a_number_or_a_reason(document: &Value, sizes: &[u64]) {
    let sandbox = Sandbox::new();
    let listed: Value =
        serde_json::from_str(&sandbox.run(&["list", "--json"]).stdout).expect("JSON");
    let mut wanted = BTreeSet::new();
    for mechanism in list(&listed, "mechanisms") {
        let wakes = mechanism["spec"]["payload"]["kind"] == "wake";
        for pattern in ["ping-pong", "stream"] {
            for place in ["same-cpu", "same-llc", "smt"] {
                for size in if wakes { &[0][..] } else { sizes } {
                    wanted.insert(format!("{} {pattern} {size} {place}", text(mechanism, "name")));
                }
            }
        }
    }
    let identity = |cell: &Value| {
        let [mechanism, pattern, place] =
            ["mechanism", "pattern", "placement"].map(|key| text(cell, key));
        format!("{mechanism} {pattern} {} {place}", cell["size_bytes"])
    };
    let found: BTreeSet<String> = cells(document).iter().map(identity).collect();
    assert_eq!(found, wanted);
    assert_eq!(cells(document).len(), wanted.len(), "no cell is there twice");
    for cell in cells(document) {
        match text(cell, "status") {
            "ok" => assert!(cell.get("reason").is_none(), "{cell}"),
            "unavailable" | "rejected" => assert!(!text(cell, "reason").is_empty(), "{cell}"),
            other => panic!("{}: {other}: {}", text(cell, "id"), cell["reason"]),
        }
    }
}

fn every_number_has_its_proof(document: &Value) {
    let mut nonces = BTreeSet::new();
    let mut slices = 0;
    for cell in measured(document) {
        let id = text(cell, "id");
        // The floor moves nothing, so there is nothing to prove.
        let moves = text(cell, "mechanism") != "null";
        assert_eq!(cell["verified"], moves, "{id}");
        assert!(number(&cell["messages"]) > 0, "{id}");
        assert!(accepted(cell).next().is_some(), "{id}");
        for round in &rounds(cell) {
            let proof = &round["proof"];
            assert_eq!(proof["holds"], true, "{id}");
            assert_ne!(proof["lead_pid"], proof["follow_pid"], "{id}");
            assert_eq!(number(&proof["fully_checked"]) > 0, moves, "{id}");
            assert!(number(&proof["lead"][0]) > 0, "{id}: {proof}");
            let arrived = number(&proof["follow"][1]) + number(&round["lost"]);
            assert!(arrived >= number(&proof["lead"][0]), "{id}: {proof}");
            for seat in ["lead", "follow"] {
                assert!(number(&round["cpu_ns"][seat]) > 0, "{id}: {seat} used no CPU time");
            }
            nonces.insert(text(proof, "nonce").to_owned());
            slices += 1;
        }
    }
    assert_eq!(nonces.len(), slices, "no two slices share a nonce");
}

fn short_operations_are_timed_in_batches_and_say_so(document: &Value) {
    let mut modes = BTreeSet::new();
    for cell in measured(document).into_iter().filter(|cell| cell["pattern"] == "ping-pong") {
        let (id, timing) = (text(cell, "id"), &cell["timing"]);
        let mode = text(timing, "mode");
        modes.insert(mode);
        for round in accepted(cell) {
            match mode {
                "per-op" => {
                    assert_eq!(timing["batch"], 1, "{id}");
                    let counted: u64 = buckets(&round).iter().map(|bucket| bucket.1).sum();
                    assert_eq!(2 * counted, number(&round["messages"]), "{id}");
                }
                "batch" => {
                    assert!(number(&timing["batch"]) > 1, "{id}");
                    assert!(
                        round.get("histogram").is_none(),
                        "{id}: no single operation was timed"
                    );
                    assert!(cell["rtt_ns"]["p99"]["value"].is_null(), "{id}");
                }
                other => panic!("{id}: {other}"),
            }
        }
    }
    assert_eq!(modes, BTreeSet::from(["batch", "per-op"]), "the floor is short, a tcp trip is not");
}

fn a_figure_that_cannot_be_supported_is_null_with_its_reason(document: &Value) {
    let mut unsupported = 0;
    for cell in measured(document) {
        let trips = cell.get("rtt_ns").and_then(Value::as_object);
        let rates = ["bytes_per_second", "messages_per_second"].map(|key| cell.get(key));
        let metrics =
            trips.into_iter().flat_map(|trips| trips.values()).chain(rates.into_iter().flatten());
        for metric in metrics.filter(|metric| metric["value"].is_null()) {
            assert!(!text(metric, "reason").is_empty(), "{}: {metric}", cell["id"]);
            unsupported += 1;
        }
        let centre = cell.get("messages_per_second").unwrap_or(&cell["rtt_ns"]["p50"]);
        // Of a latest value nobody may have looked twice in a few milliseconds.
        if centre["value"].is_null() && cell["mechanism"] == "seqlock" {
            continue;
        }
        assert!(centre["value"].is_number(), "{}: {centre}", cell["id"]);
        // One round makes no interval.
        assert!(centre.get("ci95").is_none() && !text(centre, "reason").is_empty(), "{centre}");
        if cell["pattern"] == "ping-pong" {
            // Not even a fast mechanism makes two million round trips in ten milliseconds.
            assert!(cell["rtt_ns"]["p99.999"]["value"].is_null(), "{}", cell["id"]);
        }
    }
    assert!(unsupported > 0);
}

fn two_spinning_ends_are_never_put_on_one_cpu(document: &Value) {
    let refused = |cell: &&Value| cell["wait"] == "spin" && cell["placement"] == "same-cpu";
    let spinning: Vec<_> = cells(document).iter().filter(refused).collect();
    assert!(!spinning.is_empty());
    for cell in spinning {
        assert_eq!(cell["status"], "unavailable", "{cell}");
        if cell["mechanism"] == "pipe/spin" {
            assert!(text(cell, "reason").contains("busy-waiting processes"), "{cell}");
        }
        assert!(rounds(cell).is_empty());
    }
}

/// Every size that some mechanism cannot carry stays in the document as asked for.
#[test]
fn a_size_that_cannot_be_carried_names_its_limit_and_what_raises_it() {
    let sandbox = Sandbox::new();
    let listed: Value =
        serde_json::from_str(&sandbox.run(&["list", "--json"]).stdout).expect("JSON");
    let mut seen = 0;
    for mechanism in list(&listed, "mechanisms") {
        let (name, limit) = (text(mechanism, "name"), &mechanism["limit"]);
        let too_long = limit["bytes"].as_u64().map(|bytes| bytes + 1);
        let Some(size) = too_long.filter(|size| *size < 1 << 30) else { continue };
        if mechanism["available"] != true || mechanism["spec"]["payload"]["kind"] != "message" {
            continue;
        }
        let ended =
            sandbox.run(&run(&["-m", name, "-s", &size.to_string(), "--place", "free", "-o", "-"]));
        assert_eq!(ended.status.code(), Some(3), "nothing could run: {}", ended.stderr);
        let document = valid("result", &ended.stdout);
        let [cell] = cells(&document) else { panic!("one cell was asked for") };
        assert_eq!((text(cell, "status"), number(&cell["size_bytes"])), ("unavailable", size));
        // On one CPU that comes before its size.
        if cell["wait"] == "spin" && text(cell, "reason").contains("two busy-waiting processes") {
            skipped("two CPUs", text(cell, "id"));
            continue;
        }
        for part in [text(limit, "set_by"), text(limit, "raise")] {
            assert!(text(cell, "reason").contains(part), "{name}: '{part}' in {}", cell["reason"]);
        }
        seen += 1;
    }
    assert!(seen > 0, "no mechanism with a limit can run here");
}

#[test]
fn the_kernel_has_the_last_word_on_a_knob() {
    let sandbox = Sandbox::new();
    for (asked, requested, granted) in [("1M", 1 << 20, 1 << 20), ("70000", 70_000, 128 << 10)] {
        let setting = format!("pipe.size={asked}");
        let words = ["-m", "pipe,tcp", "--set", &setting, "--place", "same-cpu", "-o", "knob.json"];
        let ended = sandbox.run(&run(&words));
        let document = sandbox.result("knob.json");
        let [pipe, tcp] = cells(&document) else { panic!("two cells were asked for") };
        assert_eq!(pipe["status"], "ok", "{}", pipe["reason"]);
        let knob = &pipe["knobs"]["pipe.size"];
        assert_eq!((number(&knob["requested"]), number(&knob["effective"])), (requested, granted));
        assert!(
            text(pipe, "id").contains(&setting),
            "a knob is part of the identity: {}",
            pipe["id"]
        );
        assert!(tcp["knobs"].get("pipe.size").is_none() && !text(tcp, "id").contains("pipe"));
        assert_eq!(ended.stdout.contains("got 128K"), asked == "70000", "{}", ended.stdout);
    }
}

#[test]
fn the_same_seed_measures_in_the_same_order() {
    let sandbox = Sandbox::new();
    let orders = |seed: &str| -> BTreeMap<String, Vec<u64>> {
        let words = ["-m", "pipe,unix-stream,eventfd,unix-dgram", "-p", "ping-pong,stream"];
        let more = ["--place", "same-cpu,free", "--seed", seed, "-o", "-"];
        let ended = sandbox.run(&run(&[&words[..], &more].concat()));
        let document = valid("result", &ended.stdout);
        assert_eq!(document["invocation"]["seed"].to_string(), seed);
        let order = |cell: &Value| {
            let rounds = rounds(cell);
            let orders = rounds.iter().map(|round| number(&round["order"]));
            (text(cell, "id").to_owned(), orders.collect())
        };
        cells(&document).iter().map(order).collect()
    };
    let first = orders("42");
    assert_eq!(first, orders("42"));
    // 16 cells twice: that another seed gives the same order is out of the question.
    assert_ne!(first, orders("43"));
    let positions: BTreeSet<u64> = first.values().map(|order| order[0]).collect();
    assert_eq!(positions, (0..first.len() as u64).collect(), "every cell has a place of its own");
}

#[test]
fn the_document_tells_nothing_about_whose_machine_it_was() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().join("result.json");
    let home = home.to_str().expect("UTF-8");
    let words = ["-m", "fifo,unix-stream", "--set", "unix-stream.bind=path", "-o", home];
    sandbox.done(&run(&[&words[..], &["--place", "same-cpu"]].concat()));
    let written = sandbox.read("result.json").expect("written");
    let document = valid("result", &written);
    let argv: Vec<_> =
        list(&document["invocation"], "argv").iter().filter_map(Value::as_str).collect();
    assert_eq!(argv[..2], ["ipcperf", "run"]);
    assert!(argv.contains(&"result.json"), "{argv:?}");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ipcperf"));
    let build = program.parent().and_then(std::path::Path::to_str).expect("UTF-8");
    let runtime = sandbox.run_directories();
    for place in [build, env!("CARGO_MANIFEST_DIR"), runtime.to_str().expect("UTF-8")] {
        assert!(!written.contains(place), "{place}");
    }
    assert!(!written.contains(home.trim_end_matches("/result.json")));
}

#[test]
fn no_document_has_the_name_of_the_host_or_of_a_user() {
    let sandbox = Sandbox::new();
    // Names that stand in no document by chance, where programs look for them.
    let names = [("HOSTNAME", "zz9-host"), ("USER", "zz9-user"), ("LOGNAME", "zz9-user")];
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    for words in [
        &run(&["-m", "pipe,udp,unix-stream", "--place", "same-cpu", "-o", "-"])[..],
        &["doctor", "--format", "json"],
        &["compare", "--live", "pipe same-cpu", "tcp same-cpu", "--rounds=8", "--slice=2ms", "-o-"],
    ] {
        let mut command = sandbox.command(words);
        command.envs(names);
        let ended = sandbox.spawn(command).end();
        let document: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        let mut texts = Vec::new();
        collect(&document, &mut texts);
        assert!(texts.len() > 100, "{words:?}");
        for text in texts {
            assert!(!text.contains("zz9") && text != host.trim(), "{words:?}: {text}");
        }
    }
}

/// All texts of a document, names of fields included.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(all) => all.iter().for_each(|one| collect(one, texts)),
        Value::Object(all) => all.iter().for_each(|(name, one)| {
            texts.push(name);
            collect(one, texts);
        }),
        _ => {}
    }
}

/// A knob that names a folder at home is in identities, knobs, command line and reasons, and it can be measured again.
#[test]
fn the_document_does_not_name_the_home_directory_whatever_was_asked_for() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().to_str().expect("UTF-8").to_owned();
    for (folder, status) in [("files", "ok"), ("no-such-folder", "unavailable")] {
        std::fs::create_dir_all(sandbox.home().join("files")).expect("a folder");
        let set = format!("temp-file.dir={home}/{folder}");
        let words = ["-m", "temp-file", "--place", "same-cpu", "--set", &set, "-o", "at-home.json"];
        let ended = sandbox.run(&run(&words));
        let written = sandbox.read("at-home.json").expect("written");
        assert!(!written.contains(&home), "{written}");
        assert!(!ended.stdout.contains(&home), "{}", ended.stdout);
        let document = valid("result", &written);
        let [cell] = cells(&document) else { panic!("one cell was asked for") };
        assert_eq!(text(cell, "status"), status, "{cell}");
        assert!(text(cell, "id").contains(&format!("dir=~/{folder}")), "{cell}");
    }
    let words = ["-m", "temp-file", "--place", "same-cpu", "-o", "at-home.json", "--set"];
    let set = format!("temp-file.dir={home}/files");
    sandbox.run(&run(&[&words[..], &[&set]].concat()));
    let again = sandbox.run(&["repeat", "at-home.json", "--set", &set, "-o", "again.json"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", again.stdout, again.stderr);
    // Right behind the letter of its flag, too.
    let attached = format!("-o{home}/attached.json");
    sandbox.run(&run(&["-m", "pipe", "--place", "same-cpu", &attached]));
    let written = sandbox.read("attached.json").expect("written");
    assert!(!written.contains(&home) && written.contains("-oattached.json"), "{written}");
}

/// Outside the home directory, too, and a plan is repeated without them.
#[test]
fn the_command_line_has_the_names_of_files_and_no_paths() {
    let sandbox = Sandbox::new();
    let folder = sandbox.temporary().join("zz9-folder");
    std::fs::create_dir(&folder).expect("a folder");
    let path = folder.join("result.json");
    let path = path.to_str().expect("UTF-8");
    let told = |words: &[&str], word: &str| {
        sandbox.done(words);
        let written = std::fs::read_to_string(path).expect("written");
        assert!(!written.contains("zz9-folder"), "{written}");
        let document = valid("result", &written);
        let argv = list(&document["invocation"], "argv");
        assert!(argv.iter().any(|one| one == word), "{word}: {argv:?}");
    };
    let pipe = run(&["-m", "pipe", "--place", "same-cpu"]);
    let [long, short] = ["--output=", "-o"].map(|flag| format!("{flag}{path}"));
    told(&[&pipe[..], &["-o", path]].concat(), "result.json");
    told(&[&pipe[..], &[&long]].concat(), "--output=result.json");
    told(&[&pipe[..], &[&short]].concat(), "-oresult.json");
    told(&["repeat", path, "--output", path], "result.json");
    let program = "/bin/sh -c 'head -c 10 /dev/zero'";
    told(&["exec", program, "--rounds=1", "-o", path], "sh -c 'head -c 10 zero'");
}

/// Named CPUs are not exchanged between rounds as those of a class are.
#[test]
fn cpus_that_were_named_keep_their_seats_in_every_round() {
    let sandbox = Sandbox::new();
    let words = ["-m", "pipe", "--place", "free,0,0,65535,0", "-o", "-"];
    let ended = sandbox.run(&run(&words));
    let document = valid("result", &ended.stdout);
    let [_, one, missing] = cells(&document) else { panic!("three cells were asked for") };
    assert_eq!(text(missing, "status"), "unavailable");
    assert!(text(missing, "reason").contains("CPU 65535"), "{missing}");
    let allowed = list(&document["host"], "cpus_allowed");
    let pair = |a: &Value, b: &Value| vec![a.clone(), b.clone()];
    if !allowed.contains(&Value::from(0)) {
        assert!(text(one, "reason").contains("CPU 0"), "{one}");
        return skipped("CPU 0", text(one, "reason"));
    }
    assert_eq!(text(one, "id"), "pipe ping-pong 64B place=0,0");
    let [.., before, last] = allowed else {
        return skipped("two CPUs", "there is one");
    };
    let place = format!("{last},{before}");
    let words = ["-m", "pipe", "--place", &place, "-o", "named.json"];
    sandbox.run(&run(&words));
    let document = sandbox.result("named.json");
    let [cell] = cells(&document) else { panic!("one cell was asked for") };
    assert_eq!((text(cell, "status"), text(cell, "placement")), ("ok", place.as_str()));
    for round in &rounds(cell) {
        assert_eq!(list(round, "cpus"), pair(last, before).as_slice(), "{round}");
    }
    let again = sandbox.run(&["repeat", "named.json", "--dry-run"]);
    assert!(again.status.success() && again.stdout.contains(&place), "{}", again.stderr);
}

#[test]
fn a_placement_this_machine_does_not_have_is_no_success() {
    let sandbox = Sandbox::new();
    for place in ["smt", "same-llc", "cross-llc", "cross-node", "p-cores", "e-cores", "cross-kind"]
    {
        let ended = sandbox.run(&run(&["-m", "pipe", "--place", place, "-o", "-"]));
        let document = valid("result", &ended.stdout);
        let [cell] = cells(&document) else { panic!("one cell was asked for") };
        if cell["status"] == "ok" {
            assert_eq!(ended.status.code(), Some(0), "{place}");
        } else {
            assert_eq!(
                (ended.status.code(), text(cell, "status")),
                (Some(3), "unavailable"),
                "{place}"
            );
            assert!(
                text(cell, "reason").contains("CPU") || text(cell, "reason").contains("cache"),
                "{cell}"
            );
        }
    }
}
