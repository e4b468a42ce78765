//! Expressions over the readings of arms: `cpu_us(file) / cpu_us(message)`.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = factor (('*' | '/') factor)*
//! factor  = number | '-' factor | '(' sum ')' | metric '(' arm ')'
//! ```
//! A metric consists of letters, digits, `_` and `.`; an arm of anything but parentheses.
//!
//! There is no least and no largest of several readings. The largest of three noisy readings of one round lies above all
//! three true values, so an arm that is truly ahead by less than the noise is behind it in most rounds, and more rounds
//! only make that surer. An arm is compared with each of the others, in tests that must all hold.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    /// A metric of an arm.
    Reading {
        metric: String,
        arm: String,
    },
    Negative(Box<Self>),
    Pair(char, Box<Self>, Box<Self>),
}

/// Bytes of an expression: one sum of very many terms would be as deep as it is long.
const LONGEST: usize = 4096;
/// How deep parentheses may nest: an expression comes from a file that anybody may have written.
const DEEPEST: usize = 32;

struct Parser<'a> {
    text: &'a str,
    signs: Peekable<CharIndices<'a>>,
    depth: usize,
}

impl Expression {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let fits = |bytes: usize, how: &str| match bytes {
            0..=LONGEST => Ok(()),
            _ => Err(format!("an expression of {bytes} bytes{how}; at most {LONGEST}")),
        };
        fits(text.len(), "")?;
        let mut parser = Parser { text, signs: text.char_indices().peekable(), depth: 0 };
        let found = parser.sum()?;
        if let Some((at, sign)) = parser.next_sign() {
            return Err(format!("'{text}': unexpected '{sign}' at {}", at + 1));
        }
        // What a result shows of it can be read, too.
        fits(found.to_string().len(), ", with a space around each operator")?;
        Ok(found)
    }

    /// Its value, where `read(metric, arm)` has all the readings it asks for.
    pub(crate) fn value<E>(
        &self,
        read: &mut dyn FnMut(&str, &str) -> Result<f64, E>,
    ) -> Result<f64, E> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Reading { metric, arm } => read(metric, arm)?,
            Self::Negative(one) => -one.value(read)?,
            Self::Pair(operator, left, right) => {
                let (left, right) = (left.value(read)?, right.value(read)?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        })
    }

    /// The least and the largest value it has where every reading may be anything from one end of its range to the other
    /// by itself; `None` where a reading has no range, or what it is divided by may be 0.
    pub(crate) fn range(
        &self,
        read: &mut dyn FnMut(&str, &str) -> Option<[f64; 2]>,
    ) -> Option<[f64; 2]> {
        Some(match self {
            Self::Number(number) => [*number; 2],
            Self::Reading { metric, arm } => read(metric, arm)?,
            Self::Negative(one) => {
                let [low, high] = one.range(read)?;
                [-high, -low]
            }
            Self::Pair(operator, left, right) => {
                let (left, right) = (left.range(read)?, right.range(read)?);
                if *operator == '/' && right[0] <= 0.0 && right[1] >= 0.0 {
                    return None;
                }
                // Each of the four operations is monotonous in each of its sides, so that the ends are at the corners.
                let corner = |a: f64, b: f64| match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                };
                let corners = left.map(|a| right.map(|b| corner(a, b)));
                let all = corners.as_flattened().iter().copied();
                [all.clone().fold(f64::INFINITY, f64::min), all.fold(f64::NEG_INFINITY, f64::max)]
            }
        })
    }

    /// How tightly it holds together: a sum, a product, anything else.
    fn strength(&self) -> u8 {
        match self {
            Self::Pair('+' | '-', ..) => 1,
            Self::Pair(..) => 2,
            _ => 3,
        }
    }

    /// Writes it as a part of something that takes only parts of at least this strength.
    fn within(&self, least: u8, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.strength() < least { write!(out, "({self})") } else { write!(out, "{self}") }
    }

    /// What stands above and below each division in it.
    pub(crate) fn divisions(&self) -> Vec<[&Self; 2]> {
        match self {
            Self::Number(_) | Self::Reading { .. } => Vec::new(),
            Self::Negative(one) => one.divisions(),
            Self::Pair(operator, left, right) => {
                let own = (*operator == '/').then_some([&**left, &**right]);
                [left.divisions(), right.divisions()].into_iter().flatten().chain(own).collect()
            }
        }
    }

    /// The metric and the arm of every reading in it.
    pub(crate) fn readings(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Reading { metric, arm } => vec![(metric.as_str(), arm.as_str())],
            Self::Negative(one) => one.readings(),
            Self::Pair(_, left, right) => [left.readings(), right.readings()].concat(),
        }
    }
}

/// With the parentheses that it needs and no others: what could be read nests no deeper when it is written.
impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Reading { metric, arm } => write!(out, "{metric}({arm})"),
            Self::Negative(one) => {
                out.write_str("-")?;
                one.within(3, out)
            }
            Self::Pair(operator, left, right) => {
                let strength = self.strength();
                left.within(strength, out)?;
                write!(out, " {operator} ")?;
                right.within(strength + 1, out)
            }
        }
    }
}

impl Parser<'_> {
    fn next_sign(&mut self) -> Option<(usize, char)> {
        while self.signs.next_if(|(_, sign)| sign.is_whitespace()).is_some() {}
        self.signs.peek().copied()
    }

    fn takes(&mut self, wanted: &[char]) -> Option<char> {
        let (_, sign) = self.next_sign()?;
        if wanted.contains(&sign) {
            self.signs.next();
            Some(sign)
        } else {
            None
        }
    }

    fn wrong(&mut self, wanted: &str) -> String {
        let found = match self.next_sign() {
            Some((at, sign)) => format!("'{sign}' at {}", at + 1),
            None => "the end".to_owned(),
        };
        format!("'{}': {wanted} expected, found {found}", self.text)
    }

    fn chain(
        &mut self,
        operators: &[char],
        part: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = part(self)?;
        while let Some(operator) = self.takes(operators) {
            let right = part(self)?;
            left = Expression::Pair(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("'{}': nested too deeply", self.text));
        }
        let found = self.chain(&['+', '-'], Self::product)?;
        self.depth -= 1;
        Ok(found)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(&['*', '/'], Self::factor)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        if self.takes(&['-']).is_some() {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!("'{}': nested too deeply", self.text));
            }
            let one = self.factor()?;
            self.depth -= 1;
            return Ok(Expression::Negative(Box::new(one)));
        }
        if self.takes(&['(']).is_some() {
            let inner = self.sum()?;
            self.closes()?;
            return Ok(inner);
        }
        let word = self.word();
        if word.is_empty() {
            return Err(self.wrong("a number, a metric or '('"));
        }
        if word.starts_with(|sign: char| sign.is_ascii_digit()) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            return number
                .map(Expression::Number)
                .ok_or_else(|| format!("'{}': '{word}' is not a number", self.text));
        }
        if self.takes(&['(']).is_none() {
            return Err(self.wrong(&format!("'(' after '{word}'")));
        }
        if word == "min" || word == "max" {
            return Err(format!(
                "'{}': there is no '{word}', which noise pulls to one side: compare with each in a test of its own",
                self.text
            ));
        }
        let mut arm = String::new();
        while let Some((_, sign)) = self.signs.next_if(|(_, sign)| !"()".contains(*sign)) {
            arm.push(sign);
        }
        self.closes()?;
        Ok(Expression::Reading { metric: word, arm: arm.trim().to_owned() })
    }

    fn closes(&mut self) -> Result<(), String> {
        self.takes(&[')']).map(drop).ok_or_else(|| self.wrong("')'"))
    }

    fn word(&mut self) -> String {
        self.next_sign();
        let mut word = String::new();
        let part = |sign: char| sign.is_ascii_alphanumeric() || "_.".contains(sign);
        while let Some((_, sign)) = self.signs.next_if(|(_, sign)| part(*sign)) {
            word.push(sign);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let mut read = |metric: &str, arm: &str| -> Result<f64, String> {
            Ok(match (metric, arm) {
                ("p50_ns", "pipe") => 4.0,
                ("p99.9_ns", "shm[64,same-cpu]") => 10.0,
                _ => return Err(format!("{metric} of {arm}")),
            })
        };
        Expression::parse(text).expect(text).value(&mut read).expect(text)
    }

    #[test]
    fn the_usual_rules_of_arithmetic_hold() {
        for (text, result) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 / 2 / 2", 2.0),
            ("5 - 2 - 1", 2.0),
            ("-2 * -3", 6.0),
            ("p99.9_ns(shm[64,same-cpu]) / p50_ns( pipe )", 2.5),
        ] {
            assert!((value(text) - result).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_one_clear_line() {
        let deep = "(".repeat(40);
        let minus = "-".repeat(4000);
        let long = "1+".repeat(3000);
        // 4001 bytes, and 8001 with spaces: libFuzzer has found that its own text was refused.
        let dense = "1*".repeat(2000) + "1";
        for (text, part) in [
            ("", "found the end"),
            ("1 +", "found the end"),
            ("1 2", "unexpected '2' at 3"),
            ("p50_ns", "'(' after 'p50_ns'"),
            ("p50_ns(pipe", "')' expected"),
            ("p50_ns(a(b))", "')' expected"),
            ("1..2", "not a number"),
            // It was shown as 'inf', which is a metric.
            ("1e999 * p50_ns(a)", "'1e999' is not a number"),
            ("x ? y", "'(' after 'x'"),
            ("max(a(b), c(d))", "there is no 'max'"),
            (deep.as_str(), "nested too deeply"),
            (minus.as_str(), "nested too deeply"),
            (long.as_str(), "of 6000 bytes; at most 4096"),
            (dense.as_str(), "of 8001 bytes, with a space around each operator; at most 4096"),
        ] {
            let error = Expression::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn ranges_of_readings_make_the_range_of_an_expression() {
        let range = |text: &str| {
            let mut read = |metric: &str, _: &str| match metric {
                "a" => Some([2.0, 4.0]),
                "b" => Some([-1.0, 3.0]),
                _ => None,
            };
            Expression::parse(text).expect(text).range(&mut read)
        };
        for (text, expected) in [
            ("a(x) / a(y)", Some([0.5, 2.0])),
            ("a(x) - b(x)", Some([-1.0, 5.0])),
            ("-a(x) * b(x) + 1", Some([-11.0, 5.0])),
            ("a(x) / b(x)", None),
            ("a(x) + c(x)", None),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }

    #[test]
    fn a_missing_reading_is_told() {
        let expression = Expression::parse("a(b) / c(d)").expect("well formed");
        let readings = expression.readings().into_iter();
        let readings = readings.map(|(metric, arm)| format!("{metric} of {arm}"));
        assert_eq!(readings.collect::<Vec<_>>(), ["a of b", "c of d"]);
        let failed = expression.value(&mut |metric, _| Err::<f64, _>(metric.to_owned()));
        assert_eq!(failed, Err("a".to_owned()));
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        // Each step of a chain was within parentheses of its own, more than may nest.
        let chain = "5 * ".repeat(40) + "5";
        for (text, shown) in [
            ("a(b)/(c(d) - 2)", "a(b) / (c(d) - 2)"),
            ("-(1 - x(y)) * 3", "-(1 - x(y)) * 3"),
            ("(5 * (wall_us(file) - 1))", "5 * (wall_us(file) - 1)"),
            ("((1 + 2) + 3) - (4 - 5)", "1 + 2 + 3 - (4 - 5)"),
            ("(1 * 2) / (3 / 4) + (-(-(5)))", "1 * 2 / (3 / 4) + --5"),
            (&chain, &chain),
        ] {
            let once = Expression::parse(text).expect(text);
            assert_eq!(once.to_string(), shown);
            assert_eq!(Expression::parse(shown), Ok(once), "{text}");
        }
    }
}
