//! Markup as it is written: every text and every attribute goes through one gate, so that nothing of a document can be
//! anything but text.

use crate::svg::escape;

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

/// Attributes with their values; an empty value stands for a bare attribute, an empty name for none.
pub type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Html {
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    // Each call of `within` is code of its own: what it calls should not be.
    #[inline(never)]
    fn close(&mut self, tag: &str) {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push_str(">\n");
    }

    #[inline(never)]
    fn open(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            if !value.is_empty() {
                self.0.push_str("=\"");
                self.0.push_str(&escape(value));
                self.0.push('"');
            }
        }
        self.0.push('>');
    }

    /// An element with others in it.
    pub fn within<T>(
        &mut self,
        tag: &str,
        attributes: Attributes<'_>,
        fill: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.open(tag, attributes);
        let filled = fill(self);
        self.close(tag);
        filled
    }

    /// An element with a text in it.
    pub fn say(&mut self, tag: &str, attributes: Attributes<'_>, words: &str) {
        self.within(tag, attributes, |html| html.words(words));
    }

    /// What the page says, in which no line ends between a number and its unit.
    pub fn headline(&mut self, words: &str) {
        let mut line = String::with_capacity(words.len());
        for (at, word) in words.split(' ').enumerate() {
            let is_number = line.ends_with(|sign: char| sign.is_ascii_digit());
            let is_unit = word.starts_with(|sign: char| sign.is_alphabetic() || sign == '%');
            if at > 0 {
                line.push(if is_number && is_unit { '\u{a0}' } else { ' ' });
            }
            line.push_str(word);
        }
        self.say("h1", &[], &line);
    }

    /// An element that has no end, such as `meta`.
    pub(crate) fn alone(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.0.push('\n');
    }

    /// A text.
    pub fn words(&mut self, words: &str) {
        self.0.push_str(&escape(words));
    }

    /// A picture, which [`crate::svg`] has drawn: its texts went through the same gate.
    pub fn picture(&mut self, drawn: &str) {
        self.0.push_str(drawn);
    }

    /// The page's own script or style, which has no text of a document in it.
    pub(crate) fn own(&mut self, tag: &str, source: &str) {
        self.open(tag, &[]);
        self.0.push_str(source);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push_str(">\n");
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.0.push_str(&other.0);
    }

    /// A list; nothing where there are no items.
    pub fn list(&mut self, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.within("ul", &[], |html| items.iter().for_each(|item| html.say("li", &[], item)));
    }

    /// A table of texts in a frame of its own that scrolls, so that the page never does.
    pub fn table(&mut self, label: &str, heads: &[String], right: &[bool], rows: &[Vec<String>]) {
        let class = |at: usize| if right.get(at) == Some(&true) { "n" } else { "t" };
        let head = |html: &mut Self| {
            for (at, head) in heads.iter().enumerate() {
                html.say("th", &[("scope", "col"), ("class", class(at))], head);
            }
        };
        self.rows(label, head, |html| {
            for row in rows {
                html.within("tr", &[], |html| {
                    for (at, cell) in row.iter().enumerate() {
                        html.say("td", &[("class", class(at))], cell);
                    }
                });
            }
        });
    }

    /// The same of the cells of its head and of whole rows.
    pub fn rows(
        &mut self,
        label: &str,
        head: impl FnOnce(&mut Self),
        body: impl FnOnce(&mut Self),
    ) {
        self.frame(label, |html| {
            html.within("table", &[], |html| {
                html.within("thead", &[], |html| html.within("tr", &[], head));
                html.within("tbody", &[], body);
            });
        });
    }

    /// A frame that scrolls by itself; by keyboard, too.
    pub fn frame(&mut self, label: &str, fill: impl FnOnce(&mut Self)) {
        let attributes =
            [("class", "frame"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)];
        self.within("div", &attributes, fill);
    }

    /// What is shown when it is asked for.
    pub fn fold(&mut self, title: &str, is_open: bool, fill: impl FnOnce(&mut Self)) {
        let attributes: Attributes<'_> = if is_open { &[("open", "")] } else { &[] };
        self.within("details", attributes, |html| {
            html.say("summary", &[], title);
            fill(html);
        });
    }

    /// A chart with what it is and how to read it.
    pub fn figure(&mut self, title: &str, note: &str, drawn: &str, fill: impl FnOnce(&mut Self)) {
        self.within("figure", &[], |html| {
            html.within("figcaption", &[], |html| {
                html.say("h3", &[], title);
                if !note.is_empty() {
                    html.say("p", &[], note);
                }
            });
            html.frame(title, |html| {
                html.within("div", &[("class", "chart")], |html| html.picture(drawn))
            });
            fill(html);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_and_no_attribute_can_be_markup() {
        for hostile in [
            "</script><script>alert(1)</script>",
            "]]>",
            "\"'<!--",
            "a\u{202e}b\u{0}c\u{1b}[31m&amp;",
        ] {
            let mut html = Html::default();
            html.say("p", &[("title", hostile)], hostile);
            html.table(hostile, &[hostile.to_owned()], &[true], &[vec![hostile.to_owned()]]);
            let text = html.into_text();
            let tags: Vec<&str> = text
                .split('<')
                .skip(1)
                .map(|rest| rest.split([' ', '>']).next().unwrap_or_default())
                .collect();
            let known = [
                "p", "/p", "div", "/div", "table", "/table", "thead", "/thead", "tbody", "/tbody",
                "tr", "/tr", "th", "/th", "td", "/td",
            ];
            assert!(tags.iter().all(|tag| known.contains(tag)), "{text}");
            assert!(!text.contains(['\u{202e}', '\u{0}', '\u{1b}']), "{text}");
            assert!(!text.contains("\"\"") && !text.contains("]]>"), "{text}");
        }
    }
}
