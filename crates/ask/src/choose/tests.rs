//! What is measured for a choice: which cells, and how long.

use super::slices::{LONGEST, has_time_for_tails, shortest};
use super::*;
use ipcperf_core::Capability;

#[test]
fn what_meets_the_needs_comes_first_and_the_rest_as_far_as_there_is_room() {
    let (registry, host) = (ipcperf_builtin::builtin(), Host::read().expect("affinity"));
    let all: Vec<Entry> = registry.entries().to_vec();
    let wanted = Requirements {
        sizes: vec![64, 4096],
        rate_per_second: Some(1000.0),
        can: vec![Capability::Unrelated, Capability::Boundaries],
        no_spin: true,
        ..Requirements::default()
    };
    let of = |seconds| {
        cells(
            (&all, &OptionSet::default()),
            &host,
            &wanted,
            EXPLAINING,
            Duration::from_secs(seconds),
        )
        .expect("some")
    };
    let unmet = |cell: &CellPlan| wanted.unmet(cell.entry.spec).len();
    let (short, long) = (of(1), of(24 * 3600));
    assert!(short.iter().all(|cell| unmet(cell) == 0), "no room for any other");
    let is_same = |(a, b): (&CellPlan, &CellPlan)| a.id == b.id;
    assert!(short.iter().zip(&long).all(is_same), "what decides is the same");
    assert!(long.iter().all(|cell| unmet(cell) <= 1));
    assert!(long.iter().any(|cell| unmet(cell) == 1));
    assert!(long.iter().any(|cell| cell.options.0.contains_key("unix-seqpacket.sndbuf")));
    let ids: BTreeSet<_> = long.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), long.len(), "a cell stands in the plan twice");
    let of_packets = short.iter().filter(|cell| cell.key.mechanism == "unix-seqpacket");
    let planned: BTreeSet<_> =
        of_packets.clone().map(|cell| (cell.key.pattern, cell.key.size_bytes)).collect();
    assert_eq!(planned.len(), 6, "open and closed loop and stream, at both sizes");
    for cell in of_packets {
        assert_eq!(cell.options.0["unix-seqpacket.bind"], "path", "{}", cell.id);
    }
}

#[test]
fn what_a_rate_took_is_taken_over_for_the_connections_that_it_was_measured_with() {
    let before = Requirements { inflight: 16, conns: 16, ..Requirements::default() };
    for (conns, expected) in [(0, (16, 16)), (16, (16, 16)), (3, (0, 3)), (17, (0, 17))] {
        let wanted = Requirements { conns, ..Requirements::default() };
        let found = with_several(wanted.clone(), &before);
        assert_eq!((found.inflight, found.conns), expected);
        let one = Requirements { conns: 16, ..Requirements::default() };
        assert_eq!(with_several(wanted.clone(), &one), wanted, "nothing was tried then");
    }
}

#[test]
fn all_that_decides_is_measured_next_to_the_load_that_was_asked_for() {
    let (registry, host) = (ipcperf_builtin::builtin(), Host::read().expect("affinity"));
    let args = |neighbour: &str, by: &str| ChooseArgs {
        neighbour: Some(neighbour.to_owned()),
        by: Some(by.to_owned()),
        ..ChooseArgs::default()
    };
    let wanted = requirements(&args("cpu:2", "p99")).expect("requirements");
    assert_eq!(wanted.neighbour.as_ref().map(ToString::to_string).as_deref(), Some("cpu:2@free"));
    let pair: Vec<Entry> =
        registry.entries().iter().filter(|one| one.spec.name == "pipe").copied().collect();
    let planned = planned(&pair, &wanted.deciding(), &OptionSet::default(), &host, &wanted);
    let planned = planned.expect("cells");
    assert!(!planned.is_empty());
    for cell in planned {
        assert!(cell.id.contains(" neighbour=cpu:2@free"), "{}", cell.id);
    }
    for (neighbour, part) in [
        ("cpv:2", "did you mean 'cpu:2'?"),
        ("cpu:1,cpu:2", "next to one load"),
        ("exec=no-such-program-anywhere", "no-such-program-anywhere"),
    ] {
        let told = requirements(&args(neighbour, "p50")).expect_err(neighbour).to_string();
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(requirements(&args("none", "p50")).expect("none").neighbour, None);
}

#[test]
fn slow_rates_and_long_pauses_have_longer_slices() {
    let of = |rate: Option<f64>, think_ns, p99_ns| {
        shortest(&Requirements {
            rate_per_second: rate,
            think_ns,
            p99_ns,
            ..Requirements::default()
        })
    };
    assert_eq!(of(None, 0, None), SHORTEST);
    assert_eq!(of(Some(100.0), 0, None), Duration::from_millis(400));
    assert_eq!(of(Some(100_000.0), 1_000_000, Some(1e6)), Duration::from_millis(200));
    assert_eq!(of(Some(1.0), 0, None), LONGEST);
}

#[test]
fn a_tail_that_decides_has_its_operations_in_each_round() {
    let by =
        |by, rate: f64| Requirements { rate_per_second: Some(rate), by, ..Requirements::default() };
    for (goal, fewest) in [(Goal::P99, 2000.0), (Goal::P999, 20_000.0)] {
        let length = shortest(&by(goal, 20_000.0)).as_secs_f64();
        assert!(length * 20_000.0 > fewest, "{goal}: {length} s");
        let refused = has_time_for_tails(&by(goal, 100.0)).expect_err("20 s and more").to_string();
        assert!(
            refused
                .starts_with(&format!("--by {goal}: at 100 /s the operations of one round take ")),
            "{refused}"
        );
        assert!(refused.contains("a rate of at least "), "{refused}");
    }
    assert!(has_time_for_tails(&by(Goal::P50, 100.0)).is_ok());
}

#[test]
fn a_budget_holds_and_one_that_is_too_short_names_one_that_is_not() {
    let (registry, host) = (ipcperf_builtin::builtin(), Host::read().expect("affinity"));
    let all = request::block(standing(&registry)).expect("no knobs");
    let planned = |wanted: &Requirements, budget: Duration, beforehand: Beforehand| {
        let slice = shortest(wanted).max(EXPLAINING);
        let left = budget.saturating_sub(beforehand.spent);
        let cells = cells((&all.0, &all.1), &host, wanted, slice, left).expect("some");
        within((budget, beforehand), cells, wanted, 1)
    };
    let mut refused = 0;
    for (rate, spent_ns, skipped_s) in [
        (None, 0, 0),
        (Some(30.0), 0, 0),
        (Some(1000.0), 0, 0),
        (Some(20_000.0), 0, 0),
        (Some(20_000.0), 123_456_789, 0),
        (Some(20_000.0), 987_654_321, 4),
    ] {
        let wanted =
            Requirements { sizes: vec![64], rate_per_second: rate, ..Requirements::default() };
        let beforehand = Beforehand {
            spent: Duration::from_nanos(spent_ns),
            skipped: Duration::from_secs(skipped_s),
        };
        for seconds in [1, 3, 20, 60, 600] {
            let budget = Duration::from_secs(seconds);
            let text = match planned(&wanted, budget, beforehand) {
                Ok(plan) => {
                    let expected = plan.expected() + beforehand.spent;
                    assert!(expected <= budget, "{rate:?} in {seconds} s: {expected:?}");
                    let is_short = plan.settings.rounds < FEWEST_ROUNDS as u64;
                    let said = plan.short("an order");
                    assert_eq!(said.is_some(), is_short, "{said:?}");
                    said
                }
                Err(stop) => {
                    refused += 1;
                    Some(stop.to_string())
                }
            };
            let Some(text) = text else { continue };
            assert!(text.contains("an order takes 6: --budget "), "{text}");
            assert!(text.contains(&format!("--budget {seconds}s")), "as it was typed: {text}");
            assert_eq!(text.contains(" (1 s went to attempts): "), {
                text.starts_with("--budget") && spent_ns > 0
            });
            let enough = text.rsplit("--budget ").next().expect("one");
            let enough: u64 = enough.split('s').next().expect("seconds").parse().expect(&text);
            // The next time what was skipped may be measured, too.
            let spent = beforehand.spent + beforehand.skipped;
            let beforehand = Beforehand { spent, ..Beforehand::default() };
            let enough = Duration::from_secs(enough);
            let plan = planned(&wanted, enough, beforehand).expect("enough");
            assert!(plan.settings.rounds >= FEWEST_ROUNDS as u64, "{rate:?}: {text}");
        }
    }
    assert!(refused >= 2, "a second is too short for whatever is asked");
}
