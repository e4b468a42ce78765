//! Who talks to whom: names at both sides, and a line for each channel between them.

use super::{Canvas, LETTER, LINE, SLACK, Scale};
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

/// Of a channel: its names, its line, and what is written on it.
const ROW: f64 = 58.0;

impl Flow {
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let most = self.links.iter().map(|link| link.weight).fold(1.0, f64::max);
        let scale = Scale::over(&[1.0], true, 0.0, 1.0);
        let mut canvas = Canvas { text: String::new(), x: scale, y: scale };
        canvas.begin(&self.label, "img", [width, ROW * self.links.len() as f64 + 4.0]);
        let clip = |words: &str, room: f64| {
            text::clip(words, (room / SLACK / (12.0 * LETTER)).max(1.0) as usize, true)
        };
        for (at, link) in self.links.iter().enumerate() {
            let y = ROW * at as f64 + LINE;
            let [from, to] = [&link.from, &link.to].map(|name| clip(name, width / 2.0 - 8.0));
            canvas.words("ink", [2.0, y], "", &from);
            canvas.words("ink end", [width - 2.0, y], "", &to);
            let height = 2.0 + 8.0 * link.weight / most;
            canvas.put(format_args!(
                r#"<rect class="f0" x="2.0" y="{:.1}" width="{:.1}" height="{height:.1}" rx="1"/>"#,
                y + 11.0 - height / 2.0,
                width - 4.0
            ));
            canvas.words("quiet middle", [width / 2.0, y + 30.0], "", &clip(&link.words, width));
        }
        canvas.text + "</svg>\n"
    }
}
