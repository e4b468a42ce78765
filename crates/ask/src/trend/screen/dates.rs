//! An axis of dates.

use ipcperf_judge::seconds;

/// When runs were started, along an axis.
pub(super) struct Dates {
    /// Seconds since 1970.
    pub(super) places: Vec<f64>,
    /// Each day once; the times where all are of one day.
    pub(super) heads: Vec<String>,
    /// What the heads are.
    pub(super) caption: String,
}

impl Dates {
    /// An axis of the times of documents, oldest first; `None` if one of them is not a time.
    pub(super) fn of(starts: &[&str]) -> Option<Self> {
        let places: Vec<f64> =
            starts.iter().map(|start| seconds(start).map(|at| at as f64)).collect::<Option<_>>()?;
        let parts = || starts.iter().map(|start| start.split_once('T').unwrap_or((start, "")));
        let first = parts().next()?.0;
        let is_one_day = parts().all(|(day, _)| day == first);
        let caption = match is_one_day {
            true => format!("start of the run on {first}, UTC"),
            false => "start of the run, UTC".to_owned(),
        };
        // Within minutes it takes the seconds to tell one run from the next.
        let length = if places.last()? - places[0] < 3600.0 { 8 } else { 5 };
        let head = |(day, time): (&str, &str)| match is_one_day {
            true => time.get(..length).unwrap_or(time).to_owned(),
            false => day.to_owned(),
        };
        let mut heads: Vec<String> = parts().map(head).collect();
        for at in (1..heads.len()).rev() {
            if heads[at] == heads[at - 1] {
                heads[at].clear();
            }
        }
        Some(Self { places, heads, caption })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_once_and_times_where_there_is_one_day() {
        let dates =
            Dates::of(&["2026-11-20T02:00:00Z", "2026-11-20T03:00:00Z", "2026-11-22T02:00:00Z"]);
        let dates = dates.expect("times");
        assert_eq!(dates.heads, ["2026-11-20", "", "2026-11-22"]);
        assert_eq!(dates.places[2] - dates.places[0], 2.0 * 86_400.0);
        let dates = Dates::of(&["2026-11-20T02:00:00Z", "2026-11-20T03:30:00Z"]).expect("times");
        assert_eq!(dates.heads, ["02:00", "03:30"]);
        assert!(dates.caption.contains("2026-11-20"), "{}", dates.caption);
        assert!(Dates::of(&["2026-11-20T02:00:00Z", "yesterday"]).is_none());
        assert!(Dates::of(&[]).is_none());
    }
}
