//! What a command is asked to measure and what a document says that was measured: `--if-done` compares the two.

use crate::paths_in_text::without_home;
use std::collections::BTreeSet;

/// What is measured, and how. Two runs with equal work measure the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredWork {
    /// `run`, `survey`, `choose`, `explain` or `replicate`.
    pub command: String,
    /// What is measured, by name: cells, pipelines or studies.
    pub subjects: BTreeSet<String>,
    /// Whether measuring may add subjects, as a search does that looks between its points. It counts only in what is asked
    /// for.
    pub grows: bool,
    /// How, in words that stand behind "of": `20 rounds`. Two works of one command have the same terms in the same order.
    pub terms: Vec<String>,
}

impl MeasuredWork {
    /// The work of a command of which nothing else is known.
    #[must_use]
    pub fn of(command: &str) -> Self {
        Self { command: command.to_owned(), ..Self::default() }
    }

    /// How a document of this work differs from what is asked for, in words that stand behind "is a result"; `None` if it
    /// does not.
    #[must_use]
    pub fn differs(&self, asked: &Self) -> Option<String> {
        if self.command != asked.command {
            return Some(format!("of '{}', not of '{}'", self.command, asked.command));
        }
        // Documents have the home directory shortened.
        let subjects = |work: &Self| -> BTreeSet<String> {
            work.subjects.iter().map(|name| without_home(name)).collect()
        };
        let (has, wants) = (subjects(self), subjects(asked));
        if let Some(name) = wants.difference(&has).next() {
            return Some(format!("without '{name}'"));
        }
        if let Some(name) = has.difference(&wants).next().filter(|_| !asked.grows) {
            return Some(format!("with '{name}', which is not asked for"));
        }
        let mut terms = self.terms.iter().zip(&asked.terms);
        let (has, wants) = terms.find(|(has, wants)| has != wants)?;
        Some(format!("of {has}, not of {wants}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_differ_by_command_subjects_and_terms_and_a_search_may_have_more_subjects() {
        let work = |command: &str, subjects: &[&str], grows: bool, rounds: &str| MeasuredWork {
            command: command.to_owned(),
            subjects: subjects.iter().map(|name| (*name).to_owned()).collect(),
            grows,
            terms: vec![rounds.to_owned()],
        };
        let done = work("run", &["pipe", "tcp"], false, "3 rounds");
        for (asked, differs) in [
            (done.clone(), None),
            (
                work("survey", &["pipe", "tcp"], false, "3 rounds"),
                Some("of 'run', not of 'survey'"),
            ),
            (work("run", &["pipe", "tcp", "udp"], false, "3 rounds"), Some("without 'udp'")),
            (work("run", &["pipe"], false, "3 rounds"), Some("with 'tcp', which is not asked for")),
            (
                work("run", &["pipe", "tcp"], false, "5 rounds"),
                Some("of 3 rounds, not of 5 rounds"),
            ),
        ] {
            assert_eq!(done.differs(&asked).as_deref(), differs, "{asked:?}");
        }
        let search = work("run", &["pipe", "tcp"], true, "3 rounds");
        assert_eq!(search.differs(&work("run", &["pipe"], true, "3 rounds")), None);
        assert!(search.differs(&work("run", &["pipe"], false, "3 rounds")).is_some());
        assert!(search.differs(&work("run", &["udp"], true, "3 rounds")).is_some());
    }
}
