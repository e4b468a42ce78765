//! Keys do what their flags do.

use super::*;
use crate::args::RunArgs;
use crate::exec::ExecArgs;
use clap::{Args, FromArgMatches};
use ipcperf_core::{LoadKey, PatternKind};
use std::io::Write;

fn written(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

fn matches(words: &[&str]) -> ArgMatches {
    let command = RunArgs::augment_args(Command::new("run"));
    command.try_get_matches_from([&["run"], words].concat()).expect("flags")
}

fn typed(words: &[&str]) -> RunArgs {
    RunArgs::from_arg_matches(&matches(words)).expect("flags")
}

fn read_job(text: &str, words: &[&str]) -> Result<RunArgs, Stop> {
    let RunArgs { allow_exec, plan, .. } = typed(words);
    apply(written(text).path(), allow_exec || plan.dry_run, &matches(words))
}

fn job(text: &str) -> Result<RunArgs, Stop> {
    read_job(text, &["-s", "8"])
}

#[test]
fn every_key_is_read_and_flags_win() {
    let args = job(
        "mechanism = ['pipe', 'tcp']\npattern = 'stream'\nsize = [1, '4K']\nplace = 'free'\nidle = 'poll'\n\
         touch = 'full'\nthink = [0, '1ms']\nburst = 8\none-way = true\nrounds = 7\nslice = '50ms'\nwarmup = '5ms'\nseed = 3\noutput = 'x.json'\nformat = 'csv'\n\
         [set]\npipe.size = '1M'\n'tcp.nodelay' = false\n",
    )
    .expect("a good job");
    assert_eq!(args.mechanism, ["pipe", "tcp"]);
    assert_eq!(args.cells.size, ["8"], "the flag wins");
    assert_eq!(
        (args.length.rounds, args.plan.seed, args.cells.touch.as_deref()),
        (Some(7), Some(3), Some("full"))
    );
    assert_eq!(args.cells.set, ["pipe.size=1M", "tcp.nodelay=off"]);
    assert_eq!(args.output.look.format.as_deref(), Some("csv"));
    assert_eq!(args.cells.place, ["free"]);
    let load = [(LoadKey::Think, "0,1ms"), (LoadKey::Burst, "8"), (LoadKey::OneWay, "on")];
    assert_eq!(args.cells.load.0, load.map(|(key, text)| (key, text.to_owned())).into());
    assert!(job("one-way = false").expect("a good job").cells.load.0.is_empty());
}

/// As an unknown key is told them.
fn known_keys() -> Vec<String> {
    let told = job("zzz = 1").expect_err("no such key").to_string();
    let (_, keys) = told.split_once("known: ").expect("a list");
    keys.trim().split(", ").map(str::to_owned).collect()
}

#[test]
fn a_key_does_what_its_flag_does_and_the_flag_wins() {
    for key in known_keys() {
        let flag = format!("--{key}");
        let (line, words, others) = match key.as_str() {
            "set" => ("set.pipe.size = '1M'".to_owned(), "pipe.size=1M", "pipe.size=2M"),
            "nonblocking" | "one-way" | "time-calls" => (format!("{key} = true"), "", ""),
            "rounds" | "seed" | "samples" | "warmup-ops" | "batch" => {
                (format!("{key} = 7"), "7", "8")
            }
            _ => (format!("{key} = 'job'"), "job", "flag"),
        };
        let read = |words: &[&str]| {
            read_job(&line, &[&["--allow-exec"], words].concat()).expect("a good job")
        };
        let flags = |value: &'static str| match value {
            "" => vec![flag.as_str()],
            value => vec![flag.as_str(), value],
        };
        let wanted = |words: &[&str]| format!("{:?}", typed(&[&["--allow-exec"], words].concat()));
        assert_eq!(format!("{:?}", read(&[])), wanted(&flags(words)), "{key}");
        let won = match key.as_str() {
            // Both hold, and the later one is the flag's.
            "set" => wanted(&["--set", words, "--set", others]),
            _ => wanted(&flags(others)),
        };
        assert_eq!(format!("{:?}", read(&flags(others))), won, "{key}");
    }
}

/// All flags that `run` knows by a long name, whatever a job makes of them.
fn all_flags() -> Vec<String> {
    let command = RunArgs::augment_args(Command::new("run"));
    command.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
}

#[test]
fn every_flag_is_a_key_but_for_the_few_that_are_named_and_nothing_else_is() {
    let (flags, keys) = (all_flags(), known_keys());
    assert!(flags.len() > LoadKey::ALL.len() + 15, "{flags:?}");
    for name in NOT_IN_A_JOB {
        assert!(flags.iter().any(|flag| flag == name), "{name} is no flag any more");
    }
    for flag in &flags {
        let is_key = !NOT_IN_A_JOB.contains(&flag.as_str());
        assert_eq!(keys.contains(flag), is_key, "{flag}");
        let told = job(&format!("{flag} = true")).map_err(|stop| stop.to_string());
        assert_eq!(told.is_err_and(|told| told.contains("unknown key")), !is_key, "{flag}");
    }
    assert!(keys.iter().all(|key| flags.contains(key)), "{keys:?}");
}

/// A word that differs from what the plan is without it, and in which context that shows.
fn example(key: &str) -> (&'static str, &'static str) {
    let Ok(load) = key.parse::<LoadKey>() else {
        return match key {
            "mechanism" => ("'tcp'", ""),
            "pattern" => ("'stream'", ""),
            "size" => ("'4K'", ""),
            "place" => ("'free'", ""),
            "set" => ("{ 'pipe.size' = '1M' }", ""),
            "idle" => ("'poll'", ""),
            "touch" => ("'full'", ""),
            "time-calls" => ("true", ""),
            "rounds" | "seed" => ("7", ""),
            "slice" | "warmup" => ("'7ms'", ""),
            "margin" => ("'7%'", ""),
            "samples" | "warmup-ops" | "batch" => ("7", ""),
            "raw" => ("'nothing.tsv'", ""),
            "follow" => ("'true'", ""),
            // What is no part of the plan of cells.
            "label" | "output" | "format" | "fail-if" | "max-noise" => ("", ""),
            other => panic!("there is no example of what '{other}' changes in a plan"),
        };
    };
    let value = match load.facts().values {
        "" => "true",
        "CLASSES" => "'batch'",
        "VALUES" => "'3'",
        "WEIGHTS" => "'20'",
        "LOADS" => "'cpu:1@free'",
        "TIMES" => "'1ms'",
        "RATES" => "'10%'",
        "ARRIVALS" => "'constant'",
        "COUNTS" => "3",
        "SIZES" => "16",
        "NAMES" => "'lz4'",
        "STYLES" => "'threads'",
        "MIX" => "'36:5@90%,120:4K@10%'",
        "SIDES" => "'client'",
        "FILES" => "'Cargo.toml'",
        "PLACES" => "'malloc'",
        "NAMESPACES" => "'net+ipc'",
        "NETWORKS" => "'veth'",
        other => panic!("nobody knows an example of {other}"),
    };
    let taker = PatternKind::ALL.iter().find(|pattern| pattern.takes(load));
    (value, taker.expect("a pattern that takes it").name())
}

#[test]
fn every_key_arrives_in_the_plan() {
    let registry = ipcperf_builtin::builtin();
    let planned = |text: &str| {
        let args = read_job(text, &["--allow-exec"]).expect(text);
        crate::run::plan(&registry, &args, args.length.rounds.unwrap_or(5)).expect(text)
    };
    for key in known_keys() {
        let (value, pattern) = example(&key);
        if value.is_empty() {
            continue;
        }
        let line = format!("{key} = {value}\n");
        let mechanism = match key.as_str() {
            "mechanism" => "",
            // Only who looks at all of a message minds what is in it.
            "payload" => "mechanism = 'pipe'\ntouch = 'full'\n",
            _ => "mechanism = 'pipe'\n",
        };
        let pattern = if pattern.is_empty() { "" } else { &format!("pattern = '{pattern}'\n") };
        let job = format!("seed = 5\n{mechanism}{pattern}{line}");
        let job = if key == "seed" { job.replacen("seed = 5\n", "", 1) } else { job };
        let with = planned(&job);
        let base = if mechanism.is_empty() { "mechanism = 'pipe'\n" } else { mechanism };
        let without = planned(&format!("seed = 5\n{base}{pattern}"));
        let cells = |plan: &crate::experiment::Experiment| -> Vec<String> {
            plan.cells.iter().map(|cell| cell.id.clone()).collect()
        };
        let is_setting = matches!(
            key.as_str(),
            "rounds"
                | "seed"
                | "slice"
                | "samples"
                | "warmup"
                | "warmup-ops"
                | "batch"
                | "margin"
                | "raw"
                | "time-calls"
        );
        let settings =
            |plan: &crate::experiment::Experiment| format!("{:?} {:?}", plan.settings, plan.margin);
        assert_eq!(cells(&with) == cells(&without), is_setting, "{line}");
        assert_eq!(settings(&with) == settings(&without), !is_setting, "{line}");
        if let Ok(load) = key.parse::<LoadKey>() {
            let word = if value == "true" { "" } else { value.trim_matches('\'') };
            for cell in &with.cells {
                let value = cell.key.load.value(load).unwrap_or_default();
                let read = value.split_once('#').map_or(value.as_str(), |(file, _)| file);
                assert_eq!(read, word, "{line}");
            }
        }
    }
}

#[test]
fn of_two_ways_to_say_a_part_the_one_that_was_typed_wins_and_a_job_says_one() {
    let of = |text: &str, words: &[&str]| {
        let args = read_job(text, words).expect("a good job");
        let length = args.length;
        (length.slice, length.samples, length.warmup, length.warmup_ops)
    };
    let job = "samples = 100\nwarmup = '5ms'\n";
    assert_eq!(of(job, &[]), (None, Some(100), Some("5ms".into()), None));
    let typed = of(job, &["--slice", "1s", "--warmup-ops", "7"]);
    assert_eq!(typed, (Some("1s".into()), None, None, Some(7)));
    let both = read_job("samples = 100\nslice = '5ms'\n", &[]).expect_err("both").to_string();
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn a_job_writes_single_operations_to_a_new_file_below_the_current_directory() {
    for (path, why) in [
        ("../x.tsv", "lies outside the current directory"),
        ("/tmp/x.tsv", "lies outside the current directory"),
        ("Cargo.toml", "exists, and a job file may not replace it; name it with --raw"),
    ] {
        let told = job(&format!("raw = '{path}'")).expect_err(path).to_string();
        assert!(told.contains(why), "{told}");
    }
    let typed = read_job("raw = 'Cargo.toml'", &["--raw", "Cargo.toml"]).expect("typed");
    assert_eq!(typed.raw, Some("Cargo.toml".into()));
    assert!(job("raw = 'x.tsv'").is_ok());
}

/// Mechanisms write there. A knob may stand behind the name of its mechanism, where no rule looked at it.
#[test]
fn a_knob_of_a_job_names_a_folder_elsewhere_only_if_that_is_typed() {
    let elsewhere = "temp-file.dir '/data' lies outside the current directory; to allow it, type: --set \
                     temp-file.dir=/data";
    for text in [
        "mechanism = 'temp-file dir=/data'",
        "mechanism = 'temp-file temp-file.dir=/data'",
        "mechanism = 'pipe,  temp-file dir=/data'",
        "mechanism = ['pipe', 'temp-file wait=block\tdir=/data']",
        "mechanism = 'temp-file'\nset = { 'temp-file.dir' = '/data' }",
        "mechanism = 'temp-file'\n[set]\ntemp-file.dir = ' /data '",
    ] {
        let told = job(text).expect_err(text).to_string();
        assert!(told.contains(elsewhere), "{text}: {told}");
        assert!(read_job(text, &["--set", "temp-file.dir=/data"]).is_ok(), "{text}");
    }
    let behind = "mechanism = 'temp-file dir=/data'";
    assert!(read_job(behind, &["--set", "temp-file.dir=/other"]).is_err());
    assert!(read_job(behind, &["-m", "temp-file dir=/data"]).is_ok());
    assert!(job("mechanism = 'temp-file dir=disk'").is_ok());
}

#[test]
fn cpus_by_their_numbers_are_a_placement_however_they_are_listed() {
    let registry = ipcperf_builtin::builtin();
    let places = |place: &str| -> Vec<String> {
        let text = format!("mechanism = 'pipe'\nplace = {place}\n");
        let args = read_job(&text, &[]).expect("a good job");
        let plan = crate::run::plan(&registry, &args, 5).expect(place);
        plan.cells.iter().map(|cell| cell.key.placement.to_string()).collect()
    };
    for place in ["'0,1'", "[0, 1]", "['0,1']"] {
        assert_eq!(places(place), ["0,1"], "{place}");
    }
    for place in ["'0,free'", "[0, 'free']"] {
        assert_eq!(places(place), ["0,free"], "{place}");
    }
    assert_eq!(places("['free', '3,0', 0, 0]"), ["free", "3,0", "0,0"]);
}

#[test]
fn all_keys_together_are_a_job() {
    let (mut text, mut words) = (String::new(), vec!["--allow-exec".to_owned()]);
    for key in known_keys() {
        // What says a part that another key has said.
        if EITHER.iter().any(|[_, other]| other == &key) {
            continue;
        }
        let (value, word) = match key.as_str() {
            "set" => ("{ 'pipe.size' = '1M' }", "=pipe.size=1M"),
            "nonblocking" | "one-way" | "time-calls" => ("true", ""),
            "rounds" | "seed" | "batch" => ("7", "=7"),
            _ => ("'x'", "=x"),
        };
        text += &format!("{key} = {value}\n");
        words.push(format!("--{key}{word}"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let read = read_job(&text, &["--allow-exec"]).expect("a good job");
    assert_eq!(format!("{read:?}"), format!("{:?}", typed(&words)));
}

#[test]
fn a_job_that_is_only_read_is_its_flags_or_what_is_wrong_with_their_values() {
    let registry = ipcperf_builtin::builtin();
    let read_job = |text: &str| crate::run::read_job(&registry, text);
    let flags = read_job("mechanism = 'pipe'\nsize = [1, '4K']\n[set]\npipe.size = '1M'\n");
    let known = ["--mechanism=pipe", "--set=pipe.size=1M", "--size=1", "--size=4K"];
    let flags = flags.map(|mut flags| {
        flags.sort();
        flags
    });
    assert_eq!(flags, Ok(known.map(str::to_owned).into()));
    for (text, part) in [
        ("size = 8", "which mechanism?"),
        ("mechanism = 'pip'", "did you mean 'pipe'"),
        ("mechanism = 'pipe'\nslice = '1h'", "--slice: 1h is not between"),
        ("mechanism = 'pipe'\nrounds = 0", "--rounds: 0 is not between"),
        ("mechanism = 'pipe'\nfail-if = 'p98 > 1us'", "--fail-if: unknown metric 'p98'"),
        ("mechanism = 'pipe'\ndeadline = '1s'", "unknown key 'deadline'"),
        ("exec = 'true'\nsize = 8", "unknown key 'size'"),
        ("exec = 'true'\ndeadline = '1d'", "--deadline"),
    ] {
        let told = read_job(text).expect_err(text);
        assert!(told.contains(part), "{text}: {told}");
    }
}

#[test]
fn a_job_of_programs_is_what_would_be_typed() {
    let of = |text: &str, words: &[&str]| {
        let command = ExecArgs::augment_args(Command::new("exec"));
        let typed = command.try_get_matches_from([&["exec", "job.toml"], words].concat());
        apply::<ExecArgs>(written(text).path(), true, &typed.expect("flags"))
    };
    let typed = |words: &[&str]| {
        let command = ExecArgs::augment_args(Command::new("exec"));
        let matches = command.try_get_matches_from([&["exec"], words].concat());
        ExecArgs::from_arg_matches(&matches.expect("flags")).expect("flags")
    };
    let text = "exec = [['a b', 'c'], ['d']]\ndeadline = '3s'\ntrace-calls = true\nseed = 7\n";
    let words = ["a b", "c", ",", "d", "--deadline", "3s", "--trace-calls", "--seed", "7"];
    let read = of(text, &[]).expect("a good job");
    assert_eq!(format!("{read:?}"), format!("{:?}", typed(&words)));
    let read = of(text, &["--seed", "8"]).expect("a good job");
    assert!(format!("{read:?}").contains("seed: Some(8)"), "{read:?}");
    for flag in ["--output=/tmp/x.json", "-o/tmp/x.json", "--allow-exec"] {
        let wrong = of(&format!("exec = ['a', '{flag}']"), &[]).expect_err(flag).to_string();
        assert!(wrong.contains("is a flag and not a program"), "{wrong}");
    }
    let wrong = of("exec = 'a'\nsize = 64", &[]).expect_err("no cells").to_string();
    assert!(wrong.contains("unknown key 'size'"), "{wrong}");
}

#[test]
fn a_wrong_key_or_value_names_line_and_remedy() {
    for (text, part) in [
        ("mechanism = 'pipe'\nsise = 1\n", "line 2: unknown key 'sise'; did you mean 'size'?"),
        ("zzz = 1", "known: mechanism"),
        // The name of a key above it begins alike.
        ("size = 8\nsiz = 1", "line 2: unknown key 'siz'; did you mean 'size'?"),
        ("size = 8\n[sets]\npipe.size = 1", "line 2: unknown key 'sets'; did you mean 'set'?"),
        ("size = 8\nthink = true", "line 2: 'think' takes TIMES"),
        ("one-way = 'on'", "line 1: 'one-way' is true or false"),
        ("think = {}", "line 1"),
        ("rounds = 'many'", "line 1"),
        ("size = ", "line 1"),
        ("[set]\npipe.size = [1]", "line"),
    ] {
        let stop = format!("{:?}", job(text).expect_err(text));
        assert!(stop.contains(part), "{text}: {stop}");
    }
}
