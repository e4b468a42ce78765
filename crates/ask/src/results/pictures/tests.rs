//! Pages as their readers get them: nothing of a document is markup, and every number is that of the document.

use super::*;
use crate::compare::screen::before_and_after;
use crate::testing::sample::{Build, TWO, cell};
use crate::testing::{rendered, sample, to_text};
use ipcperf_core::result::{Cell, HistogramData, Requirements, ResultSet};
use ipcperf_kit::document::Show;
use ipcperf_render::{Format, Style};
use ipcperf_testing::sound::{HOSTILE, is_sound, spoiled};
use serde_json::Value;

mod pictures;

fn page(set: &ResultSet) -> String {
    rendered(set, Format::Html, &Style::default())
}

#[test]
fn no_text_of_a_document_is_markup_wherever_it_stands() {
    let mut spoiled = spoiled(&sample::survey());
    for map in [
        "/kernel/sysctl",
        "/kernel/mitigations",
        "/tool/build",
        "/cells/0/knobs",
        "/cells/0/events",
    ] {
        let Some(Value::Object(map)) = spoiled.pointer_mut(map) else { continue };
        map.insert(HOSTILE.to_owned(), Value::Null);
    }
    for map in ["/kernel/sysctl", "/kernel/mitigations", "/tool/build"] {
        spoiled.pointer_mut(map).unwrap()[HOSTILE] = Value::String(HOSTILE.to_owned());
    }
    spoiled["cells"][0]["knobs"][HOSTILE] =
        serde_json::json!({"requested": HOSTILE, "effective": HOSTILE});
    spoiled["cells"][0]["events"] = serde_json::json!({HOSTILE: 7});
    let mut set: ResultSet = serde_json::from_value(spoiled).unwrap();
    is_sound(&page(&set));
    // With an answer, a grade and the pictures of a survey.
    set.invocation.plan.command = "survey".to_owned();
    set.noise.grade = "C".to_owned();
    let text = page(&set);
    is_sound(&text);
    assert!(text.contains("x&lt;/script&gt;"), "they are shown");
    for command in ["run", "explain"] {
        set.invocation.plan.command = command.to_owned();
        is_sound(&page(&set));
    }
    set.invocation.plan.requirements =
        Some(Requirements { left_out: vec![HOSTILE.to_owned()], ..Requirements::default() });
    let text = page(&set);
    is_sound(&text);
    assert!(
        text.contains("<h1>No mechanism meets all of this")
            && text.contains("unknown to this build: x&lt;")
    );
}

/// The number behind a cell of the table, and its text.
type Written = (Option<f64>, String);

/// The rows of the table of all cells, by their addresses.
fn rows(page: &str) -> Vec<(String, Vec<Written>)> {
    let table = page.split_once("id=\"all-rows\"").unwrap().1.split_once("</table>").unwrap().0;
    let row = |row: &str| {
        let id = row.split_once('"').unwrap().0.to_owned();
        let cells = row.split("<td").skip(1).map(|cell| {
            let (attributes, inner) = cell.split_once('>').unwrap();
            let value = attributes
                .split_once("data-v=\"")
                .map(|(_, rest)| rest.split('"').next().unwrap().parse().unwrap());
            (value, inner.split("</td>").next().unwrap().to_owned())
        });
        (id, cells.collect())
    };
    table.split("<tr id=\"").skip(1).map(row).collect()
}

#[test]
fn every_number_of_the_table_is_that_of_the_document() {
    let set = sample::survey();
    let text = page(&set);
    let table = text.split_once("id=\"all-rows\"").unwrap().1;
    let heads: Vec<&str> = table
        .split_once("</thead>")
        .unwrap()
        .0
        .split("<th")
        .skip(2)
        .map(|head| head.split_once('>').unwrap().1.split('<').next().unwrap())
        .collect();
    let rows = rows(&text);
    assert_eq!(rows.len(), set.cells.len());
    let at = |head: &str| heads.iter().position(|other| *other == head).unwrap();
    let time = |cell: &Cell, name: &str| cell.times().and_then(|times| times.get(name)?.value);
    let mut compared = 0;
    for (cell, (_, row)) in set.cells.iter().zip(&rows) {
        assert_eq!(row[at("size")].0, Some(cell.key.size_bytes as f64));
        for name in ["p50", "p90", "p99"] {
            assert_eq!(row[at(name)].0, time(cell, name), "{} {name}", cell.id);
            let words =
                time(cell, name).map_or_else(|| "-".to_owned(), ipcperf_judge::figures::nanos);
            assert_eq!(row[at(name)].1.trim_end_matches(['*', '^']), words, "{} {name}", cell.id);
            compared += usize::from(time(cell, name).is_some());
        }
        let rate = cell.bytes_per_second.as_ref().and_then(|metric| metric.value);
        assert_eq!(row[at("rate")].0, rate, "{}", cell.id);
        let cpu = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.total);
        assert_eq!(row[at("CPU/msg")].0, cpu, "{}", cell.id);
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn every_cell_has_an_address_of_its_own_and_every_link_leads_somewhere() {
    let mut set = sample::survey();
    let twin = set.cells[0].clone();
    set.cells.push(twin);
    let text = page(&set);
    let values = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        text.split(start.as_str())
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let mut ids = values("id");
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let links = values("href");
    assert!(links.len() > set.cells.len());
    for link in links.iter().filter(|link| **link != "data:,") {
        assert!(ids.contains(&link[1..].to_owned()), "{link}");
    }
}

#[test]
fn what_a_document_does_not_have_is_not_drawn() {
    let text = page(&sample::set(vec![cell("pipe", 64, TWO).rtt(9_580.0, 100.0)]));
    for id in ["machine", "rounds", "all-cells"] {
        assert!(text.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    for id in [
        "tails",
        "cost",
        "sizes",
        "load",
        "pauses",
        "pairs",
        "programs",
        "system-calls-each-timed-by-itself",
        "not-measured",
    ] {
        assert!(!text.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(!page(&sample::set(Vec::new())).contains("<svg"));
}

#[test]
fn three_pairs_of_named_cpus_are_a_picture_and_one_pair_is_none() {
    let on = |lead, follow| {
        cell("pipe", 64, ipcperf_core::Placement::Cpus { lead, follow }).rtt(9_580.0, 100.0)
    };
    let drawn = |cells: Vec<Cell>| {
        let text = page(&sample::set(cells));
        text.split_once("<section id=\"pairs\"").map(|(_, rest)| rest.to_owned())
    };
    assert_eq!(drawn(vec![on(0, 1)]), None);
    let pairs = drawn(vec![on(0, 1), on(0, 2), on(1, 2)]).expect("a picture");
    assert!(pairs.contains("pipe, 64 B: 3 pairs of 3 CPUs."), "{pairs}");
}

/// Ten thousand operations around a median, one in a hundred of which takes ten times as long.
fn operations(median_ns: f64) -> Option<HistogramData> {
    let mut histogram = ipcperf_stats::Histogram::new();
    for at in 0..10_000_u32 {
        let factor = if at % 100 == 0 { 10.0 } else { 0.9 + f64::from(at) / 50_000.0 };
        histogram.record((median_ns * factor * 1e3) as u64);
    }
    Some(HistogramData::from(&histogram))
}

fn with_operations(mut cell: Cell) -> Cell {
    for round in &mut cell.rounds {
        round.histogram = round.p50_ns.and_then(operations);
        round.proof.holds = true;
    }
    cell
}

#[test]
fn tails_end_where_the_sample_does_and_name_what_they_are() {
    let cells = vec![
        with_operations(cell("pipe", 64, TWO).rtt(9_580.0, 100.0)),
        with_operations(cell("tcp", 64, TWO).rtt(19_000.0, 100.0)),
    ];
    let text = page(&sample::set(cells));
    let tails =
        text.split_once("<section id=\"tails\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(tails.contains(">pipe</text>") && tails.contains(">tcp</text>"), "{tails}");
    // Nine rounds of 10,000: 20 operations lie beyond 1 in 4,500, so that p99.9 is at the axis and p99.99 is not.
    assert!(tails.contains(">p99.9</text>") && !tails.contains(">p99.99</text>"), "{tails}");
}

#[test]
fn sizes_cross_where_they_certainly_do() {
    let sized = |name: &str, size: u64, p50: f64| cell(name, size, TWO).rtt(p50, p50 / 100.0);
    let crossing = vec![
        sized("pipe", 1024, 10_000.0),
        sized("tcp", 1024, 20_000.0),
        sized("pipe", 16384, 40_000.0),
        sized("tcp", 16384, 20_000.0),
    ];
    let text = page(&sample::set(crossing.clone()));
    // Halfway on a logarithmic scale: pipe is as far ahead at one end as it is behind at the other.
    assert!(text.contains("pipe and tcp cross near 4 KiB"), "{text}");
    let mut touching = crossing;
    touching[2] = sized("pipe", 16384, 19_900.0);
    let text = page(&sample::set(touching));
    assert!(text.contains("<section id=\"sizes\"") && !text.contains(" cross near "), "{text}");
}

#[test]
fn what_names_itself_is_not_named_twice_and_a_remedy_begins_a_sentence() {
    let mut set = sample::survey();
    let build = [("rustc", "rustc 1.96.0"), ("libc", "glibc 2.36"), ("opt_level", "3")];
    set.tool.build = build.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let text = page(&set);
    assert!(text.contains(": glibc 2.36, opt_level 3, rustc 1.96.0</p>"), "{text}");
    let remedies = || text.match_indices("Remedy: ").map(|(at, _)| &text[..at]);
    assert!(remedies().count() > 0);
    for before in remedies() {
        let sentence = before.trim_end_matches("<div class=\"was\">").trim_end();
        assert!(sentence.ends_with('.'), "{}", &sentence[sentence.len() - 80..]);
    }
}

#[test]
fn a_thousand_cells_are_five_megabytes_at_most() {
    let names =
        ["pipe", "fifo", "tcp", "unix-stream", "eventfd", "futex", "pipe/spin", "shm-ring/spin"];
    let cells = (0..1000_u32).map(|at| {
        let name = names[at as usize % names.len()];
        let size = 64 << (at / 100);
        with_operations(cell(name, size, TWO).rtt(5_000.0 + f64::from(at) * 13.0, 40.0).knob(
            "pipe.size",
            Some(4096 + u64::from(at)),
            8192,
        ))
    });
    let set = sample::set(cells.collect());
    let text = page(&set);
    assert_eq!(rows(&text).len(), 1000);
    assert!(text.len() < 5_000_000, "{} bytes", text.len());
}

#[test]
fn at_grade_f_nothing_is_called_the_best() {
    let mut set = sample::small();
    set.invocation.plan.command = "run".to_owned();
    assert!(page(&set).contains("aria-label=\"What to use by each table\""));
    for command in ["run", "survey"] {
        set.invocation.plan.command = command.to_owned();
        set.noise.grade = "F".to_owned();
        let text = page(&set);
        assert!(
            !text.contains("aria-label=\"What to use by each table\"")
                && !text.contains("<g class=\"best\""),
            "{command}"
        );
        assert!(text.contains(">At noise grade F ratios with an interval hold"), "{command}");
    }
}

#[test]
fn two_files_are_a_comparison_and_all_of_the_second() {
    let set = |p50: f64| sample::set(vec![cell("pipe", 64, TWO).rtt(p50, p50 / 200.0)]);
    let (before, after) = (set(9_000.0), set(18_000.0));
    let terms = ipcperf_judge::Terms { margin: 0.01, ..ipcperf_judge::Terms::default() };
    let old = sample::recorded("before.json", &before);
    let new = sample::recorded("after.json", &after);
    let document = ipcperf_judge::compare_files(&[old], &[new], &terms).unwrap();
    let style = Style::default();
    let show = Show { specs: &sample::spec, ..Show::new(Format::Html, &style) };
    let text = to_text(|out| before_and_after(&document, &after, &show, out));
    is_sound(&text);
    let one = &document.comparisons[0].primary;
    assert_eq!(one.verdict.name(), "SLOWER", "{one:?}");
    for words in [
        "before.json",
        "9.00 us",
        "18.0 us",
        ">SLOWER</span>",
        "id=\"c-pipe-ping-pong-64b-same-llc\"",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn the_page_of_a_run_begins_with_a_sentence_and_a_picture_of_the_same_cells() {
    let sized = |size: u64| {
        [("pipe", 10_000.0), ("tcp", 20_000.0)]
            .map(|(name, p50)| cell(name, size, TWO).rtt(p50, p50 / 200.0))
    };
    let mut set = sample::set([64, 256, 1024, 4096, 16_384].map(sized).concat());
    set.invocation.plan.command = "run".to_owned();
    let text = page(&set);
    let heading = text.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(heading.contains(" (64 B, two CPUs)"), "{heading}");
    assert!(text.contains("The tables compare 4 more groups of cells."), "{text}");
    let picture = text.split_once("</h1>").unwrap().1.split_once("<table").unwrap().0;
    assert_eq!(picture.matches("<svg").count(), 2, "one picture, for wide windows and narrow ones");
    assert!(picture.contains(">16 KiB</text>"), "over the sizes: {picture}");
    // Of one place it is that of the picture, too.
    let mut set = sample::set([sized(64), sized(256)].concat());
    set.invocation.plan.command = "run".to_owned();
    assert!(page(&set).split_once("</h1>").unwrap().0.contains(" (64 B, two CPUs)"));
    set.cells.clear();
    assert!(page(&set).contains("<h1>No cell was measured</h1>"));
}

/// Two pictures, of one connection and of 16, had one name.
#[test]
fn pictures_of_other_numbers_of_connections_have_other_names() {
    let page = page(&sample::served());
    for many in ["1 connection", "16 connections"] {
        let name = format!("One server, connected clients, blocking mechanisms, 64 B, {many}");
        assert!(page.contains(&name), "{name}");
    }
}

#[test]
fn what_has_no_place_is_not_called_the_best() {
    let cells = ["tcp", "pipe"].map(|name| cell(name, 64, TWO).rtt(70_000.0, 700.0));
    let mut set = sample::set(cells.to_vec());
    set.invocation.plan.command = "run".to_owned();
    assert!(page(&set).contains("aria-label=\"What to use by each table\""));
    for cell in &mut set.cells {
        cell.key.touch = ipcperf_core::Touch::None;
    }
    assert!(!page(&set).contains("aria-label=\"What to use by each table\""));
}
