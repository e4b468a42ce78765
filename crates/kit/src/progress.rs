//! One line on the terminal while it measures, drawn only between slices, never by a thread of its own.

use crate::error::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ipcperf_engine::run::Progress;
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// From so many seconds on a user who cannot see the line is told how long it takes.
const WORTH_SAYING: u64 = 3;

/// The line; nothing at all if standard error is no terminal, or one without a cursor.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    /// What is counted.
    what: &'static str,
    /// What it takes by the plan: of no slice yet nothing better can be said.
    expected: Duration,
    /// When the first of what is counted began.
    began: OnceCell<Instant>,
}

/// The share of all that has to be done before what it took says more than the plan.
const TELLING: f64 = 0.1;

/// How long the rest takes: by the plan at first, since the first slices may be the longest, then more and more by what the
/// others took. `None` where there is no plan and little has been done.
fn left(expected: Duration, done: u64, total: u64, took: Duration) -> Option<Duration> {
    let share = (done as f64 / total.max(1) as f64).clamp(0.0, 1.0);
    let weight = (share / TELLING).min(1.0);
    if expected.is_zero() && weight < 1.0 {
        return None;
    }
    let all = took.as_secs_f64() / share.max(f64::MIN_POSITIVE);
    let by_both = if weight > 0.0 { weight * all } else { 0.0 };
    let all = by_both + (1.0 - weight) * expected.as_secs_f64();
    Some(Duration::try_from_secs_f64(all * (1.0 - share)).unwrap_or(Duration::MAX))
}

/// `58s left`, `4m left`.
fn left_words(left: Duration) -> String {
    match left.as_secs_f64().ceil() {
        seconds if seconds < 100.0 => format!(", {seconds}s left"),
        seconds if seconds < 6000.0 => format!(", {:.0}m left", seconds / 60.0),
        seconds => format!(", {:.0}h left", seconds / 3600.0),
    }
}

/// `pipe ping-pong 64B same-cpu: 5.70 us so far`.
fn named(id: &str, so_far: Option<&str>) -> String {
    so_far.map_or_else(|| id.to_owned(), |figure| format!("{id}: {figure} so far"))
}

impl ProgressLine {
    /// A line that counts slices, which take so long in all by the plan. Where it cannot be drawn that much is said once.
    pub fn new(expected: Duration, hidden: bool) -> Self {
        let line = Self { expected, ..Self::counting("slices", hidden) };
        let seconds = expected.as_secs();
        if !hidden && seconds >= WORTH_SAYING && line.bar.is_hidden() {
            note(&format!("Measuring, about {seconds} s"));
        }
        line
    }

    /// A line that counts something of which nobody has said how long it takes, or has said it already.
    pub fn counting(what: &'static str, hidden: bool) -> Self {
        // Drawing is asked for between slices only, so no further rate limit is wanted.
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let line = Self { bar, what, expected: Duration::ZERO, began: OnceCell::new() };
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
    pub fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Bounds => self.begin("the machine's own limits"),
            Progress::Slice { done: 0, id, .. } => {
                self.began.get_or_init(Instant::now);
                self.begin(&ipcperf_render::text::clean(id, true));
            }
            Progress::Slice { done, total, id, so_far } => {
                let took = self.began.get_or_init(Instant::now).elapsed();
                let left = left(self.expected, done, total, took);
                self.bar.set_prefix(left.map(left_words).unwrap_or_default());
                self.bar.set_length(total);
                self.bar.set_position(done);
                self.bar.set_message(ipcperf_render::text::clean(&named(id, so_far), true));
                // Last: what is drawn meanwhile has nothing to count.
                let what = self.what;
                // The name has a line of its own, so that 80 columns do not cut it.
                self.template(&format!(
                    "{{bar:20}} {{pos}}/{{len}} {what}{{prefix}}\n{{wide_msg}}"
                ));
                if self.bar.elapsed() > Duration::from_millis(100) {
                    self.bar.tick();
                }
            }
            Progress::Round { .. } => {}
            Progress::Done => self.bar.finish_and_clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_with_its_figure_as_soon_as_it_has_one() {
        assert_eq!(named("pipe 64B", None), "pipe 64B");
        assert_eq!(named("pipe 64B", Some("5.70 us")), "pipe 64B: 5.70 us so far");
    }

    #[test]
    fn at_first_the_plan_says_how_long_it_takes_and_then_what_was_done() {
        let seconds = Duration::from_secs;
        let shown = |expected: u64, done, took: u64| {
            let left = left(seconds(expected), done, 1000, seconds(took));
            left.map(left_words).unwrap_or_default()
        };
        // A first slice of two seconds made 33 minutes of a minute.
        assert_eq!(shown(60, 1, 2), ", 80s left");
        assert_eq!(shown(60, 0, 0), ", 60s left");
        assert_eq!(shown(60, 100, 12), ", 2m left");
        assert_eq!(shown(60, 500, 60), ", 60s left");
        assert_eq!(shown(60, 1000, 60), ", 0s left");
        assert_eq!(shown(0, 50, 5), "", "without a plan");
        assert_eq!(shown(0, 100, 5), ", 45s left");
        assert_eq!(shown(86_400, 0, 0), ", 24h left");
        assert_eq!(left(Duration::MAX, 0, 0, Duration::ZERO), Some(Duration::MAX));
    }
}
