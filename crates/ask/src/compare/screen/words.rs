//! What is said of a comparison, whatever the format.

use crate::results::table::finding_text;
use ipcperf_core::result::{
    Adjustment, CellComparison, Comparison, ComparisonByHand, Design, Difference,
    ExchangedPrograms, FigureComparison, Finding, Metric, Side,
};
use ipcperf_judge::{between, figures, percent, times};
use ipcperf_render::text::{counted, grouped, join};
use std::collections::BTreeMap;

/// How many cells got which verdict: "1 SLOWER, 3 CAN'T TELL".
pub(super) fn tally<'a>(
    cells: impl IntoIterator<Item = &'a CellComparison, IntoIter: Clone>,
) -> String {
    let cells = cells.into_iter();
    let count = |verdict: &Difference| {
        cells.clone().filter(|one| one.primary.verdict == *verdict).count() as u64
    };
    let words: Vec<String> = Difference::ALL
        .iter()
        .filter(|verdict| count(verdict) > 0)
        .map(|verdict| format!("{} {verdict}", grouped(count(verdict))))
        .collect();
    if words.is_empty() { "nothing to compare".to_owned() } else { words.join(", ") }
}

/// One side: what it is, and how good.
pub(super) fn side(letter: char, side: &Side, design: Design) -> String {
    let grades = join(&side.grades);
    let tool = if design == Design::Live {
        String::new()
    } else {
        format!("ipcperf {}, ", side.tool.version)
    };
    let sessions = counted(side.sessions, "session");
    format!("{letter}: {} ({tool}{sessions}, noise grade {grades})", side.names.join(", "))
}

/// How important a line about the basis of a comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Without it the verdicts cannot be read.
    Basis,
    /// It may change what they mean.
    Finding,
    /// It is there for those who look for it.
    Detail,
}

/// What the comparison rests on, in lines.
pub(super) fn rests_on(document: &Comparison) -> Vec<(Weight, String)> {
    use Weight::{Basis, Detail, Finding};
    let sides = [('A', &document.a), ('B', &document.b)];
    let mut lines: Vec<(Weight, String)> =
        sides.map(|(letter, one)| (Basis, side(letter, one, document.design))).into();
    if let Some(plan) = &document.plan {
        let rounds = counted(plan.rounds, "round");
        let found = plan.smallest_effect.map_or_else(String::new, |effect| {
            format!(", planned to find differences from {} on", percent(effect))
        });
        let holds = match plan.sessions.as_slice() {
            [] | [_] => "what is found holds in this session".to_owned(),
            several => {
                format!("intervals include what {} sessions differ by", several.len())
            }
        };
        let words = format!(
            "{rounds} of A, A again and B in random order, {:.0} s{found}; {holds}",
            plan.duration_s
        );
        lines.push((Basis, words));
    }
    lines.extend(document.programs.iter().flat_map(|programs| of_programs(document, programs)));
    // What is doubted claims nothing, and takes nothing from the others.
    let is_judged = |cell: &&CellComparison| cell.primary.p_adjusted.is_some();
    let judged = document.comparisons.iter().filter(is_judged).count() as u64;
    if document.adjustment == Adjustment::BenjaminiHochberg {
        let words = "Explored: of what is claimed 1 in 20 may be false (Benjamini-Hochberg), which decides nothing.";
        lines.push((Basis, words.to_owned()));
    } else if judged > 1 {
        lines.push((Detail, format!("Claims are adjusted for {}.", counted(judged, "cell"))));
    }
    if let Some(attempt) = document.attempt {
        let words = format!(
            "Attempt {attempt} of this comparison in this file: what is measured until it turns out so is not shown."
        );
        lines.push((Finding, words));
    }
    let shared = shared_reason(document).map(|reason| format!("Of every cell: {reason}."));
    let unlike = differing(&document.incomparable).map(|words| format!("Must not differ: {words}"));
    lines.extend(shared.into_iter().chain(unlike).map(|words| (Basis, words)));
    let factors = differing(&document.factors).map(|words| (Finding, format!("Differs: {words}")));
    lines.extend(factors);
    lines
}

/// How B does that was configured by hand, and how far the exchange is off.
fn by_hand(programs: &ExchangedPrograms) -> Option<String> {
    let ComparisonByHand { ratio, exchange, .. } = programs.by_hand.as_ref()?;
    let shown = |metric: &Metric| match (metric.value, metric.ci95) {
        (Some(value), Some([low, high])) => format!("{} [{low:.3}, {high:.3}]", times(value)),
        (Some(value), None) => times(value),
        (None, _) => "unknown".to_owned(),
    };
    Some(format!(
        "Configured by hand, B/A is {} in the same rounds; the exchange shows {} of that",
        shown(ratio),
        shown(exchange)
    ))
}

/// Runs that take less than this, s, have much of the start of programs in them: of 31 comparisons those of 0.2 to 0.6 s
/// understated the truth by 6 %, and longer ones were within 1 %.
const SHORT: f64 = 1.0;

/// What short runs do to a figure, and how to have longer ones.
fn shortness(programs: &ExchangedPrograms) -> Option<String> {
    let [a, b] = programs.run_s;
    let shortest = a.min(b);
    (0.0 < shortest && shortest < SHORT).then(|| {
        let longer = programs.longer.as_ref().map_or_else(String::new, |flag| format!(" ({flag})"));
        format!(
            "Runs are short (A {a:.2} s, B {b:.2} s): connecting and warming up are in them, which understates a difference; \
             let the client do more{longer}"
        )
    })
}

/// From this share of one CPU on a program has no time left.
const BUSY: f64 = 0.9;

/// What keeps programs from doing more, of a server and a client that use so many CPUs.
fn limit(server: f64, client: f64) -> &'static str {
    if server.max(client) >= BUSY {
        if server >= client { "the server limits" } else { "the client limits" }
    } else if server + client >= BUSY {
        "they take turns"
    } else {
        "both wait for something else"
    }
}

/// What CPU time alone makes of the rate: of who limits, or of both where they take turns.
fn by_cpu_time(document: &Comparison, programs: &ExchangedPrograms) -> Option<f64> {
    let cell = document.comparisons.first()?;
    let [server, client] =
        beside(document, cell).map(|(_, one)| one.map(|one| (one.a_value, one.b_value)));
    let ((s_a, s_b), (c_a, c_b)) = (server?, client?);
    let ([s_a, s_b], [c_a, c_b]) = ([s_a?, s_b?], [c_a?, c_b?]);
    let takes_turns = |at: usize| {
        let (server, client) = (programs.server_cpus[at], programs.client_cpus[at]);
        server.max(client) < BUSY && server + client >= BUSY
    };
    let is_limited = |at: usize| programs.server_cpus[at].max(programs.client_cpus[at]) >= BUSY;
    let ratio = if takes_turns(0) && takes_turns(1) {
        (s_a + c_a) / (s_b + c_b)
    } else if is_limited(0) && is_limited(1) {
        s_a.max(c_a) / s_b.max(c_b)
    } else {
        return None;
    };
    ratio.is_finite().then_some(ratio)
}

/// How much both did, and in what that differs.
fn work(programs: &ExchangedPrograms) -> Vec<(Weight, String)> {
    let amount = |name: &str, amount: u64| match name.strip_prefix("bytes ") {
        Some(way) => format!("{} B {way}", grouped(amount)),
        None => counted(amount, name.trim_end_matches('s')),
    };
    let done = |at: usize| {
        let words = programs.work.iter().map(|(name, work)| amount(name, work[at]));
        join(&words.collect::<Vec<_>>())
    };
    let mut lines = Vec::new();
    match (done(0), done(1)) {
        (a, _) if a.is_empty() => {}
        (a, b) if a == b => lines.push((Weight::Detail, format!("Both did the same: {a}"))),
        (a, b) => lines.push((Weight::Finding, format!("A: {a}; B: {b}"))),
    }
    let different = programs.different.iter().map(|what| format!("Different work: {what}"));
    lines.extend(different.map(|words| (Weight::Finding, words)));
    if let Some(why) = &programs.different_because {
        let words = format!("The user allows a difference, because: {why}");
        lines.push((Weight::Finding, words));
    }
    lines
}

/// What was found in a recorded run of an arm.
fn found(finding: &Finding) -> String {
    format!("In {}, warning {}", finding.cells.join(" and "), finding_text(finding, 1))
}

/// What ran, who limits, and what was exchanged.
fn of_programs(
    document: &Comparison,
    programs: &ExchangedPrograms,
) -> impl Iterator<Item = (Weight, String)> {
    let ExchangedPrograms { server_cpus, client_cpus, .. } = programs;
    let used = |at: usize| {
        let (server, client) = (server_cpus[at], client_cpus[at]);
        let limit = limit(server, client);
        format!("server {server:.2} and client {client:.2} ({limit})")
    };
    let per = match (&programs.requests, &programs.figure) {
        (Some(_), _) => "CPU time is per request",
        (None, Some(_)) => "CPU time is per unit of the figure",
        (None, None) => "CPU time is of a whole run of the client",
    };
    let mut details =
        vec![format!("Server: {}", programs.server), format!("Client: {}; {per}", programs.client)];
    let of_b = [("Server", &programs.server_b), ("Client", &programs.client_b)];
    let of_b = of_b.into_iter().filter_map(|(what, command)| Some((what, command.as_ref()?)));
    let is_exchanged = programs.is_exchanged();
    let which = if is_exchanged { "by hand" } else { "of B" };
    details.extend(of_b.map(|(what, command)| format!("{what} {which}: {command}")));
    let cpus = format!("CPUs used by A: {}; by B: {}", used(0), used(1));
    let by_cpu = by_cpu_time(document, programs);
    details.extend(
        by_cpu.map(|ratio| format!("CPU time alone would make B {} as fast as A", times(ratio))),
    );
    let connections = counted(programs.connections, "connection");
    if is_exchanged {
        let [a, b] = programs.answering.map(|share| 100.0 * share);
        details.push(format!(
            "Each run of B exchanged {connections}; the filter adds {:.0} ns to every other system call of A and of B, and \
             answers to calls take {a:.1} % of a run of A and {b:.1} % of B",
            programs.filter_ns.max(0.0)
        ));
    }
    if !programs.options.is_empty() {
        let options = programs.options.iter();
        let set: Vec<String> =
            options.map(|(name, count)| format!("{name} {}", counted(*count, "time"))).collect();
        details.push(format!("Options that the new sockets do not have: {}", join(&set)));
    }
    let left = programs.left.iter();
    let left =
        left.map(|(why, count)| format!("Not exchanged, {}: {why}", counted(*count, "time")));
    let mut doubts: Vec<String> = left.collect();
    doubts.extend(programs.findings.iter().map(found));
    if programs.repeated > 0 {
        doubts.push(format!("Failed and repeated: {}", counted(programs.repeated, "run")));
    }
    if programs.cpu_is_incomplete {
        doubts.push(
            "CPU time of some processes is missing: their parents did not wait for them".to_owned(),
        );
    }
    doubts.extend(shortness(programs));
    details.extend(
        programs.setting.iter().map(|setting| format!("To listen at a UNIX socket: {setting}")),
    );
    let basis = [cpus].into_iter().chain(by_hand(programs)).map(|words| (Weight::Basis, words));
    let doubts = doubts.into_iter().map(|words| (Weight::Finding, words));
    let details = details.into_iter().map(|words| (Weight::Detail, words));
    details.chain(basis).chain(work(programs)).chain(doubts)
}

/// The cells that only one side has, by its letter.
pub(super) fn alone(document: &Comparison) -> impl Iterator<Item = (char, &[String])> {
    let sides = [('A', document.only_a.as_slice()), ('B', document.only_b.as_slice())];
    sides.into_iter().filter(|(_, cells)| !cells.is_empty())
}

/// What is to be said of the figure of every cell, and so is said once.
pub(super) fn shared_reason(document: &Comparison) -> Option<&str> {
    let mut reasons = document.comparisons.iter().map(|cell| cell.primary.reason.as_str());
    let first =
        reasons.next().filter(|first| !first.is_empty() && document.comparisons.len() > 1)?;
    reasons.all(|reason| reason == first).then_some(first)
}

/// What is to be said of this figure, unless it is `shared` by all.
pub(super) fn own_reason<'a>(one: &'a FigureComparison, shared: Option<&str>) -> Option<&'a str> {
    Some(one.reason.as_str()).filter(|reason| !reason.is_empty() && Some(*reason) != shared)
}

/// Longest value of a factor that is shown in a line.
const VALUE: usize = 60;

pub(crate) fn differing(
    factors: &BTreeMap<String, [String; 2]>,
) -> impl Iterator<Item = String> + '_ {
    factors.iter().map(|(name, values)| {
        let [a, b] = values.each_ref().map(|value| ipcperf_render::text::clip(value, VALUE, false));
        format!("{name}: {a} -> {b}")
    })
}

/// A verdict in a word: CPU time is not slow.
pub(super) fn word(one: &FigureComparison) -> &'static str {
    match one.verdict {
        Difference::Slower if is_cpu(&one.metric) => "MORE",
        Difference::Faster if is_cpu(&one.metric) => "LESS",
        verdict => verdict.name(),
    }
}

/// CPU time as the document calls it: of both ends of a cell, of a server, of its client.
const CPU: [&str; 3] = ["cpu_ns_per_message", "server_cpu_ns", "client_cpu_ns"];

fn is_cpu(metric: &str) -> bool {
    CPU.contains(&metric)
}

/// Figures beside the primary one: what they are called, and their names in the document.
type Beside = [(&'static str, &'static [&'static str]); 2];

const OF_CELLS: Beside = [("p99", &["rtt_ns.p99", "above_p99"]), ("CPU per message", &[CPU[0]])];
const OF_PROGRAMS: Beside = [("server CPU", &[CPU[1]]), ("client CPU", &[CPU[2]])];

/// What stands beside the primary figure, in the order of the columns.
pub(super) fn heads(document: &Comparison) -> Beside {
    if document.programs.is_some() { OF_PROGRAMS } else { OF_CELLS }
}

/// The figures beside the primary one, with what they are called; nothing where a cell has none.
pub(super) fn beside<'a>(
    document: &Comparison,
    one: &'a CellComparison,
) -> [(&'static str, Option<&'a FigureComparison>); 2] {
    heads(document).map(|(name, metrics)| {
        let is_it = |figure: &&FigureComparison| metrics.contains(&figure.metric.as_str());
        (name, one.secondary.iter().find(is_it))
    })
}

/// `1.062x [1.012, 1.110] SLOWER`; of the tail that is only counted how many times as many operations exceed that of A.
pub(super) fn briefly(document: &Comparison, one: &FigureComparison) -> String {
    let (ratio, verdict) = (ratio(one), verdict(document, one));
    match one.metric.as_str() {
        "above_p99" => format!("of A exceeded {ratio} as often: {verdict}"),
        _ if document.programs.is_some() => {
            let [a, b] = [one.a_value, one.b_value].map(|value| figure(one, value));
            format!("{a} -> {b}, {ratio} {verdict}")
        }
        _ => format!("{ratio} {verdict}"),
    }
}

/// What the ratios are of: they need not be those of the medians that stand beside them.
pub(super) fn paired(document: &Comparison) -> &'static str {
    match document.design {
        Design::Live | Design::LiveBinary => "within rounds",
        Design::Files => "of all pairs",
    }
}

/// The head of the column of ratios.
pub(super) fn ratio_head(document: &Comparison) -> String {
    format!("B/A {} (95 %)", paired(document))
}

/// The verdict, with what confounds it in front.
pub(super) fn verdict(document: &Comparison, one: &FigureComparison) -> String {
    let is_told = one.verdict != Difference::CannotTell;
    match document.confounded_by.as_slice() {
        names @ [_, ..] if is_told => {
            format!("CONFOUNDED by {}: {}", join(names), word(one))
        }
        _ => word(one).to_owned(),
    }
}

/// The figure of one arm.
pub(super) fn figure(one: &FigureComparison, value: Option<f64>) -> String {
    let Some(value) = value else { return figures::NONE.to_owned() };
    by_metric(&one.metric, value)
}

/// A figure by the name that it has in the document.
pub(crate) fn by_metric(metric: &str, value: f64) -> String {
    match metric {
        "rtt_ns.p50" | "rtt_ns.p99" | "elapsed_ns" => figures::nanos(value),
        cpu if is_cpu(cpu) => figures::nanos(value),
        "figure" => figures::plain(value),
        "above_p99" => figures::share(value),
        "bytes_per_second" => figures::bytes_per_second(value),
        _ => figures::per_second(value),
    }
}

/// By how much B lies above or below A: `+310 ns`.
pub(super) fn moved(one: &FigureComparison) -> String {
    let Some((a, b)) = one.a_value.zip(one.b_value) else { return figures::NONE.to_owned() };
    let sign = if b < a { '-' } else { '+' };
    format!("{sign}{}", figure(one, Some((b - a).abs())))
}

/// B over A with its interval.
pub(super) fn ratio(one: &FigureComparison) -> String {
    let interval = one.ratio.ci95.map_or_else(String::new, |ci| format!(" {}", between(ci)));
    one.ratio.value.map_or_else(|| figures::NONE.to_owned(), |ratio| times(ratio) + &interval)
}

/// `at least 3.2 % slower`.
pub(super) fn at_least(one: &FigureComparison) -> Option<String> {
    let side = match one.verdict {
        Difference::Slower => "slower",
        Difference::Faster => "faster",
        Difference::None => return Some(format!("within {}", percent(one.margin))),
        Difference::CannotTell => return None,
    };
    one.at_least.map(|least| format!("at least {} {side}", percent(least)))
}

/// What it rests on: "34 rounds, control 1.001x [0.993, 1.010]".
pub(super) fn basis(one: &FigureComparison) -> String {
    let rounds = match one.rounds.as_slice() {
        [paired] => counted(*paired, "round"),
        [a, b] => format!("{a} and {}", counted(*b, "round")),
        _ => String::new(),
    };
    let mut parts = vec![rounds, format!("margin {}", percent(one.margin))];
    if let Some(control) = one.control {
        parts.push(format!("control {}", between(control)));
    }
    if let Some(p) = one.p_adjusted {
        parts.push(match p {
            p if p < 0.0001 => "p < 0.0001".to_owned(),
            p if p < 0.1 => format!("p {p:.4}"),
            _ => "p > 0.1".to_owned(),
        });
    }
    parts.join(", ")
}

/// The cells in words: one name where both have it.
pub(super) fn cells(one: &CellComparison) -> String {
    if one.a == one.b { one.a.clone() } else { format!("{} vs {}", one.b, one.a) }
}
