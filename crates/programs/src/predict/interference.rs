//! What ipcperf itself adds to the runs of an exchange, so that they are not what the programs would do by themselves.

use super::rounds::ClientWork;
use crate::swap::calls::Exchanged;
use ipcperf_core::text::join;
use ipcperf_core::units::counted;
use ipcperf_stats::median;
use std::collections::BTreeMap;

/// The answers to calls may take this share more of a run of B than of one of A.
const MAY_TAKE: f64 = 0.02;

/// What was exchanged in the runs of B: addresses of the last one, and the most that any of them had of everything else.
pub(crate) fn exchanged(rounds: &[[ClientWork; 3]]) -> Exchanged {
    let mut found = rounds.last().map(|[_, _, b]| b.exchanged.clone()).unwrap_or_default();
    let merge = |all: &mut BTreeMap<String, u64>, one: &BTreeMap<String, u64>| {
        for (name, count) in one {
            let most = all.entry(name.clone()).or_default();
            *most = (*most).max(*count);
        }
    };
    for [_, _, b] in rounds {
        merge(&mut found.options, &b.exchanged.options);
        merge(&mut found.left, &b.exchanged.left);
        merge(&mut found.carried, &b.exchanged.carried);
    }
    found
}

/// Why the runs of B are not what a user would get who configures the other socket by hand.
pub(crate) fn objection(rounds: &[[ClientWork; 3]]) -> Option<String> {
    let all = exchanged(rounds);
    let times = |count: u64| counted(count, "time");
    let mut found: Vec<String> =
        all.left.iter().map(|(why, count)| format!("{why}, {}", times(*count))).collect();
    found.extend(all.carried.iter().map(|(call, count)| {
        format!("ipcperf moved the bytes of {call} with an address, {}", times(*count))
    }));
    let [a, b] = [0, 2].map(|arm| 100.0 * answering(rounds, arm));
    if (b - a).abs() > 100.0 * MAY_TAKE {
        found.push(format!("ipcperf answers calls for {b:.0} % of a run of B and {a:.0} % of A"));
    }
    (!found.is_empty()).then(|| {
        format!(
            "B does not run as it would with the other socket configured by hand ({})",
            join(&found)
        )
    })
}

/// The share of a run of this arm in which ipcperf answers calls: the median over rounds.
pub(crate) fn answering(rounds: &[[ClientWork; 3]], arm: usize) -> f64 {
    let worked = rounds.iter().map(|round| round[arm].worked);
    let shares = worked.map(|one| one.answering_ns as f64 / one.elapsed_ns.max(1) as f64);
    median(&shares.collect::<Vec<f64>>()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swap::accounts::Worked;

    fn round(answering_ns: [u64; 2], exchanged: &Exchanged) -> [ClientWork; 3] {
        let run = |answering_ns, exchanged| ClientWork {
            worked: Worked {
                elapsed_ns: 1_000_000,
                server_ns: 0,
                client_ns: 0,
                is_incomplete: false,
                connections: 1,
                answering_ns,
            },
            output: String::new(),
            printed: 0,
            exchanged,
            filter_ns: 0.0,
            is_second_start: false,
        };
        let [a, b] = answering_ns;
        let none = Exchanged::default;
        [run(a, none()), run(a, none()), run(b, exchanged.clone())]
    }

    #[test]
    fn what_is_not_exchanged_in_any_round_takes_the_verdict() {
        let none = Exchanged::default();
        assert_eq!(objection(&[round([1000, 2000], &none)]), None);
        let left = |count| Exchanged {
            left: [("bind: no room".to_owned(), count)].into(),
            ..Exchanged::default()
        };
        let rounds = [round([0, 0], &left(2)), round([0, 0], &left(3)), round([0, 0], &none)];
        let why = objection(&rounds).expect("one kept its socket");
        assert!(why.contains("bind: no room, 3 times"), "{why}");
        let carried = Exchanged { carried: [("sendto".to_owned(), 1)].into(), ..none.clone() };
        let why = objection(&[round([0, 0], &carried)]).expect("it moved bytes");
        assert!(why.contains("the bytes of sendto with an address, 1 time"), "{why}");
    }

    #[test]
    fn answers_that_take_a_larger_share_of_b_take_the_verdict() {
        let none = Exchanged::default();
        let rounds = [20_000, 90_000, 95_000].map(|b| round([30_000, b], &none));
        let why = objection(&rounds).expect("6 % of the run");
        assert!(why.contains("for 9 % of a run of B and 3 % of A"), "{why}");
        let rounds = [20_000, 90_000, 45_000].map(|b| round([30_000, b], &none));
        assert_eq!(objection(&rounds), None, "its median is 1.5 % of the run");
    }
}
