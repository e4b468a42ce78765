//! What a client and its server did: recorded once for each arm, and in every timed run as far as it costs nothing to see. Times
//! of two arms say something only if both did the same.

use super::rounds::{ClientWork, text};
use crate::profile::{DelayedWrites, Exchange, RecordedChannel};
use crate::record::session::{self as record, Wanted};
use ipcperf_core::text::{grouped, join};
use ipcperf_engine::task::TaskError;
use ipcperf_stats::median;
use ipcperf_sys::file;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::signals::Interrupts;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

/// Amounts of work that differ by no more than this share are the same.
const SAME: f64 = 0.001;

/// The work of A and B may differ by this many times the difference between two runs of A.
const TIMES_AGAIN: f64 = 3.0;

/// Recorded runs whose lengths differ by no more than this share may be those of a client that works for a fixed time.
const SAME_SPAN: f64 = 0.1;

/// From so many bytes on an output is a copy of data rather than a report, and its length is evidence.
const LONG_OUTPUT: u64 = 64 << 10;

/// Channels that only relatives share. A client and a server are started apart, so what runs over these is within one of them: the
/// substitutions of a launcher script, say.
const INHERITED: [&str; 2] = ["pipe", "eventfd"];

/// What a recorded run moved between the client and its server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) connections: u64,
    /// Questions that were answered, where questions and answers alternate.
    pub(crate) requests: Option<u64>,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    /// It was seen from its begin to its end.
    pub(crate) is_whole: bool,
    /// Share of the calls whose events were lost.
    pub(crate) lost: f64,
    /// From the first question to the last answer, ns.
    pub(crate) span_ns: u64,
    /// Writes over TCP that waited for acknowledgements, and the kind of their channel.
    pub(crate) delayed: Option<(String, DelayedWrites)>,
    /// Who asks, and who answers.
    pub(crate) between: Between,
}

/// Names of the program that asks and of the one that answers.
pub(crate) type Between = (String, String);

/// What is known of the programs before a run of them is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedPrograms<'a> {
    /// The name of the client.
    pub(crate) client: &'a str,
    /// Who talked to whom in the run before, if there was one.
    pub(crate) before: Option<&'a Between>,
}

/// Why there is no [`Traffic`].
#[derive(Clone, Debug)]
pub(crate) enum Unrecorded {
    Interrupted,
    /// A program failed.
    Failed(String),
    /// It cannot be recorded, or nothing was seen.
    Unseen(String),
}

/// What a run of these programs moves, over connections between the same programs as in the run before, if there was one.
///
/// # Errors
/// See [`Unrecorded`].
pub(crate) fn traffic(
    [program, client]: [Vec<String>; 2],
    deadline: Duration,
    expected: ExpectedPrograms<'_>,
    interrupts: &Interrupts,
) -> Result<Traffic, Unrecorded> {
    let unseen = |why: &dyn ToString| Unrecorded::Unseen(why.to_string());
    let said = || file::unnamed("said").map(Arc::new).map_err(|error| unseen(&error));
    let said = [said()?, said()?];
    let by_client = usize::from(!client.is_empty());
    let wanted = Wanted {
        program,
        client,
        during: Some(deadline),
        said: Some(said.clone()),
        ..Wanted::default()
    };
    let recorded = record::run(&wanted, interrupts).map_err(|error| match error {
        TaskError::Interrupted => Unrecorded::Interrupted,
        error => unseen(&error),
    })?;
    if recorded.is_interrupted {
        return Err(Unrecorded::Interrupted);
    }
    let is_cut = recorded.is_full || recorded.elapsed >= deadline;
    let lost = recorded.lost as f64 / (recorded.calls + recorded.lost).max(1) as f64;
    if let Some(status) = recorded.status.filter(|status| !status.success() && !is_cut) {
        let last = last_words(&said[by_client]);
        return Err(Unrecorded::Failed(format!("({}){last}", describe_end(status))));
    }
    between_them(&recorded.channels, is_cut, lost, expected)
        .ok_or_else(|| unseen(&"saw no data between the client and the server"))
}

/// The last line that is not one of this program's own, which tells why a program failed.
fn last_words(said: &File) -> String {
    let text = text(said).unwrap_or_default();
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.find(|line| !line.starts_with("ipcperf: "));
    last.map(|line| format!(": {}", line.chars().take(300).collect::<String>())).unwrap_or_default()
}

/// The traffic of the two programs that made most requests of each other, or moved most bytes where no requests are seen; what the
/// client asks comes before what servers ask of each other.
fn between_them(
    channels: &[RecordedChannel],
    is_cut: bool,
    lost: f64,
    ExpectedPrograms { client, before }: ExpectedPrograms<'_>,
) -> Option<Traffic> {
    let mut pairs: BTreeMap<Between, Vec<&RecordedChannel>> = BTreeMap::new();
    let is_work = |one: &&RecordedChannel| {
        !INHERITED.contains(&one.kind.as_str()) && one.bytes_asked + one.bytes_answered > 0
    };
    for one in channels.iter().filter(is_work) {
        if let (Some(asks), Some(answers)) = (&one.asks, &one.answers) {
            pairs.entry((asks.clone(), answers.clone())).or_default().push(one);
        }
    }
    let weight = |(asks, _): &Between, channels: &[&RecordedChannel]| {
        let requests: u64 = channels.iter().map(|one| one.requests).sum();
        let bytes: u64 = channels.iter().map(|one| one.bytes_asked + one.bytes_answered).sum();
        (is_client(asks, client), requests, bytes)
    };
    // One of them may have another name. What this program says to its own processes is none of it.
    let own = ["exe", "ipcperf"];
    let is_one = |(asks, answers): &Between| {
        let is_own = [asks, answers].iter().any(|name| own.contains(&name.as_str()));
        before.is_none_or(|before| !is_own && (*asks == before.0 || *answers == before.1))
    };
    let same = before.and_then(|before| pairs.get_key_value(before));
    let pairs = pairs.iter().filter(|(between, _)| is_one(between));
    let largest = pairs.max_by_key(|(between, channels)| weight(between, channels));
    let Some((between, channels)) = same.or(largest) else {
        let nothing = Traffic { requests: Some(0), is_whole: !is_cut, ..Traffic::default() };
        return before.is_some().then_some(nothing);
    };
    let sum = |of: fn(&RecordedChannel) -> u64| channels.iter().map(|one| of(one)).sum();
    let can_count = channels.iter().all(|one| one.exchange == Exchange::Closed);
    Some(Traffic {
        connections: sum(|one| one.connections),
        requests: can_count.then(|| sum(|one| one.requests)),
        asked: sum(|one| one.bytes_asked),
        answered: sum(|one| one.bytes_answered),
        is_whole: !is_cut,
        lost,
        span_ns: channels.iter().filter_map(|one| one.span_ns).max().unwrap_or(0),
        delayed: channels.iter().find_map(|one| Some((one.kind.clone(), one.delayed?))),
        between: between.clone(),
    })
}

/// Whether a profile's name for the asking program means the client. The kernel keeps 15 bytes of a name, and the profile adds a role
/// where programs have the same name.
fn is_client(asks: &str, client: &str) -> bool {
    const KEPT: usize = 15;
    let name = asks.split(" (").next().unwrap_or(asks);
    let kept = client.as_bytes().get(..KEPT).unwrap_or(client.as_bytes());
    !client.is_empty() && name.as_bytes() == kept
}

/// The difference of two amounts as a share of the larger one.
fn distance(a: f64, b: f64) -> f64 {
    let most = a.abs().max(b.abs());
    if most == 0.0 { 0.0 } else { (a - b).abs() / most }
}

/// How two recorded runs compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkDifference {
    /// Both did the same.
    Same,
    /// They took as long and did not do as much, but all requests are alike: a client that works for a fixed time, unless its
    /// timed runs show something else. In what the amounts differ, in words.
    Other(Vec<String>),
    /// One of them was cut short or lost events, and as far as they were seen all requests are alike.
    Cut,
    /// They did something else: in what, in words.
    Different(Vec<String>),
}

/// Whether two recorded runs took as long, so that a client may work for a fixed time.
pub(crate) fn are_as_long(a: &Traffic, b: &Traffic) -> bool {
    distance(a.span_ns as f64, b.span_ns as f64) <= SAME_SPAN
}

/// Compares recorded runs of A and of B. `again` is another one of A, where there is one: it shows what differs by itself.
pub(crate) fn amount(a: &Traffic, again: Option<&Traffic>, b: &Traffic) -> WorkDifference {
    // Rows that only some of them have are not compared.
    let differing = |of: fn(&Traffic, bool) -> Vec<(&'static str, f64)>, lost: f64| {
        let can_count = [Some(a), again, Some(b)].into_iter().flatten();
        let can_count = can_count.clone().all(|one| one.requests.is_some());
        let rows = |one: &Traffic| of(one, can_count);
        let again = again.map(rows);
        let all = rows(a).into_iter().zip(rows(b)).enumerate();
        all.filter(|(at, ((_, a), (_, b)))| {
            let by_itself = again.as_ref().map_or(0.0, |again| distance(*a, again[*at].1));
            distance(*a, *b) > SAME.max(TIMES_AGAIN * by_itself).max(lost)
        })
        .map(|(_, ((name, _), _))| name)
        .collect::<Vec<&'static str>>()
    };
    let lost = a.lost.max(b.lost) * 2.0;
    let is_complete = a.is_whole && b.is_whole;
    if is_complete && differing(totals, 0.0).is_empty() {
        return WorkDifference::Same;
    }
    let totals = differing(totals, lost);
    let words = |names: &[&str]| -> Vec<String> {
        let rows = |one| [totals_of(one), each(one, one.requests.is_some())].concat();
        let (of_a, of_b) = (rows(a), rows(b));
        let value = |of: &[(&str, f64)], name: &str| {
            of.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
        };
        let said = names.iter().map(|name| {
            let [a, b] = [&of_a, &of_b].map(|of| number(value(of, name)));
            format!("{name}: {a} and {b}")
        });
        said.collect()
    };
    // Lost events explain the difference, and may hide another one.
    let is_whole = is_complete && !totals.is_empty();
    let is_as_long = are_as_long(a, b);
    // As many requests are no matter of time.
    let is_counted = a.requests.is_some() && b.requests.is_some();
    let has_other_count = !is_counted || totals.contains(&"requests");
    if is_whole && !(is_as_long && has_other_count) {
        return WorkDifference::Different(words(&totals));
    }
    // Connections are kept or made for each request.
    let mut each = differing(each, lost);
    if !totals.contains(&"connections") {
        each.retain(|name| *name != "connections for each request");
    }
    if !each.is_empty() {
        let shown = if is_whole { totals } else { Vec::new() };
        return WorkDifference::Different(words(&[shown, each].concat()));
    }
    // What was cut short says nothing about totals.
    if is_whole { WorkDifference::Other(words(&totals)) } else { WorkDifference::Cut }
}

fn totals(one: &Traffic, can_count: bool) -> Vec<(&'static str, f64)> {
    let requests = one.requests.filter(|_| can_count);
    let mut rows = vec![("connections", one.connections as f64)];
    rows.extend(requests.map(|requests| ("requests", requests as f64)));
    rows.extend([("bytes asked", one.asked as f64), ("bytes answered", one.answered as f64)]);
    rows
}

fn totals_of(one: &Traffic) -> Vec<(&'static str, f64)> {
    totals(one, one.requests.is_some())
}

/// What each request takes; where requests cannot be counted, what each byte that was asked takes.
fn each(one: &Traffic, can_count: bool) -> Vec<(&'static str, f64)> {
    let [connections, asked, answered] =
        [one.connections, one.asked, one.answered].map(|number| number as f64);
    match one.requests.filter(|_| can_count) {
        Some(requests) => {
            let requests = requests.max(1) as f64;
            vec![
                ("connections for each request", connections / requests),
                ("bytes asked for each request", asked / requests),
                ("bytes answered for each request", answered / requests),
            ]
        }
        None => {
            let asked = asked.max(1.0);
            vec![
                ("connections for each request", connections / asked),
                ("bytes answered for each byte asked", answered / asked),
            ]
        }
    }
}

fn number(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => grouped(value as u64),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.2e}"),
    }
}

/// In what the timed runs of B differ from those of A and of A again, in words. `agrees`: one recorded run of each had the same
/// connections. Those of A count attempts, and some clients try two addresses of a name, so that this decides.
pub(crate) fn timed(rounds: &[[ClientWork; 3]], agrees: bool) -> Vec<String> {
    let arm = |at: usize| rounds.iter().map(move |round| &round[at]);
    let as_they_are = || arm(0).chain(arm(1));
    let mut found = Vec::new();
    let amounts = |works: &mut dyn Iterator<Item = &ClientWork>, of: fn(&ClientWork) -> u64| {
        works.map(|work| of(work) as f64).collect::<Vec<f64>>()
    };
    let spread = |values: &[f64]| {
        let most = values.iter().copied().fold(0.0, f64::max);
        distance(most, values.iter().copied().fold(most, f64::min))
    };
    let connections: fn(&ClientWork) -> u64 = |work| work.worked.connections;
    let [a, b] = [amounts(&mut as_they_are(), connections), amounts(&mut arm(2), connections)];
    let may_differ = SAME.max(TIMES_AGAIN * spread(&a));
    if let (Some(of_a), Some(of_b)) = (median(&a), median(&b)) {
        if spread(&b) > may_differ {
            let [least, most] = [f64::min, f64::max].map(|of| b.iter().copied().reduce(of));
            let [least, most] = [least, most].map(|one| number(one.unwrap_or(0.0)));
            found.push(format!("connections: {least} to {most} in the runs of B"));
        } else if !agrees && distance(of_a, of_b) > may_differ {
            found.push(format!("connections: {} and {}", number(of_a), number(of_b)));
        }
    }
    // A program that exchanged its data with a file says so by the length of what it prints.
    let bytes: fn(&ClientWork) -> u64 = |work| work.printed;
    let [a, b] = [amounts(&mut as_they_are(), bytes), amounts(&mut arm(2), bytes)];
    let is_long = a.iter().chain(&b).any(|printed| *printed >= LONG_OUTPUT as f64);
    if let (true, Some(of_a), Some(of_b)) = (is_long, median(&a), median(&b))
        && b.iter().any(|printed| distance(of_a, *printed) > SAME.max(TIMES_AGAIN * spread(&a)))
    {
        found.push(format!("bytes that the client prints: {} and {}", number(of_a), number(of_b)));
    }
    found.extend(other_words(as_they_are(), arm(2)));
    found
}

/// Words that one arm prints and the other does not, if each run of A prints the same ones.
fn other_words<'a>(
    a: impl Iterator<Item = &'a ClientWork>,
    b: impl Iterator<Item = &'a ClientWork>,
) -> Option<String> {
    let mut of_a: Vec<BTreeSet<String>> = a.map(|work| words(&work.output)).collect();
    of_a.dedup();
    let [of_a] = of_a.as_slice() else { return None };
    let of_b: Vec<BTreeSet<String>> = b.map(|work| words(&work.output)).collect();
    let only = |one: BTreeSet<String>, arm: &str| {
        let some: Vec<String> = one.into_iter().take(3).map(|word| format!("'{word}'")).collect();
        (!some.is_empty()).then(|| format!("only the client of {arm} prints {}", join(&some)))
    };
    let more = of_b.iter().flat_map(|one| one.difference(of_a)).cloned().collect();
    let less = of_b.iter().flat_map(|one| of_a.difference(one)).cloned().collect();
    only(more, "B").or_else(|| only(less, "A"))
}

/// Units that change with the size of a number.
const UNITS: [&str; 12] = [
    "ns",
    "us",
    "µs",
    "usec",
    "ms",
    "msec",
    "s",
    "sec",
    "secs",
    "seconds",
    "milliseconds",
    "microseconds",
];

/// The words of a report without its numbers: what begins with a letter and has no digit. Progress that overwrites itself is no
/// part of it, nor are units after numbers, which change with the numbers.
fn words(output: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in output.lines() {
        let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or("");
        let mut is_after_number = false;
        for word in line.split_whitespace() {
            let has_digit = word.contains(|sign: char| sign.is_ascii_digit());
            let word = word.trim_matches(|sign: char| !sign.is_alphanumeric());
            let is_unit = UNITS.contains(&word) || is_of_bytes(word);
            let is_word = word.starts_with(char::is_alphabetic);
            if is_word && !has_digit && !(is_after_number && is_unit) {
                found.insert(word.to_owned());
            }
            is_after_number = has_digit;
        }
    }
    found
}

/// `MB`, `KiB/s`, `Gbits/sec`, `MBytes`.
fn is_of_bytes(word: &str) -> bool {
    let unit = word.split('/').next().unwrap_or(word).trim_start_matches(['k', 'K', 'M', 'G', 'T']);
    let unit = unit.trim_start_matches('i');
    ["B", "b", "Bytes", "bytes", "bits", "bit", "bps"].contains(&unit)
}

/// Whether a client works for a fixed time: its runs of A and of B take as long as each other, as far as A and A again do, and
/// use other CPU time or are known to do another amount.
pub(crate) fn takes_fixed_time(
    rounds: &[[ClientWork; 3]],
    amount: Option<&WorkDifference>,
) -> bool {
    let of = |at: usize, value: fn(&ClientWork) -> f64| {
        let values: Vec<f64> = rounds.iter().map(|round| value(&round[at])).collect();
        median(&values).unwrap_or(0.0)
    };
    let times = [0, 1, 2].map(|at| of(at, |work| work.worked.elapsed_ns as f64));
    let used = |work: &ClientWork| (work.worked.server_ns + work.worked.client_ns) as f64;
    let [a, again, b] = [0, 1, 2].map(|at| of(at, used));
    let is_as_long = distance(times[0], times[2])
        <= SAME_TIME.max((TIMES_AGAIN * distance(times[0], times[1])).min(SAME_TIME_AT_MOST));
    let uses_other = distance(a, b) > OTHER_CPU.max(TIMES_AGAIN * distance(a, again));
    match amount {
        // What does not count its requests to an end looks at a clock.
        Some(WorkDifference::Other(_)) => distance(times[0], times[2]) <= NEAR_TIME,
        // As many requests in as long a time are sent at a fixed rate.
        Some(WorkDifference::Same) => false,
        Some(WorkDifference::Different(_) | WorkDifference::Cut) | None => is_as_long && uses_other,
    }
}

/// Times that differ by no more than this share are the same; noise may make it more, up to the second one.
const SAME_TIME: f64 = 0.01;
const SAME_TIME_AT_MOST: f64 = 0.05;

/// Start and end of programs may add this share to runs of which it is known that they did not do the same amount.
const NEAR_TIME: f64 = 0.25;

/// CPU time that differs by more than this share is not the same.
const OTHER_CPU: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    fn traffic(requests: u64, span_ms: u64) -> Traffic {
        Traffic {
            connections: 2,
            requests: Some(requests),
            asked: 36 * requests,
            answered: 36 * requests,
            is_whole: true,
            span_ns: span_ms * 1_000_000,
            ..Traffic::default()
        }
    }

    #[test]
    fn the_end_of_a_long_output_says_why_a_program_failed() {
        let mut said = file::unnamed("said").expect("memory");
        said.write_all(&b"progress\n".repeat(200_000)).expect("memory");
        said.write_all(b"no such key\nipcperf: exit code 1\n").expect("memory");
        assert_eq!(last_words(&said), ": no such key");
    }

    #[test]
    fn what_the_client_asks_comes_before_what_a_proxy_asks_of_its_server() {
        let channel = |asks: &str, answers: &str, connections| {
            serde_json::from_value::<RecordedChannel>(json!({
                "kind": "tcp", "name": "80", "asks": asks, "answers": answers,
                "connections": connections, "exchange": "closed", "requests": 100,
                "unanswered": 0, "bytes_asked": 3600, "bytes_answered": 900 * connections,
                "sizes": [], "other_sizes": 0, "asker_calls": {}, "answerer_calls": {},
                "needs": []
            }))
            .expect("a channel")
        };
        let all = [channel("redis-benchmark", "haproxy", 4), channel("haproxy", "nginx", 8)];
        let of = |client| {
            let expected = ExpectedPrograms { client, before: None };
            between_them(&all, false, 0.0, expected).map(|traffic| traffic.connections)
        };
        assert_eq!(of("redis-benchmark-of-mine"), Some(4));
        assert_eq!(of("a-script"), Some(8), "the one that moved more");
        assert!(is_client("python3 (client)", "python3") && !is_client("python3", ""));
    }

    #[test]
    fn equal_work_is_the_same_and_other_work_is_named() {
        let a = traffic(20_000, 1000);
        assert_eq!(amount(&a, None, &traffic(20_010, 500)), WorkDifference::Same);
        let gave_up = Traffic { requests: Some(0), asked: 0, answered: 0, ..traffic(1, 1) };
        let WorkDifference::Different(what) = amount(&a, None, &gave_up) else {
            panic!("it gave up")
        };
        assert_eq!(what[0], "requests: 20,000 and 0");
        let refused = Traffic { answered: 153 * 20_000, ..a.clone() };
        // As long as the other one, but its answers are others.
        let WorkDifference::Different(what) = amount(&a, None, &refused) else { panic!("others") };
        assert_eq!(what, ["bytes answered: 720,000 and 3,060,000"]);
        let timed = Traffic { requests: Some(30_000), asked: 36 * 30_000, ..refused.clone() };
        let WorkDifference::Different(what) = amount(&a, None, &timed) else { panic!("others") };
        assert!(
            what.contains(&"bytes answered for each request: 36 and 102".to_owned()),
            "{what:?}"
        );
        let short = Traffic { answered: 20_000, span_ns: 1, ..a.clone() };
        let WorkDifference::Different(what) = amount(&a, None, &short) else {
            panic!("one of 36 bytes")
        };
        assert_eq!(what, ["bytes answered: 720,000 and 20,000"]);
    }

    #[test]
    fn as_long_with_more_alike_requests_is_a_fixed_time() {
        let (a, b) = (traffic(20_000, 1000), traffic(31_000, 1002));
        let WorkDifference::Other(what) = amount(&a, None, &b) else { panic!("alike") };
        assert_eq!(what[0], "requests: 20,000 and 31,000");
        // A connection for each request.
        let [a, b] = [a, b].map(|one| Traffic { connections: one.requests.unwrap_or(0), ..one });
        assert!(matches!(amount(&a, None, &b), WorkDifference::Other(_)));
        // Half the connections.
        let b = Traffic { connections: 15_500, ..b };
        assert!(matches!(amount(&a, None, &b), WorkDifference::Different(_)));
    }

    #[test]
    fn what_differs_by_itself_may_differ_and_what_was_cut_is_compared_by_request() {
        let (a, again) = (traffic(20_000, 1000), traffic(19_800, 900));
        assert!(matches!(amount(&a, None, &traffic(20_500, 500)), WorkDifference::Different(_)));
        assert_eq!(amount(&a, Some(&again), &traffic(20_500, 500)), WorkDifference::Same);
        let cut = Traffic { is_whole: false, ..traffic(12_000, 700) };
        assert_eq!(amount(&cut, None, &a), WorkDifference::Cut);
        // Events that were lost made as many requests of a client that works for a fixed time.
        let lossy = Traffic { lost: 0.04, ..traffic(19_000, 1000) };
        assert_eq!(amount(&lossy, None, &a), WorkDifference::Cut);
        assert_eq!(amount(&Traffic { lost: 0.04, ..a.clone() }, None, &a), WorkDifference::Same);
        // Where requests cannot be counted in one of them, bytes are.
        let uncounted = |answered| Traffic { requests: None, answered, span_ns: 1, ..a.clone() };
        assert_eq!(amount(&a, None, &uncounted(720_000)), WorkDifference::Same);
        assert!(matches!(amount(&a, None, &uncounted(100)), WorkDifference::Different(_)));
    }

    #[test]
    fn reports_are_compared_by_their_words() {
        let words = |text| words(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(words("10 %\r50 %\rmade 512.3 requests/s, p99=1.2ms"), "made requests/s");
        assert_eq!(words("latency 900 us\n"), words("latency 1.2 ms\r\n"));
        assert_eq!(words("moved 900 MBytes at 7 Gbits/sec"), "at moved");
        assert_eq!(words("Non-2xx responses: 1500"), "responses");
        assert_eq!(words("refused: 'no'"), "no refused");
    }
}
