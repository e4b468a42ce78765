//! Parts of time.

/// Parts of time, in their order and not overlapping.
pub(in crate::record) struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    pub(in crate::record) fn of(mut all: Vec<(u64, u64)>) -> Self {
        all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in all {
            match joined.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((begin, end)),
            }
        }
        Self(joined)
    }

    /// How much of such a part lies within.
    pub(in crate::record) fn overlap(&self, begin: u64, end: u64) -> u64 {
        let first = self.0.partition_point(|one| one.1 <= begin);
        let within = self.0[first..].iter().take_while(|one| one.0 < end);
        within.map(|one| one.1.min(end).saturating_sub(one.0.max(begin))).sum()
    }
}
