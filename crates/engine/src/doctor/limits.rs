//! What decides a grade: shares of CPU time for A, B, C and D; above the last is F. Source: docs/METHOD.md.

/// Taken by the hypervisor.
pub(super) const STOLEN: [f64; 4] = [0.001, 0.01, 0.05, 0.15];
/// Of other programs.
pub(super) const BUSY: [f64; 4] = [0.01, 0.03, 0.10, 0.25];
/// Lost to interruptions while spinning.
pub(super) const INTERRUPTED: [f64; 4] = [0.001, 0.005, 0.03, 0.10];

/// From A to D, or F.
pub(super) fn grade(limits: [f64; 4], value: f64) -> char {
    let within = limits.iter().zip("ABCD".chars()).find(|(limit, _)| value <= **limit);
    within.map_or('F', |(_, grade)| grade)
}
