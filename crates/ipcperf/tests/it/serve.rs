//! Clients that stay connected to one server: whatever was asked is answered or failed, nobody is forgotten, and nothing is
//! left.

use crate::common::{
    Ended, Sandbox, at_once, cells, is_here, list, rounds, skipped, text, wait_for,
};
use crate::container::without;
use crate::watch::{signal, workers};
use ipcperf_sys::io::socket::inq;
use ipcperf_sys::io::uring;
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const BRIEF: [&str; 6] = ["--rounds", "2", "--slice", "20ms", "--warmup", "2ms"];

/// Runs these words of the pattern for a moment, not pinned.
fn serve(sandbox: &Sandbox, words: &str, more: &[&str]) -> Ended {
    let words: Vec<&str> = words.split_whitespace().collect();
    let start = ["run", "-p", "serve", "--place", "free", "-o", "run.json"];
    sandbox.run(&[&start[..], &words, more].concat())
}

fn document(sandbox: &Sandbox, ended: &Ended) -> Value {
    let document = sandbox.result("run.json");
    let reasons: Vec<&Value> = cells(&document).iter().map(|cell| &cell["reason"]).collect();
    assert_eq!(ended.status.code(), Some(0), "{reasons:?}{}{}", ended.stdout, ended.stderr);
    document
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

fn figure(metric: &Value) -> f64 {
    metric["value"].as_f64().unwrap_or_else(|| panic!("no figure: {metric}"))
}

/// Requests answered, after checking that all asked are accounted for and each slice has its proof.
fn accounted(cell: &Value) -> u64 {
    assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
    let served = &cell["serve"];
    let (asked, answered) = (count(&served["asked"]), count(&served["answered"]));
    assert_eq!((asked, served.get("errors")), (answered, None), "{served}");
    assert_eq!((count(&cell["messages"]), count(&cell["lost"])), (answered, 0), "{cell}");
    for round in &rounds(cell) {
        let proof = &round["proof"];
        assert_eq!(proof["holds"], true, "{proof}");
        assert_ne!(proof["lead_pid"], proof["follow_pid"]);
        // Sent, answered by the server, and back.
        assert_eq!(
            (&proof["lead"][0], &proof["lead"][1]),
            (&proof["follow"][0], &proof["follow"][1])
        );
    }
    answered
}

#[test]
fn every_request_is_answered_whatever_the_server_and_however_many_connections() {
    let sandbox = Sandbox::new();
    let sockets = "-m unix-stream,unix-seqpacket,tcp,tcp6,mptcp,sctp,vsock";
    let words = format!("{sockets} --conns 1,5,64 --style epoll,threads,process,uring --reply 1K");
    let document = document(&sandbox, &serve(&sandbox, &words, &BRIEF));
    assert_eq!(cells(&document).len(), 7 * 3 * 4);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        let (conns, served) = (count(&cell["load"]["conns"]), &cell["serve"]);
        let answered = accounted(cell);
        assert!(answered >= 2 * conns, "each connection asked in each round: {cell}");
        assert_eq!(
            (count(&served["conns"]), served.get("by_client").is_some()),
            (conns, served["clients"] != 1)
        );
        let style = cell["load"].get("style").cloned().unwrap_or_else(|| "epoll".into());
        assert_eq!(served["style"], style);
        // A busy machine answers too few of one connection for a median.
        let has_median = answered < 40 || figure(&cell["rtt_ns"]["p50"]) > 0.0;
        assert!(figure(&served["requests_per_second"]) > 0.0 && has_median);
        assert!(figure(&served["server_cpu_ns"]) > 0.0 && figure(&served["client_cpu_ns"]) > 0.0);
        let jain = figure(&served["jain"]);
        assert!(jain > 0.0 && jain <= 1.0 + 1e-9, "{jain}");
        assert!(figure(&served["rest_busy"]) >= 0.0 && count(&served["rest_ns"]) >= 10_000_000);
        let bytes: u64 = rounds(cell).iter().map(|round| count(&round["bytes"])).sum();
        assert_eq!(bytes, answered * (64 + 1024), "{cell}");
    }
    sandbox.leaves_nothing();
    assert!(workers(&sandbox).is_empty());
}

#[test]
fn clients_share_the_connections_and_each_is_told() {
    let sandbox = Sandbox::new();
    let words = "-m unix-stream --conns 7 --clients 3 --inflight 4 -s 1,4096";
    let document = document(&sandbox, &serve(&sandbox, words, &BRIEF));
    for cell in cells(&document) {
        let answered = accounted(cell);
        let served = &cell["serve"];
        assert_eq!(count(&served["clients"]), 3);
        let clients = served["by_client"].as_array().expect("three clients");
        let each: u64 = clients.iter().map(|client| count(&client["answered"])).sum();
        assert_eq!((clients.len(), each), (3, answered));
        assert!(clients.iter().all(|client| figure(&client["response_ns"]["p50"]) > 0.0));
    }
}

/// Sizes as a key-value store has them: short questions with short or long answers.
#[test]
fn a_mix_has_its_sizes_to_the_byte_and_its_shares_about() {
    let sandbox = Sandbox::new();
    let words =
        "-m unix-stream,tcp,unix-seqpacket --conns 4 --mix 36:5@90%,120:4K@10% --style epoll,uring";
    let document =
        document(&sandbox, &serve(&sandbox, words, &["--rounds", "1", "--samples", "4000"]));
    assert_eq!(cells(&document).len(), 6);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        assert_eq!(accounted(cell), 4000);
        assert_eq!(count(&cell["size_bytes"]), 120, "the longest request");
        let parts = cell["serve"]["mix"].as_array().expect("two kinds");
        let sizes = |key: &str| parts.iter().map(|part| count(&part[key])).collect::<Vec<_>>();
        assert_eq!((sizes("request_bytes"), sizes("reply_bytes")), (vec![36, 120], vec![5, 4096]));
        let [short, long] = sizes("answered")[..] else { panic!("two kinds: {cell}") };
        // Six standard deviations of 400 in 4000.
        assert!(short + long == 4000 && (286..=514).contains(&long), "{long}");
        assert_eq!(count(&rounds(cell)[0]["bytes"]), short * 41 + long * 4216);
    }
}

#[test]
fn an_open_loop_that_asks_for_too_much_says_saturated_and_one_that_does_not_has_response_times() {
    let sandbox = Sandbox::new();
    // A server that works for 1 ms on each request answers less than 1,000 per second.
    let words = "-m unix-stream --conns 4 --service 1ms --rate 100,5k";
    let ended = serve(&sandbox, words, &["--rounds", "2", "--slice", "200ms", "--warmup", "1ms"]);
    let document = document(&sandbox, &ended);
    let [calm, flooded] = cells(&document) else { panic!("two cells: {document}") };
    for cell in [calm, flooded] {
        accounted(cell);
        assert!(figure(&cell["offered_per_second"]) > 0.0);
        assert!(figure(&cell["achieved_per_second"]) < 1000.0);
        assert!(figure(&cell["service_ns"]["p50"]) >= 1e6, "the server works so long");
    }
    assert_eq!(flooded["rtt_ns"]["p50"]["value"], Value::Null);
    assert_eq!(flooded["rtt_ns"]["p50"]["reason"], "saturated");
    assert!(ended.stdout.contains("saturated"), "{}", ended.stdout);
    let findings = list(&document["noise"], "findings");
    assert!(
        findings.iter().any(|finding| {
            finding["cells"].as_array().is_some_and(|hit| hit.contains(&flooded["id"]))
                && text(finding, "text").contains("faster than")
        }),
        "{findings:?}"
    );
    // Half a second apart on average; a response contains the work.
    assert!(calm["rtt_ns"]["p50"]["value"].as_f64().is_none_or(|p50| p50 >= 1e6), "{calm}");
}

#[test]
fn requests_of_a_warm_up_that_came_to_no_end_are_not_offered_in_the_slice() {
    let sandbox = Sandbox::new();
    // The server answers less than 300 of the 1,000 requests of the warm-up until all is given up.
    let words = "-m unix-stream --conns 4 --service 1ms --rate 5k";
    let ended = serve(&sandbox, words, &["--rounds", "1", "--slice", "100ms", "--warmup", "200ms"]);
    let document = document(&sandbox, &ended);
    let [flooded] = cells(&document) else { panic!("one cell: {document}") };
    assert_eq!(flooded["rtt_ns"]["p50"]["reason"], "saturated");
    // 500 times with a random distance: six standard deviations.
    let offered = figure(&flooded["offered_per_second"]) / 5_000.0;
    assert!((0.73..1.37).contains(&offered), "{offered}");
}

#[test]
fn the_server_works_as_long_as_it_was_asked_to() {
    let sandbox = Sandbox::new();
    // A service of 1 ms is long beside a wake-up, and of 500 exponential ones one in four is answered before it: on a
    // machine so busy that each takes 0.9 ms more, still one of ten thousand runs has none.
    let words = "-m unix-stream --conns 2 --service 1ms,exp:1ms --samples 500";
    let document = document(&sandbox, &serve(&sandbox, words, &["--rounds", "1"]));
    let [constant, random] = cells(&document) else { panic!("two cells: {document}") };
    assert!(figure(&constant["rtt_ns"]["min"]) >= 1e6, "{constant}");
    let least = figure(&random["rtt_ns"]["min"]);
    assert!(least < 1e6, "some are shorter: {least} of {}", random["rtt_ns"]);
}

#[test]
fn a_client_that_stops_reading_does_not_stop_the_others() {
    let sandbox = Sandbox::new();
    let words =
        "-m unix-stream,tcp --conns 4 --stall 300ms --style epoll,threads,uring --reply 256K";
    let more = ["--rounds", "1", "--slice", "400ms", "--warmup", "1ms"];
    let document = document(&sandbox, &serve(&sandbox, words, &more));
    assert_eq!(cells(&document).len(), 6);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        accounted(cell);
        let served = &cell["serve"];
        // It had a quarter of the time and the others all of it: fewer answers, and one that took as long as the stall.
        assert!(figure(&served["least_share"]) < 0.25, "{cell}");
        assert!(figure(&served["jain"]) < 0.9999, "{cell}");
        assert!(figure(&cell["rtt_ns"]["max"]) >= 300e6, "{cell}");
        assert!(count(&served["asked"]) > 4, "{cell}");
    }
}

#[test]
fn reads_that_report_what_waits_find_something_and_those_on_edges_find_the_end_of_it() {
    let sandbox = Sandbox::new();
    let words = "-m unix-stream,tcp,unix-seqpacket,pipe --conns 3 --style edge,inq";
    let document = document(&sandbox, &serve(&sandbox, words, &BRIEF));
    for cell in cells(&document) {
        let (name, style) = (text(cell, "mechanism"), text(&cell["load"], "style"));
        let is_known = if style == "inq" { inq::probe(family(name)).is_ok() } else { true };
        let can = match name {
            "pipe" => false,
            "unix-seqpacket" => style == "edge",
            _ => is_known,
        };
        assert_eq!(cell["status"], if can { "ok" } else { "unavailable" }, "{cell}");
        if can {
            accounted(cell);
            // A client sends nothing before it has its answer.
            assert_eq!(count(&cell["serve"]["server_eagain"]) > 0, style == "edge", "{cell}");
        }
    }
    sandbox.leaves_nothing();
}

fn family(mechanism: &str) -> inq::Reporting {
    if mechanism == "tcp" { inq::Reporting::Tcp } else { inq::Reporting::Unix }
}

#[test]
fn a_death_costs_its_cell_and_is_named() {
    let ring = uring::probe::<uring::Enter>(uring::Kind::Socket, uring::Buffers::Plain);
    let ring = ring.map_err(|missing| skipped("a server in a ring", missing)).map(|()| "uring");
    let styles = ["epoll", "threads", "process", "edge"].into_iter().chain(ring);
    let all = styles.flat_map(|style| [(style, true), (style, false)]);
    at_once(all, |(style, is_server)| {
        let sandbox = Sandbox::new();
        let names = match style {
            "threads" | "process" => "unix-stream,tcp,pipe,shm-ring/futex",
            "epoll" => "unix-stream,tcp,pipe",
            _ => "unix-stream,tcp",
        };
        let line = format!(
            "run -p serve -m {names} --conns 4 --clients 2 --style {style} --place free --rounds 1 --slice 1s \
             -o run.json --no-progress"
        );
        let running = sandbox.start(&line.split_whitespace().collect::<Vec<_>>());
        // The servers are started first. Whatever else a run measures has two workers at the most.
        let expected = if style == "process" { 6 } else { 3 };
        let all = wait_for("all workers", || {
            let all = workers(&sandbox);
            (all.len() == expected).then_some(all)
        });
        sleep(Duration::from_millis(100));
        let victim = if is_server { all.iter().min() } else { all.iter().max() };
        signal("KILL", *victim.expect("workers"));
        let ended = running.end();
        let document = sandbox.result("run.json");
        let failed: Vec<&Value> =
            cells(&document).iter().filter(|cell| cell["status"] != "ok").collect();
        let [cell] = failed.as_slice() else { panic!("{style}: {ended:?} {document}") };
        let (reason, who) = (text(cell, "reason"), if is_server { "server" } else { "client" });
        assert_eq!(cell["status"], "failed");
        assert!(reason.contains(who) && reason.contains("killed by signal 9"), "{style}: {reason}");
        sandbox.leaves_nothing();
    });
}

#[test]
fn without_a_listener_each_connection_is_a_channel() {
    let sandbox = Sandbox::new();
    let names =
        "pipe,fifo,pipe/epoll,unix-dgram,posix-mq,sysv-mq,shm-ring/futex,shm-ring/adaptive,pty";
    let words = format!("-m {names} --conns 1,6 --clients 1 --style threads,process --reply 1K");
    let document = document(&sandbox, &serve(&sandbox, &words, &BRIEF));
    assert_eq!(cells(&document).len(), 9 * 2 * 2);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        let (answered, served) = (accounted(cell), &cell["serve"]);
        assert_eq!(served["style"], cell["load"]["style"], "{cell}");
        // A machine that is busy leaves one connection a few answers.
        assert!(figure(&cell["rtt_ns"]["max"]) > 0.0 && figure(&served["server_cpu_ns"]) > 0.0);
        let bytes: u64 = rounds(cell).iter().map(|round| count(&round["bytes"])).sum();
        assert_eq!(bytes, answered * (64 + 1024), "{cell}");
    }
    sandbox.leaves_nothing();
    assert!(workers(&sandbox).is_empty());
}

/// A server that waits at all its pipes has what one at sockets has.
#[test]
fn pipes_are_served_as_sockets_are() {
    let sandbox = Sandbox::new();
    let words = "-m pipe,fifo --conns 7 --clients 3 --inflight 4 -s 1,256K --reply 128K";
    let document = document(&sandbox, &serve(&sandbox, words, &BRIEF));
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        accounted(cell);
        assert_eq!(cell["serve"]["style"], "epoll", "the default: {cell}");
    }
    let words = "-m pipe --conns 4 --rate 500 --mix 36:5@90%,120:4K@10% --style epoll,process";
    let document = self::document(&sandbox, &serve(&sandbox, words, &BRIEF));
    let [one, each] = cells(&document) else { panic!("two cells: {document}") };
    accounted(one);
    assert!(figure(&one["achieved_per_second"]) > 0.0, "{one}");
    assert_eq!(each["status"], "unavailable", "{each}");
    sandbox.leaves_nothing();
}

#[test]
fn channels_have_mixes_to_the_byte_counted_requests_a_pause_and_work() {
    let sandbox = Sandbox::new();
    let words = "-m pipe,posix-mq,shm-ring/futex --conns 5 --clients 2 --mix 36:5@90%,2:4K@10% \
                 --service 1ms --think 1us --style threads";
    let document =
        document(&sandbox, &serve(&sandbox, words, &["--rounds", "1", "--samples", "1000"]));
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        assert_eq!(accounted(cell), 1000);
        let served = &cell["serve"];
        let parts = list(served, "mix");
        let [short, long] = [0, 1].map(|at| count(&parts[at]["answered"]));
        // Seven standard deviations of 100 in 1000.
        assert!(short + long == 1000 && (34..=166).contains(&long), "{long}");
        assert_eq!(count(&rounds(cell)[0]["bytes"]), short * 41 + long * 4098);
        assert!(figure(&cell["rtt_ns"]["min"]) >= 1e6, "the server works so long: {cell}");
        let by_client = list(served, "by_client");
        let each: u64 = by_client.iter().map(|client| count(&client["answered"])).sum();
        assert_eq!((by_client.len(), each), (2, 1000));
    }
    // What a knob was granted is told as elsewhere.
    let ended = serve(&sandbox, "-m pipe --conns 2 --style threads --set pipe.size=128K", &BRIEF);
    let document = self::document(&sandbox, &ended);
    let granted = &cells(&document)[0]["knobs"]["pipe.size"];
    assert_eq!(granted, &serde_json::json!({"requested": 131_072, "effective": 131_072}));
    sandbox.leaves_nothing();
}

#[test]
fn what_cannot_be_served_says_why_and_what_can() {
    let sandbox = Sandbox::new();
    let names = "pipe,eventfd,udp,null,unix-stream/epoll,unix-stream/spin,tcp";
    let words = format!("-m {names} --conns 2 --clients 1,3 --style threads");
    let document = self::document(&sandbox, &serve(&sandbox, &words, &BRIEF));
    for cell in cells(&document) {
        let (name, clients) = (text(cell, "mechanism"), count(&cell["load"]["clients"]));
        if ["tcp", "pipe"].contains(&name) && clients == 1 {
            accounted(cell);
            continue;
        }
        assert_eq!(cell["status"], "unavailable", "{cell}");
        let reason = text(cell, "reason");
        let wanted = match name {
            "tcp" | "pipe" => {
                "3 clients cannot share 2 connections; more --conns, or fewer --clients"
            }
            "unix-stream/epoll" => "serve takes mechanisms, and epoll is a variant; unix-stream",
            "unix-stream/spin" => "is a variant",
            "eventfd" => "a wake-up carries no request",
            "null" => "the floor moves nothing",
            _ => "it may lose a request",
        };
        // On one CPU that comes first.
        let spins = cell["wait"] == "spin" && reason.contains("two busy-waiting processes");
        assert!(spins || reason.contains(wanted), "{name}: {reason}");
    }
    let busy = "-m shm-ring/spin,pipe/spin --conns 600 --style threads";
    for (words, part) in [
        (
            "-m posix-mq --conns 2",
            "one process cannot wait for several of its channels; --style threads",
        ),
        ("-m pipe --conns 2 --style uring", "a ring receives from sockets; --style epoll"),
        (
            "-m pipe --conns 2 --style threads --rate 5k",
            "sends one request at a time; --style epoll, or no --rate",
        ),
        ("-m pipe --conns 2 --style threads --inflight 2", "sends one request at a time"),
        (
            "-m posix-mq --conns 2 --style threads -s 0",
            "requests and answers have a stamp; sizes of at least 1",
        ),
        ("-m pipe --conns 2 --set pipe.sise=4K", "size"),
        (busy, "wait busily"),
    ] {
        let ended = serve(&sandbox, words, &BRIEF);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!([Some(2), Some(3)].contains(&ended.status.code()), "{words}: {said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(part) || said.contains("two busy-waiting"), "{words}: {said}");
    }
    for (words, part) in [
        ("-m tcp --rate 10%", "takes requests per second (like 20k), not a share"),
        ("-m tcp --mix 36:5@50%", "do not add up to 100%"),
        ("-m tcp --mix 36:5@100% -s 64", "--mix gives the size of each request: leave out -s"),
        ("-m tcp --mix 36:5@100% --reply 64", "leave out --reply"),
        ("-m tcp --conns 1025", "between 1 and 1024"),
        ("-m tcp --clients 65", "between 1 and 64"),
        ("-m tcp --style thread", "did you mean 'threads'"),
        ("-m tcp --service fast", "--service"),
    ] {
        let ended = serve(&sandbox, words, &[]);
        assert_eq!(ended.status.code(), Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{words}: {}", ended.stderr);
    }
}

#[test]
fn a_server_in_a_ring_says_why_it_cannot_be_had_where_there_are_no_rings() {
    let refused = seccomp::OFTEN_REFUSED.iter().find(|(name, _)| *name == "io_uring_setup");
    let (_, number) = refused.expect("container runtimes refuse it");
    let sandbox = Sandbox::new();
    let words = "-m unix-stream --conns 2 --style epoll,uring";
    let ended = match without(&[*number], Refusal::NotPermitted, || serve(&sandbox, words, &BRIEF))
    {
        Err(error) => return skipped("seccomp", error),
        Ok(ended) => ended,
    };
    let document = document(&sandbox, &ended);
    let [plain, ring] = cells(&document) else { panic!("two cells: {document}") };
    accounted(plain);
    assert_eq!(ring["status"], "unavailable", "{ring}");
    assert!(text(ring, "reason").contains("forbid"), "{ring}");
    assert!(text(ring, "reason").contains("io_uring"), "{ring}");
}

#[test]
fn more_connections_than_files_or_processes_are_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    for (limit, words, part) in [
        ("ulimit -n 100", "--conns 64", "a cell with 64 connections needs"),
        ("ulimit -n 60", "--conns 16 --style process", "RLIMIT_NOFILE"),
    ] {
        let mut command = std::process::Command::new("sh");
        let program = env!("CARGO_BIN_EXE_ipcperf");
        command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\""), program]);
        let line =
            format!("run -p serve -m unix-stream {words} --place free --rounds 1 -o run.json");
        let words: Vec<&str> = line.split_whitespace().collect();
        let ended = sandbox.spawn(sandbox.surround(command, &words)).end();
        assert_eq!(ended.status.code(), Some(3), "{}{}", ended.stdout, ended.stderr);
        let document = sandbox.result("run.json");
        let [cell] = cells(&document) else { panic!("one cell") };
        let reason = text(cell, "reason");
        assert!(reason.contains(part) && reason.contains("ulimit -n"), "{reason}");
    }
}

/// With one connection and one request under way the same bytes go there and back as in the pattern `request`.
#[test]
fn one_connection_moves_what_the_pattern_request_moves() {
    let sandbox = Sandbox::new();
    let words = "-p request -m unix-stream -s 64 --reply 1K --samples 500";
    let document = document(&sandbox, &serve(&sandbox, words, &["--rounds", "1"]));
    let [served, asked] = cells(&document) else { panic!("two cells: {document}") };
    let moved = |cell: &Value| {
        assert_eq!(cell["status"], "ok", "{cell}");
        count(&rounds(cell)[0]["bytes"])
    };
    assert_eq!(moved(served), 500 * (64 + 1024));
    assert_eq!(moved(served), moved(asked));
}
