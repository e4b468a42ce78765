//! What is told of connections for single requests: those that failed, and ports that were used up.

use super::*;
use ipcperf_core::result::{BeforeAfter, Connections, EphemeralPorts};

/// A hundred ports.
const PORTS: EphemeralPorts =
    EphemeralPorts { first: 40_000, last: 40_099, in_use: BeforeAfter { before: 0, after: 0 } };

/// What is told of a cell of seven rounds, each with so many requests answered and so many failed for this reason.
fn told([answered, failed]: [u64; 2], error: &str) -> Vec<Finding> {
    let slices = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
    let (mut cell, set) = cell_of(PatternKind::PingPong, slices, None);
    for round in &mut cell.rounds {
        (round.messages, round.lost) = (answered, failed);
    }
    cell.lost = 7 * failed;
    cell.connect = Some(Connections {
        asked: 7 * (answered + failed),
        answered: 7 * answered,
        errors: [(error.to_owned(), cell.lost)].into(),
        ephemeral_ports: Some(PORTS),
        ..Connections::default()
    });
    let found = findings(Vec::new());
    let input = noise::Input::of(&found, &set.clock, &set.bounds, &set.host, true, 1);
    noise::judge(&input, &[cell]).findings
}

fn find<'a>(told: &'a [Finding], code: &str) -> Option<&'a Finding> {
    told.iter().find(|finding| finding.code == code)
}

#[test]
fn requests_that_failed_are_told_with_their_errors_and_what_helps() {
    let refused = told([97, 3], "ECONNREFUSED");
    let finding = find(&refused, "W-REFUSED").expect("21 requests failed");
    let words = "21 of 700 requests failed (21 ECONNREFUSED); rates are of those answered";
    assert!(finding.text.ends_with(words), "{}", finding.text);
    assert_eq!((finding.value, finding.cells.len()), (Some(21.0), 1));
    assert!(finding.remedy.contains("backlog"), "{}", finding.remedy);
    let used_up = told([97, 3], "EADDRNOTAVAIL");
    let finding = find(&used_up, "W-REFUSED").expect("21 requests failed");
    assert!(finding.remedy.contains("ip_local_port_range"), "{}", finding.remedy);
    assert!(find(&told([100, 0], "ECONNREFUSED"), "W-REFUSED").is_none());
}

#[test]
fn more_connections_in_a_round_than_ports_are_told() {
    // Those that failed took a port as well.
    let all = told([98, 3], "ECONNREFUSED");
    let finding = find(&all, "I-PORTS").expect("101 connections through 100 ports");
    assert!(finding.text.contains("101 connections of one round went through 100 ephemeral"));
    assert_eq!((finding.value, finding.limit), (Some(101.0), Some(100.0)));
    assert!(find(&told([97, 3], "ECONNREFUSED"), "I-PORTS").is_none());
}
