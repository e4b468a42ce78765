//! PipelineKeys of a pipeline arm, and the commands made of them.

use super::*;
use ipcperf_sys::skipped;
use std::time::Duration;

fn keys(text: &str) -> toml::Table {
    text.parse().expect("a table")
}

fn planned(text: &str) -> Result<Plan, String> {
    plan(&keys(text).try_into().expect("the keys of an arm"))
}

const ANON: &str = "variant = 'as-published'\nmethod = 'anonymous-pipe'\nbytes = 2_000_000_000\n";

#[test]
fn the_published_length_has_the_published_arguments() {
    let plan = planned(&format!("{ANON}block = 1_000_000")).expect("possible");
    let [source, sink] = socat::commands(&plan, 1234);
    assert_eq!(source, "socat -b 1000000 OPEN:/dev/zero,readbytes=2000000000 STDOUT");
    assert_eq!(sink, "socat -b 1000000 STDIN OPEN:/dev/null");
    assert_eq!(plan.wait(), Duration::from_millis(500));

    let expected = [
        (Method::NamedPipe, "PIPE:namedpipe,wronly", "PIPE:namedpipe,rdonly"),
        (Method::UnixStream, "UNIX:socket", "UNIX-LISTEN:socket"),
        (Method::Tcp, "TCP:127.0.0.1:1234", "TCP-LISTEN:1234,reuseaddr,bind=127.0.0.1"),
    ];
    for (method, from, to) in expected {
        let [source, sink] = socat::commands(&Plan { method, ..plan }, 1234);
        assert_eq!(source, format!("socat -b 1000000 OPEN:/dev/zero,readbytes=2000000000 {from}"));
        assert_eq!(sink, format!("socat -b 1000000 {to} OPEN:/dev/null"));
    }
}

/// Each of them, run with `false` in the place of an end, has ended before its time is over.
#[test]
fn a_script_ends_whichever_end_fails() {
    if let Err(why) = socat::installed() {
        return skipped::note("socat", why);
    }
    let text = "variant = 'one-way'\nbytes = 1000000\nblock = 1000\nmethod =";
    for method in ["anonymous-pipe", "named-pipe", "unix-stream", "tcp"] {
        let plan = planned(&format!("{text} '{method}'")).expect("possible");
        let script = socat::script(&plan, 1234);
        let [source, sink] = socat::commands(&plan, 1234);
        for (end, other) in [(&source, "the sink"), (&sink, "the source")] {
            assert!(script.contains(&format!("timeout 600 {end}")), "{script}");
            let script = script.replace("600", "0.2").replace(end.as_str(), "false");
            let folder = tempfile::tempdir().expect("a folder");
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).current_dir(folder.path());
            shell.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null());
            assert!(shell.status().is_ok(), "{other} of {script}");
            let left = std::fs::read_dir(folder.path()).expect("a folder").flatten();
            let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            assert!(left.is_empty() || method == "unix-stream", "{left:?}");
        }
    }
}

/// If the path of the UNIX socket did not exist yet, the source ended at once, and the sink waited until its timeout.
#[test]
fn a_script_moves_all_bytes_even_if_the_sink_is_late() {
    if let Err(why) = socat::installed() {
        return skipped::note("socat", why);
    }
    let text = "variant = 'one-way'\nbytes = 1000000\nblock = 1000\nmethod =";
    for method in ["named-pipe", "unix-stream", "tcp"] {
        let plan = planned(&format!("{text} '{method}'")).expect("possible");
        let script = socat::script(&plan, 2345);
        let [_, sink] = socat::commands(&plan, 2345);
        let late = sink.replace("OPEN:/dev/null", "OPEN:moved,creat");
        let script = script.replace(&sink, &format!("sh -c 'sleep 0.3; exec {late}'"));
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = std::process::Command::new("sh");
        let ended = shell.args(["-c", &script]).current_dir(folder.path()).output();
        let moved = std::fs::metadata(folder.path().join("moved")).map(|file| file.len());
        assert_eq!(moved.ok(), Some(1_000_000), "{method}: {ended:?}");
    }
}

#[test]
fn a_shorter_transfer_waits_as_much_shorter() {
    let text = format!("{ANON}block = 100\nmost_bytes = 400_000_000\nmost_blocks = 200_000");
    let plan = planned(&text).expect("possible");
    assert_eq!((plan.bytes, plan.wait()), (20_000_000, Duration::from_millis(5)));
    let [source, _] = socat::commands(&plan, 1234);
    assert_eq!(source, "socat -t 0.005000 -b 100 OPEN:/dev/zero,readbytes=20000000 STDOUT");
    // Sockets tell their end, and a shorter wait would cut them off in the middle.
    let tcp = Plan { method: Method::Tcp, ..plan };
    assert_eq!(tcp.wait(), Duration::ZERO);
    let [source, _] = socat::commands(&tcp, 1234);
    assert_eq!(source, "socat -b 100 OPEN:/dev/zero,readbytes=20000000 TCP:127.0.0.1:1234");

    let plan = planned(&text.replace("as-published", "one-way")).expect("possible");
    assert_eq!(plan.wait(), Duration::ZERO);
    let [_, sink] = socat::commands(&plan, 1234);
    assert_eq!(sink, "socat -u -b 100 STDIN OPEN:/dev/null");
}

/// Before there was a shortest run, transfers of 5,000 blocks took 29 to 43 ms, and much of that was the start.
#[test]
fn a_run_that_is_too_short_is_made_longer_and_keeps_the_share_of_its_wait() {
    let text = format!("{ANON}block = 100\nmost_bytes = 50_000_000\nmost_blocks = 5000");
    let plan = planned(&text).expect("possible");
    let least = Duration::from_millis(60);
    let longer = lengthened(&plan, 30_000_000, least).expect("30 ms are too short");
    assert_eq!((plan.bytes, longer.bytes), (500_000, 1_500_000));
    assert_eq!(longer.wait(), plan.wait() * 3);
    assert_eq!(lengthened(&plan, 59_000_000, least).map(|plan| plan.bytes), Some(762_800));
    assert_eq!(lengthened(&plan, 60_000_000, least), None);
    assert_eq!(lengthened(&plan, 30_000_000, Duration::ZERO), None);
    // Never beyond what was published.
    let whole = lengthened(&plan, 1, least).expect("far too short");
    assert_eq!((whole.bytes, whole.closing()), (2_000_000_000, None));
    assert_eq!(lengthened(&whole, 1, least), None);
}

#[test]
fn what_cannot_be_is_refused() {
    for wrong in ["block = 0", "block = 1_000_000_000", "block = 100\nmost_blocks = 9"] {
        assert!(planned(&format!("{ANON}{wrong}")).is_err(), "{wrong}");
    }
    let tcp = "variant = 'one-way'\nmethod = 'tcp'\nbytes = 1000\nblock = 10\npipe_bytes = 4096";
    assert!(planned(tcp).is_err());
    let alone = ANON.replace("as-published", "together");
    assert!(planned(&format!("{alone}block = 100")).is_err(), "its ends cannot miss each other");
    for unknown in ["blocks = 3", "variant = 'indirect'", "method = 'fifo'"] {
        let mut table = keys(&format!("{ANON}block = 100"));
        table.extend(keys(unknown));
        assert!(make(&table).is_err(), "{unknown}");
    }
}

#[test]
fn the_rate_is_that_of_whole_milliseconds() {
    assert_eq!(published_rate(2_000_000_000, 1_770_999_999), Ok(9_039_548_022.0));
    assert!(published_rate(1000, 999_999).is_err());
}
