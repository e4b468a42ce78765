//! Who talks to whom: names at both sides, and a line for each channel between them.

use super::{Canvas, LETTER, LINE, SLACK, Scale, wide};
use crate::text;

/// A channel between two names.
#[derive(Clone, Debug)]
pub struct FlowLink {
    /// Who asks, at the left.
    pub from: String,
    /// Who answers, at the right.
    pub to: String,
    /// What is written on it.
    pub words: String,
    /// How strong its line is, beside the others.
    pub weight: f64,
}

/// Channels from top to bottom.
#[derive(Clone, Debug)]
pub struct Flow {
    /// What it shows, in words.
    pub label: String,
    /// The channels.
    pub links: Vec<FlowLink>,
}

/// Of a channel.
const ROW: f64 = 40.0;
/// Of a name, as a share of the width.
const SIDE: f64 = 0.28;

impl Flow {
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let side = SIDE * width;
        let most = self.links.iter().map(|link| link.weight).fold(1.0, f64::max);
        let scale = Scale::over(&[1.0], true, 0.0, 1.0);
        let mut canvas = Canvas { text: String::new(), x: scale, y: scale };
        canvas.begin(&self.label, "img", [width, ROW * self.links.len() as f64 + LINE]);
        let room = |width: f64| (width / SLACK / (12.0 * LETTER)).max(1.0) as usize;
        for (at, link) in self.links.iter().enumerate() {
            let y = ROW * at as f64 + LINE * 1.6;
            // A name is written once where the next channel has it, too.
            let before = at.checked_sub(1).and_then(|before| self.links.get(before));
            if before.is_none_or(|before| before.from != link.from) {
                let name = text::clip(&link.from, room(side), true);
                canvas.words("ink", [2.0, y + 4.0], "", &name);
            }
            if before.is_none_or(|before| before.to != link.to) {
                let name = text::clip(&link.to, room(side), true);
                canvas.words("ink end", [width - 2.0, y + 4.0], "", &name);
            }
            let (left, right) = (side + 6.0, width - side - 6.0);
            let height = 1.0 + 7.0 * link.weight / most;
            canvas.put(format_args!(
                r#"<rect class="f0" x="{left:.1}" y="{:.1}" width="{:.1}" height="{height:.1}" rx="1"/>"#,
                y - height / 2.0,
                right - left
            ));
            let words = text::clip(&link.words, room(right - left), true);
            let middle = f64::midpoint(left, right) - wide(&words, 12.0) / 2.0;
            canvas.words("quiet halo", [middle.max(left), y - height / 2.0 - 5.0], "", &words);
        }
        canvas.text + "</svg>\n"
    }
}
