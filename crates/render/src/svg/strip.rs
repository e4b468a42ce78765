//! Every round as a point: a row for each cell, and a small picture of one.

use super::{Axis, Canvas, LETTER, SLACK, Scale, escape, wide};
use crate::text;

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct StripRow {
    /// Its name.
    pub label: String,
    /// Where in the page it leads.
    pub link: Option<String>,
    /// In their order.
    pub rounds: Vec<f64>,
    /// Places among them that have words of their own.
    pub named: Vec<(usize, String)>,
    /// The median over rounds.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The figure as it is written.
    pub words: String,
    /// It is drawn as the best.
    pub is_best: bool,
}

/// Cells under each other over one logarithmic axis.
#[derive(Clone, Debug)]
pub struct Strip {
    /// What it shows, in words.
    pub label: String,
    /// Along which all rows are drawn.
    pub axis: Axis,
    /// From top to bottom.
    pub rows: Vec<StripRow>,
}

/// Of a row: its name and figure, and below them the rounds.
const ROW: f64 = 33.0;
/// Of a figure below a name that leaves no room for it.
const LINE: f64 = super::LINE;
/// Between a name and its figure, and between a point and its words.
const GAP: f64 = 6.0;
const TOP: f64 = 22.0;

impl Strip {
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let values = self.rows.iter().flat_map(|row| {
            let ends = row.interval.into_iter().flatten();
            row.rounds.iter().copied().chain([row.value]).chain(ends)
        });
        let is_tight = |row: &StripRow| {
            SLACK * (wide(&row.label, 12.0) + wide(&row.words, 12.0)) + GAP > width
        };
        let is_tall = self.rows.iter().any(is_tight);
        let height = if is_tall { ROW + LINE } else { ROW };
        let bottom = TOP + height * self.rows.len() as f64;
        let x = Scale::over(&values.collect::<Vec<_>>(), true, 4.0, width - 4.0);
        let mut canvas = Canvas { text: String::new(), x, y: x };
        canvas.begin(&self.label, "group", [width, bottom + 2.0]);
        let mut free = f64::NEG_INFINITY;
        for (value, words) in self.axis.ticks(&x) {
            let Some(x) = canvas.x.at(value) else { continue };
            canvas.line("grid", [x, TOP - 6.0], [x, bottom]);
            let half = wide(&words, 12.0) / 2.0;
            if x - half > free.max(0.0) && x + half < width {
                canvas.words("quiet middle", [x, 12.0], "", &words);
                free = x + half + 6.0;
            }
        }
        for (at, row) in self.rows.iter().enumerate() {
            row.draw(&mut canvas, TOP + height * at as f64, width, is_tall);
        }
        canvas.text + "</svg>\n"
    }
}

impl StripRow {
    fn draw(&self, canvas: &mut Canvas, top: f64, width: f64, is_tall: bool) {
        let class = if self.is_best { "best" } else { "other" };
        canvas.put(format_args!(r#"<g class="{class}">"#));
        let words = text::clip(&self.label, (width / SLACK / (12.0 * LETTER)) as usize, true);
        let name = |canvas: &mut Canvas| canvas.words("ink halo", [2.0, top + 12.0], "", &words);
        canvas.linked(self.link.as_deref(), name);
        let top = if is_tall { top + LINE } else { top };
        canvas.words("ink end halo", [width - 2.0, top + 12.0], "", &self.words);
        let y = top + 23.0;
        if let Some([low, high]) = self.interval
            && let (Some(low), Some(high)) = (canvas.x.at(low), canvas.x.at(high))
        {
            let (from, long) = (low.min(high), (high - low).abs().max(1.0));
            canvas.put(format_args!(
                r#"<rect class="span" x="{from:.1}" y="{:.1}" width="{long:.1}" height="14" rx="2"/>"#,
                y - 7.0
            ));
        }
        if let Some(x) = canvas.x.at(self.value) {
            canvas.line("tick", [x, y - 8.0], [x, y + 8.0]);
        }
        // The first round at the top of the row and the last at its bottom, so that a slant is drift.
        let step = 11.0 / (self.rounds.len().max(2) - 1) as f64;
        let places = self.rounds.iter().enumerate();
        let dots = places.filter_map(|(at, value)| {
            Some(format!("M{:.1} {:.1}h0", canvas.x.at(*value)?, y - 5.5 + step * at as f64))
        });
        let dots: String = dots.collect();
        canvas.put(format_args!(r#"<path class="dots" d="{dots}"/>"#));
        self.names(canvas, width, |at| y - 5.5 + step * at as f64);
        canvas.put(format_args!("</g>"));
    }

    /// The words of some points, as far as none lies on another.
    fn names(&self, canvas: &mut Canvas, width: f64, height: impl Fn(usize) -> f64) {
        let mut taken: Vec<[f64; 2]> = Vec::new();
        for (at, words) in &self.named {
            let value = self.rounds.get(*at).copied();
            let Some(x) = value.and_then(|value| canvas.x.at(value)) else { continue };
            let y = height(*at);
            canvas
                .put(format_args!(r#"<circle class="none ring" cx="{x:.1}" cy="{y:.1}" r="4"/>"#));
            let long = wide(words, 12.0) * SLACK;
            let from = if x + GAP + long < width { x + GAP } else { x - GAP - long };
            let is_free = taken.iter().all(|[left, right]| from > *right || from + long < *left);
            if is_free {
                canvas.words("ink halo", [from, y + 4.0], "", words);
                taken.push([from, from + long]);
            }
        }
    }
}

const SPARK: [f64; 2] = [72.0, 18.0];

/// Least range of a small picture, as a factor from the middle to an end: what is steadier looks flat.
const FLAT: f64 = 1.05;

/// The rounds of a cell from left to right, without axes; `None` where there are fewer than two.
pub fn spark(rounds: &[f64], label: &str) -> Option<String> {
    let [width, height] = SPARK;
    let usable: Vec<f64> = rounds.iter().copied().filter(|value| *value > 0.0).collect();
    let least = usable.iter().copied().fold(f64::INFINITY, f64::min);
    let most = usable.iter().copied().fold(0.0, f64::max);
    if usable.len() < 2 || !most.is_finite() {
        return None;
    }
    let middle = (least * most).sqrt();
    let ends = [least.min(middle / FLAT), most.max(middle * FLAT)];
    let scale = Scale { low: ends[0], high: ends[1], is_log: true, from: height - 3.0, to: 3.0 };
    let step = (width - 6.0) / (usable.len() - 1) as f64;
    let dots = usable.iter().enumerate();
    let dots: String = dots
        .filter_map(|(at, value)| {
            Some(format!("M{:.1} {:.1}h0", 3.0 + step * at as f64, scale.at(*value)?))
        })
        .collect();
    let label = escape(label);
    Some(format!(
        r#"<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{label}"><path class="dots" d="{dots}"/></svg>"#
    ))
}
