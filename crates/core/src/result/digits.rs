//! How many digits the numbers of a result have.

use super::ResultSet;
use serde_json::{Number, Value};

/// Significant digits of a number: no clock or count of a measurement has as many, and the digits behind them are an eighth of
/// a packed survey.
const DIGITS: usize = 8;

impl ResultSet {
    /// The same with numbers of eight digits, before anything is shown or written, so that what is shown at once is what the
    /// document says later. Order is kept: what was not above another value is not above it afterwards.
    #[must_use]
    pub fn rounded(self) -> Self {
        let read = serde_json::to_value(&self).and_then(|mut value| {
            round_all(&mut value);
            serde_json::from_value(value)
        });
        // What cannot be written has its error where it is written.
        read.unwrap_or(self)
    }
}

fn round_all(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let nearest = number.as_f64().map(rounded).and_then(Number::from_f64);
            if let Some(nearest) = nearest {
                *number = nearest;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(round_all),
        Value::Object(all) => all.values_mut().for_each(round_all),
        _ => {}
    }
}

/// The nearest number of so many digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_eight_digits_wherever_they_stand() {
        let mut value = json!({"a": [1.0 / 3.0, {"b": 39479.88513455673}], "c": u64::MAX, "d": 1e300 / 3.0, "e": 20.0});
        round_all(&mut value);
        let once = json!({"a": [0.33333333, {"b": 39479.885}], "c": u64::MAX, "d": 3.3333333e299, "e": 20.0});
        assert_eq!(value, once);
        round_all(&mut value);
        assert_eq!(value, once);
    }

    #[test]
    fn rounding_keeps_the_order() {
        let values =
            [-1.0, 0.0, 1.0, 1.000_000_049, 1.000_000_051, 1.000_000_1, 9.999_999_96, 10.0];
        assert!(values.map(rounded).is_sorted());
        assert_eq!(rounded(f64::MAX), 1.7976931e308);
    }
}
