//! Where messages lie: private memory that is copied into shared memory, and where buffers begin.

use crate::common::{Sandbox, cells, is_here, text, valid};
use serde_json::json;

#[test]
fn cells_of_private_memory_are_proved_over_what_lends_shared_memory_and_what_does_not() {
    let sandbox = Sandbox::new();
    let ended = sandbox.done(&[
        "run",
        "-m",
        "pipe,shm-sem,shm-ring/copy-free,memfd,mmap-queue",
        "-p",
        "ping-pong,stream",
        "-s",
        "3,5000",
        "--touch",
        "copy",
        "--align",
        "cacheline,4095",
        "--place",
        "free",
        "--rounds",
        "1",
        "--slice",
        "1ms",
        "--warmup",
        "1ms",
        "-o",
        "-",
    ]);
    let document = valid("result", &ended.stdout);
    let all: Vec<_> = cells(&document).iter().filter(|cell| is_here(cell)).collect();
    assert!(all.len() >= 16, "{} cells", all.len());
    for cell in all {
        let id = text(cell, "id");
        assert_eq!((text(cell, "status"), text(cell, "touch")), ("ok", "copy"), "{id}");
        assert_eq!(cell["verified"], json!(true), "{id}");
        // The default is no part of what a cell is, so that older documents have the same one.
        let is_fixed = id.contains(" align=4095");
        let expected = if is_fixed { json!("4095") } else { json!(null) };
        assert_eq!(cell["load"]["align"], expected, "{id}");
    }
}

#[test]
fn an_alignment_that_cannot_be_had_is_told_with_the_nearest_one() {
    let sandbox = Sandbox::new();
    for (words, told) in [
        (&["run", "-m", "pipe", "--align", "pgae"][..], "'pgae' is not an alignment"),
        (&["run", "-m", "pipe", "--align", "pgae"], "did you mean 'page'?"),
        (&["run", "-m", "pipe", "--align", "4096"], "0 to 4095 bytes behind the start of a page"),
        (
            &["run", "-m", "tcp", "-p", "connect", "-s", "18", "--align", "page"],
            "--align needs the pattern",
        ),
        (&["run", "-m", "pipe", "--touch", "copie"], "did you mean 'copy'?"),
        (
            &["run", "-m", "pipe", "--touch", "copy", "--transform", "lz4"],
            "--transform lz4 does not work with --touch copy",
        ),
    ] {
        sandbox.refuses(words, told);
    }
    let run = |more: &[&str]| {
        let words = [
            "run", "--align", "page", "-s", "64", "--place", "free", "--rounds", "1", "--slice",
            "1ms", "-o", "-",
        ];
        let ended = sandbox.run(&[&words, more].concat());
        let document = valid("result", &ended.stdout);
        let cell = cells(&document)[0].clone();
        (text(&cell, "status").to_owned(), cell["reason"].as_str().unwrap_or_default().to_owned())
    };
    for (mechanism, told) in [
        ("shm-ring/copy-free", "both look at memory that they share; add --touch copy"),
        ("eventfd", "a wake-up has no message"),
        ("udp/mmsg", "the mechanism itself says where a message begins"),
    ] {
        let (status, reason) = run(&["-m", mechanism]);
        assert!(status == "unavailable" && reason.contains(told), "{mechanism}: {status} {reason}");
    }
    let (status, reason) = run(&["-m", "shm-ring/copy-free", "--touch", "copy"]);
    assert_eq!(status, "ok", "{reason}");
    let (_, reason) = run(&["-m", "pipe", "--packet", "32"]);
    assert!(reason.contains("messages in packets are put together"), "{reason}");
}
