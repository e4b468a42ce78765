//! One line on the terminal while it measures, drawn only between slices, never by a thread of its own.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ipcperf_engine::run::Progress;
use std::time::Duration;

/// The line; nothing at all if standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Line(ProgressBar);

impl Line {
    /// A line that counts slices up to an expected duration.
    pub(crate) fn new(hidden: bool) -> Self {
        Self::counting("slices", hidden)
    }

    /// The same of something else.
    pub(crate) fn counting(what: &str, hidden: bool) -> Self {
        // Drawing is asked for between slices only, so no further rate limit is wanted.
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template(&format!(
            "{{bar:20}} {{pos}}/{{len}} {what}, {{eta}} left  {{wide_msg}}"
        ));
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// Shows what goes on.
    pub(crate) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Bounds => self.0.set_message("the machine's own limits"),
            Progress::Slice { done, total, id } => {
                self.0.set_length(total);
                self.0.set_position(done);
                self.0.set_message(ipcperf_report::clean(id, true));
                if self.0.elapsed() > Duration::from_millis(100) {
                    self.0.tick();
                }
            }
            Progress::Done => self.0.finish_and_clear(),
        }
    }
}
