//! Streams over channels that have carried nothing before.

use crate::common::{Sandbox, cells, rounds, text, words};

/// Bytes of each stream.
const BYTES: u64 = 1 << 20;

#[test]
fn a_fresh_stream_has_its_bytes_whatever_carries_them_and_is_another_cell() {
    let sandbox = Sandbox::new();
    let mechanisms = "pipe unix-stream unix-dgram tcp tcp/epoll udp posix-mq shm-ring fd-pass vmsplice vmsplice/spin memfd";
    let line = format!(
        "run {mechanisms} -p stream --fresh 0,1M -s 64,64K --rounds 2 --slice 5ms --warmup 1ms -o x.json"
    );
    sandbox.run(&words(&line));
    let document = sandbox.result("x.json");
    let (mut fresh, mut warm) = (0, 0);
    for cell in cells(&document) {
        let is_fresh = !cell["load"]["fresh"].is_null();
        let is_named = text(cell, "id").contains("fresh=1MiB");
        assert_eq!(is_fresh, is_named, "{}", cell["id"]);
        // What cannot be measured here says so; a busy machine rejects slices.
        if cell["status"] != "ok" {
            let status = text(cell, "status");
            assert!(["unavailable", "skipped", "rejected"].contains(&status), "{cell:#}");
            continue;
        }
        if !is_fresh {
            warm += 1;
            continue;
        }
        fresh += 1;
        assert_eq!(cell["load"]["fresh"], BYTES, "{}", cell["id"]);
        let size = cell["size_bytes"].as_u64().expect("a size");
        for round in rounds(cell) {
            assert_eq!(round["proof"]["holds"], true, "{}", cell["id"]);
            let lost = round["lost"].as_u64().unwrap_or(0);
            let moved = round["messages"].as_u64().expect("a count") + lost;
            // The first message starts the clock, and samples have whole batches.
            let whole = BYTES.div_ceil(size);
            assert!((whole..=whole + 1 + whole.div_ceil(64)).contains(&moved), "{round:#}");
            assert!(round["planned_ns"].is_null(), "it is as long as its bytes: {round:#}");
        }
    }
    assert!(fresh >= 10 && warm >= 10, "{fresh} fresh, {warm} others");
    sandbox.leaves_nothing();
}

#[test]
fn what_a_fresh_stream_excludes_is_refused_in_one_line() {
    let sandbox = Sandbox::new();
    for (line, part) in [
        ("run tcp --fresh 1M", "needs the pattern stream"),
        ("run tcp -p stream --fresh 2G", "is not a size of up to 1 GiB"),
        ("run tcp -p stream --fresh 1M --samples 10", "--samples: a stream of --fresh"),
        ("run tcp -p stream --fresh 1M --warmup-ops 10", "--warmup-ops: a stream of --fresh"),
    ] {
        sandbox.refuses(&words(line), part);
    }
}
