//! Reports of requests that failed, refused connections, and used-up ports.

use super::*;
use ipcperf_core::result::{BeforeAfter, Connections, EphemeralPorts, Served};

/// A hundred ports.
const PORTS: EphemeralPorts =
    EphemeralPorts { first: 40_000, last: 40_099, in_use: BeforeAfter { before: 0, after: 0 } };

/// What is told of a cell of seven rounds, each with so many requests answered and so many failed for this reason.
fn told([answered, failed]: [u64; 2], error: &str) -> Vec<Finding> {
    judged([answered, failed], |cell| {
        cell.connect = Some(Connections {
            asked: 7 * (answered + failed),
            answered: 7 * answered,
            errors: [(error.to_owned(), cell.lost)].into(),
            ephemeral_ports: Some(PORTS),
            ..Connections::default()
        });
    })
}

/// What is told of such a cell with something in it.
fn judged([answered, failed]: [u64; 2], put: impl FnOnce(&mut Cell)) -> Vec<Finding> {
    let slices = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
    let (mut cell, set) = cell_of(PatternKind::PingPong, slices, None);
    for round in &mut cell.rounds {
        (round.messages, round.lost) = (answered, failed);
    }
    cell.lost = 7 * failed;
    put(&mut cell);
    let found = findings(Vec::new());
    let input = noise::Input::of(&found, &set.clock, &set.bounds, &set.host, true, 1);
    noise::judge(&input, &[cell]).findings
}

fn find<'a>(told: &'a [Finding], code: &str) -> Option<&'a Finding> {
    told.iter().find(|finding| finding.code == code)
}

#[test]
fn requests_that_failed_are_told_with_their_errors_and_what_helps() {
    for (counts, code, other, limit) in
        [([99, 1], "W-REFUSED", "E-REFUSED", 0.0), ([98, 2], "E-REFUSED", "W-REFUSED", 7.0)]
    {
        let [_, failed] = counts.map(|count| 7 * count);
        let refused = told(counts, "ECONNREFUSED");
        let finding = find(&refused, code).expect("some failed");
        let counts = format!("{failed} of 700 requests failed");
        let errors = format!("({failed} ECONNREFUSED): rates count only answered requests");
        let text = &finding.text;
        assert!(text.starts_with(&counts) && text.contains(&errors), "{text}");
        assert_eq!((finding.value, finding.limit), (Some(failed as f64), Some(limit)));
        assert_eq!(finding.cells.len(), 1);
        assert!(finding.remedy.contains("backlog"), "{}", finding.remedy);
        assert!(find(&refused, other).is_none());
    }
    for (error, helps) in [
        ("EMFILE", "more open files"),
        ("ENFILE", "fs.file-max"),
        ("ENOMEM", "memory"),
        ("EPERM", "firewall"),
        ("EPROTO", "connect(2)"),
    ] {
        let told = told([97, 3], error);
        let remedy = &find(&told, "E-REFUSED").expect("21 failed").remedy;
        assert!(remedy.contains(helps) && !remedy.contains("backlog"), "{error}: {remedy}");
    }
    let used_up = told([97, 3], "EADDRNOTAVAIL");
    let finding = find(&used_up, "E-REFUSED").expect("21 requests failed");
    assert!(finding.remedy.contains("ip_local_port_range"), "{}", finding.remedy);
    assert!(find(&told([100, 0], "ECONNREFUSED"), "W-REFUSED").is_none());
}

#[test]
fn of_a_server_that_keeps_its_connections_failed_requests_and_refused_connections_are_told() {
    let served = |answered: u64, failed: u64, refused: u64| {
        judged([answered, failed], |cell| {
            let errors = (failed > 0).then(|| ("ECONNRESET".to_owned(), cell.lost));
            cell.serve = Some(Served {
                asked: 7 * (answered + failed),
                answered: 7 * answered,
                errors: errors.into_iter().collect(),
                refused,
                ..Served::default()
            });
        })
    };
    let few = served(99, 1, 0);
    let finding = find(&few, "W-REFUSED").expect("seven failed");
    assert!(finding.text.starts_with("7 of 700 requests failed"), "{}", finding.text);
    assert!(finding.remedy.contains("breaks connections"), "{}", finding.remedy);
    assert!(find(&few, "I-REFUSED").is_none() && find(&few, "E-REFUSED").is_none());
    assert!(find(&served(90, 10, 0), "E-REFUSED").is_some());
    let crowded = served(100, 0, 3);
    let finding = find(&crowded, "I-REFUSED").expect("three were refused");
    assert!(finding.text.starts_with("3 connections to a server"), "{}", finding.text);
    assert_eq!((finding.value, finding.cells.len()), (Some(3.0), 1));
    assert!(find(&crowded, "W-REFUSED").is_none());
}

#[test]
fn more_connections_in_a_round_than_ports_are_told() {
    // Those that failed took a port as well.
    let all = told([98, 3], "ECONNREFUSED");
    let finding = find(&all, "I-PORTS").expect("101 connections through 100 ports");
    assert!(finding.text.contains("101 through 100"), "{}", finding.text);
    assert_eq!((finding.value, finding.limit), (Some(101.0), Some(100.0)));
    assert!(find(&told([97, 3], "ECONNREFUSED"), "I-PORTS").is_none());
}
