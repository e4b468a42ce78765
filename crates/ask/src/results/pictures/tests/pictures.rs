//! What stands around and in pictures: figures of the document, titles that tell them apart, and only lines that are there.

use super::*;
use crate::testing::sample::ONE;

/// All that stands between two texts, wherever both do.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

fn part<'a>(text: &'a str, section: &str) -> &'a str {
    between(text, &format!("<section id=\"{section}\""), "</section>")[0]
}

/// The primary metric of a cell, as it is written.
fn written(cell: &Cell) -> Option<String> {
    let value = cell.figure()?.value?;
    Some(ipcperf_judge::MetricKind::of(cell.key.pattern).words(value, cell.key.size_bytes))
}

/// A survey with what each message costs.
fn priced() -> ResultSet {
    let mut set = sample::survey();
    for cell in &mut set.cells {
        if let Some(value) = cell.figure().and_then(|metric| metric.value) {
            *cell = cell.clone().cpu(value * 0.37);
        }
    }
    set
}

#[test]
fn every_figure_of_a_card_and_beside_a_row_of_rounds_is_that_of_its_cell() {
    let mut set = priced();
    for command in ["survey", "run"] {
        set.invocation.plan.command = command.to_owned();
        let (text, anchors) =
            (page(&set), Anchors::of(&set, &Style::default().within(Format::Html)));
        let of = |html: &str| {
            let link = between(html, "href=\"#", "\"")[0];
            set.cells.iter().find(|cell| anchors.link(cell).as_deref() == Some(link)).unwrap()
        };
        let shown = match command {
            "survey" => between(&text, "What people choose between", "</table>"),
            _ => between(&text, "What to use by each table", "</table>"),
        };
        let rows = shown[0].split("</tr>").filter(|row| row.contains("href"));
        let shown: Vec<(&str, &str)> = rows
            .map(|row| (row, between(between(row, "<td class=\"n\"", "/td")[0], ">", "<")[0]))
            .collect();
        assert!(shown.len() > 2, "{command}");
        for (html, figure) in shown {
            assert_eq!(written(of(html)).as_deref(), Some(figure), "{command}: {html}");
        }
        let rows = between(part(&text, "rounds"), "<g class=\"", "</g>");
        for row in &rows {
            let cell = of(row);
            let figure = between(row, "<text class=\"ink end", "</text>")[0];
            let figure = figure.split_once('>').unwrap().1;
            assert_eq!(written(cell).as_deref(), Some(figure), "{}", cell.id);
            assert!(row.contains(&format!(">{}", crate::results::chapters::name(cell))), "{row}");
        }
        let measured = set.cells.iter().filter(|cell| written(cell).is_some());
        assert_eq!(rows.len(), measured.filter(|cell| cell.key.mechanism != "null").count());
    }
}

/// The rows of all tables of a section, as texts.
fn table_rows<'a>(text: &'a str, section: &str) -> Vec<Vec<&'a str>> {
    let rows = between(part(text, section), "<tr>", "</tr>");
    let cells = |row: &&'a str| {
        row.split("<t").skip(1).map(|cell| cell.split(['>', '<']).nth(1).unwrap()).collect()
    };
    rows.iter().map(cells).collect()
}

#[test]
fn the_figures_of_a_picture_are_those_of_the_document() {
    let set = priced();
    let text = page(&set);
    let named = |cell: &Cell, name: &str| crate::results::chapters::name(cell) == name;
    let costs = table_rows(&text, "cost");
    let costs: Vec<_> = costs.iter().filter(|row| row[1] != "p50").collect();
    assert!(costs.len() > 10, "{costs:?}");
    for row in costs {
        let is_it = |cell: &&Cell| {
            let cost = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.total);
            named(cell, row[0])
                && written(cell).as_deref() == Some(row[1])
                && cost.map(ipcperf_judge::figures::nanos).as_deref() == Some(row[2])
        };
        assert!(set.cells.iter().any(|cell| is_it(&cell)), "{row:?}");
    }
    let mut heads = Vec::new();
    let mut compared = 0;
    for row in table_rows(&text, "sizes") {
        if row[0].is_empty() {
            heads = row;
            continue;
        }
        for (size, figure) in heads.iter().zip(&row).skip(1).filter(|(_, figure)| **figure != "-") {
            let is_it = |cell: &Cell| {
                let value = cell.figure().and_then(|metric| metric.value);
                named(cell, row[0])
                    && ipcperf_judge::figures::size(cell.key.size_bytes) == *size
                    && value.map(super::super::picture::nanos).as_deref() == Some(figure)
            };
            assert!(set.cells.iter().any(is_it), "{row:?} at {size}");
            compared += 1;
        }
    }
    assert!(compared > 1, "{heads:?}");
}

#[test]
fn pictures_of_one_section_are_told_apart_by_what_stands_above_them() {
    let mut cells = Vec::new();
    for (size, think_ns) in [(64, 0), (64, 100_000), (4096, 0), (4096, 100_000)] {
        for (name, place) in [("pipe", ONE), ("tcp", ONE), ("pipe", TWO), ("tcp", TWO)] {
            let mut cell = cell(name, size, place).rtt(9_000.0 + think_ns as f64, 90.0).cpu(700.0);
            cell.key.load.think_ns = think_ns;
            cells.push(cell);
        }
    }
    let text = page(&sample::set(cells));
    for section in ["rounds", "cost", "sizes"] {
        let mut heads = between(part(&text, section), "<figcaption>", "</figcaption>");
        let count = heads.len();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), count, "{section}: {heads:#?}");
        assert!(section == "sizes" || count == 8, "{section}: {heads:#?}");
        assert!(section == "sizes" || heads.iter().any(|head| head.contains("think=100us")));
    }
}

#[test]
fn a_line_is_spoken_of_where_there_is_one() {
    let cost = |other: f64| {
        let cells = [("pipe", 9_000.0, 700.0), ("tcp", 20_000.0, other)];
        let cells = cells.map(|(name, p50, cpu)| cell(name, 64, TWO).rtt(p50, 90.0).cpu(cpu));
        let text = page(&sample::set(cells.to_vec()));
        part(&text, "cost").to_owned()
    };
    let (alone, line) = (cost(900.0), cost(500.0));
    assert!(!alone.contains(" line ") && !alone.contains("class=\"none front\""), "{alone}");
    assert!(alone.contains("pipe has the least of both."), "{alone}");
    assert!(line.contains("class=\"none front\""), "{line}");
    assert!(
        line.contains("The dotted line joins those that none beats in both: pipe and tcp."),
        "{line}"
    );
}

#[test]
fn the_best_at_any_size_has_a_name_however_many_are_more_familiar() {
    let familiar = ["pipe", "fifo", "unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "udp"];
    let cells = familiar.iter().enumerate().flat_map(|(at, name)| {
        let p50 = 10_000.0 + 1_000.0 * at as f64;
        [(64, p50), (4096, 2.0 * p50)].map(|(size, p50)| cell(name, size, TWO).rtt(p50, 90.0))
    });
    let late = [(64, 90_000.0), (4096, 15_000.0)];
    let late = late.map(|(size, p50)| cell("memfd", size, TWO).rtt(p50, 90.0));
    let text = page(&sample::set(cells.chain(late).collect()));
    let sizes = part(&text, "sizes");
    assert!(sizes.contains(">memfd</text>") && sizes.contains(">pipe</text>"), "{sizes}");
    assert!(!sizes.contains(">udp</text>") && sizes.contains("<title>udp</title>"), "{sizes}");
}

#[test]
fn findings_of_one_kind_are_one_with_the_cells_of_all() {
    let mut set = sample::survey();
    for at in [0, 1] {
        let id = set.cells[at].id.clone();
        let mut finding =
            sample::finding("W-MULTIMODAL", ipcperf_core::result::Severity::Warning, &id);
        finding.cells = vec![id];
        set.noise.findings.push(finding);
    }
    let text = page(&set);
    let findings = part(&text, "findings");
    let modes: Vec<&str> = between(findings, "<tr>", "</tr>");
    let modes: Vec<&&str> = modes.iter().filter(|item| item.contains("W-MULTIMODAL")).collect();
    assert_eq!(modes.len(), 1, "{modes:?}");
    assert!(modes[0].contains(" (1 more like it)."), "{modes:?}");
    assert_eq!(between(modes[0], "<a href=\"#", "\"").len(), 2, "{modes:?}");
}

#[test]
fn context_far_from_what_has_a_name_takes_no_room() {
    let names = ["pipe", "fifo", "unix-stream", "unix-dgram", "tcp", "udp", "memfd"];
    let mut cells: Vec<Cell> = (0_u32..)
        .zip(names)
        .map(|(at, name)| {
            with_operations(cell(name, 64, TWO).rtt(10_000.0 + f64::from(at) * 900.0, 90.0))
        })
        .collect();
    let tails = |cells: &[Cell]| part(&page(&sample::set(cells.to_vec())), "tails").to_owned();
    let usual = tails(&cells);
    // Its median is that of the others, and most of its operations take nanoseconds.
    for round in &mut cells[6].rounds {
        round.histogram = operations(200.0);
    }
    let skewed = tails(&cells);
    let at = |drawn: &str| between(drawn, ">20 us</text>", ">").len();
    assert_eq!((at(&usual), at(&skewed)), (1, 1), "{usual}");
    assert!(!skewed.contains(">1 us</text>"), "{skewed}");
    assert!(skewed.contains("<title>memfd</title>"), "{skewed}");
}
