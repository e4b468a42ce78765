//! What all documents can do, whatever their kind.

use crate::work::MeasuredWork;
use ipcperf_core::Spec;
use ipcperf_core::result::{Origin, ResultSet};
use ipcperf_judge::{LoadError, is_of};
use ipcperf_render::doc::Doc;
use ipcperf_render::{Format, Style};
use std::any::Any;
use std::fmt;
use std::io::{self, Write};

/// Where a screen asks for the facts of a mechanism by its full name. `None` for one this build does not know:
/// its cells are still shown, with what the document itself says.
pub type Specs<'a> = dyn Fn(&str) -> Option<&'static Spec> + 'a;

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
    /// How results begin that were made for a question.
    pub screens: &'a [Screen],
}

/// The screen of a question: how a result begins that was made for it.
#[derive(Clone, Copy)]
pub struct Screen {
    /// The answer, with all that stands around it; `None` of another result.
    pub answer: fn(&ResultSet, &Specs, &Style) -> Option<Doc>,
    /// Whether the tables of the result follow.
    pub has_tables: fn(&Style) -> bool,
}

impl Screen {
    /// A screen that the tables follow where the style asks for more than the answer.
    #[must_use]
    pub const fn new(answer: fn(&ResultSet, &Specs, &Style) -> Option<Doc>) -> Self {
        Self { answer, has_tables: Style::is_whole }
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Screen")
    }
}

impl<'a> Show<'a> {
    /// In a format and style, with nothing known of mechanisms beyond what the document says.
    #[must_use]
    pub fn new(format: Format, style: &'a Style) -> Self {
        Self { specs: &|_| None, format, style, pictures: None, screens: &[] }
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

    /// The command whose plan it follows.
    fn command(&self) -> &str;

    /// What was measured, and how: `--if-done` compares it with what is asked for. By itself a document says its command
    /// alone.
    fn work(&self) -> MeasuredWork {
        MeasuredWork::of(self.command())
    }

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
