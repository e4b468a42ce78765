//! A study that is not run as its file says: only some of its claims, or with other parameters.

use crate::claims::expression::Expression;
use crate::claims::study::{Arm, Check, Claim, Study};
use crate::replication::Scale;
use std::collections::BTreeSet;

/// Keys that say how much of an arm is measured, whatever its work is. Every other key says what the arm is: with another
/// value of it the label would be wrong, and what was published would be held against something else.
const AMOUNTS: [&str; 11] = [
    "bytes",
    "longest_us",
    "most_blocks",
    "most_bytes",
    "repeats",
    "requests",
    "samples",
    "shortest_ms",
    "slice",
    "spend_ms",
    "warmup",
];

impl Study {
    /// Ids of its claims.
    pub fn claim_ids(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().map(|claim| claim.id.as_str())
    }

    /// Leaves only these claims, the arms that they need, and of the tables what these arms fill. Ids that are not of this
    /// study are passed over.
    pub fn only(&mut self, ids: &[String]) {
        self.claims.retain(|claim| ids.contains(&claim.id));
        let arms = self.claims.iter().flat_map(Claim::readings).map(|(_, arm)| arm.to_owned());
        let needed: BTreeSet<String> = arms.collect();
        self.arms.retain(|arm| needed.contains(&arm.id));
        self.empty(|arm| !needed.contains(arm));
        for table in &mut self.tables {
            table.rows.retain(|row| row.cells.iter().any(Option::is_some));
        }
        self.tables.retain(|table| !table.rows.is_empty());
        let bases: BTreeSet<&str> = self.arms.iter().map(|arm| arm.base.as_str()).collect();
        self.files.retain(|file| file.arms.iter().any(|arm| bases.contains(arm.as_str())));
    }

    /// Leaves out these arms, with the claims and the rows of tables that need them. Gives the ids of these claims.
    pub fn leave_out(&mut self, arms: &[String]) -> Vec<String> {
        let is_out = |arm: &str| arms.iter().any(|out| out == arm);
        let needs = |claim: &Claim| claim.readings().any(|(_, arm)| is_out(arm));
        let needed = self.claims.iter().filter(|claim| needs(claim)).map(|claim| claim.id.clone());
        let lost: Vec<String> = needed.collect();
        self.claims.retain(|claim| !lost.contains(&claim.id));
        self.arms.retain(|arm| !is_out(&arm.id));
        self.empty(is_out);
        lost
    }

    /// Empties the cells that need an arm that is not there, drops the rows and tables that this leaves without any, and the
    /// errata of claims that are not there.
    fn empty(&mut self, is_out: impl Fn(&str) -> bool) {
        let lacks = |cell: &Option<Expression>| {
            cell.iter().flat_map(Expression::readings).any(|(_, arm)| is_out(arm))
        };
        for table in &mut self.tables {
            table.rows.retain_mut(|row| {
                let mut is_whole = true;
                for cell in row.cells.iter_mut().filter(|cell| lacks(cell)) {
                    *cell = None;
                    is_whole = false;
                }
                is_whole || row.cells.iter().any(Option::is_some)
            });
        }
        self.tables.retain(|table| !table.rows.is_empty());
        let ids: BTreeSet<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
        for erratum in &mut self.errata {
            erratum.claims.retain(|id| ids.contains(id.as_str()));
        }
        self.errata.retain(|erratum| !erratum.claims.is_empty());
    }

    /// What [`set`](Self::set) can change at a scale: how much of its arms is measured.
    pub fn parameters(&self, scale: Scale) -> BTreeSet<String> {
        let keys = self.arms.iter().flat_map(|arm| self.keys(arm, scale));
        keys.map(|(key, _)| key).filter(|key| AMOUNTS.contains(&key.as_str())).collect()
    }

    /// What can stand before the dot of a parameter: kinds of work and ids of arms.
    pub fn targets(&self) -> BTreeSet<String> {
        self.arms.iter().flat_map(|arm| [arm.work.clone(), arm.id.clone()]).collect()
    }

    /// The arms that a parameter is of.
    fn meant(&self, target: Option<&str>, key: &str, scale: Scale) -> impl Iterator<Item = &Arm> {
        self.arms.iter().filter(move |arm| match target {
            None => self.keys(arm, scale).contains_key(key),
            Some(target) => arm.work == target || arm.id == target,
        })
    }

    /// The first arm that would be another one with this value of a key: one that says what it is, and not how much of it
    /// is measured, unless it has this very value.
    pub fn altered(
        &self,
        target: Option<&str>,
        key: &str,
        value: &toml::Value,
        scale: Scale,
    ) -> Option<&Arm> {
        let mut meant = self.meant(target, key, scale);
        let is_other = |arm: &&Arm| self.keys(arm, scale).get(key) != Some(value);
        if AMOUNTS.contains(&key) { None } else { meant.find(is_other) }
    }

    /// Sets a key at every scale: of all arms that have it at this one, or of those with this kind of work or this id.
    /// Says how many arms that were.
    ///
    /// # Errors
    /// What an arm does not understand of it.
    pub fn set(
        &mut self,
        target: Option<&str>,
        key: &str,
        value: &toml::Value,
        scale: Scale,
        check: &Check<'_>,
    ) -> Result<usize, String> {
        let ids: Vec<String> = self.meant(target, key, scale).map(|arm| arm.id.clone()).collect();
        for amount in self.scales.values_mut() {
            for id in &ids {
                let keys = amount.keys.entry(id.clone()).or_default();
                keys.insert(key.to_owned(), value.clone());
            }
        }
        for arm in self.arms.iter().filter(|arm| ids.contains(&arm.id)) {
            check(&arm.work, &self.keys(arm, scale))
                .map_err(|error| format!("arm {}: {error}", arm.id))?;
        }
        Ok(ids.len())
    }
}
