//! What `record` or `audit` saw, for people and programs: who talked to whom, how much and how often.

use super::audit::{findings, screen as audit};
use crate::profile::{
    ChannelNeed, Exchange, PROFILE_SCHEMA, Profile, PushedMessages, RecordedBy, RecordedChannel,
    RecordedSize, RecordedTime,
};
use ipcperf_ask::results::table::finding_text;
use ipcperf_core::result::Origin;
use ipcperf_core::units::{format_per_second, grouped};
use ipcperf_judge::figures::{self, NONE};
use ipcperf_judge::{LoadError, damaged};
use ipcperf_kit::document::{Document, Show};
use ipcperf_render::doc::{Blocks, Chart, Column, Doc, Line, Picture, Place, Row, Table, Tone};
use ipcperf_render::svg::{Flow, FlowLink};
use ipcperf_render::text::{counted, join};
use ipcperf_render::{Format, Output, Style, csv};
use std::collections::BTreeMap;
use std::io;

const COLUMNS: &[csv::Column] = &[
    ("kind", "/kind"),
    ("name", "/name"),
    ("asks", "/asks"),
    ("answers", "/answers"),
    ("connections", "/connections"),
    ("exchange", "/exchange"),
    ("requests", "/requests"),
    ("unanswered", "/unanswered"),
    ("bytes_asked", "/bytes_asked"),
    ("bytes_answered", "/bytes_answered"),
    ("question", "/sizes/0/question"),
    ("answer", "/sizes/0/answer"),
    ("in_flight", "/in_flight"),
    ("most_in_flight", "/most_in_flight"),
    ("response_p50_ns", "/response/p50_ns"),
    ("response_p99_ns", "/response/p99_ns"),
    ("service_p50_ns", "/service/p50_ns"),
    ("think_p50_ns", "/think/p50_ns"),
];

impl Document for Profile {
    fn schema() -> &'static str {
        PROFILE_SCHEMA
    }

    fn load(text: &str) -> Result<Self, LoadError> {
        serde_json::from_str(text).map_err(|error| damaged(&error, text))
    }

    fn command(&self) -> &'static str {
        "record"
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn stopped(&self) -> Option<String> {
        self.interrupted.then(|| "INTERRUPTED: only the calls before it were recorded.".to_owned())
    }

    fn show(&self, show: &Show<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        profile(self, show.format, show.style, out)
    }
}

/// Writes a profile in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub(crate) fn profile(
    document: &Profile,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    Output { document, rows: &document.channels, columns: COLUMNS }.write(
        format,
        style,
        out,
        |style| {
            let mut doc = doc(document, &style.whole(format));
            if format == Format::Table {
                let answer = std::mem::take(&mut doc.headline);
                doc.conclusion.push(Line::new(Tone::Title, answer));
            }
            doc
        },
    )
}

/// Channels that are drawn; all of them are in the table.
const DRAWN: usize = 12;
/// Sizes that a row has room for.
const SIZES: usize = 3;
/// Calls that a row has room for.
const CALLS: usize = 6;

/// Channels that a screen has room for.
const ON_A_SCREEN: usize = 3;

fn doc(document: &Profile, style: &Style) -> Doc {
    let audit = document.audit.as_ref();
    let mut doc = Doc::new(audit.map_or_else(|| headline(document), audit::headline));
    doc.title = audit.map_or("ipcperf record", |_| "ipcperf audit").to_owned();
    doc.stopped = document.stopped();
    doc.picture = audit.and_then(audit::picture).or_else(|| picture(document));
    let body = &mut doc.body;
    let timed = audit.into_iter().flat_map(audit::timed);
    body.list(about(document).into_iter().chain(timed).collect::<Vec<_>>());
    let mut hidden = Vec::new();
    match audit {
        Some(audit) => hidden.extend(audit::findings(audit, style, body)),
        None => body.list(delays(document).collect::<Vec<_>>()),
    }
    let mut channels = channels(document, style);
    if !style.is_whole() {
        let more = channels.rows.len().saturating_sub(ON_A_SCREEN) as u64;
        channels.rows.truncate(ON_A_SCREEN);
        channels.columns.iter_mut().for_each(|column| column.legend.clear());
        hidden.extend((more > 0).then(|| counted(more, "more channel")));
        hidden.push("system calls".to_owned());
        hidden.push("how to read the columns".to_owned());
    }
    body.space();
    body.table(channels);
    not_seen(document, body);
    if !style.is_whole() {
        body.space();
        body.say(Tone::Quiet, format!("{}: -v", join(&hidden)));
        return doc;
    }
    body.fold(counted(document.programs.len() as u64, "program"), |body| {
        let columns = [
            Column::text("program"),
            Column::number("processes"),
            Column::number("threads"),
            Column::number("CPU"),
            Column::text("calls"),
        ];
        let rows = document.programs.iter().map(|one| {
            let calls = one.calls.iter().map(|(name, count)| (name.as_str(), *count as f64));
            let (processes, threads) = (one.processes.to_string(), one.threads.to_string());
            let cpu = figures::or_none(one.cpu_ns, |ns| figures::nanos(ns as f64));
            Row::new([one.name.clone(), processes, threads, cpu, most(calls)])
        });
        body.table(Table { flexible: 4, ..Table::new(columns, rows) });
    });
    doc
}

/// Who a program is, where it was not recorded.
fn who(name: Option<&String>) -> String {
    name.map_or("not recorded", String::as_str).to_owned()
}

/// `tcp 6379`.
fn over(channel: &RecordedChannel) -> String {
    format!("{} {}", channel.kind, channel.name).trim_end().to_owned()
}

/// The channel that moved most, in a sentence.
fn headline(document: &Profile) -> String {
    let Some(first) = document.channels.first() else {
        return "Saw no data between processes".to_owned();
    };
    let (asks, answers) = (who(first.asks.as_ref()), who(first.answers.as_ref()));
    let connections = counted(first.connections, "connection");
    let what = match (&first.pushed, first.exchange) {
        (Some(pushed), _) if pushed.messages > first.requests => {
            format!("{answers} pushed {} to {asks}", counted(pushed.messages, "message"))
        }
        (_, Exchange::OneWay) => {
            format!("{asks} sent {} bytes to {answers}", grouped(first.bytes_asked))
        }
        (_, _) => format!("{asks} made {} to {answers}", counted(first.requests, "request")),
    };
    format!("{what} over {}, {connections}", over(first))
}

fn about(document: &Profile) -> Vec<Line> {
    let seconds = figures::nanos(document.duration_s * 1e9);
    let calls = counted(document.calls, "call");
    let how = match document.by {
        RecordedBy::Bpf => "by programs in the kernel",
        RecordedBy::Ptrace => "by ptrace",
    };
    let mut lines = vec![Line::from(format!("{calls} in {seconds}, recorded {how}"))];
    if document.lost > 0 {
        let lost = counted(document.lost, "event");
        let words = format!("{lost} were lost: every count is too low, and no figure is reliable");
        lines.push(Line::new(Tone::Bad, words));
    }
    if document.by == RecordedBy::Ptrace {
        let words = "Stopping the programs at each call stretched all times and changed how many calls a request takes; \
                     sizes and numbers of requests are exact";
        lines.push(Line::new(Tone::Doubt, words));
    }
    if document.is_full {
        let words = "The recording ended early, because no more calls can be kept";
        lines.push(Line::new(Tone::Doubt, words));
    }
    if let Some(price) = document.price_ns {
        let price = price.max(0.0);
        let own = document.own_cpu_ns.map_or(0.0, |own| own as f64);
        let taken = match document.own_cpu_ns {
            Some(_) if document.calls > 0 => {
                let each = figures::nanos(own / document.calls as f64);
                format!(", and ipcperf used {each} to process it")
            }
            _ => String::new(),
        };
        lines.push(Line::from(format!(
            "Recording added about {} to each call{taken}: {} of CPU time in all",
            figures::nanos(price),
            figures::nanos(price * document.calls as f64 + own)
        )));
    }
    lines
}

/// Channels whose writes wait for acknowledgements.
fn delays(document: &Profile) -> impl Iterator<Item = Line> + '_ {
    document.channels.iter().filter_map(|channel| {
        let finding = findings::nagle(&over(channel), channel.delayed.as_ref()?);
        Some(Line::new(Tone::Doubt, format!("warning {}", finding_text(&finding, 1))))
    })
}

fn picture(document: &Profile) -> Option<Chart> {
    let drawn = &document.channels[..document.channels.len().min(DRAWN)];
    if drawn.is_empty() {
        return None;
    }
    let link = |channel: &RecordedChannel| {
        let bytes = channel.bytes_asked.saturating_add(channel.bytes_answered);
        FlowLink {
            from: who(channel.asks.as_ref()),
            to: who(channel.answers.as_ref()),
            words: format!("{}, {} B", over(channel), grouped(bytes)),
            weight: bytes as f64,
        }
    };
    let label = "Data between programs".to_owned();
    let links = drawn.iter().map(link).collect();
    Some(Chart {
        title: label.clone(),
        note:
            "The program that asks or sends is at the left. A wider line moved more bytes, both ways together."
                .to_owned(),
        picture: Some(Picture::Flow(Flow { label, links })),
        ..Chart::default()
    })
}

fn channels(document: &Profile, style: &Style) -> Table {
    let times = if document.by == RecordedBy::Ptrace { " (stretched)" } else { "" };
    let head = |head: &str| format!("{head}{times}");
    let columns = [
        Column::text("channel").place(Place::Above),
        Column::number("requests"),
        Column::text("request > response")
            .legend("bytes of a request and of its response, with counts if sizes differ"),
        Column::number("connections").rank(3),
        Column::number("in flight").rank(2).legend("requests at a time, on average and at most"),
        Column::number(head("response")).rank(1).legend(
            "from the first byte of a request to the last byte of its response, median and 99th percentile",
        ),
        Column::number(head("service")).rank(4).legend(
            "from the last byte of a request to the first byte of its response, at the responding program; median",
        ),
        Column::number(head("think"))
            .rank(5)
            .legend("from a response to the next request of the connection, median"),
        Column::text("pushed without a request").place(Place::Below),
        Column::text("calls for each request").place(Place::Below),
        Column::text("a substitute needs").place(Place::Below),
    ];
    let rows = document.channels.iter().map(|channel| {
        let flight = match (channel.in_flight, channel.most_in_flight) {
            (Some(mean), Some(most)) => format!("{}, {most}", figures::plain(mean)),
            _ => NONE.to_owned(),
        };
        let requests = match channel.exchange {
            Exchange::OneWay => NONE.to_owned(),
            _ => grouped(channel.requests),
        };
        let (asks, answers) = (who(channel.asks.as_ref()), who(channel.answers.as_ref()));
        Row::new([
            format!("{asks} > {answers} over {}", over(channel)),
            requests,
            sizes(channel),
            channel.connections.to_string(),
            flight,
            figures::or_none(channel.response, both),
            figures::or_none(channel.service, |time| figures::nanos(time.p50_ns as f64)),
            figures::or_none(channel.think, |time| figures::nanos(time.p50_ns as f64)),
            channel.pushed.as_ref().map_or_else(String::new, pushed),
            if style.is_whole() { calls(channel) } else { String::new() },
            needs(&channel.needs),
        ])
    });
    // What no channel has is no column.
    let rows: Vec<Row> = rows.collect();
    let is_known = |at: usize| {
        rows.iter().any(|row| {
            let text = row.cells.get(at).map(|cell| cell.text(""));
            text.is_some_and(|text| !text.is_empty() && text != NONE)
        })
    };
    let known: Vec<bool> = (0..columns.len()).map(is_known).collect();
    let only = |at: &usize| known.get(*at).copied().unwrap_or(false);
    let columns = (0..).zip(columns).filter(|(at, _)| only(at)).map(|(_, column)| column);
    let rows = rows.into_iter().map(|row| {
        let cells = (0..).zip(row.cells).filter(|(at, _)| only(at)).map(|(_, cell)| cell);
        Row { cells: cells.collect(), ..Row::default() }
    });
    // The sizes, which give way first.
    let flexible = (0..2).filter(|at| only(at)).count();
    Table { label: "Channels".to_owned(), flexible, ..Table::new(columns, rows) }
}

/// `1,000 messages of 20 B, 512/s`.
fn pushed(pushed: &PushedMessages) -> String {
    let of = match pushed.sizes.as_slice() {
        [size] if pushed.other_sizes == 0 => format!("{} B", size.answer),
        _ => format!("{} B on average", pushed.bytes / pushed.messages.max(1)),
    };
    let seconds = pushed.span_ns as f64 / 1e9;
    let rate = match seconds > 0.0 {
        true => format!(", {}", format_per_second(pushed.messages as f64 / seconds)),
        false => String::new(),
    };
    format!("pushed without a request: {} of {of}{rate}", counted(pushed.messages, "message"))
}

fn both(time: RecordedTime) -> String {
    let [p50, p99] = [time.p50_ns, time.p99_ns].map(|time| figures::nanos(time as f64));
    format!("{p50}, {p99}")
}

/// `36 B > 5 B`; of several sizes each with how many there were.
fn sizes(channel: &RecordedChannel) -> String {
    let words = |size: &RecordedSize| match channel.exchange {
        Exchange::OneWay => format!("{} B", size.question),
        _ => format!("{} B > {} B", size.question, size.answer),
    };
    let shown = channel.sizes.iter().take(SIZES);
    if channel.sizes.len() < 2 {
        return shown.map(words).collect();
    }
    let rest = channel.sizes.iter().skip(SIZES).map(|size| size.count);
    let rest = rest.fold(channel.other_sizes, u64::saturating_add);
    let mut shown: Vec<String> =
        shown.map(|size| format!("{} ({})", words(size), grouped(size.count))).collect();
    shown.extend((rest > 0).then(|| format!("others ({})", grouped(rest))));
    shown.join(", ")
}

fn calls(channel: &RecordedChannel) -> String {
    let side = |name: &Option<String>, calls: &BTreeMap<String, f64>| {
        let name = name.as_ref().filter(|_| !calls.is_empty())?;
        Some(format!("{name}: {}", most(calls.iter().map(|(name, each)| (name.as_str(), *each)))))
    };
    let sides = [
        side(&channel.asks, &channel.asker_calls),
        side(&channel.answers, &channel.answerer_calls),
    ];
    sides.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The most frequent ones.
fn most<'a>(calls: impl Iterator<Item = (&'a str, f64)>) -> String {
    let mut calls: Vec<_> = calls.collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rest = calls.len().saturating_sub(CALLS);
    let shown = calls.iter().take(CALLS);
    let mut shown: Vec<String> =
        shown.map(|(name, count)| format!("{name} {}", figures::count(*count))).collect();
    shown.extend((rest > 0).then(|| format!("{rest} more")));
    shown.join(", ")
}

fn needs(needs: &[ChannelNeed]) -> String {
    let words = needs.iter().map(|need| match need {
        ChannelNeed::Descriptors => "to pass descriptors".to_owned(),
        ChannelNeed::Credentials => "to know the peer's credentials".to_owned(),
        ChannelNeed::HalfClose => "to end one direction while the other goes on".to_owned(),
    });
    let words = words.collect::<Vec<_>>();
    if words.is_empty() { String::new() } else { format!("a substitute needs {}", join(&words)) }
}

/// What may have been exchanged beside all that.
fn not_seen(document: &Profile, body: &mut Blocks) {
    let shared = document.shared.iter().map(|one| {
        format!(
            "{} ({}) share {} of writable memory",
            format_args!("{} processes", one.processes),
            one.programs.join(", "),
            figures::size(one.bytes)
        )
    });
    let unseen =
        document.unseen.iter().map(|(what, count)| format!("{what} ({})", counted(*count, "call")));
    let all: Vec<String> = shared.chain(unseen).collect();
    if !all.is_empty() {
        body.section("Not seen", |body| body.list(all));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::profile::{Audit, RecordedProgram, SharedMapping, TimedMessages, TimedShares};
    use crate::record::audit::findings;
    use ipcperf_core::result::{Finding, Kernel, Origin, Tool};
    use ipcperf_testing::schema::is_described;
    use ipcperf_testing::screens::says_that_it_was_stopped;
    use ipcperf_testing::to_text;

    fn channel(asks: &str, exchange: Exchange, sizes: &[(u64, u64, u64)]) -> RecordedChannel {
        let time = |p50_ns| RecordedTime { p50_ns, p90_ns: 2 * p50_ns, p99_ns: 3 * p50_ns };
        let size = |&(question, answer, count)| RecordedSize { question, answer, count };
        let total = |of: fn(&(u64, u64, u64)) -> u64| sizes.iter().map(of).sum::<u64>();
        let mutual = exchange != Exchange::OneWay;
        RecordedChannel {
            kind: if mutual { "tcp" } else { "pipe" }.into(),
            name: if mutual { "6379" } else { "" }.into(),
            asks: Some(asks.into()),
            pushed: None,
            answers: mutual.then(|| "server | of \u{1b}[31mothers".into()),
            connections: 16,
            exchange,
            requests: if mutual { total(|size| size.2) } else { 0 },
            unanswered: 0,
            bytes_asked: total(|size| size.0 * size.2),
            bytes_answered: total(|size| size.1 * size.2),
            sizes: sizes.iter().map(size).collect(),
            other_sizes: 3,
            in_flight: mutual.then_some(10.55),
            span_ns: mutual.then_some(2_600_000_000),
            most_in_flight: mutual.then_some(16),
            response: mutual.then(|| time(549_982)),
            service: mutual.then(|| time(10_000)),
            think: None,
            delayed: None,
            asker_calls: BTreeMap::from([("write".into(), 1.0), ("epoll_wait".into(), 0.178)]),
            answerer_calls: BTreeMap::new(),
            needs: vec![ChannelNeed::Descriptors, ChannelNeed::HalfClose],
        }
    }

    fn sample() -> Profile {
        Profile {
            schema: PROFILE_SCHEMA.into(),
            origin: Origin::default(),
            tool: Tool::default(),
            kernel: Kernel::default(),
            started_utc: "2026-11-27T10:00:00Z".into(),
            duration_s: 3.38,
            by: RecordedBy::Bpf,
            interrupted: false,
            is_full: false,
            calls: 467_402,
            lost: 0,
            price_ns: Some(850.0),
            own_cpu_ns: Some(4_000_000),
            programs: vec![RecordedProgram {
                name: "client".into(),
                processes: 1,
                threads: 2,
                cpu_ns: Some(300_000_000),
                calls: BTreeMap::from([("write".into(), 50_001)]),
            }],
            channels: vec![
                channel("client", Exchange::Closed, &[(36, 5, 50_000), (77, 49, 1)]),
                channel("seq", Exchange::OneWay, &[(4096, 0, 143)]),
            ],
            shared: vec![SharedMapping {
                programs: vec!["postgres".into()],
                processes: 5,
                bytes: 149_520_384,
            }],
            unseen: BTreeMap::from([("io_uring: the data that it transfers".into(), 7)]),
            audit: None,
        }
    }

    fn shown(document: &Profile, format: Format) -> String {
        to_text(|out| profile(document, format, &Style::default(), out))
    }

    #[test]
    fn a_profile_that_was_stopped_begins_with_it_on_every_screen_and_page() {
        for format in [Format::Table, Format::Markdown, Format::Html] {
            let [stopped, whole] = [true, false]
                .map(|interrupted| shown(&Profile { interrupted, ..sample() }, format));
            says_that_it_was_stopped("profile", format.name(), &stopped, &whole);
        }
    }

    #[test]
    fn every_finding_of_an_audit_is_listed_and_raised() {
        let table = include_str!("audit/findings.rs");
        let rows = table.split("\npub(crate) const ").skip(1);
        let rows: Vec<&str> = rows.filter_map(|row| Some(row.split_once(": Row =")?.0)).collect();
        assert_eq!(rows.len(), findings::ALL.len(), "{rows:?}");
        let rules = [
            include_str!("audit/rules.rs"),
            include_str!("audit/spans.rs"),
            include_str!("audit/delivery.rs"),
            include_str!("audit/nagle.rs"),
            include_str!("audit/pauses.rs"),
        ]
        .concat();
        for row in rows {
            assert!(rules.contains(&format!("findings::{row}")), "{row} is never raised");
        }
    }

    #[test]
    fn the_channel_that_moved_most_comes_first_and_what_is_not_seen_is_said() {
        insta::assert_snapshot!(shown(&sample(), Format::Table));
    }

    #[test]
    fn every_format_has_every_channel() {
        for format in Format::ALL {
            let text = shown(&sample(), *format);
            assert!(!text.contains('\u{1b}'), "{format}");
            for found in ["client", "seq", "6379"] {
                assert!(text.contains(found), "{format}: {text}");
            }
        }
        let document: serde_json::Value =
            serde_json::from_str(&shown(&sample(), Format::Json)).expect("JSON");
        is_described("profile", &document);
        assert!(shown(&sample(), Format::Html).contains("Data between programs</title>"));
    }

    #[test]
    fn an_audit_ends_in_what_was_found_and_says_what_was_looked_for_with_v() {
        let mut one =
            Profile { by: RecordedBy::Ptrace, price_ns: None, own_cpu_ns: None, ..sample() };
        let channel = "client > server over tcp 6379".to_owned();
        let found = |finding: Finding| Finding { cells: vec![channel.clone()], ..finding };
        let all = [
            found(
                findings::LATE_WAIT.found(&["socat waits 501 ms in pselect6 after its last byte"]),
            ),
            found(
                findings::NOT_PINNED
                    .found(&["either end of socat > cat over pipe may run on 2 CPUs"]),
            ),
        ];
        one.audit = Some(Audit {
            messages: 1988,
            findings: all.to_vec(),
            passed: vec!["E-OWN-BYTES".into(), "E-UNREAD".into()],
            unchecked: BTreeMap::from([("E-OTHER-SIZE".into(), "--size was not given".into())]),
            timed: vec![TimedMessages {
                channel,
                program: "date".into(),
                spans: 1,
                messages: 1988,
                of: 1988,
                shares: Some(TimedShares {
                    waiting: Some(0.71),
                    sleeping: 0.2,
                    first_message: 0.004,
                    ..TimedShares::default()
                }),
            }],
        });
        insta::assert_snapshot!(shown(&one, Format::Table));
        let whole = Style { verbose: true, ..Style::default() };
        let whole = to_text(|out| profile(&one, Format::Table, &whole, out));
        for shown in [whole, shown(&one, Format::Markdown)] {
            for kept in ["E-UNREAD", "--size was not given", "taskset", "epoll_wait 0.178"] {
                assert!(shown.contains(kept), "{kept}: {shown}");
            }
            assert!(!shown.contains(": -v"), "{shown}");
        }
        let document = serde_json::from_str(&shown(&one, Format::Json)).expect("JSON");
        is_described("profile", &document);
        let mut ends = |findings: &[Finding], messages| {
            let audit = one.audit.as_mut().expect("it is one");
            (audit.findings, audit.messages) = (findings.to_vec(), messages);
            shown(&one, Format::Table).lines().last().map(str::to_owned)
        };
        assert_eq!(ends(&all, 20).as_deref(), Some("1 fault and 1 doubt in 20 messages"));
        assert_eq!(ends(&all[..1], 20).as_deref(), Some("1 fault in 20 messages"));
        assert_eq!(ends(&all[1..], 1).as_deref(), Some("No fault, but 1 doubt in 1 message"));
        assert_eq!(ends(&[], 20).as_deref(), Some("No fault found in 20 messages"));
        let nothing = "Nothing to audit: saw no two ends exchange 10 messages";
        assert_eq!(ends(&[], 0).as_deref(), Some(nothing));
    }

    #[test]
    fn a_doubtful_recording_says_so() {
        let mut one = sample();
        one.lost = 2;
        let claim = "2 events were lost: every count is too low";
        assert!(shown(&one, Format::Table).contains(claim));
        one.by = RecordedBy::Ptrace;
        assert!(shown(&one, Format::Table).contains("(stretched)"));
        one.channels.clear();
        let nothing = "Saw no data between processes";
        assert!(shown(&one, Format::Table).trim_end().ends_with(nothing));
        one.interrupted = true;
        assert!(shown(&one, Format::Table).contains("INTERRUPTED"));
    }
}
