//! What is wrong with a run, in the form of the document.

use ipcperf_core::result::{Finding, Severity};

/// A finding that concerns no cell yet; the first letter of its code says how bad it is.
pub(super) fn finding(
    code: &str,
    text: String,
    value: Option<f64>,
    limit: Option<f64>,
    remedy: &str,
) -> Finding {
    let severity = match code.split('-').next() {
        Some("E") => Severity::Error,
        Some("W") => Severity::Warning,
        _ => Severity::Info,
    };
    Finding {
        code: code.into(),
        severity,
        text,
        value,
        limit,
        cells: Vec::new(),
        remedy: remedy.into(),
    }
}
