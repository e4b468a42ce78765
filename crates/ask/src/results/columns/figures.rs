//! Columns of what is compared and what was measured, from left to right. A new column is a row here or in `costs.rs`.

use super::column::{COLUMN, Column, FIRST, NEXT, Room, sentence};
use super::facts::{
    has_tail, is_closed, is_connected, is_copied, is_due, is_fan, is_feed, is_grid, is_shared,
};
use super::field::{count, flag, float, text};
use super::{heads, legends, texts};
use crate::results::marks::VERSUS;
use ipcperf_core::{Figure, Rated};
use ipcperf_judge::figures;
use ipcperf_judge::figures::or_none;
use ipcperf_render::text::grouped;

/// The column of programs at the place of the follow.
const OF_OURS: &str = "of ours";

/// A column of what several rows have in common: the first of them shows it.
const KEY: Column =
    Column { is_once: |_| true, figures: Room::Always, costs: Room::Always, ..COLUMN };

/// What is compared, then what else was measured.
pub(super) const FIGURES: &[Column] = &[
    Column {
        name: "CPUs",
        text: Some(|row| row.cell.key.placement.to_string()),
        is_shown: |chapter, _| heads::has_many_named_cpus(&chapter.sections),
        word_after: "size",
        meaning: "the CPUs of lead and follow, if pairs were named",
        advice: "see what they share with 'ipcperf doctor'",
        ..KEY
    },
    Column {
        name: "size",
        text: Some(|row| figures::size(row.cell.key.size_bytes)),
        word_after: "mechanism",
        meaning: "bytes per message; 0 B is a wake-up without data",
        advice: "measure the size that your program sends: ipcperf run -s 4K",
        ..KEY
    },
    Column {
        name: "peers",
        text: Some(|row| row.cell.key.load.peers.to_string()),
        patterns: is_fan,
        word_after: "CPUs",
        meaning: "the number of processes on the larger side of a fan; in 'ipcperf list', how many producers and consumers a channel can have",
        advice: "measure your own number: ipcperf run -p fan-in --peers 2,8",
        ..KEY
    },
    Column {
        name: "writers",
        text: Some(|row| row.cell.key.load.writers.to_string()),
        patterns: is_grid,
        meaning: "the number of processes that send over one object",
        advice: "measure your own number: ipcperf run -p grid -m pipe --writers 1,2 --readers 1,5",
        ..KEY
    },
    Column {
        name: "readers",
        text: Some(|row| row.cell.key.load.readers.to_string()),
        patterns: is_grid,
        meaning: "the number of processes that receive from one object: each message goes to one of them",
        advice: "measure your own number: ipcperf run -p grid -m pipe --writers 1,2 --readers 1,5",
        ..KEY
    },
    Column {
        name: "channels",
        text: Some(|row| {
            let count = row.cell.key.load.channels;
            or_none((count > 0).then_some(count), |count| count.to_string())
        }),
        is_shown: |chapter, _| chapter.has(|cell| cell.key.load.channels > 0),
        meaning: "the number of channels of the same kind that were at work at the same time",
        advice: "measure your own number, next to one: ipcperf run -m pipe --channels 1,2",
        ..KEY
    },
    Column {
        name: "conns",
        text: Some(|row| row.cell.key.load.conns.to_string()),
        patterns: is_connected,
        meaning: "the connections that stay open between the clients and the server",
        advice: "measure your own number: ipcperf run -p serve --conns 1,16",
        ..KEY
    },
    Column {
        name: "mechanism",
        is_number: false,
        is_name: true,
        text: Some(texts::mechanism),
        second: texts::rounds_of_other_mode,
        // A curve has one name.
        is_once: |facts| facts.is_open,
        figures: Room::Always,
        costs: Room::Always,
        word_after: FIRST,
        meaning: "how the message is sent, with its variant after a slash and the knobs that were set; got shows what the kernel made of a knob",
        advice: "read its facts: ipcperf describe NAME",
        ..COLUMN
    },
    // What a table of CPU time is about.
    Column {
        name: "CPU/msg",
        head: Some(|chapter, _| heads::cost(chapter.pattern).to_owned()),
        value: texts::cost,
        costs: Room::Always,
        ..COLUMN
    },
    Column {
        name: "load",
        text: Some(|row| or_none(row.cell.key.load.rate, |rate| rate.to_string())),
        patterns: |facts| facts.is_open,
        figures: Room::Rank(10),
        word_after: "limit",
        meaning: "the rate requested of an open loop: messages per second, or a percentage of the peak",
        advice: "read the row at your program's rate",
        ..COLUMN
    },
    Column {
        name: "offered",
        value: |cell| cell.offered_per_second.as_ref()?.value,
        unit: figures::per_second,
        patterns: is_due,
        figures: Room::Rank(120),
        meaning: "messages that were due per second, whether answered or not",
        advice: "compare it with achieved: if they differ, the mechanism did not keep up",
        csv_after: "requests_per_second_high",
        csv: &[float("offered_per_second", "/offered_per_second/value")],
        ..COLUMN
    },
    Column {
        name: "achieved",
        value: |cell| cell.achieved_per_second.as_ref()?.value,
        unit: figures::per_second,
        patterns: |facts| facts.rate == Some(Rated::Answered),
        figures: Room::Rank(190),
        meaning: "messages answered per second; of a feed, messages that each consumer read",
        advice: "if it is below offered, ask for less or use another mechanism",
        csv: &[float("achieved_per_second", "/achieved_per_second/value")],
        ..COLUMN
    },
    // What the rows are compared by: a figure without its uncertainty says too much.
    Column {
        name: "rate",
        head: Some(|chapter, _| heads::time_or(chapter, "p50", "rate")),
        is_drawn: true,
        text: Some(texts::figure),
        second: texts::figure_of_other_mode,
        figures: Room::Always,
        word_after: "mean",
        meaning: "bytes, messages or requests per second, in powers of 1,000; as a pattern, an open loop that sends messages at set times",
        advice: "compare rates only at the same size: every message has a fixed cost",
        csv_after: "max_ns",
        csv: &[
            float("bytes_per_second", "/bytes_per_second/value"),
            float("bytes_per_second_low", "/bytes_per_second/ci95/0"),
            float("bytes_per_second_high", "/bytes_per_second/ci95/1"),
            float("messages_per_second", "/messages_per_second/value"),
            float("messages_per_second_low", "/messages_per_second/ci95/0"),
            float("messages_per_second_high", "/messages_per_second/ci95/1"),
            float("requests_per_second", "/requests/value"),
            float("requests_per_second_low", "/requests/ci95/0"),
            float("requests_per_second_high", "/requests/ci95/1"),
        ],
        ..COLUMN
    },
    Column {
        name: "+/-",
        head: Some(|_, style| heads::spread(style).to_owned()),
        text: Some(texts::spread),
        figures: Room::Always,
        costs: Room::Always,
        ..COLUMN
    },
    // How many times slower or faster it is than the reference, and what else may be said of it.
    Column {
        name: VERSUS,
        head: Some(|chapter, _| heads::ratio(chapter)),
        is_number: false,
        text: Some(texts::ratio),
        second: texts::margin,
        patterns: is_closed,
        is_shown: |chapter, _| chapter.blocks().any(|block| block.reference.is_some()),
        figures: Room::Rank(50),
        costs: Room::Rank(10),
        word_after: "messages",
        meaning: "how many times slower or faster a row is than the reference, which the head names (vs unix-stream) unless tables differ in it: the median of the ratios within rounds, so it need not equal the ratio of the figures; the 95 % intervals of the rows compared hold together",
        advice: "use the interval to see how certain it is; what is undecided takes more rounds",
        csv_after: "stage",
        csv: &[
            flag("is_reference", "/words/is_reference"),
            text("reference", "/versus/reference"),
            float("ratio", "/versus/ratio"),
            float("ratio_low", "/versus/ci95/0"),
            float("ratio_high", "/versus/ci95/1"),
            count("pairs", "/versus/pairs"),
            text("statement", "/versus/statement"),
            flag("within_margin", "/versus/within_margin"),
        ],
        legend_after: "names",
        legend: Some(|_| {
            vec![
                "A ratio is the median over rounds of how many times slower or faster a row is than the reference in the same \
                 round; for rates, slower means a lower rate. The 95 % intervals of the rows of one size and place hold together; \
                 'as fast' rests on the 90 % interval of the row alone."
                    .to_owned(),
            ]
        }),
        ..COLUMN
    },
    Column {
        name: "of bare",
        text: Some(|row| or_none(row.cell.of_bare.as_ref(), texts::beside)),
        is_shown: |chapter, _| chapter.has(|cell| cell.of_bare.is_some()),
        figures: Room::Always,
        word_after: OF_OURS,
        meaning: "a library's figure as a multiple of that of the bare mechanism which it is built on, within rounds, with a 95 % interval; above 1 a time is longer, a rate higher",
        advice: "it may be below 1, since a library may wait in another way; ipcperf describe NAME says which mechanism that is",
        csv_after: "bound_ratio",
        csv: &[
            float("bare", "/of_bare/mechanism"),
            float("of_bare", "/of_bare/ratio"),
            float("of_bare_low", "/of_bare/ci95/0"),
            float("of_bare_high", "/of_bare/ci95/1"),
        ],
        legend_after: OF_OURS,
        legend: Some(legends::of_bare),
        ..COLUMN
    },
    Column {
        name: OF_OURS,
        text: Some(|row| or_none(row.cell.of_ours.as_ref(), texts::beside)),
        is_shown: |chapter, _| chapter.has(|cell| !cell.key.load.is_ours()),
        figures: Room::Always,
        word_after: VERSUS,
        meaning: "the figure of a program at the place of the follow over that of our own follow, within rounds (run --follow)",
        advice: "use the interval to see how certain it is; 1 is as good as ours",
        csv: &[
            float("of_ours", "/of_ours/ratio"),
            float("of_ours_low", "/of_ours/ci95/0"),
            float("of_ours_high", "/of_ours/ci95/1"),
        ],
        legend_after: VERSUS,
        legend: Some(legends::of_ours),
        ..COLUMN
    },
    Column {
        name: "of alone",
        text: Some(|row| or_none(texts::of_alone(row, |of| of.p50.or(of.rate)), |text| text)),
        is_shown: |chapter, _| chapter.has(|cell| cell.of_alone.is_some()),
        figures: Room::Always,
        word_after: OF_OURS,
        meaning: "the figure with a neighbour (run --neighbour) over that of the same cell without one, within rounds, with a 95 % interval",
        advice: "use the interval to see how certain it is; 1 means that the neighbour changes nothing",
        csv_after: "of_ours_high",
        csv: &[
            float("p50_of_alone", "/of_alone/p50/ratio"),
            float("p50_of_alone_low", "/of_alone/p50/ci95/0"),
            float("p50_of_alone_high", "/of_alone/p50/ci95/1"),
            float("p99_of_alone", "/of_alone/p99/ratio"),
            float("p99_of_alone_low", "/of_alone/p99/ci95/0"),
            float("p99_of_alone_high", "/of_alone/p99/ci95/1"),
            float("rate_of_alone", "/of_alone/rate/ratio"),
            float("rate_of_alone_low", "/of_alone/rate/ci95/0"),
            float("rate_of_alone_high", "/of_alone/rate/ci95/1"),
            float("neighbour_per_second", "/neighbour/per_second/value"),
            text("neighbour_unit", "/neighbour/unit"),
            float("neighbour_cpus", "/neighbour/cpus/value"),
        ],
        legend_after: OF_OURS,
        legend: Some(legends::of_alone),
        ..COLUMN
    },
    Column {
        name: "p99 of alone",
        text: Some(|row| or_none(texts::of_alone(row, |of| of.p99), |text| text)),
        is_shown: |chapter, _| {
            chapter.has(|cell| cell.of_alone.as_ref().is_some_and(|of| of.p99.is_some()))
        },
        figures: Room::Rank(15),
        word_after: "of alone",
        meaning: "the p99 with a neighbour over that without one, within rounds, with a 95 % interval",
        advice: "expect more of it than of the median where the neighbour shares a CPU",
        ..COLUMN
    },
    Column {
        name: "rate of alone",
        text: Some(|row| or_none(texts::of_alone(row, |of| of.p50.and(of.rate)), |text| text)),
        is_shown: |chapter, _| {
            chapter
                .has(|cell| cell.of_alone.as_ref().is_some_and(|of| of.p50.and(of.rate).is_some()))
        },
        figures: Room::Rank(16),
        word_after: "p99 of alone",
        meaning: "messages per second with a neighbour over those without one, within rounds, with a 95 % interval",
        advice: "compare it with the p50: where it is lower, a few long waits take the time",
        ..COLUMN
    },
    Column {
        name: "mean",
        text: Some(|row| texts::or_lost(row.cell.rtt_ns.as_ref(), "mean")),
        patterns: |facts| facts.figure == Figure::Time && !facts.is_open,
        figures: Room::Rank(110),
        word_after: "max",
        meaning: "the total time divided by the number of operations",
        advice: "if it is far from p50, there are two kinds of operations: ipcperf report FILE --full",
        csv_after: "p50_modes",
        csv: &[
            float("mean_ns", "/times/mean/value"),
            float("mean_low_ns", "/times/mean/ci95/0"),
            float("mean_high_ns", "/times/mean/ci95/1"),
        ],
        legend_after: "rounds",
        legend: Some(|_| {
            sentence(true, "mean far from p50 means two kinds of round trips: see the findings.")
        }),
        ..COLUMN
    },
    Column {
        name: "one way",
        text: Some(|row| or_none(row.cell.one_way_ns.as_ref().and_then(texts::one_way), |way| way)),
        is_shown: |chapter, _| chapter.has(|cell| cell.key.load.one_way),
        figures: Room::Rank(30),
        word_after: "behind",
        meaning: "the median time from lead to follow alone; +- is the uncertainty of the clock difference",
        advice: "use the round trip if the uncertainty is as large as the value",
        legend_after: "touch",
        legend: Some(legends::one_way),
        ..COLUMN
    },
    Column {
        name: "transform",
        value: |cell| cell.transform.as_ref().map(|cost| cost.compress_ns + cost.decompress_ns),
        is_shown: |chapter, _| chapter.has(|cell| cell.transform.is_some()),
        figures: Room::Rank(40),
        meaning: "the time to transform a message and undo it, such as compression; all other values include it",
        advice: "subtract it to get the time of moving alone",
        legend_after: "refused",
        legend: Some(legends::transform),
        ..COLUMN
    },
    Column {
        name: "bound",
        head: Some(|chapter, _| heads::time_or(chapter, "x bound", "of bound")),
        value: |cell| cell.bound.as_ref().map(|bound| bound.ratio),
        unit: figures::times,
        patterns: |facts| facts.bound.is_some(),
        is_shown: |_, style| style.versus_bound,
        figures: Room::Rank(20),
        word_after: "of bound",
        meaning: "this machine's hardware limit for the operation, and the value relative to it",
        advice: "see all limits with --versus-bound",
        headings: &[
            (
                "of bare",
                (
                    "x bound",
                    "a time as a multiple of this machine's hardware limit: a cache-line round trip or a futex wake-up",
                    "look for a better mechanism only if it is large",
                ),
            ),
            (
                NEXT,
                (
                    "of bound",
                    "a rate as a share of what one CPU can copy",
                    "look for a better mechanism only if it is small",
                ),
            ),
        ],
        csv_after: "ipis_per_message",
        csv: &[
            text("bound", "/bound/name"),
            float("bound_value", "/bound/value"),
            float("bound_ratio", "/bound/ratio"),
        ],
        legend_after: "quantiles",
        legend: Some(legends::bounds),
        ..COLUMN
    },
    Column {
        name: "messages",
        value: |cell| cell.messages_per_second.as_ref()?.value,
        unit: figures::per_second,
        patterns: |facts| facts.rate == Some(Rated::Arrived),
        figures: Room::Rank(170),
        word_after: "rate",
        meaning: "messages that arrived per second; as what a mechanism carries, messages keep their boundaries",
        advice: "multiply by the size for bytes",
        ..COLUMN
    },
    Column {
        name: "slowest",
        value: |cell| cell.fan.as_ref()?.slowest_per_second.as_ref()?.value,
        unit: figures::per_second,
        patterns: is_copied,
        figures: Room::Rank(130),
        word_after: "least",
        meaning: "messages per second that the slowest consumer of a broadcast got",
        advice: "compare it with the rate divided by the number of peers",
        ..COLUMN
    },
    Column {
        name: "behind",
        value: |cell| cell.fan.as_ref()?.behind.as_ref()?.value,
        unit: |messages| grouped(messages.round() as u64),
        patterns: is_copied,
        figures: Room::Rank(140),
        meaning: "messages that were sent and that a consumer of a broadcast had not read yet: the median of a round",
        advice: "see the most in the document (most_behind)",
        ..COLUMN
    },
    Column {
        name: "Jain",
        value: |cell| cell.jain()?.value,
        unit: figures::index,
        patterns: is_shared,
        figures: Room::Rank(150),
        word_after: "recv",
        meaning: "how evenly the peers of a fan, the connections of a server, or channels were served: 1 is perfectly even, 1/n means one got everything (Jain's index)",
        advice: "look at least, the share of the worst-served one",
        csv_after: "achieved_per_second",
        csv: &[float("jain", "/jain/value")],
        ..COLUMN
    },
    Column {
        name: "Jain cons.",
        value: |cell| cell.fan.as_ref()?.consumers.as_ref()?.jain.value,
        unit: figures::index,
        patterns: is_grid,
        figures: Room::Rank(152),
        meaning: "how evenly the consumers of a grid were served: 1 is perfectly even, 1/n means one got everything (Jain's index)",
        advice: "look at the shares in the document (fan.consumers)",
        csv_after: "jain",
        csv: &[float("jain_consumers", "/fan/consumers/jain/value")],
        ..COLUMN
    },
    Column {
        name: "whole",
        value: |cell| cell.fan.as_ref()?.whole.as_ref()?.value,
        unit: figures::share,
        patterns: is_grid,
        is_shown: |chapter, _| {
            chapter.has(|cell| cell.fan.as_ref().is_some_and(|fan| fan.whole.is_some()))
        },
        figures: Room::Rank(60),
        meaning: "of a grid's messages that are sent in pieces of 4 KiB, the share that one consumer received without interruption",
        advice: "use messages of at most PIPE_BUF (4096 bytes), or one consumer with a lock",
        csv_after: "jain_consumers",
        csv: &[
            float("whole", "/fan/whole/value"),
            float("mixed", "/fan/mixed/value"),
            float("split", "/fan/split/value"),
        ],
        ..COLUMN
    },
    Column {
        name: "least",
        value: texts::least,
        unit: figures::share,
        patterns: is_shared,
        figures: Room::Rank(160),
        meaning: "the share of the worst-served peer of a fan, or connection of a server",
        advice: "compare it with 1 divided by the number of peers or connections",
        ..COLUMN
    },
    Column {
        name: "p50",
        head: Some(|chapter, _| heads::of_calls(chapter, "p50")),
        text: Some(texts::median),
        patterns: |facts| facts.figure == Figure::Requests,
        figures: Room::Rank(80),
        word_after: "achieved",
        meaning: "the median: half of the operations took longer. A round trip is never halved; paused p50 is the median after a pause",
        advice: "read the mean and p99 as well, which show what the median hides",
        csv_after: "min_ns",
        csv: &[
            float("p50_ns", "/times/p50/value"),
            float("p50_low_ns", "/times/p50/ci95/0"),
            float("p50_high_ns", "/times/p50/ci95/1"),
            count("p50_modes", "/words/modes"),
        ],
        ..COLUMN
    },
    Column {
        name: "p90",
        head: Some(|chapter, _| heads::of_calls(chapter, "p90")),
        value: |cell| texts::nanos_of(cell, "p90"),
        text: Some(|row| texts::quantile(row, "p90")),
        patterns: |facts| !facts.is_open && facts.figure != Figure::Throughput,
        figures: Room::Rank(230),
        is_listed: true,
        meaning: "the time that 1 operation in 10 exceeds",
        advice: "read it if a few slow operations do not matter",
        csv_after: "mean_high_ns",
        csv: &[float("p90_ns", "/times/p90/value")],
        ..COLUMN
    },
    Column {
        name: "p99",
        head: Some(|chapter, _| heads::of_calls(chapter, "p99")),
        value: |cell| texts::nanos_of(cell, "p99"),
        text: Some(|row| texts::quantile(row, "p99")),
        patterns: has_tail,
        figures: Room::Rank(90),
        is_listed: true,
        meaning: "the time that 1 operation in 100 exceeds; for a fan, of sending or of receiving; paused p99 is the one after a pause",
        advice: "trust it only if little CPU time was stolen, since other work makes tails; a dash means too few samples",
        csv: &[
            float("p99_ns", "/times/p99/value"),
            float("p99_low_ns", "/times/p99/ci95/0"),
            float("p99_high_ns", "/times/p99/ci95/1"),
        ],
        ..COLUMN
    },
    Column {
        name: "p99.9",
        head: Some(|chapter, _| heads::of_calls(chapter, "p99.9")),
        value: |cell| texts::nanos_of(cell, "p99.9"),
        text: Some(|row| texts::quantile(row, "p99.9")),
        patterns: has_tail,
        figures: Room::Rank(180),
        is_listed: true,
        meaning: "the time that 1 operation in 1,000 exceeds",
        advice: "use long slices: it needs 20,000 operations per round",
        csv: &[float("p99_9_ns", "/times/p99.9/value")],
        ..COLUMN
    },
    Column {
        name: "max",
        head: Some(|chapter, _| heads::of_calls(chapter, "max")),
        text: Some(|row| texts::quantile(row, "max")),
        patterns: has_tail,
        figures: Room::Rank(240),
        word_after: "min",
        meaning: "the longest operation of all rounds, usually one interruption",
        advice: "do not compare by it: it grows with the length of the run",
        csv_after: "p99_999_ns",
        csv: &[float("max_ns", "/times/max/value")],
        ..COLUMN
    },
    Column {
        name: "slowest p99",
        value: |cell| cell.feed.as_ref()?.slowest_p99_ns.value,
        patterns: is_feed,
        figures: Room::Rank(94),
        word_after: "slowest",
        meaning: "the highest p99 of any consumer of a feed",
        advice: "compare it with p99, which is over all consumers",
        csv_after: "max_ns",
        csv: &[float("slowest_p99_ns", "/feed/slowest_p99_ns/value")],
        ..COLUMN
    },
    Column {
        name: "stale",
        value: |cell| cell.feed.as_ref()?.staleness_ns.get("p50")?.value,
        patterns: is_feed,
        figures: Room::Rank(91),
        word_after: "slowest p99",
        meaning: "the age of the newest message that a consumer of a feed has, from when it was due, at the moment when the next one comes: the median",
        advice: "it is at least the interval between messages; send more often if that is too old",
        csv: &[
            float("stale_p50_ns", "/feed/staleness_ns/p50/value"),
            float("stale_p99_ns", "/feed/staleness_ns/p99/value"),
            float("stale_max_ns", "/feed/staleness_ns/max/value"),
        ],
        ..COLUMN
    },
    Column {
        name: "late",
        value: |cell| cell.feed.as_ref()?.most_late.value,
        unit: |messages| grouped(messages.round() as u64),
        patterns: is_feed,
        figures: Room::Rank(92),
        word_after: "stale",
        meaning: "messages of a feed that were due and not sent yet: the most of a round",
        advice: "see those at the end in the document (late_at_end): they show whether the producer keeps up",
        csv: &[
            float("most_late", "/feed/most_late/value"),
            float("late_at_end", "/feed/late_at_end/value"),
        ],
        ..COLUMN
    },
    Column {
        name: "unread",
        value: |cell| cell.feed.as_ref()?.most_unread.value,
        unit: |messages| grouped(messages.round() as u64),
        patterns: is_feed,
        figures: Room::Rank(93),
        word_after: "late",
        meaning: "messages of a feed that were sent and that a consumer had not read yet: the most of a round",
        advice: "see those at the end in the document (unread_at_end): they show whether the consumers keep up",
        csv: &[
            float("most_unread", "/feed/most_unread/value"),
            float("unread_at_end", "/feed/unread_at_end/value"),
        ],
        ..COLUMN
    },
    Column {
        name: "service",
        head: Some(|_, _| "service p50".to_owned()),
        text: Some(|row| texts::or_lost(row.cell.service_ns.as_ref(), "p50")),
        patterns: |facts| is_due(facts) && !is_feed(facts),
        figures: Room::Rank(200),
        word_after: "bound",
        meaning: "in an open loop, the time since a message was sent; p50 and p99 count from when it was due",
        advice: "read p50 and p99 for what a client waits, and this for what the mechanism takes",
        ..COLUMN
    },
    Column {
        name: "service p99.9",
        text: Some(|row| texts::or_lost(row.cell.service_ns.as_ref(), "p99.9")),
        patterns: |facts| is_due(facts) && !is_feed(facts),
        figures: Room::Rank(210),
        ..COLUMN
    },
];
