//! Documents whose system calls enter the kernel in different ways, or whose returns cost different times.

use super::*;

#[test]
fn a_document_from_before_calls_returned_differs_from_one_after() {
    let old = sample::small();
    let mut new = sample::small();
    let route = |set: &mut ResultSet, how: &str| {
        set.tool.build.insert("syscall_route".to_owned(), how.to_owned());
    };
    route(&mut new, "function in assembly");
    let differing = |a: &ResultSet, b: &ResultSet| differences(&[a], &[b], Class::Factor);
    let found = differing(&old, &new);
    assert_eq!(found["calls"], ["inline assembly", "function in assembly"]);
    assert_eq!(found.len(), 1, "it is one difference");
    // One that says what it did and one that does not, both from before.
    let mut said = sample::small();
    route(&mut said, "inline assembly");
    assert!(differing(&old, &said).is_empty());
}

#[test]
fn a_first_return_that_costs_something_else_is_a_factor_and_a_nearly_equal_one_is_none() {
    let of = |nanos: Option<f64>| {
        let mut set = sample::small();
        set.bounds.return_after_switch_ns =
            nanos.map(|ns| Spread { min: ns, median: ns, max: ns, n: 1 });
        set
    };
    let difference = |a, b| differences(&[&of(a)], &[&of(b)], Class::Factor).remove("return");
    assert_eq!(difference(Some(490.0), Some(3.0)), Some(["490 ns".to_owned(), "3 ns".to_owned()]));
    assert_eq!(difference(Some(490.0), Some(430.0)), None);
    assert_eq!(difference(Some(12.0), Some(-2.0)), None, "both are nothing");
    assert_eq!(difference(None, Some(490.0)), None, "an older build does not say it");
}
