//! The results of all cases at a glance: mechanisms by cases.

use crate::case::{CASES, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// All outcomes: mechanisms in the order of their list, then cases by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix {
    mechanisms: Vec<String>,
    outcomes: BTreeMap<(String, String), Outcome>,
}

/// How many outcomes of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) unavailable: usize,
    pub(crate) not_applicable: usize,
}

impl Outcome {
    /// Its letter, and how much it hides the others of its column.
    fn letter(&self) -> (u8, char) {
        match self {
            Self::Failed(_) => (3, 'F'),
            Self::Unavailable(_) => (2, 'U'),
            Self::Passed => (1, '+'),
            Self::NotApplicable(_) => (0, '-'),
        }
    }
}

impl Matrix {
    pub(crate) fn set(&mut self, mechanism: &str, case: &str, outcome: Outcome) {
        if !self.mechanisms.iter().any(|known| known == mechanism) {
            self.mechanisms.push(mechanism.to_owned());
        }
        self.outcomes.insert((mechanism.to_owned(), case.to_owned()), outcome);
    }

    pub(crate) fn counts(&self) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        for outcome in self.outcomes.values() {
            *match outcome {
                Outcome::Passed => &mut counts.passed,
                Outcome::Failed(_) => &mut counts.failed,
                Outcome::Unavailable(_) => &mut counts.unavailable,
                Outcome::NotApplicable(_) => &mut counts.not_applicable,
            } += 1;
        }
        counts
    }

    /// Mechanisms that could not be tried in all cases, with the reasons.
    pub(crate) fn lacking(&self) -> BTreeSet<(&str, &str)> {
        let all = self.outcomes.iter();
        all.filter_map(|((mechanism, _), outcome)| match outcome {
            Outcome::Unavailable(why) => Some((mechanism.as_str(), why.as_str())),
            _ => None,
        })
        .collect()
    }

    pub(crate) fn mechanisms(&self) -> impl Iterator<Item = &str> {
        self.mechanisms.iter().map(String::as_str)
    }

    pub(crate) fn letter(&self, mechanism: &str, id: &str) -> char {
        CASES
            .iter()
            .filter(|case| case.id == id)
            .filter_map(|case| self.outcomes.get(&(mechanism.to_owned(), case.name())))
            .map(Outcome::letter)
            .max()
            .map_or(' ', |(_, letter)| letter)
    }

    /// The distinct reasons of one kind, with what they are about.
    fn reasons(&self, reason: impl Fn(&Outcome) -> Option<&String>) -> Vec<String> {
        let mut about: Vec<(&String, Vec<String>)> = Vec::new();
        for ((mechanism, case), outcome) in &self.outcomes {
            let Some(text) = reason(outcome) else { continue };
            let id = case.split('_').next().unwrap_or(case);
            let place = format!("{mechanism} {id}");
            match about.iter_mut().find(|(known, _)| *known == text) {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => about.push((text, vec![place])),
            }
        }
        about.into_iter().map(|(text, places)| format!("{text}: {}", summary(&places))).collect()
    }
}

/// Places by name where they are few, mechanisms where those are few, else how many there are of each case; the table
/// shows which.
fn summary(places: &[String]) -> String {
    const FEW: usize = 4;
    if places.len() <= FEW {
        return places.join(", ");
    }
    let mut mechanisms: Vec<&str> =
        places.iter().filter_map(|place| place.split(' ').next()).collect();
    mechanisms.dedup();
    if mechanisms.len() <= FEW {
        return mechanisms.join(", ");
    }
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    for place in places {
        *cases.entry(place.rsplit(' ').next().unwrap_or_default()).or_default() += 1;
    }
    let of = |(case, count): (&str, usize)| format!("{case} of {count} mechanisms");
    cases.into_iter().map(of).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Matrix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids: Vec<_> = CASES.iter().map(|case| case.id).collect();
        ids.dedup();
        let width = self.mechanisms.iter().map(String::len).max().unwrap_or(0);
        writeln!(out, "{:width$}  {}", "", ids.join(" "))?;
        for mechanism in &self.mechanisms {
            let letters: Vec<_> =
                ids.iter().map(|id| format!("{:^3}", self.letter(mechanism, id))).collect();
            writeln!(out, "{mechanism:width$}  {}", letters.join(" ").trim_end())?;
        }
        writeln!(out, "+ passed  F failed  U unavailable  - not applicable")?;
        let not_applicable = self.reasons(|outcome| match outcome {
            Outcome::NotApplicable(reason) => Some(reason),
            _ => None,
        });
        let unavailable = self.reasons(|outcome| match outcome {
            Outcome::Unavailable(reason) => Some(reason),
            _ => None,
        });
        let failed = self.reasons(|outcome| match outcome {
            Outcome::Failed(reason) => Some(reason),
            _ => None,
        });
        // Failures come last: of a long log often only the end is kept.
        let kinds =
            [("not applicable", not_applicable), ("unavailable", unavailable), ("failed", failed)];
        for (kind, lines) in kinds {
            for line in lines {
                writeln!(out, "{kind}, {line}")?;
            }
        }
        let OutcomeCounts { passed, failed, unavailable, not_applicable } = self.counts();
        write!(
            out,
            "{passed} passed, {failed} failed, {unavailable} skipped (unavailable); {not_applicable} not applicable"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_places_become_mechanisms_or_counts() {
        let places = |mechanisms: usize, cases: usize| -> Vec<String> {
            (0..mechanisms)
                .flat_map(|at| (0..cases).map(move |case| format!("m{at} C{case:02}")))
                .collect()
        };
        assert_eq!(summary(&places(2, 2)), "m0 C00, m0 C01, m1 C00, m1 C01");
        assert_eq!(summary(&places(2, 3)), "m0, m1");
        assert_eq!(summary(&places(6, 2)), "C00 of 6 mechanisms, C01 of 6 mechanisms");
    }

    #[test]
    fn the_worse_of_two_cases_with_one_number_shows_and_all_are_counted() {
        let mut matrix = Matrix::default();
        matrix.set("pipe", "C01_open_attach_exchange_finish", Outcome::Passed);
        matrix.set("pipe", "C09_peer_death_while_receiving", Outcome::Passed);
        matrix.set("pipe", "C09_peer_death_while_sending", Outcome::Failed("x".into()));
        matrix.set("pipe", "C10_oversized", Outcome::NotApplicable("payload: stream".into()));
        matrix.set("a", "C01_open_attach_exchange_finish", Outcome::Unavailable("none".into()));
        let text = matrix.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "pipe   +                               F   -");
        assert_eq!(lines[2], "a      U");
        assert!(text.contains("not applicable, payload: stream: pipe C10"), "{text}");
        assert!(text.contains("unavailable, none: a C01"), "{text}");
        assert!(text.contains("failed, x: pipe C09"), "{text}");
        assert!(text.ends_with("2 passed, 1 failed, 1 skipped (unavailable); 1 not applicable"));
    }
}
