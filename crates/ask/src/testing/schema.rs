//! The schema files describe what is written, all of it and nothing else.

use crate::list::table as list;
use crate::results::pipelines;
use crate::testing::sample::Build;
use crate::testing::{rendered, sample};
use ipcperf_core::result::{Fan, OneWay, ProgramEnd, ResultSet, TransformCost};
use ipcperf_core::{
    BackPressure, Direction, Family, Memory, OnClose, OnRestart, PayloadFile, Peers, Reach,
    Transfers, Transform, Wait,
};
use ipcperf_render::{Format, Style};
use ipcperf_testing::schema::{errors, is_described, schema};
use ipcperf_testing::to_text;
use serde_json::{Value, json};

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

fn document(set: &ResultSet) -> Value {
    parse(&rendered(set, Format::Json, &Style::default()))
}

fn result() -> Value {
    let mut set = sample::survey();
    set.cells.iter_mut().for_each(|cell| cell.rounds.truncate(1));
    set.cells.push(sample::cell("pipe", 64, sample::TWO).rtt(71_000.0, 500.0).open_loop(10_000.0));
    // What only a cell that was asked for more has.
    let cell = set.cells.first_mut().expect("a survey has cells");
    cell.key.load.one_way = true;
    cell.key.load.transform = Some(Transform::Gzip);
    cell.key.load.payload = Some(PayloadFile {
        file: "data/log.json".to_owned(),
        bytes: 4 << 20,
        of_bytes: Some(1 << 30),
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
    });
    cell.key.load.follow = vec!["./echo".to_owned()];
    cell.key.load.at = "tcp:127.0.0.1:7".parse().ok();
    let said = vec!["runtime 3".to_owned()];
    cell.rounds[0].program =
        Some(ProgramEnd { is_incomplete: true, said, ..ProgramEnd::default() });
    cell.one_way_ns = Some(OneWay {
        quantiles: [("p50".to_owned(), sample::metric(3000.0, 20.0))].into(),
        bound_ns: Some(50.0),
        reason: Some("none".to_owned()),
    });
    cell.transform = Some(TransformCost {
        name: Transform::Gzip,
        library: "a library".to_owned(),
        ratio: 1.9,
        wire_bytes: 50,
        compress_ns: 900.0,
        decompress_ns: 300.0,
    });
    document(&set)
}

fn mechanisms() -> Value {
    parse(&to_text(|out| {
        list::list(
            &sample::list(),
            &ipcperf_core::result::Origin::default(),
            Format::Json,
            &Style::default(),
            out,
        )
    }))
}

#[test]
fn what_is_written_is_valid_and_every_key_of_it_is_described() {
    is_described("result", &result());
    is_described("mechanisms", &mechanisms());
}

#[test]
fn every_word_of_a_closed_list_is_valid_and_no_other() {
    let schema = schema("mechanisms");
    let words = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let families: Vec<&str> = Family::ALL.iter().map(|word| word.name()).collect();
    let lists = [
        ("/spec/family", words(&families)),
        ("/family", words(&families)),
        ("/spec/wait", Wait::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/reach", Reach::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/direction", Direction::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/producers", Peers::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/consumers", Peers::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/back_pressure", BackPressure::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/on_close", OnClose::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/on_death", OnClose::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/on_restart", OnRestart::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/exchange", Transfers::ALL.iter().map(ToString::to_string).collect()),
        ("/spec/memory", Memory::ALL.iter().map(ToString::to_string).collect()),
    ];
    for (place, words) in lists {
        let invalid = |word: &str| {
            let mut document = mechanisms();
            let value = document.pointer_mut(&format!("/mechanisms/0{place}")).expect(place);
            *value = json!(word);
            errors(&schema, &document)
        };
        for word in words {
            assert_eq!(invalid(&word), Vec::<String>::new(), "{place}: {word}");
        }
        assert!(!invalid("zebra").is_empty(), "{place}");
    }
}

#[test]
fn documents_with_keys_of_newer_minors_are_valid() {
    let mut document = result();
    document["schema"] = json!("ipcperf.result/2.3");
    document["comparisons"] = json!([]);
    document["cells"][0]["temperature"] = json!(31);
    assert_eq!(errors(&schema("result"), &document), Vec::<String>::new());
}

#[test]
fn documents_that_break_the_contract_are_not_valid() {
    let schema = schema("result");
    let mutations: &[(&str, &str, Option<Value>)] = &[
        ("", "schema", None),
        ("", "schema", Some(json!("ipcperf.result/1"))),
        ("", "cells", Some(json!({}))),
        ("/host", "may_poll_idle", None),
        ("/invocation", "seed", Some(json!(-1))),
        ("/noise/findings/0", "severity", Some(json!("fatal"))),
        ("/cells/0", "status", Some(json!("fine"))),
        ("/cells/0", "wait", Some(json!("sleep"))),
        ("/cells/0", "pattern", Some(json!("rate-pong"))),
        ("/cells/0", "placement", Some(json!("moon"))),
        ("/cells/0", "idle", Some(json!("deep"))),
        ("/cells/0", "touch", Some(json!("all"))),
        ("/cells/0", "size_bytes", Some(json!("64"))),
        ("/cells/0", "id", None),
        ("/cells/0/rtt_ns/p50", "value", Some(json!("71 us"))),
        ("/cells/0/rtt_ns/p50", "value", None),
        ("/cells/0/rtt_ns/p50", "ci95", Some(json!([1.0]))),
        ("/cells/0/rtt_ns/p50", "ci95", Some(Value::Null)),
        ("/cells/0/load", "think_ns", Some(json!(0))),
        ("/cells/0/rounds/proof", "holds", Some(json!([1]))),
        ("/cells/0/rounds", "elapsed_ns", None),
        ("/cells/0/rounds", "elapsed_ns", Some(json!([null]))),
        ("/cells/0/rounds", "elapsed_ns", Some(json!(1.5))),
        ("/cells/0/rounds/histogram", "buckets", Some(json!([[[1, 2]]]))),
        ("/cells/3", "reason", None),
        ("/bounds", "pairs", None),
    ];
    for (place, key, value) in mutations {
        let mut document = result();
        let object = document.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
        match value {
            Some(value) => drop(object.insert((*key).to_owned(), value.clone())),
            None => drop(object.remove(*key).expect("the sample has the key")),
        }
        assert!(!errors(&schema, &document).is_empty(), "{place} {key} {value:?}");
    }
}

#[test]
fn connections_for_single_requests_are_described() {
    is_described("result", &document(&sample::connections()));
}

#[test]
fn a_server_and_its_connected_clients_are_described() {
    is_described("result", &document(&sample::served()));
}

#[test]
fn pipelines_of_programs_are_described() {
    let mut pipeline = pipelines::sample();
    pipeline.reason = Some("none".to_owned());
    pipeline.rounds[0].proof.reason = Some("none".to_owned());
    let set = ResultSet { pipelines: vec![pipeline], ..sample::set(Vec::new()) };
    let (schema, document) = (schema("result"), document(&set));
    is_described("result", &document);
    for (place, key, value) in [
        ("/pipelines/0", "status", Some(json!("fine"))),
        ("/pipelines/0", "counted", Some(json!("guessed"))),
        ("/pipelines/0", "bytes_per_second", None),
        ("/pipelines/0/proof", "kind", Some(json!("stamp"))),
        ("/pipelines/0/programs/0", "cpu_ns", Some(json!(3))),
        ("/pipelines/0/rounds/0", "arrived_bytes", Some(json!(-1))),
        ("/pipelines/0/rounds/0/programs/0", "unread_bytes", None),
    ] {
        let mut document = document.clone();
        let object = document.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
        match value {
            Some(value) => drop(object.insert(key.to_owned(), value)),
            None => drop(object.remove(key).expect("the sample has the key")),
        }
        assert!(!errors(&schema, &document).is_empty(), "{place} {key}");
    }
}

#[test]
fn every_key_of_a_fan_is_described() {
    let fan = Fan {
        peers: 4,
        call_ns: [("p99".into(), sample::metric(1.0, 0.1))].into(),
        ..Fan::default()
    };
    let mut document = result();
    document["cells"][0]["fan"] = serde_json::to_value(fan).unwrap();
    document["cells"][0]["rounds"]["fan"] =
        json!({"served": [[1, 2]], "jain": [null], "pids": [[3, 4]]});
    is_described("result", &document);
}
