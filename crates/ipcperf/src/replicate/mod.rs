//! `replicate`: published experiments, run again here and judged claim by claim.

pub(crate) mod work;

pub(crate) use work::ERRANDS;
