//! What the system calls of cells took, where each was timed by itself.

use ipcperf_core::result::{CallTime, CallTimes, Cell, ResultSet};
use ipcperf_judge::figures;
use std::collections::BTreeMap;

/// The heading.
pub(crate) const TITLE: &str = "System calls, each timed by itself";

/// One line for each end of each cell whose calls were timed, after one that says how to read them; none for none.
pub(crate) fn lines(set: &ResultSet) -> Vec<String> {
    let timed = |cell: &'_ Cell| cell.calls.clone().map(|calls| (cell.id.clone(), calls));
    let cells: Vec<(String, CallTimes)> = set.cells.iter().filter_map(timed).collect();
    let empty = cells.iter().filter_map(|(_, calls)| calls.empty_call_ns).fold(0.0, f64::max);
    let head = format!(
        "Calls per message, median and mean, from a separate slice. A call that does nothing takes up to {}, timed the same way. \
         '.2' is the second call of its kind in a message.",
        figures::nanos(empty)
    );
    let of = |(id, calls): (String, CallTimes)| match calls.reason {
        Some(reason) => vec![format!("{id}: {reason}")],
        None => [("lead", &calls.lead), ("follow", &calls.follow)]
            .map(|(end, calls)| format!("{id}, {end}: {}", listed(calls)))
            .to_vec(),
    };
    let lines: Vec<String> = cells.into_iter().flat_map(of).collect();
    if lines.is_empty() { lines } else { [vec![head], lines].concat() }
}

fn listed(calls: &BTreeMap<String, CallTime>) -> String {
    let one = |(name, call): (&String, &CallTime)| {
        let (median, mean) = (figures::nanos(call.median_ns), figures::nanos(call.mean_ns));
        format!("{name} {:.2} x {median} ({mean})", call.per_message)
    };
    if calls.is_empty() {
        "none".to_owned()
    } else {
        calls.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{rendered, sample};
    use ipcperf_core::Placement;
    use ipcperf_core::result::{CallTime, CallTimes};
    use ipcperf_render::{Format, Style};
    use std::collections::BTreeMap;

    #[test]
    fn each_end_of_a_cell_shows_its_calls_or_why_it_has_none() {
        let cell = || sample::cell("pipe", 64, Placement::SameCpu);
        let write = CallTime { per_message: 1.0, median_ns: 600.0, mean_ns: 1500.0 };
        let calls = CallTimes {
            empty_call_ns: Some(240.0),
            lead: BTreeMap::from([("write".to_owned(), write)]),
            ..CallTimes::default()
        };
        let refused = CallTimes { reason: Some("no filters".to_owned()), ..CallTimes::default() };
        let [mut timed, mut not_timed] = [cell(), cell()];
        timed.calls = Some(calls);
        not_timed.calls = Some(refused);
        for format in [Format::Table, Format::Markdown] {
            let shown = |cells| {
                let style = Style { width: 400, full: true, ..Style::default() };
                rendered(&sample::set(cells), format, &style).to_lowercase()
            };
            let text = shown(vec![timed.clone(), not_timed.clone()]);
            for part in [
                "takes up to 240 ns",
                "lead: write 1.00 x 600 ns (1.50 us)",
                "follow: none",
                ": no filters",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!shown(vec![cell()]).contains("system calls, each"));
        }
    }
}
