//! What every screen, page and Markdown begins with of a document that was stopped before its plan was done.

use crate::text;
use ipcperf_core::result::{Comparison, Profile, Replication, ResultSet, Side, Stage};

/// A document that may have been stopped.
pub(crate) trait Stopped {
    /// That it was stopped, and how far it came; `None` of one whose plan was done.
    fn stopped(&self) -> Option<String>;
}

/// After how many rounds of how many; there are as many where what was left is no round.
fn after(done: u64, planned: u64) -> String {
    match done < planned {
        true => format!("INTERRUPTED after {done} of {planned} rounds: all figures are of these."),
        false => {
            "INTERRUPTED before the plan was done: what follows was measured until then.".to_owned()
        }
    }
}

/// Which stage a run with stages reached; `None` of one without.
fn stage(set: &ResultSet) -> Option<String> {
    let reached = set.questions.iter().filter_map(|one| one.stage).max()?;
    let confirmed = set.questions.iter().filter(|one| one.stage == Some(Stage::Confirm)).count();
    let all = text::counted(set.questions.len() as u64, "question");
    let rest = match reached {
        Stage::Screen | Stage::Focus => "nothing is confirmed".to_owned(),
        Stage::Confirm => format!("confirmed are the rounds so far of {confirmed} of {all}"),
    };
    Some(format!("INTERRUPTED in the {} stage: {rest}.", reached.name()))
}

impl Stopped for ResultSet {
    fn stopped(&self) -> Option<String> {
        if let Some(words) = stage(self).filter(|_| self.interrupted) {
            return Some(words);
        }
        let cells = self.cells.iter().map(|cell| cell.by_round().count());
        let rounds = cells.chain(self.pipelines.iter().map(|one| one.rounds.len()));
        let done = rounds.max().unwrap_or(0) as u64;
        self.interrupted.then(|| after(done, self.invocation.plan.rounds))
    }
}

impl Stopped for Comparison {
    fn stopped(&self) -> Option<String> {
        if self.interrupted {
            let rounds = self.comparisons.iter().flat_map(|one| &one.primary.rounds);
            let planned = self.plan.as_ref().map_or(0, |plan| plan.rounds);
            return Some(after(rounds.max().copied().unwrap_or(0), planned));
        }
        let sides = [('A', &self.a), ('B', &self.b)];
        let stopped = sides.into_iter().filter(|(_, side)| side.interrupted > 0);
        let of = |(letter, side): (char, &Side)| {
            format!("{} of {} of {letter}", side.interrupted, side.names.len())
        };
        let stopped: Vec<String> = stopped.map(of).collect();
        (!stopped.is_empty()).then(|| {
            let sides = stopped.join(" and ");
            format!("INTERRUPTED before their plan was done: the runs of {sides}.")
        })
    }
}

impl Stopped for Profile {
    fn stopped(&self) -> Option<String> {
        self.interrupted.then(|| "INTERRUPTED: what follows was recorded until then.".to_owned())
    }
}

impl Stopped for Replication {
    fn stopped(&self) -> Option<String> {
        self.interrupted.then(|| after(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{self, Build, TWO};
    use crate::testing::screens::{sets, studies};
    use crate::testing::{rendered, to_text};
    use crate::{Format, Style};
    use crate::{comparison, replication};

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
                let begins = match format {
                    Format::Html => "<main id=\"main\"><p class=\"alarm\">INTERRUPTED ",
                    Format::Markdown => "**INTERRUPTED ",
                    _ => "INTERRUPTED ",
                };
                let text = write(true, format, &style);
                let from = if format == Format::Html { text.find("<main").unwrap() } else { 0 };
                let begin: String = text[from..].chars().take(200).collect();
                assert!(begin.starts_with(begins), "{name} as {format}: {begin}");
                let text = write(false, format, &style);
                assert!(!text.contains("INTERRUPTED"), "{name} as {format}: {text}");
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
        let [study, _] = studies();
        check("replication", &|interrupted, format, style| {
            let document = Replication { interrupted, ..study.clone() };
            to_text(|out| replication(&document, format, style, None, out))
        });
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
            let words = set.stopped().unwrap_or_default();
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
        let words = set.stopped().unwrap();
        assert_eq!(words, "INTERRUPTED in the screen stage: nothing is confirmed.");
        set.questions[0].stage = Some(Stage::Confirm);
        let words = set.stopped().unwrap();
        assert!(
            words.contains("confirm stage") && words.contains("of 1 of 2 questions"),
            "{words}"
        );
        set.interrupted = false;
        assert_eq!(set.stopped(), None);
    }
}
