//! Units: input is read as users mean it, and output is never longer than it is accurate.

use super::*;
use proptest::prelude::*;

#[test]
fn suffixes_are_powers_of_1024() {
    assert_eq!(bytes("64"), Ok(64));
    assert_eq!(bytes("4K"), Ok(4096));
    assert_eq!(bytes("4KiB"), Ok(4096));
    assert_eq!(bytes("1m"), Ok(1 << 20));
    assert_eq!(bytes("2G"), Ok(2 << 30));
    for wrong in ["", "K", "4X", "-1", "1.5K", "99999999999999999999", "18446744073709551615K", "é"]
    {
        assert!(bytes(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn lists_and_sweeps() {
    assert_eq!(sizes("1,64,4K"), Ok(vec![1, 64, 4096]));
    assert_eq!(sizes("64..64K:*4"), Ok(vec![64, 256, 1024, 4096, 16384, 65536]));
    assert_eq!(sizes("64..200:+64,1,64"), Ok(vec![64, 128, 192, 1]));
    for wrong in [
        "64..32:*2",
        "64..128",
        "0..8:*2",
        "1..8:*1",
        "1..8:+0",
        "1..1M:+1",
        "1..8:",
        "2G",
        ",",
        "1..8:é",
    ] {
        assert!(sizes(wrong).is_err(), "{wrong}");
    }
    assert!(sizes("100G").expect_err("above the limit").to_string().contains("above 1G"));
}

#[test]
fn times_need_a_unit() {
    assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
    assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
    assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
    for wrong in ["", "10", "s", "10x", "-1s", "1e3s", "99999999999999999999h"] {
        assert!(duration(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn three_significant_digits() {
    for (value, text) in [
        (1.234, "1.23"),
        (9.999, "10.0"),
        (12.34, "12.3"),
        (99.96, "100"),
        (123.4, "123"),
        (0.01234, "0.0123"),
        (0.0, "0"),
    ] {
        assert_eq!(significant(value), text);
    }
    assert_eq!(format_nanos(999.7), "1.00 us");
    assert_eq!(format_nanos(71_480.0), "71.5 us");
    assert_eq!(format_bytes_per_second(8.36e9), "8.36 GB/s");
}

proptest! {
    #[test]
    fn printing_a_size_and_reading_it_back_is_identity(size in any::<u64>()) {
        prop_assert_eq!(bytes(&format_bytes(size)), Ok(size));
    }

    #[test]
    fn any_text_is_an_answer_or_an_error(text in "\\PC{0,12}") {
        let _ = sizes(&text);
        let _ = duration(&text);
    }

    #[test]
    fn no_number_prints_as_nan_or_negative_zero(value in any::<f64>()) {
        let text = significant(value);
        prop_assert!(!text.contains("NaN") && text != "-0", "{}", text);
    }

    #[test]
    fn three_digits_are_within_half_a_percent(value in 1e-3_f64..1e6) {
        let read: f64 = significant(value).parse().expect("a plain number");
        prop_assert!((read / value - 1.0).abs() <= 0.0051, "{} reads {}", value, read);
    }
}

#[test]
fn a_share_has_its_sign() {
    for (text, expected) in [
        ("1%", Some(0.01)),
        ("0.5 %", Some(0.005)),
        ("0%", Some(0.0)),
        (" 250% ", Some(2.5)),
        ("1", None),
        ("-1%", None),
        ("nan%", None),
        ("inf%", None),
    ] {
        assert_eq!(share(text), expected, "{text}");
    }
}
