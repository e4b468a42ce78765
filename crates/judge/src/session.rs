//! Sessions: what was recorded so far apart that the state of the host is another.

use ipcperf_core::result::ResultSet;

/// Runs that begin at least this long after the end of the one before are a session of their own. Half an hour: a host
/// moves its guests, and neighbours come and go, in minutes.
const APART: i64 = 30 * 60;

/// Which session each document belongs to, counted from 0, in the order given; documents without a time are one.
pub(crate) fn sessions(sets: &[&ResultSet]) -> Vec<usize> {
    let began: Vec<i64> = sets.iter().map(|set| seconds(&set.started_utc).unwrap_or(0)).collect();
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_key(|at| began[*at]);
    let (mut session, mut end) = (0, None::<i64>);
    let mut found = vec![0; sets.len()];
    for at in order {
        if end.is_some_and(|end| began[at].saturating_sub(end) >= APART) {
            session += 1;
        }
        found[at] = session;
        // Durations of any sensible run fit; a hostile one is cut.
        let lasted = began[at].saturating_add(sets[at].duration_s as i64);
        end = Some(end.map_or(lasted, |end| end.max(lasted)));
    }
    found
}

/// How many there are.
pub(crate) fn count(sessions: &[usize]) -> usize {
    sessions.iter().max().map_or(0, |last| last + 1)
}

/// Seconds since 1970 of a time like `2026-08-21T10:00:00Z`; `None` if the text is not a time.
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str| text.parse::<u32>().ok().map(i64::from);
    let mut parts = date.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = time.split(['.', ':']).map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    // Days from the civil calendar, years that begin in March (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    valid.then_some((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn times_are_read_as_seconds() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:01Z", Some(951_825_601)),
            ("2026-08-21T10:00:00Z", Some(1_787_306_400)),
            ("2026-13-21T10:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn half_an_hour_after_the_end_of_one_begins_another() {
        let at = |time: &str, duration_s: f64| ipcperf_core::result::ResultSet {
            started_utc: format!("2026-08-21T{time}:00Z"),
            duration_s,
            ..sample::small()
        };
        let sets = [
            at("12:00", 60.0),
            at("10:00", 60.0),
            at("10:20", 1800.0),
            at("11:15", 60.0),
            at("11:45", 1.0),
        ];
        let sets: Vec<&ResultSet> = sets.iter().collect();
        // 11:15 is 25 minutes after 10:50; 11:45 is 29 after 11:16; 12:00 is a quarter of an hour on.
        assert_eq!(sessions(&sets), [0, 0, 0, 0, 0]);
        let sets = [at("12:00", 60.0), at("10:00", 60.0), at("10:32", 60.0), at("11:02", 60.0)];
        let sets: Vec<&ResultSet> = sets.iter().collect();
        assert_eq!(sessions(&sets), [2, 0, 1, 1]);
        assert_eq!((count(&sessions(&sets)), count(&[])), (3, 0));
    }
}
