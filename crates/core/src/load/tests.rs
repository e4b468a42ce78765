//! What is asked of patterns, and how it is written.

use super::*;
use crate::pattern::PatternKind;

#[test]
fn a_program_is_named_in_the_identity_as_it_is_typed() {
    let of = |words: &[&str]| {
        let follow = words.iter().map(|word| (*word).to_owned()).collect();
        Load { follow, ..Load::default() }
    };
    assert_eq!(of(&["./echo"]).of(PatternKind::PingPong).words(), ["follow=./echo"]);
    assert_eq!(of(&["python3", "echo.py"]).words(), ["follow=\"python3 echo.py\""]);
    let quoted = of(&["sh", "-c", "it's", ""]);
    assert_eq!(quoted.program().as_deref(), Some(r"sh -c 'it'\''s' ''"));
    assert_eq!(of(&["a\n\u{1b}"]).program().as_deref(), Some(r"'a\n\u{1b}'"));
    assert!(of(&[]).is_plain() && of(&[]).program().is_none() && !quoted.is_plain());
}

#[test]
fn a_load_keeps_what_concerns_its_pattern_and_reads_as_words() {
    let all = Load {
        think_ns: 1_000_000,
        window: 8,
        packet: 6500,
        transform: Some(Transform::Gzip),
        one_way: true,
        ..Load::default()
    };
    assert_eq!(
        all.of(PatternKind::PingPong).words(),
        ["think=1ms", "packet=6500", "transform=gzip", "one-way"]
    );
    assert_eq!(all.of(PatternKind::Stream).words(), ["window=8", "packet=6500", "transform=gzip"]);
    assert_eq!(all.of(PatternKind::FanIn).words(), ["peers=4"]);
    assert_eq!(Load { peers: 9, ..all.clone() }.of(PatternKind::FanOut).words(), ["peers=9"]);
    let open = Load {
        rate: Some(Offered::OfPeak(0.1)),
        arrivals: Some(Arrivals::Poisson),
        stall_ns: 20_000_000,
        burst: 8,
        ..all
    };
    assert_eq!(open.of(PatternKind::Rate).words(), ["rate=10%", "stall=20ms"]);
    assert_eq!(open.of(PatternKind::Burst).words(), ["burst=8", "packet=6500"]);
    assert!(Load::default().is_plain() && Load::default().words().is_empty());
}

#[test]
fn a_load_of_a_pattern_has_what_its_row_says_and_nothing_else() {
    let mut all = Load::default();
    for key in LoadKey::ALL {
        let text = match key.facts().values {
            "TIMES" => "1ms",
            "RATES" => "10",
            "ARRIVALS" => "constant",
            "COUNTS" => "2",
            "SIZES" => "6500",
            "NAMES" => "lz4",
            "STYLES" => "threads",
            "MIX" => "36:5@90%,120:4K@10%",
            "PLACES" => "malloc",
            "SIDES" => "client",
            "NAMESPACES" => "net+ipc",
            "NETWORKS" => "veth",
            "CLASSES" => "lead=fifo:10",
            "VALUES" => "-5",
            "WEIGHTS" => "20",
            "LOADS" => "cpu:2@other",
            _ => "on",
        };
        all.set(*key, text).expect("a value");
        assert!(all.value(*key).is_some(), "{key}");
    }
    for key in LoadKey::ALL {
        let takers: Vec<_> =
            PatternKind::ALL.iter().filter(|one| all.of(**one).value(*key).is_some()).collect();
        let rows: Vec<_> = PatternKind::ALL.iter().filter(|one| one.takes(*key)).collect();
        assert!(takers == rows && !rows.is_empty(), "{key}: {takers:?}, but {rows:?}");
        if let Some(default) = key.facts().default {
            assert_eq!(Load::default().set(*key, default), Ok(()), "{key}");
        }
    }
}

#[test]
fn an_answer_is_as_long_as_its_question_unless_asked_otherwise() {
    let load = Load { reply: 4, ..Load::default() };
    assert_eq!(load.of(PatternKind::Request).words(), ["reply=4", "inflight=1"]);
    for (load, pattern, answer) in [
        (&load, PatternKind::Request, 4),
        (&load.of(PatternKind::PingPong), PatternKind::PingPong, 64),
        (&Load::default(), PatternKind::Request, 64),
        (&Load::default(), PatternKind::Stream, 8),
    ] {
        assert_eq!(load.answer(pattern, 64), answer, "{pattern}");
    }
}

#[test]
fn a_value_out_of_range_or_unknown_is_refused() {
    for (key, text, part) in [
        (LoadKey::Think, "11s", "11s is not between 0ns and 10s"),
        (LoadKey::Rate, "0.5", "less than one message per second"),
        (LoadKey::Rate, "0.01%", "not between 0.1% and 10000%"),
        (LoadKey::Burst, "0", "'0' is not a number between 1 and 65536"),
        (LoadKey::Peers, "257", "between 1 and 256"),
        (LoadKey::Packet, "8", "'8' is not a size above 8"),
        (LoadKey::Fresh, "2G", "'2G' is not a size of up to 1 GiB"),
        (LoadKey::Fresh, "1M,2M", "'1M,2M' is not a size of up to 1 GiB"),
        (LoadKey::Transform, "zip", "UnknownName"),
        (LoadKey::Reply, "0", "'0' is not a size of at least 1"),
        (LoadKey::Inflight, "1025", "between 1 and 1024"),
        (LoadKey::Conns, "1025", "between 1 and 1024"),
        (LoadKey::Clients, "65", "between 1 and 64"),
        (LoadKey::Style, "thread", "UnknownName"),
        (LoadKey::Service, "11s", "11s is not between 0ns and 10s"),
        (LoadKey::Mix, "36:5@90%", "do not add up to 100%"),
        (LoadKey::Neighbour, "cpu:2@others", "unknown place 'others'"),
    ] {
        let error = Load::default().set(key, text).expect_err(text);
        assert!(format!("{error:?}").contains(part), "{key} {text}: {error:?}");
    }
}
