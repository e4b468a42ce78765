//! What a figure is, in words, made from its expression: "pipes / eventfd, p50".

use crate::claims::expression::Expression;
use crate::claims::study::Arm;

/// Readings that have a name of their own; of others the name of the reading does, without its unit.
const WORDS: &[(&str, &str)] = &[
    ("least_ns", "shortest"),
    ("mean_ns", "mean"),
    ("cpu_ns", "CPU time"),
    ("user_ns", "user time"),
    ("system_ns", "system time"),
    ("real_s", "wall clock"),
    ("total_s", "CPU time"),
    ("messages_per_second", "messages/s"),
    ("bytes_per_second", "throughput"),
    ("bits_per_second", "bit/s"),
    ("mbits", "bit rate"),
];

/// The end of a reading's name that says its unit.
const UNITS: &[&str] = &["_ns", "_us", "_ms", "_s"];

/// What a reading is.
fn reading(metric: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == metric) {
        return (*words).to_owned();
    }
    let bare = UNITS.iter().find_map(|unit| metric.strip_suffix(unit)).unwrap_or(metric);
    // The dots of quantiles stay: "p99.9".
    let is_quantile =
        bare.starts_with('p') && bare[1..].starts_with(|sign: char| sign.is_ascii_digit());
    if is_quantile { bare.to_owned() } else { bare.replace(['_', '.'], " ") }
}

/// The label of an arm without the value it stands for.
fn base(arm: &Arm) -> &str {
    let with_value = arm.label.strip_suffix(arm.each.as_str()).filter(|_| !arm.each.is_empty());
    // "file on tmpfs, 4096": what stands between the two belongs to neither.
    with_value.map_or(arm.label.as_str(), |label| label.trim_end_matches([' ', ',']))
}

/// The name of a figure: of a reading, or of the ratio or the difference of two, in whatever unit. Anything else is said by
/// its expression alone, and has none.
pub(crate) fn of(expression: &Expression, arms: &[Arm]) -> String {
    if let Expression::Pair('*' | '/', inner, unit) = expression
        && matches!(**unit, Expression::Number(_))
    {
        return of(inner, arms);
    }
    let find = |id: &str| arms.iter().find(|arm| arm.id == id);
    let parts = match expression {
        Expression::Reading { metric, arm } => {
            find(arm).map(|arm| vec![arm.label.clone(), reading(metric)])
        }
        Expression::Pair(sign @ ('/' | '-'), left, right) => {
            match (left.as_ref(), right.as_ref()) {
                (
                    Expression::Reading { metric: over, arm: a },
                    Expression::Reading { metric: under, arm: b },
                ) => find(a).zip(find(b)).map(|(a, b)| pair(*sign, (over, a), (under, b))),
                _ => None,
            }
        }
        _ => None,
    };
    parts.unwrap_or_default().join(", ")
}

/// The parts of the name of a ratio or a difference: what differs stands on both sides of the sign, what does not beside it.
fn pair(sign: char, (over, a): (&str, &Arm), (under, b): (&str, &Arm)) -> Vec<String> {
    let (over, under) = (reading(over), reading(under));
    if a.id == b.id {
        return vec![a.label.clone(), format!("{over} {sign} {under}")];
    }
    if over != under {
        return vec![format!("{over} of {} {sign} {under} of {}", a.label, b.label)];
    }
    if a.each == b.each {
        let each = (!a.each.is_empty()).then(|| a.each.clone());
        return [format!("{} {sign} {}", base(a), base(b)), over].into_iter().chain(each).collect();
    }
    if base(a) == base(b) {
        return vec![base(a).to_owned(), format!("{} {sign} {}", a.each, b.each), over];
    }
    vec![format!("{} {sign} {}", a.label, b.label), over]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(id: &str, each: &str, label: &str) -> Arm {
        Arm {
            id: id.into(),
            base: id.split('[').next().unwrap_or_default().into(),
            each: each.into(),
            label: label.into(),
            work: "cell".into(),
            keys: toml::Table::new(),
        }
    }

    #[test]
    fn a_figure_is_called_by_what_differs_and_then_by_what_does_not() {
        let arms = [
            arm("pipe", "", "pipes"),
            arm("socket", "", "UNIX socket"),
            arm("udp[64]", "64", "UDP 64"),
            arm("tcp[64]", "64", "TCP 64"),
            arm("tcp[4096]", "4096", "TCP 4096"),
            arm("file[64]", "64", "file, 64"),
        ];
        for (expression, label) in [
            ("p50_ns(pipe) / p50_ns(socket)", "pipes / UNIX socket, p50"),
            ("p99.999_ns(pipe)", "pipes, p99.999"),
            ("cpu_ns(file[64]) / cpu_ns(udp[64])", "file / UDP, CPU time, 64"),
            ("least_ns(udp[64]) / least_ns(tcp[64])", "UDP / TCP, shortest, 64"),
            ("mbits(tcp[4096]) / mbits(tcp[64])", "TCP, 4096 / 64, bit rate"),
            ("cpu_ns(udp[64]) / cpu_ns(tcp[4096])", "UDP 64 / TCP 4096, CPU time"),
            (
                "call.recv.close_median_us(pipe) / call.send.close_median_us(pipe)",
                "pipes, call recv close median / call send close median",
            ),
            ("p50_ns(pipe) / mean_ns(socket)", "p50 of pipes / mean of UNIX socket"),
            ("(p50_ns(pipe) - 1) / p50_ns(socket)", ""),
            ("(p50_ns(pipe) - p50_ns(socket)) / 1000", "pipes - UNIX socket, p50"),
            ("5", ""),
        ] {
            let parsed = Expression::parse(expression).expect(expression);
            assert_eq!(of(&parsed, &arms), label, "{expression}");
        }
    }
}
