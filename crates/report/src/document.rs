//! Documents that can be read and shown again.

use crate::{Format, Specs, Style};
use ipcperf_core::result::Origin;
use ipcperf_judge::{LoadError, is_of};
use std::any::Any;
use std::fmt;
use std::io::{self, Write};

/// What a document is shown with.
#[derive(Clone, Copy)]
pub struct Show<'a> {
    /// The facts of mechanisms.
    pub specs: &'a Specs<'a>,
    /// The format.
    pub format: Format,
    /// How it looks.
    pub style: &'a Style,
    /// Where pictures of it lie, as Markdown shall refer to them.
    pub pictures: Option<&'a str>,
}

impl<'a> Show<'a> {
    /// In a format and style, with nothing known of mechanisms beyond what the document says.
    #[must_use]
    pub fn new(format: Format, style: &'a Style) -> Self {
        Self { specs: &|_| None, format, style, pictures: None }
    }
}

impl fmt::Debug for Show<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {:?}", self.format, self.style)
    }
}

/// A document of some kind.
pub trait Document: Any {
    /// The schema of the kind, without a minor version: `ipcperf.profile/1`.
    fn schema() -> &'static str
    where
        Self: Sized;

    /// Reads one. Keys that this build does not know are ignored, so newer minor versions are read.
    ///
    /// # Errors
    /// The text is not JSON (or cut off), or a key is missing or mistyped.
    fn load(text: &str) -> Result<Self, LoadError>
    where
        Self: Sized;

    /// The command whose plan it follows: `--if-done` compares it.
    fn command(&self) -> &str;

    /// Which document it is.
    fn origin(&self) -> &Origin;

    /// Whether it was stopped before its plan was done.
    fn is_interrupted(&self) -> bool;

    /// That it was stopped, and how far it came: what every screen, page and Markdown of it begins with. `None` of one whose
    /// plan was done.
    fn stopped(&self) -> Option<String>;

    /// Published pictures with the values measured here, each as the name of a file and its text (SVG); `None` of a kind that
    /// repeats no pictures.
    fn pictures(&self) -> Option<Vec<(String, String)>> {
        None
    }

    /// Writes it for people or programs.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    fn show(&self, show: &Show<'_>, out: &mut dyn Write) -> io::Result<()>;
}

/// Whether a text says that it is a document of this kind and major version.
#[must_use]
pub fn is_a<D: Document>(text: &str) -> bool {
    is_of(text, D::schema())
}

/// That a document was stopped after `done` of `planned` rounds; there are as many where what was left is no round.
#[must_use]
pub fn interrupted_after(done: u64, planned: u64) -> String {
    match done < planned {
        true => format!("INTERRUPTED after {done} of {planned} rounds: all figures are of these."),
        false => {
            "INTERRUPTED before the plan was done: what follows was measured until then.".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::comparison;
    use crate::result::stopped;
    use crate::testing::sample::{self, Build, TWO};
    use crate::testing::screens::sets;
    use crate::testing::{rendered, to_text};
    use crate::{Format, Style};
    use ipcperf_core::result::{ResultSet, Stage};
    use ipcperf_testing::screens::says_that_it_was_stopped;

    fn styles() -> Vec<Style> {
        let usual = Style::default();
        vec![
            Style { width: 40, ..usual },
            Style { verbose: true, ..usual },
            Style { full: true, ..usual },
            usual,
        ]
    }

    /// Each document in each format and style, stopped and not.
    fn check(name: &str, write: &dyn Fn(bool, Format, &Style) -> String) {
        for style in styles() {
            for format in [Format::Table, Format::Markdown, Format::Html] {
                let [stopped, whole] = [true, false].map(|stopped| write(stopped, format, &style));
                says_that_it_was_stopped(name, format.name(), &stopped, &whole);
            }
        }
    }

    #[test]
    fn whatever_was_stopped_begins_with_it_on_every_screen_and_page() {
        for (name, set) in sets() {
            let of = |interrupted| ResultSet { interrupted, ..set.clone() };
            check(name, &|stopped, format, style| rendered(&of(stopped), format, style));
        }
        let compared = |stopped: bool, of_sides: bool| {
            let set = |interrupted| ResultSet { interrupted, ..sample::small() };
            let [a, b] = [false, stopped && of_sides]
                .map(|interrupted| [sample::recorded("x.json", &set(interrupted))]);
            let mut document =
                crate::compare_files(&a, &b, &crate::Terms::default()).expect("one machine");
            document.interrupted = stopped && !of_sides;
            document
        };
        for of_sides in [false, true] {
            check("comparison", &|stopped, format, style| {
                let document = compared(stopped, of_sides);
                to_text(|out| comparison(&document, format, style, out))
            });
        }
    }

    #[test]
    fn how_far_it_came_is_said_in_rounds_where_rounds_are_missing() {
        let cell = sample::cell("pipe", 64, TWO).rtt(9e3, 1.0);
        let done = cell.by_round().count() as u64;
        let mut set = ResultSet { interrupted: true, ..sample::set(vec![cell]) };
        for (planned, told) in [
            (done + 41, format!("INTERRUPTED after {done} of {} rounds", done + 41)),
            (done, "INTERRUPTED before the plan was done".to_owned()),
        ] {
            set.invocation.plan.rounds = planned;
            let words = stopped(&set).unwrap_or_default();
            assert!(words.starts_with(&told), "{words}");
        }
    }

    #[test]
    fn of_a_run_with_stages_the_stage_that_it_reached_is_said() {
        let question = |stage| ipcperf_core::result::Question {
            stage: Some(stage),
            ..ipcperf_core::result::Question::default()
        };
        let mut set = ResultSet { interrupted: true, ..sample::survey() };
        set.questions = vec![question(Stage::Screen), question(Stage::Screen)];
        let words = stopped(&set).unwrap();
        assert_eq!(words, "INTERRUPTED in the screen stage: nothing is confirmed.");
        set.questions[0].stage = Some(Stage::Confirm);
        let words = stopped(&set).unwrap();
        assert!(
            words.contains("confirm stage") && words.contains("of 1 of 2 questions"),
            "{words}"
        );
        set.interrupted = false;
        assert_eq!(stopped(&set), None);
    }
}
