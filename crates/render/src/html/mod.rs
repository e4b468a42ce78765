//! A page that is one file: it loads nothing, runs no script but its own, and is complete without it.

mod digest;
mod draw;
mod markup;
mod unbroken;

pub(crate) use draw::write;
use markup::Html;

use crate::svg;
use std::io;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Sections under each other, with a list of them at the top.
#[derive(Clone, Debug, Default)]
struct HtmlPage {
    sections: Vec<(String, String)>,
    body: Html,
}

impl HtmlPage {
    /// What it says before all else: that the document was stopped.
    fn begin(&mut self, stopped: Option<&str>) {
        stopped.iter().for_each(|words| self.body.say("p", &[("class", "alarm")], words));
    }

    /// An address that no section has yet.
    fn free(&self, id: &str) -> String {
        let is_free = |id: &String| self.sections.iter().all(|(known, _)| known != id);
        let numbered = (2..).map(|number| format!("{id}-{number}"));
        std::iter::once(id.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// A part with a heading of its own. `id` is its address in the page.
    fn section(&mut self, id: &str, title: &str, fill: impl FnOnce(&mut Html)) {
        self.sections.push((id.to_owned(), title.to_owned()));
        self.body.within("section", &[("id", id)], |html| {
            html.say("h2", &[], title);
            fill(html);
        });
    }

    /// What stands above the first section.
    fn head(&mut self, fill: impl FnOnce(&mut Html)) {
        self.body.within("div", &[("class", "top")], fill);
    }

    /// Writes it. `foot` are the last lines: where it all comes from.
    fn write(self, title: &str, foot: &[String], out: &mut dyn io::Write) -> io::Result<()> {
        let style = svg::theme() + STYLE;
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
            digest::source(SCRIPT),
            digest::source(&style)
        );
        let mut page = Html::default();
        page.within("html", &[("lang", "en")], |html| {
            html.within("head", &[], |html| {
                html.alone("meta", &[("charset", "utf-8")]);
                // Before anything that it concerns.
                html.alone(
                    "meta",
                    &[("http-equiv", "Content-Security-Policy"), ("content", &policy)],
                );
                html.alone(
                    "meta",
                    &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")],
                );
                html.alone("meta", &[("name", "referrer"), ("content", "no-referrer")]);
                html.alone("meta", &[("name", "generator"), ("content", "ipcperf")]);
                // A server that hands the page out is not asked for a picture.
                html.alone("link", &[("rel", "icon"), ("href", "data:,")]);
                html.within("title", &[], |html| html.plain(title));
                html.own("style", &style);
            });
            html.within("body", &[], |html| {
                html.say("a", &[("class", "skip"), ("href", "#main")], "To the content");
                html.within("nav", &[("aria-label", "Sections")], |html| {
                    html.say("span", &[("class", "brand")], "ipcperf");
                    for (id, title) in &self.sections {
                        html.say("a", &[("href", &format!("#{id}"))], title);
                    }
                });
                html.within("main", &[("id", "main")], |html| html.append(self.body));
                html.within("footer", &[], |html| {
                    foot.iter().for_each(|line| html.say("p", &[], line));
                });
                html.own("script", SCRIPT);
            });
        });
        out.write_all(b"<!doctype html>\n")?;
        out.write_all(page.into_text().as_bytes())
    }
}
