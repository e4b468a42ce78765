//! Markup as it is written: every text and every attribute goes through one gate, so that nothing of a document can be
//! anything but text.

use crate::svg::escape;

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

/// Attributes with their values; an empty value stands for a bare attribute, an empty name for none.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Html {
    pub(super) fn into_text(self) -> String {
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
    pub(super) fn within<T>(
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
    pub(super) fn say(&mut self, tag: &str, attributes: Attributes<'_>, words: &str) {
        self.within(tag, attributes, |html| html.words(words));
    }

    /// A word in an element of this class, within a line.
    pub(super) fn within_line(&mut self, tag: &str, class: &str, word: &str) {
        self.open(tag, &[("class", class)]);
        self.plain(word);
        self.put("</");
        self.put(tag);
        self.put(">");
    }

    /// An element that has no end, such as `meta`.
    pub(super) fn alone(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.0.push('\n');
    }

    /// A text that may break anywhere.
    pub(super) fn plain(&mut self, words: &str) {
        self.put(&escape(words));
    }

    /// What is markup already.
    fn put(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// A picture, which [`crate::svg`] has drawn: its texts went through the same gate.
    pub(super) fn picture(&mut self, drawn: &str) {
        self.0.push_str(drawn);
    }

    /// The page's own script or style, which has no text of a document in it.
    pub(super) fn own(&mut self, tag: &str, source: &str) {
        self.open(tag, &[]);
        self.0.push_str(source);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push_str(">\n");
    }

    pub(super) fn append(&mut self, other: Self) {
        self.0.push_str(&other.0);
    }

    /// A table of the cells of its head and of whole rows, in a frame of its own that scrolls, so that the page never
    /// does. The script finds one that is searched by its name.
    pub(super) fn rows(
        &mut self,
        label: &str,
        is_searched: bool,
        head: impl FnOnce(&mut Self),
        body: impl FnOnce(&mut Self),
    ) {
        let (id, class): (Attributes<'_>, _) = match is_searched {
            true => (&[("id", "all-rows")], "frame high"),
            false => (&[], "frame"),
        };
        if is_searched {
            self.within("div", &[("id", "tools")], |_| ());
        }
        self.frame(label, class, |html| {
            html.within("table", id, |html| {
                html.within("thead", &[], |html| html.within("tr", &[], head));
                html.within("tbody", &[], body);
            });
        });
    }

    /// A frame that scrolls by itself; by keyboard, too.
    fn frame(&mut self, label: &str, class: &str, fill: impl FnOnce(&mut Self)) {
        let attributes =
            [("class", class), ("tabindex", "0"), ("role", "region"), ("aria-label", label)];
        self.within("div", &attributes, fill);
    }

    /// What is shown when it is asked for.
    pub(super) fn fold(&mut self, title: &str, is_open: bool, fill: impl FnOnce(&mut Self)) {
        let attributes: Attributes<'_> = if is_open { &[("open", "")] } else { &[] };
        self.within("details", attributes, |html| {
            html.say("summary", &[], title);
            fill(html);
        });
    }

    /// A chart with what it is and how to read it. Of two drawings the first is for wide windows.
    pub(super) fn figure(
        &mut self,
        title: &str,
        note: &str,
        drawn: &[String],
        fill: impl FnOnce(&mut Self),
    ) {
        self.within("figure", &[], |html| {
            html.within("figcaption", &[], |html| {
                html.say("h3", &[], title);
                if !note.is_empty() {
                    html.say("p", &[], note);
                }
            });
            match drawn {
                [wide, narrow] => {
                    for (class, drawn) in [("chart at-wide", wide), ("chart at-narrow", narrow)] {
                        html.within("div", &[("class", class)], |html| html.picture(drawn));
                    }
                }
                all => {
                    let draw = |html: &mut Self| all.iter().for_each(|one| html.picture(one));
                    html.frame(title, "frame", |html| {
                        html.within("div", &[("class", "chart")], draw);
                    });
                }
            }
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
            let cell = |html: &mut Html| html.say("td", &[("class", hostile)], hostile);
            html.rows(hostile, false, cell, |html| html.within("tr", &[("id", hostile)], cell));
            let text = html.into_text();
            let tags: Vec<&str> = text
                .split('<')
                .skip(1)
                .map(|rest| rest.split([' ', '>']).next().unwrap_or_default())
                .collect();
            let known = [
                "p", "/p", "div", "/div", "table", "/table", "thead", "/thead", "tbody", "/tbody",
                "tr", "/tr", "td", "/td",
            ];
            assert!(tags.iter().all(|tag| known.contains(tag)), "{text}");
            assert!(!text.contains(['\u{202e}', '\u{0}', '\u{1b}']), "{text}");
            assert!(!text.contains("\"\"") && !text.contains("]]>"), "{text}");
        }
    }
}
