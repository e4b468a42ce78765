//! Claims that divide arms by each other that do not do the same work.

use super::*;

const CELLS: &str = r#"
name = "cells"
title = "Cells"
scale.smoke.rounds = 8
scale.quick.rounds = 8
scale.full.rounds = 8
[[arm]]
id = "a"
work = "cell"
placement = "0,1"
each = { size = [64, 4096] }
[[arm]]
id = "b"
work = "cell"
placement = "0,1"
touch = "cacheline"
each = { size = [64, 4096] }
[[arm]]
id = "read"
work = "cell"
placement = "0,1"
touch = "full"
size = 64
[[arm]]
id = "near"
work = "cell"
placement = "same-cpu"
size = 64
[[arm]]
id = "there"
work = "cell"
placement = "0,1"
size = 64
align = "page"
[[arm]]
id = "other"
work = "self-loop"
samples = 10
[[arm]]
id = "own"
work = "exec"
programs = ["true"]
"#;

fn told(test: &str, differs: &str) -> Result<Study, String> {
    let claim =
        format!("[[claim]]\nid = \"c\"\ntext = \"t\"\ntest = \"{test}\"\ndiffers = [{differs}]\n");
    Study::parse(&format!("{CELLS}{claim}"), &anything)
}

#[test]
fn arms_that_do_not_do_the_same_work_are_divided_only_by_a_claim_that_says_so() {
    for (test, factor, sides) in [
        ("p50_ns(a[64]) / p50_ns(read)", "touch", "cacheline by full"),
        ("p50_ns(a[64]) / p50_ns(near)", "placement", "0,1 by same-cpu"),
        ("p50_ns(a[4096]) / p50_ns(b[64])", "size", "4096 by 64"),
        ("p50_ns(a[64]) / p50_ns(there)", "align", " by page"),
        ("1 - 2 * -(p50_ns(a[64]) / (1 + p50_ns(read)))", "touch", "cacheline by full"),
    ] {
        let error = told(test, "").expect_err(test);
        assert!(
            error.contains(sides) && error.contains(&format!("differs = [\"{factor}\"]")),
            "{error}"
        );
        told(test, &format!("\"{factor}\"")).unwrap_or_else(|error| panic!("{error}"));
    }
    for test in [
        // What is left out is the default.
        "p50_ns(a[64]) / p50_ns(b[64])",
        // Slopes over the same sizes.
        "(p50_ns(a[4096]) - p50_ns(a[64])) / (p50_ns(b[4096]) - p50_ns(b[64]))",
        // No ratio of two arms.
        "p50_ns(a[4096]) / 1000 - p50_ns(read)",
        "p50_ns(other) / p50_ns(read)",
    ] {
        told(test, "").unwrap_or_else(|error| panic!("{error}"));
        let error = told(test, "\"touch\"").expect_err(test);
        assert_eq!(error, "claim c: differs: its arms have the same touch");
    }
    // A user's own programs stand in place of an arm, and the claim stays as it was.
    told("cpu_s(own) / p50_ns(read)", "\"touch\"").unwrap_or_else(|error| panic!("{error}"));
    let error = told("p50_ns(a[64]) / p50_ns(read)", "\"tuch\"").expect_err("no such word");
    assert!(
        error.contains("unknown factor 'tuch'") && error.ends_with("did you mean 'touch'?"),
        "{error}"
    );
}

/// The arms of shared memory once read and wrote every byte, and the others a word of each cache line.
#[test]
fn a_key_of_a_scale_makes_arms_differ_too() {
    let text = format!(
        "{}[[claim]]\nid = \"c\"\ntext = \"t\"\ntest = \"p50_ns(a[64]) / p50_ns(b[64])\"\n",
        CELLS.replace(
            "scale.full.rounds = 8",
            "scale.full.rounds = 8\nscale.full.b = { touch = \"full\" }"
        )
    );
    let error = Study::parse(&text, &anything).expect_err("another touch");
    assert!(error.contains("divides arms of another touch (cacheline by full)"), "{error}");
}
