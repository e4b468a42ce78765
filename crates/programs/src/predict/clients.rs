//! Clients that people use: the figure that each of them prints, and its option for a longer run.

use ipcperf_core::nearest;
use ipcperf_kit::error::Stop;
use regex_lite::{Regex, RegexBuilder};

/// A figure of a client: an expression whose first group is the number.
#[derive(Clone, Debug)]
pub(crate) struct PrintedFigure {
    expression: Regex,
    /// The number is a time.
    pub(crate) less_is_better: bool,
    /// The second group is a prefix of the unit.
    has_prefix: bool,
}

/// A client: its names, its option for a longer run, the expression for its figure, and whether that is a time.
struct KnownClient {
    names: &'static [&'static str],
    longer: &'static str,
    expression: &'static str,
    less_is_better: bool,
}

const fn rate(
    names: &'static [&'static str],
    longer: &'static str,
    expression: &'static str,
) -> KnownClient {
    KnownClient { names, longer, expression, less_is_better: false }
}

/// What they print, as their versions of 2024 do. A second group is K, M, G or T.
const CLIENTS: [KnownClient; 17] = [
    rate(&["pgbench"], "-t or -T", r"tps = ([0-9.]+)"),
    rate(&["wrk", "wrk2"], "-d", r"Requests/sec: +([0-9.]+)"),
    rate(&["ab"], "-n", r"Requests per second: +([0-9.]+)"),
    rate(&["hey", "oha", "ghz"], "-n or -z", r"Requests/sec:\s+([0-9.]+)"),
    rate(&["redis-benchmark", "valkey-benchmark"], "-n", r"([0-9.]+) requests per second"),
    rate(&["memtier", "memtier_benchmark"], "--test-time", r"Totals +([0-9.]+)"),
    rate(&["sysbench"], "--time", r"(?:transactions: +[0-9]+ +\(|events per second: +)([0-9.]+)"),
    rate(&["h2load"], "-n", r"finished in [^,]+, ([0-9.]+) req/s"),
    rate(&["k6"], "--duration", r"http_reqs[.]*: +[0-9]+ +([0-9.]+)/s"),
    rate(&["iperf3"], "-t", r"([0-9.]+) ([KMGT]?)bits/sec.* receiver"),
    rate(&["siege"], "-t", r#"[Tt]ransaction[_ ]rate"?: +([0-9.]+)"#),
    rate(&["bombardier"], "-n", r"Reqs/sec +([0-9.]+)"),
    rate(&["vegeta"], "-duration", r"\[total, rate, throughput\] +[0-9]+, [0-9.]+, ([0-9.]+)"),
    rate(&["fortio"], "-t", r"([0-9.]+) qps"),
    rate(&["ycsb"], "-p operationcount=", r"\[OVERALL\], Throughput\(ops/sec\), ([0-9.]+)"),
    rate(&["memaslap", "memslap"], "-t", r"TPS: ([0-9]+)"),
    KnownClient {
        names: &["sockperf"],
        longer: "-t",
        expression: r"Latency is ([0-9.]+) usec",
        less_is_better: true,
    },
];

/// Bytes of an expression that was compiled. Matching takes memory for each of its states and groups: 3 MB at the most with
/// these two limits, and more than there is without them.
const MOST_COMPILED: usize = 1 << 18;
/// The most groups of an expression, of which the first is the number.
const MOST_GROUPS: usize = 9;

impl PrintedFigure {
    /// What the user asks for: an expression with a group, or the name of a client.
    pub(crate) fn asked(text: &str, less_is_better: bool) -> Result<Self, Stop> {
        let expression = RegexBuilder::new(text).size_limit(MOST_COMPILED).build();
        let expression = expression.map_err(|why| Stop::usage(format!("--figure: {why}")))?;
        // The whole match counts as one.
        let groups = expression.captures_len() - 1;
        if groups > MOST_GROUPS {
            return Err(Stop::usage(format!(
                "--figure: the expression has {groups} groups, and at most {MOST_GROUPS} are allowed"
            )));
        }
        if groups > 0 {
            return Ok(Self { expression, less_is_better, has_prefix: false });
        }
        if let Some(known) = Self::of(text) {
            return Ok(known);
        }
        let names = || CLIENTS.iter().flat_map(|one| one.names).copied();
        let near = match nearest(text, names()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known are {}", names().collect::<Vec<_>>().join(", ")),
        };
        Err(Stop::usage(format!(
            "--figure: '{text}' is not the name of a known client ({near}); as an expression it has no group for the number, \
             like '([0-9.]+) requests'"
        )))
    }

    /// The figure of a client with this name.
    pub(crate) fn of(client: &str) -> Option<Self> {
        let known = CLIENTS.iter().find(|one| one.names.contains(&client))?;
        let expression = Regex::new(known.expression).ok()?;
        let has_prefix = expression.captures_len() > 2;
        Some(Self { expression, less_is_better: known.less_is_better, has_prefix })
    }

    /// The expression.
    pub(crate) fn text(&self) -> &str {
        self.expression.as_str()
    }

    /// The last number that it finds in what a client printed, above 0.
    pub(crate) fn find(&self, output: &str) -> Result<f64, Stop> {
        let found = self.expression.captures_iter(output).last();
        let number = found.as_ref().and_then(|found| found.get(1));
        let Some((found, number)) = found.as_ref().zip(number) else {
            let text = self.text();
            let last = output.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.unwrap_or("nothing");
            return Err(Stop::usage(format!(
                "--figure: '{text}' finds nothing in what the client printed, which ends with: {last}"
            )));
        };
        let prefix = found.get(2).filter(|_| self.has_prefix).map_or("", |prefix| prefix.as_str());
        let scale = match prefix {
            "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            _ => 1.0,
        };
        let value = number.as_str().replace(',', "").parse::<f64>().ok().map(|one| one * scale);
        value.filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| {
            Stop::usage(format!("--figure: '{}' is not a number above 0", number.as_str()))
        })
    }
}

/// The option of a known client for a longer run.
pub(crate) fn longer(client: &str) -> Option<&'static str> {
    CLIENTS.iter().find(|one| one.names.contains(&client)).map(|one| one.longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_clients_are_found_by_name() {
        for (name, output, value) in [
            (
                "pgbench",
                "latency average = 0.4 ms\ntps = 9134.5 (without initial connection time)",
                9134.5,
            ),
            (
                "wrk",
                "  Thread Stats   Avg\nRequests/sec:  51230.11\nTransfer/sec:  6.2MB",
                51_230.11,
            ),
            ("ab", "Requests per second:    16342.57 [#/sec] (mean)", 16_342.57),
            ("hey", "  Slowest:\t0.0123 secs\n  Requests/sec:\t21034.5678\n", 21_034.567_8),
            ("oha", "  Success rate:\t100.00%\n  Requests/sec:\t98123.4\n", 98_123.4),
            (
                "redis-benchmark",
                "GET: rps=0.0\rGET: 114942.53 requests per second, p50=0.071 msec",
                114_942.53,
            ),
            ("memtier_benchmark", "Gets  90.0  1\nTotals      98765.43   0.00", 98_765.43),
            ("sysbench", "    transactions:      12345  (1234.50 per sec.)", 1234.5),
            ("sysbench", "    events per second:  998.25", 998.25),
            ("h2load", "finished in 1.02s, 98039.22 req/s, 3.2MB/s", 98_039.22),
            ("k6", "     http_reqs......................: 12345   1234.567/s", 1234.567),
            ("iperf3", "[  5] 0.00-1.00 sec 5.5 GBytes 47.4 Gbits/sec    receiver", 47.4e9),
            ("iperf3", "[SUM] 0.00-1.00 sec 5.5 MBytes 947 Mbits/sec    receiver", 947e6),
        ] {
            let figure = PrintedFigure::of(name).unwrap_or_else(|| panic!("{name} is known"));
            let found = figure.find(output).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!((found / value - 1.0).abs() < 1e-9, "{name}: {found}");
        }
        let all = CLIENTS.iter().flat_map(|one| one.names);
        assert!(
            all.into_iter().all(|name| PrintedFigure::of(name).is_some()),
            "each expression is one"
        );
        assert!(PrintedFigure::of("sockperf").is_some_and(|figure| figure.less_is_better));
    }

    #[test]
    fn a_word_that_is_no_client_is_refused_with_the_nearest_one() {
        let refused = |text| PrintedFigure::asked(text, false).expect_err("no figure").to_string();
        assert!(refused("pgbnech").contains("did you mean 'pgbench'?"), "{}", refused("pgbnech"));
        assert!(refused("tps").contains("known are pgbench, "), "{}", refused("tps"));
        assert!(refused("([").starts_with("--figure: "));
        let own = PrintedFigure::asked("took ([0-9,]+) ms", true).expect("an expression");
        assert_eq!(own.find("took 1,200 ms").ok(), Some(1200.0));
        assert!(own.find("took 0 ms").is_err() && own.find("").is_err());
        assert!(own.less_is_better);
    }

    /// It ended in an allocation that failed, in the middle of a run.
    #[test]
    fn an_expression_for_which_there_is_no_memory_is_refused_at_once() {
        let refused =
            |text: &str| PrintedFigure::asked(text, false).expect_err("too large").to_string();
        let (many, wide) = ("([0-9]+)".repeat(5000), "([0-9]+) [a-z]{30000}");
        assert!(refused(&many).starts_with("--figure: "), "{}", refused(&many));
        assert!(refused(wide).contains("size limit"), "{}", refused(wide));
        let groups = "([0-9]+) ".repeat(10);
        assert_eq!(
            refused(&groups),
            "--figure: the expression has 10 groups, and at most 9 are allowed"
        );
        assert!(PrintedFigure::asked(&"([0-9]+) ".repeat(9), false).is_ok());
        let usual = PrintedFigure::asked("[a-z ]{200}: ([0-9.]+)", false).expect("small");
        assert_eq!(usual.find(&format!("{}: 7", "a".repeat(200))).ok(), Some(7.0));
    }
}
