//! One line on the terminal while it measures, drawn only between slices, never by a thread of its own.

use crate::error::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ipcperf_engine::run::Progress;
use std::time::Duration;

/// Seconds from which on whoever cannot see the line is told how long it takes.
const WORTH_SAYING: u64 = 3;

/// The line; nothing at all if standard error is no terminal, or one without a cursor.
#[derive(Debug)]
pub(crate) struct Line {
    bar: ProgressBar,
    /// What is counted.
    what: &'static str,
    /// What it takes by the plan: of no slice yet nothing better can be said.
    expected: Duration,
}

impl Line {
    /// A line that counts slices, which take so long in all by the plan. Where it cannot be drawn that much is said once.
    pub(crate) fn new(expected: Duration, hidden: bool) -> Self {
        let line = Self { expected, ..Self::counting("slices", hidden) };
        let seconds = expected.as_secs();
        if !hidden && seconds >= WORTH_SAYING && line.bar.is_hidden() {
            note(&format!("Measuring, about {seconds} s"));
        }
        line
    }

    /// A line that counts something of which nobody has said how long it takes, or has said it already.
    pub(crate) fn counting(what: &'static str, hidden: bool) -> Self {
        // Drawing is asked for between slices only, so no further rate limit is wanted.
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let line = Self { bar, what, expected: Duration::ZERO };
        line.template("{wide_msg}");
        line
    }

    fn template(&self, template: &str) {
        let style = ProgressStyle::with_template(template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }

    /// What goes on before anything is counted.
    fn begin(&self, what: &str) {
        self.bar.set_message(match self.expected.as_secs() {
            0 => what.to_owned(),
            seconds => format!("about {seconds} s: {what}"),
        });
    }

    /// Shows what goes on.
    pub(crate) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Bounds => self.begin("the machine's own limits"),
            Progress::Slice { done: 0, id, .. } => self.begin(&ipcperf_report::clean(id, true)),
            Progress::Slice { done, total, id } => {
                self.bar.set_length(total);
                self.bar.set_position(done);
                self.bar.set_message(ipcperf_report::clean(id, true));
                // Last: what is drawn meanwhile has nothing to count.
                let what = self.what;
                self.template(&format!(
                    "{{bar:20}} {{pos}}/{{len}} {what}, {{eta}} left  {{wide_msg}}"
                ));
                if self.bar.elapsed() > Duration::from_millis(100) {
                    self.bar.tick();
                }
            }
            Progress::Done => self.bar.finish_and_clear(),
        }
    }
}
