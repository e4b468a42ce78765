//! Conditions on figures: what is broken, what is kept, and what cannot be told.

use super::*;

fn outcome(text: &str, set: &ResultSet) -> &'static str {
    match text.parse::<Limit>().unwrap().check(set) {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::CannotTell(_) => "open",
    }
}

#[test]
fn a_limit_is_broken_by_a_whole_interval_and_kept_by_a_whole_interval() {
    // p50 is 71.48 us ± 1.2 us, and 72.1 and 95 us of others.
    let set = sample::small();
    for (text, expected) in [
        ("p50 > 100us", "passed"),
        ("p50 > 71us", "failed"),
        ("p50>50us", "failed"),
        ("p50 > 95us", "open"),
        ("p50 < 71us", "open"),
        ("p50 < 60us", "passed"),
        ("p50 <= 100ms", "failed"),
        ("p99 > 1us", "open"),
        ("p99.9 > 1us", "open"),
        ("rate < 1", "open"),
        ("throughput < 1GB/s", "open"),
        ("cpu > 1ms", "passed"),
        ("cpu > 1us", "failed"),
    ] {
        assert_eq!(outcome(text, &set), expected, "{text}");
    }
    let noisy =
        ResultSet { noise: Noise { grade: "F".into(), ..Noise::default() }, ..sample::small() };
    assert_eq!(outcome("p50 > 50us", &noisy), "open");
    let stream = sample::set(vec![sample::cell("pipe", 4096, TWO).rate(1e9, 1e7)]);
    assert_eq!(outcome("throughput < 1.5GB/s", &stream), "failed");
    assert_eq!(outcome("throughput < 900MB/s", &stream), "passed");
    assert_eq!(outcome("rate < 1k", &stream), "passed");
    let modes = sample::set(vec![sample::cell("pipe", 64, TWO).modes([(1000.0, 5), (9000.0, 4)])]);
    assert_eq!(outcome("p50 > 5us", &modes), "open", "one mode breaks it");
    let hung = sample::set(vec![sample::cell("pipe", 64, TWO).not_ok(Status::Deadline, "hung")]);
    assert_eq!(outcome("p50 > 5us", &hung), "open");
    // The interval of an older document belongs to another figure than its costs.
    let mut older = sample::set(vec![sample::cell("pipe", 64, TWO).cpu(10_000.0)]);
    assert_eq!(outcome("cpu > 1us", &older), "failed");
    older.cells[0].cpu_ns_per_message.as_mut().unwrap().total = None;
    assert_eq!(outcome("cpu > 1us", &older), "open");
}

#[test]
fn a_wrong_condition_is_one_clear_line() {
    for (text, said) in [
        ("p99", "'p99' is not a condition (like 'p99 > 50us' or 'rate < 100k/s')"),
        ("p98 > 5us", "unknown metric 'p98'; did you mean 'p99'?"),
        (
            "zebra > 5us",
            "unknown metric 'zebra'; known: min, mean, p50, p90, p99, p99.9, p99.99, p99.999, max, rate, throughput, cpu",
        ),
        ("p99 > 5", "'5' is not a time (like 100ms, 10s, 1m30s); did you mean 'p99 > 5us'?"),
        ("rate < 5%", "'5%' is not a rate (like 100k/s)"),
        ("throughput < 5", "'5' is not a throughput (like 1.5GB/s)"),
    ] {
        assert_eq!(text.parse::<Limit>().map(drop), Err(said.to_owned()), "{text}");
    }
}
