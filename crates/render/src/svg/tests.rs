//! Scales, places of names, and what is in a file.

use super::chart::{HEIGHT, apart, size};
use super::*;

fn chart(kind: ChartKind, heads: &[&str], series: &[(&str, &[f64])]) -> Chart {
    let point = |value: &f64| Point {
        here: Some(*value),
        interval: Some([value * 0.9, value * 1.1]),
        published: Some(value * 2.0),
    };
    Chart {
        kind,
        title: "A picture".into(),
        notes: vec!["filled and hollow".into()],
        x: "bytes".into(),
        unit: "ns".into(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        series: series
            .iter()
            .map(|(label, values)| Series {
                label: (*label).into(),
                points: values.iter().map(point).collect(),
            })
            .collect(),
        ..Chart::default()
    }
}

/// The numbers of an attribute, wherever it stands.
fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
    let start = format!(" {attribute}=\"");
    let parts = svg.split(start.as_str()).skip(1);
    parts.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
}

/// Of sizes from 4 bytes to 512K, of which the last two are nearest to each other, 512K had no words.
#[test]
fn the_last_head_of_an_axis_is_always_told() {
    let heads = ["4", "16", "64", "256", "1024", "4096", "16384", "65536", "262144", "524288"];
    let values = [1.0; 10];
    let mut chart = chart(ChartKind::Lines, &heads, &[("a", &values)]);
    chart.log_x = true;
    let svg = chart.svg();
    assert!(svg.contains(">4</text>") && svg.contains(">512K</text>"), "{svg}");
}

#[test]
fn a_scale_puts_values_where_they_belong() {
    let linear = Scale::over(&[0.0, 100.0], false, 0.0, 105.0);
    assert_eq!(
        [0.0, 50.0, 105.0].map(|value| linear.at(value)),
        [Some(0.0), Some(50.0), Some(105.0)]
    );
    let log = Scale { low: 1.0, high: 1000.0, is_log: true, from: 300.0, to: 0.0 };
    for (value, place) in [(1.0, 300.0), (10.0, 200.0), (100.0, 100.0), (1000.0, 0.0)] {
        assert!((log.at(value).expect("positive") - place).abs() < 1e-9, "{value}");
    }
    assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY].map(|value| log.at(value)), [None; 4]);
}

#[test]
fn ticks_are_round_few_and_on_the_axis() {
    for (values, is_log, expected) in [
        (&[0.0, 97.0][..], false, &[0.0, 50.0, 100.0][..]),
        (&[-3.0, 9.0], false, &[0.0, 5.0]),
        (&[1000.0, 80_000.0], true, &[1e3, 1e4, 1e5]),
        (&[100.0, 400.0], true, &[100.0, 200.0, 500.0]),
    ] {
        assert_eq!(Scale::over(values, is_log, 0.0, 1.0).ticks(), expected, "{values:?}");
    }
    for values in [
        &[][..],
        &[5.0, 5.0],
        &[0.0],
        &[1e300, -1e300],
        &[1e-308, 1e308],
        &[f64::NAN],
        &[f64::MAX],
        &[f64::MIN],
        &[f64::MIN_POSITIVE],
    ] {
        for is_log in [false, true] {
            let scale = Scale::over(values, is_log, 0.0, 1.0);
            let ticks = scale.ticks();
            assert!(ticks.len() <= 15, "{values:?}: {}", ticks.len());
            let is_on = |tick: &f64| (scale.low..=scale.high).contains(tick);
            assert!(ticks.iter().all(is_on), "{values:?}: {ticks:?}");
        }
    }
    let words = [0.0, 0.5, 12.0, 1000.0, 65_536.0, 1e7, 1e-4, -2500.0].map(tick);
    assert_eq!([512.0, 1024.0, 524_288.0, 1e6].map(size), ["512", "1K", "512K", "1,000,000"]);
    assert_eq!(words, ["0", "0.5", "12", "1,000", "65,536", "1e7", "1e-4", "-2,500"]);
}

#[test]
fn names_that_would_lie_on_each_other_are_moved_apart_and_stay_on_the_picture() {
    let mut places: Vec<(usize, f64)> =
        [200.0, 201.0, 202.0, 395.0, 396.0].into_iter().enumerate().collect();
    apart(&mut places, 400.0);
    for pair in places.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= LINE - 1e-9, "{places:?}");
    }
    assert!(places.iter().all(|(_, y)| *y <= 400.0), "{places:?}");
}

#[test]
fn every_figure_is_drawn_where_its_axis_says_and_every_series_has_its_name_beside_it() {
    for kind in [ChartKind::Lines, ChartKind::Bars] {
        let svg =
            chart(kind, &["a", "b"], &[("pipes", &[10.0, 20.0]), ("sockets", &[30.0, 40.0])]).svg();
        for part in
            [">pipes</text>", ">sockets</text>", ">A picture</text>", ">bytes</text>", ">ns</text>"]
        {
            assert!(svg.contains(part), "{kind:?}: {part}");
        }
        // Two figures and one name of a series in circles, the other one in squares.
        let (ours, theirs) = (svg.matches("k0 f0").count(), svg.matches("k0 hollow").count());
        let filled = if kind == ChartKind::Lines { 3 } else { 1 };
        assert_eq!((ours, theirs), (filled, 2), "{kind:?}");
        for attribute in ["x", "x1", "x2", "cx"] {
            for number in numbers(&svg, attribute) {
                assert!((0.0..=WIDTH).contains(&number), "{kind:?}: {attribute} {number}");
            }
        }
        for attribute in ["y", "y1", "y2", "cy"] {
            for number in numbers(&svg, attribute) {
                assert!((0.0..=HEIGHT).contains(&number), "{kind:?}: {attribute} {number}");
            }
        }
    }
}

/// It ended at the axis, and so began left of the picture.
#[test]
fn a_unit_of_many_letters_begins_on_the_picture() {
    let mut chart = chart(ChartKind::Lines, &["a", "b"], &[("pipes", &[1.0, 2.0])]);
    chart.unit = "exchanges in each second".into();
    let svg = chart.svg();
    let line = svg.lines().find(|line| line.contains(&chart.unit)).expect("its unit");
    assert!(numbers(line, "x")[0] >= wide(&chart.unit, 12.0), "{line}");
}

#[test]
fn a_larger_figure_stands_higher() {
    let svg = chart(ChartKind::Lines, &["a", "b"], &[("pipes", &[10.0, 20.0])]).svg();
    let marks: Vec<f64> = svg
        .lines()
        .filter(|line| line.contains("\"k0 f0\""))
        .flat_map(|line| numbers(line, "cy"))
        .collect();
    assert!(marks[0] > marks[1], "{marks:?}");
}

#[test]
fn names_from_a_file_are_neither_markup_nor_commands_and_no_number_breaks_the_picture() {
    let nasty = "<script>alert('1')</script>\"&\u{1b}]52;c;QQ==\u{7}\u{202e}\u{ffff}";
    let values = [f64::NAN, f64::INFINITY, -1e308, 0.0, 1e308];
    for kind in [ChartKind::Lines, ChartKind::Bars] {
        for (log_x, log_y) in [(false, false), (true, true)] {
            let mut chart =
                chart(kind, &[nasty, "2", "3", "-4", "nan"], &[(nasty, &values), (nasty, &[])]);
            (chart.title, chart.x, chart.unit, chart.notes) =
                (nasty.into(), nasty.into(), nasty.into(), vec![nasty.into()]);
            (chart.log_x, chart.log_y) = (log_x, log_y);
            let svg = chart.svg();
            assert!(
                !svg.contains("<script") && !svg.contains('\u{1b}') && !svg.contains('\u{ffff}')
            );
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
            assert_eq!(svg.matches('<').count(), svg.matches('>').count());
            assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        }
    }
    let empty = chart(ChartKind::Bars, &[], &[]).svg();
    assert!(empty.ends_with("</svg>\n") && !empty.contains("NaN"), "{empty}");
}

#[test]
fn an_interval_that_is_not_drawn_takes_no_room() {
    let trace = |name: &str, is_named, interval| Trace {
        label: name.to_owned(),
        link: None,
        is_named,
        is_marked: true,
        spots: [64.0, 4096.0].map(|x| Spot { x, y: 10.0 + x / 100.0, interval }).to_vec(),
    };
    let drawn = |is_named| {
        let axis = || Axis::plain("", |value| value.to_string());
        let plane = Plane {
            label: String::new(),
            x: axis(),
            y: axis(),
            traces: vec![trace("a", true, None), trace("b", is_named, Some([0.001, 1e6]))],
            front: Vec::new(),
            marks: Vec::new(),
        };
        let places = numbers(&plane.inline(NARROW), "cy");
        places[0] - places[1]
    };
    // Between the places of the first trace, which are circles.
    assert!(drawn(false) > 150.0, "{}", drawn(false));
    assert!(drawn(true) < 50.0, "{}", drawn(true));
}

#[test]
fn both_pages_have_a_colour_for_every_series() {
    let style = style();
    let (light, dark) = style.split_once("@media").expect("both");
    for at in 0..COLOURS.len() {
        for page in [light, dark] {
            assert!(page.contains(&format!(".k{at}{{stroke:#")), "{at}");
        }
    }
    let luminance = |colour: &str| {
        let part = |at: usize| {
            f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("hex")) / 255.0
        };
        // WCAG 2.2, relative luminance.
        let linear =
            |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
    };
    let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
    for (light, dark) in COLOURS {
        assert!(contrast(luminance(light), 1.0) >= 3.0, "{light}");
        assert!(contrast(luminance(dark), luminance("#0d1117")) >= 3.0, "{dark}");
    }
}

#[test]
fn ranges_have_a_lane_for_each_series_and_the_reference_goes_through_all_rows() {
    let range = |value: f64| {
        let interval = Some([value * 0.9, value * 1.1]);
        Some(Range { value, interval, words: format!("{value} ns") })
    };
    let row = |label: &str, ranges: Vec<Option<Range>>, is_reference| RangeRow {
        label: label.to_owned(),
        link: None,
        is_reference,
        ranges,
    };
    let drawn = Ranges {
        label: "Round trips".to_owned(),
        axis: Axis::plain("", |value| value.to_string()),
        series: vec!["two CPUs".to_owned(), "one CPU".to_owned()],
        rows: vec![
            row("pipe <b>", vec![range(10.0), None], true),
            row("tcp", vec![range(1000.0), range(10.0)], false),
        ],
    };
    let svg = drawn.inline(NARROW);
    assert!(
        svg.contains("pipe &lt;b&gt; (reference)") && !svg.contains("tcp (reference)"),
        "{svg}"
    );
    assert_eq!(svg.matches(" theirs\"").count(), 1, "the reference has one figure: {svg}");
    // Three intervals of three lines each, and three marks in addition to the ones at the names of the series.
    assert_eq!(svg.matches(" ours\"").count(), 9, "{svg}");
    assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
    // The same figure is at the same place in either lane.
    let circles = numbers(&svg, "cx");
    assert!(circles[2] - circles[1] > 200.0, "a hundred times as long: {circles:?}");
    let widest = numbers(&svg, "x2").into_iter().fold(0.0, f64::max);
    assert!(widest <= NARROW, "{widest}");
}
