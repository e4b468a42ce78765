//! What arms differ in that a claim divides by each other. A ratio of a small message over a large one, or of data that
//! is read over data that is not, says nothing about mechanisms: where it is meant, the claim says so.

use crate::claims::study::{Arm, Claim, Factor, Study};
use crate::replication::Scale;
use ipcperf_core::Touch;
use std::collections::BTreeSet;

impl Factor {
    /// What a cell has that does not say it.
    fn usual(self) -> String {
        match self {
            Self::Touch => Touch::default().name().to_owned(),
            Self::Size => "1".to_owned(),
            Self::Placement | Self::Align => String::new(),
        }
    }
}

impl Study {
    /// Checks that claims name what the arms differ in that they divide by each other, at every scale, and nothing else.
    pub(crate) fn check_differences(&self) -> Result<(), String> {
        self.claims.iter().try_for_each(|claim| {
            for factor in Factor::ALL.iter().copied() {
                let found = Scale::ALL.iter().find_map(|scale| self.difference(claim, factor, *scale));
                let is_told = claim.differs.contains(&factor);
                let id = &claim.id;
                match found {
                    Some([above, below]) if !is_told => {
                        return Err(format!(
                            "claim {id}: divides arms of another {factor} ({above} by {below}); if that is meant, it says \
                             differs = [\"{factor}\"]"
                        ));
                    }
                    // The file does not say what programs do.
                    None if is_told && !self.has_programs(claim) => {
                        return Err(format!("claim {id}: differs: its arms have the same {factor}"));
                    }
                    _ => {}
                }
            }
            Ok(())
        })
    }

    fn has_programs(&self, claim: &Claim) -> bool {
        let runs =
            |(_, id): (&str, &str)| self.arms.iter().any(|arm| arm.id == id && arm.work == "exec");
        claim.readings().any(runs)
    }

    /// What stands above and below a division of this claim, where that is not the same.
    fn difference(&self, claim: &Claim, factor: Factor, scale: Scale) -> Option<[String; 2]> {
        let divisions = claim.tests().iter().flat_map(|test| test.expression.divisions());
        divisions
            .map(|sides| sides.map(|side| self.values(&side.readings(), factor, scale)))
            .find_map(|[above, below]| {
                let differ = !above.is_empty() && !below.is_empty() && above != below;
                differ.then(|| {
                    [above, below].map(|side| side.into_iter().collect::<Vec<_>>().join(", "))
                })
            })
    }

    /// All values of cells among these arms.
    fn values(&self, readings: &[(&str, &str)], factor: Factor, scale: Scale) -> BTreeSet<String> {
        let is_cell =
            |arm: &&Arm| arm.work == "cell" && readings.iter().any(|(_, id)| *id == arm.id);
        let value = |arm: &Arm| match self.keys(arm, scale).get(factor.name()) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => factor.usual(),
        };
        self.arms.iter().filter(is_cell).map(value).collect()
    }
}
