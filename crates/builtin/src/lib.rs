//! Every mechanism under every loop: where the two meet, all timed code is compiled, and nothing else is.
#![forbid(unsafe_code)]

use ipcperf_engine::registry::Registry;

/// The mechanisms of this program.
#[must_use]
pub fn builtin() -> Registry {
    let mut registry = Registry::new();
    ipcperf_mech::visit_all(&mut registry);
    registry
}
