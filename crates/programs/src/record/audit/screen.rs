//! What `audit` found in a benchmark, for people: before the channels that it looked at.

use crate::profile::{Audit, TimedMessages, TimedShares};
use ipcperf_ask::results::table::{ON_A_SCREEN, finding_in_short, finding_text};

use ipcperf_core::result::{Finding, Severity};
use ipcperf_core::units::{grouped, percent};
use ipcperf_render::Style;
use ipcperf_render::doc::{Blocks, Chart, Line, Picture, Tone};
use ipcperf_render::svg::{self, Point, Series};
use ipcperf_render::text::counted;

/// What it comes to, in a sentence.
pub(crate) fn headline(audit: &Audit) -> String {
    if audit.messages == 0 {
        return "Nothing to audit: saw no two ends exchange 10 messages".to_owned();
    }
    let count = |severity| {
        audit.findings.iter().filter(|finding| finding.severity == severity).count() as u64
    };
    let [faults, doubts] = [count(Severity::Error), count(Severity::Warning)];
    let messages = counted(audit.messages, "message");
    match (faults, doubts) {
        (0, 0) => format!("No fault found in {messages}"),
        (0, doubts) => format!("No fault, but {} in {messages}", counted(doubts, "doubt")),
        (faults, 0) => format!("{} in {messages}", counted(faults, "fault")),
        (faults, doubts) => {
            format!("{} and {} in {messages}", counted(faults, "fault"), counted(doubts, "doubt"))
        }
    }
}

/// Where the time goes, as far as it is worth a word.
fn parts(shares: &TimedShares) -> Vec<String> {
    const WORTH_IT: f64 = 0.01;
    let parts = shares_by_name(shares).into_iter().filter(|(share, _)| *share >= WORTH_IT);
    parts.map(|(share, what)| format!("{what} {}", percent(share))).collect()
}

fn shares_by_name(shares: &TimedShares) -> [(f64, &'static str); 7] {
    [
        (shares.waiting.unwrap_or(0.0), "waiting for the peer"),
        (shares.sending.unwrap_or(0.0), "sending"),
        (shares.sleeping, "sleeping"),
        (shares.other_writes, "other writes"),
        (shares.set_up, "set-up"),
        (shares.first_message, "first message"),
        (shares.largest_gap, "largest gap"),
    ]
}

/// Where the time goes, as bars; `None` where no shares are known.
pub(crate) fn picture(audit: &Audit) -> Option<Chart> {
    let known = audit.timed.iter().filter_map(|one| Some((one, one.shares.as_ref()?)));
    let known: Vec<_> = known.take(DRAWN).collect();
    let heads = shares_by_name(known.first()?.1).map(|(_, name)| name.to_owned());
    let series = known.iter().map(|(one, shares)| Series {
        label: one.channel.clone(),
        points: shares_by_name(shares)
            .map(|(share, _)| Point { here: Some(100.0 * share), ..Point::default() })
            .to_vec(),
    });
    let title = "Where the time goes that the benchmark measures".to_owned();
    let chart = svg::Chart {
        kind: svg::ChartKind::Bars,
        title: title.clone(),
        unit: "% of the time".to_owned(),
        heads: heads.to_vec(),
        series: series.collect(),
        ..svg::Chart::default()
    };
    Some(Chart {
        title,
        note: "Shares may overlap: the largest gap may be a sleep.".to_owned(),
        picture: Some(Picture::Chart(chart)),
        ..Chart::default()
    })
}

/// Channels that are drawn next to each other.
const DRAWN: usize = 4;

/// What was timed, as far as that was seen.
pub(crate) fn timed(audit: &Audit) -> impl Iterator<Item = Line> + '_ {
    audit.timed.iter().map(|one| {
        let TimedMessages { channel, program, .. } = one;
        let messages = format!("{} of {}", grouped(one.messages), counted(one.of, "message"));
        let within = match one.spans {
            1 => format!("{program} times {messages} of {channel} in one span"),
            spans => format!(
                "{program} reads a clock between {messages} of {channel}, in {}",
                counted(spans, "span")
            ),
        };
        let shares = one.shares.iter().flat_map(parts).collect::<Vec<_>>();
        Line::from(if shares.is_empty() {
            within
        } else {
            format!("{within} (shares, which may overlap: {})", shares.join(", "))
        })
    })
}

/// Findings, then what was looked for and not found, then what could not be looked for; the worst findings in a line each
/// where there is one screen, and what that hides.
pub(crate) fn findings(audit: &Audit, style: &Style, body: &mut Blocks) -> Vec<String> {
    if audit.messages == 0 {
        return Vec::new();
    }
    let line = |finding: &Finding| {
        let (tone, kind) = match finding.severity {
            Severity::Error => (Tone::Bad, "fault"),
            Severity::Warning => (Tone::Doubt, "doubt"),
            Severity::Info => (Tone::Plain, "note"),
        };
        let text = match style.is_whole() {
            true => finding_text(finding, 1),
            false => finding_in_short(finding, 1),
        };
        Line::new(tone, format!("{kind} {text}"))
    };
    let most = if style.is_whole() { usize::MAX } else { ON_A_SCREEN };
    body.list(audit.findings.iter().take(most).map(line).collect::<Vec<_>>());
    if !style.is_whole() {
        let count = |all: usize, what| (all > 0).then(|| counted(all as u64, what));
        let more = count(audit.findings.len().saturating_sub(most), "more finding");
        let remedies = (!audit.findings.is_empty()).then(|| "remedies".to_owned());
        let passed = count(audit.passed.len(), "passed check");
        let unchecked = count(audit.unchecked.len(), "skipped check");
        return [more, remedies, passed, unchecked].into_iter().flatten().collect();
    }
    if !audit.passed.is_empty() {
        body.say(Tone::Plain, format!("Looked for and not found: {}.", audit.passed.join(", ")));
    }
    if !audit.unchecked.is_empty() {
        let unchecked = audit.unchecked.iter().map(|(code, why)| format!("{code}: {why}"));
        body.section("Not looked for", |body| body.list(unchecked.collect::<Vec<_>>()));
    }
    Vec::new()
}
