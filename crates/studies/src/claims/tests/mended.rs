//! Claims that once tested something else than what was said.

use super::*;

/// The claim of a study with this id after `rounds` rounds that leave no doubt, in which readings are what `value` says of
/// their metric and arm.
fn verdict(study: &str, id: &str, value: &dyn Fn(&str, &str) -> f64) -> Verdict {
    let mut study = parsed().into_iter().find(|one| one.head.name == study).expect(study);
    study.claims.retain(|claim| claim.id == id);
    let mut readings: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (metric, arm) in study.claims.iter().flat_map(Claim::readings) {
        let of_arm = readings.entry(arm.to_owned()).or_default();
        of_arm.insert(metric.to_owned(), value(metric, arm));
    }
    let find = |id: &String| study.arms.iter().find(|arm| arm.id == *id).expect("checked");
    let rounds = study.rounds(Scale::Smoke);
    let recorded = |(id, values): (&String, &BTreeMap<String, f64>)| {
        recorded(find(id), &vec![values.clone(); rounds as usize])
    };
    let arms: Vec<Measured> = readings.iter().map(recorded).collect();
    judged(&study, &arms, rounds)[0].verdict
}

/// 6500 bytes are ahead of all smaller packets; only a look at larger ones shows that they are not the best.
#[test]
fn packets_of_6500_bytes_are_best_only_if_larger_ones_are_slower_too() {
    let rate = |larger: f64| {
        move |_: &str, arm: &str| {
            let packet = arm.trim_start_matches("packets[").trim_end_matches(']');
            let packet: f64 = packet.parse().expect("bytes");
            if packet > 6500.0 { larger } else { packet }
        }
    };
    assert_eq!(verdict("wisconsin", "s2.c11", &rate(5000.0)), Verdict::Reproduced);
    assert_eq!(verdict("wisconsin", "s2.c11", &rate(14_000.0)), Verdict::NotReproduced);
}

/// A counter of constant rate that is taken for another one: its error grows, whatever a fit to the same run says.
#[test]
fn the_error_of_the_counter_is_that_of_its_nominal_rate() {
    let slope = |nominal: f64| {
        move |metric: &str, _: &str| if metric == "nominal_slope" { nominal } else { 0.0 }
    };
    assert_eq!(verdict("wisconsin", "s2.c10", &slope(200_000.0)), Verdict::Reproduced);
    assert_eq!(verdict("wisconsin", "s2.c10", &slope(50.0)), Verdict::NotReproduced);
    assert_eq!(verdict("wisconsin", "s2.c10.fitted", &slope(0.0)), Verdict::Measured);
}

#[test]
fn what_was_published_for_a_size_that_is_not_stated_stands_at_no_size() {
    let study = parsed().into_iter().find(|one| one.head.name == "wisconsin").expect("ours");
    let rows = study.tables.iter().flat_map(|table| &table.rows);
    for row in rows {
        for (cell, published) in row.cells.iter().zip(&row.published) {
            let is_one = [1951.0, 166.0].map(Published::Number).contains(published);
            assert!(!is_one || cell.is_none(), "{}: {published}", row.label);
        }
    }
}

/// The published order of the extreme tails is one of the program that talks to itself. A corrected program with the
/// shortest tail of all does not refute it, and is not asked.
#[test]
fn the_order_of_extreme_tails_is_that_of_the_programs_as_they_were_published() {
    let tail = |_: &str, arm: &str| match arm {
        "pipes" => 31_290.0,
        "tcp" => 37_019.0,
        "self-loop" => 54_714.0,
        "eventfd" => 68_528.0,
        other => panic!("{other} was not published"),
    };
    assert_eq!(verdict("marhubi", "s4.c5", &tail), Verdict::Reproduced);
}

#[test]
fn the_second_core_costs_as_many_nanoseconds_as_published_or_the_size_differs() {
    let cost = |ns: f64| {
        move |_: &str, arm: &str| if arm == "different-core" { 4232.0 + ns } else { 4232.0 }
    };
    assert_eq!(verdict("marhubi", "s4.c7.ns", &cost(811.0)), Verdict::Reproduced);
    assert_eq!(verdict("marhubi", "s4.c7.ns", &cost(30_000.0)), Verdict::Direction);
    // The ratio, 1.07 where 1.19 was published, was near enough while sizes near 1 were judged by factors alone.
    assert_eq!(verdict("marhubi", "s4.c7", &cost(300.0)), Verdict::Direction);
    assert_eq!(verdict("marhubi", "s4.c7", &cost(811.0)), Verdict::Reproduced);
}

/// The error of the counter begins below that of the other clock, and not only grows past it.
#[test]
fn the_error_of_the_counter_begins_below_that_of_the_other_clock() {
    let start = |nominal_ns: f64| {
        move |metric: &str, _: &str| if metric.starts_with("nominal") { nominal_ns } else { 20.0 }
    };
    assert_eq!(verdict("wisconsin", "s2.c10.start", &start(2.0)), Verdict::Reproduced);
    assert_eq!(verdict("wisconsin", "s2.c10.start", &start(300.0)), Verdict::NotReproduced);
    // The clock counts whole nanoseconds: -0.13 ns refuted the claim.
    assert_eq!(verdict("wisconsin", "s2.c10.start", &start(20.13)), Verdict::Inconclusive);
    assert_eq!(verdict("wisconsin", "s2.c10.start", &start(19.5)), Verdict::Inconclusive);
}

/// It was enough to be faster at all.
#[test]
fn much_better_than_sockets_is_more_than_a_little_better() {
    let rate = |ahead: f64| {
        move |_: &str, arm: &str| match arm.split('/').next() {
            Some("shm") => 1.1 * ahead,
            Some("pipe") => ahead,
            _ => 1.0,
        }
    };
    assert_eq!(verdict("wisconsin", "s2.c8", &rate(2.0)), Verdict::Reproduced);
    assert_eq!(verdict("wisconsin", "s2.c8", &rate(1.2)), Verdict::NotReproduced);
}

/// 18 % faster was within what was accepted, and 20 % slower was not.
#[test]
fn an_eventfd_that_is_faster_than_a_pipe_is_not_as_published_and_a_slower_one_is() {
    let beside =
        |eventfd: f64| move |_: &str, arm: &str| if arm == "eventfd" { eventfd } else { 1.0 };
    assert_eq!(verdict("marhubi", "s4.c2", &beside(0.82)), Verdict::NotReproduced);
    for slower in [1.0, 1.2] {
        assert_eq!(verdict("marhubi", "s4.c2", &beside(slower)), Verdict::Reproduced);
    }
}

/// Two cores were held against the two threads of one only.
#[test]
fn the_worst_tail_is_worse_than_that_of_every_other_placement() {
    let tail = |free: f64| {
        move |_: &str, arm: &str| match arm {
            "different-core" => 398_796.0,
            "same-core" => 39_052.0,
            "same-cpu" => 28_225.0,
            _ => free,
        }
    };
    assert_eq!(verdict("marhubi", "s4.c9", &tail(31_290.0)), Verdict::Reproduced);
    assert_eq!(verdict("marhubi", "s4.c9", &tail(500_000.0)), Verdict::NotReproduced);
}

/// The slowest is the anonymous pipe, and not any pipe.
#[test]
fn a_named_pipe_behind_the_anonymous_one_is_not_as_published() {
    let rate = |named: f64| {
        move |_: &str, arm: &str| match arm.split('[').next() {
            Some("unix") => 41_334.0,
            Some("tcp") => 36_208.0,
            Some("named") => named,
            _ => 9_039.0,
        }
    };
    assert_eq!(verdict("baeldung", "s3.c3", &rate(9_699.0)), Verdict::Reproduced);
    assert_eq!(verdict("baeldung", "s3.c3", &rate(8_000.0)), Verdict::NotReproduced);
}

/// The queue has nothing beside it; the file has, and so has the socket message that it is held against.
#[test]
fn a_queue_improves_on_files_by_what_each_is_beside_its_own_socket() {
    let rate = |file: f64| {
        move |_: &str, arm: &str| match arm {
            "queue" => 50.0,
            "queue-amortised" => 75.0,
            "alone" => 100.0,
            "message" => 40.0,
            _ => file,
        }
    };
    for id in ["s0.c8", "s0.c9"] {
        assert_eq!(verdict("inferno", id, &rate(40.0 / 2.72)), Verdict::Reproduced, "{id}");
        // Slower than the queue, and nearer to its own socket than the queue is to its own.
        assert_eq!(verdict("inferno", id, &rate(35.0)), Verdict::NotReproduced, "{id}");
    }
}

/// A figure that is called an artefact says why.
#[test]
fn what_comes_of_an_artefact_is_marked_and_has_its_erratum() {
    let mut marked = Vec::new();
    for study in parsed() {
        for claim in study.claims.iter().filter(|claim| claim.artefact.is_some()) {
            let has_erratum = study.errata.iter().any(|one| one.claims.contains(&claim.id));
            assert!(has_erratum, "{}", claim.id);
            marked.push(claim.id.clone());
        }
    }
    marked.sort();
    assert_eq!(marked, ["s3.c3", "s3.c4", "s3.c5", "s3.q1", "s4.c1.loop", "s4.c5", "s5.c5"]);
}
