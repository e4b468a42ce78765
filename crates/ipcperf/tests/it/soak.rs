//! What only shows after a while: millions of messages through the ring, and one run over everything in which nothing
//! grows. `cargo xtask soak --minutes N` lets that go on for longer.

use crate::common::{Sandbox, cells, is_here, note, rounds, text, wait_for, words};
use crate::interruption::{no_panic, nothing_is_left};
use crate::watch::{Objects, signal};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn the_ring_carries_millions_of_messages_between_processes_without_a_wrong_byte() {
    let sandbox = Sandbox::new();
    let line = "run -m shm-ring/spin,shm-ring/futex,shm-ring/adaptive -p stream -s 8,200,4K \
                --touch full --rounds 1 --slice 300ms -o soak.json";
    let mut messages = 0;
    // Where much else runs one run has fewer.
    wait_for("a million messages", || {
        let ended = sandbox.run(&words(line));
        assert!(ended.stdout.contains("shm-ring/"), "{}", ended.stdout);
        for cell in cells(&sandbox.result("soak.json")).iter().filter(|cell| is_here(cell)) {
            if cell["status"] == "deadline" {
                note("a quiet machine", text(cell, "reason"));
                continue;
            }
            let said = (&cell["status"], &cell["verified"]);
            assert_eq!(said, (&"ok".into(), &true.into()), "{cell}");
            assert_eq!(cell["lost"].as_u64().expect("a count"), 0, "a ring loses nothing");
            messages += cell["messages"].as_u64().expect("a count");
        }
        (messages > 1_000_000).then_some(())
    });
}

/// Every pattern, in slices so short that there are many; two CPUs, so that spinning ends can run.
const JOB: &str = "run -p ping-pong,stream,rate,burst,request,fan-in,fan-out,connect --place free --rate 10% --burst 4 \
    --peers 3 --conns 2 --slice 10ms --warmup 2ms --rounds 10000 -o soak.json --no-progress -m";

/// Over what, and for how long, in `cargo test`: a few whose rounds take no longer than a second or two.
const BRIEF: (&str, Duration) =
    ("pipe,unix-stream,sysv-mq,posix-mq,shm-ring/futex", Duration::from_secs(9));

/// Between two looks at the coordinator: no divisor of the length of a slice.
const LOOK: Duration = Duration::from_millis(19);

/// Bytes that the coordinator may keep of each slice until it writes the document: docs/PERFORMANCE.md has what it keeps.
const KEPT: f64 = 8192.0;

/// What an allocator may have got from the kernel and not handed out yet.
const UNUSED: f64 = 1e6;

/// How many of [`COUNTED`] are of the run alone. Of the others every run of this machine has some, so that they are judged
/// where nothing else runs. Beside other tests those that stay are found when the run is over.
const OF_THE_RUN: usize = 2;

/// What there is of a run at one moment. Of all this something may be open while a slice runs.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Since the run began.
    at: Duration,
    /// What must come back to where it was, in the order of [`COUNTED`].
    counts: [usize; COUNTED.len()],
    /// Memory of the coordinator alone (`RssAnon` of `proc_pid_status(5)`), bytes.
    memory: f64,
}

/// Descriptors of the coordinator; files and folders of run directories; all System V objects of the machine, and in
/// `/dev/shm` and `/dev/mqueue` what begins with `ipcperf-`; abstract sockets of such names.
const COUNTED: [&str; 4] = ["descriptors", "files", "objects", "abstract sockets"];

impl Look {
    fn now(begin: Instant, pid: u32, sandbox: &Sandbox, before: &Objects) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let memory: f64 = memory.split_whitespace().next()?.parse().ok()?;
        let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let is_ours = |line: &&str| line.contains(" @ipcperf-");
        let counts = [
            fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
            files_below(&sandbox.run_directories()),
            Objects::now().since(before).ours(),
            sockets.lines().filter(is_ours).count(),
        ];
        Some(Self { at: begin.elapsed(), counts, memory: memory * 1024.0 })
    }
}

fn files_below(folder: &std::path::Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| 1 + files_below(&entry.path())).sum()
}

/// The least of each count and of the memory among these looks.
fn least(looks: &[Look]) -> ([usize; COUNTED.len()], f64) {
    let count = |at: usize| looks.iter().map(|look| look.counts[at]).min().unwrap_or(0);
    let memory = looks.iter().map(|look| look.memory).fold(f64::INFINITY, f64::min);
    (std::array::from_fn(count), memory)
}

/// What has grown from the second quarter of a run to its last, of which each had `slices` slices; empty if nothing has.
/// Of the counts the first `judged` are looked at.
///
/// What is open for a slice comes and goes, so the least of a quarter is what stays: in a quarter of many looks it is seen
/// again and again. A count must come back to it exactly. Memory grows with what is kept of each slice.
fn grown(looks: &[Look], judged: usize, slices: f64) -> Vec<String> {
    let quarter = looks.len() / 4;
    let (then, memory_then) = least(&looks[quarter..2 * quarter]);
    let (now, memory_now) = least(&looks[looks.len() - quarter..]);
    let counts = COUNTED.iter().take(judged).zip(then.into_iter().zip(now));
    let mut grown: Vec<String> = counts
        .filter(|(_, (then, now))| now > then)
        .map(|(what, (then, now))| format!("{what}: never below {now}, and {then} before"))
        .collect();
    // From the middle of the one quarter to that of the other it is half of all.
    let more = memory_now - memory_then;
    if more > UNUSED + KEPT * 2.0 * slices {
        let each = more / (2.0 * slices);
        grown.push(format!("memory: {more:.0} bytes, {each:.0} of each slice"));
    }
    grown
}

#[test]
fn nothing_grows_however_long_a_run_goes_on() {
    let given = std::env::var("IPCPERF_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let (mechanisms, mut time, judged, attempts) = match given {
        Some(seconds) => ("all", Duration::from_secs(seconds), COUNTED.len(), 1),
        None => (BRIEF.0, BRIEF.1, OF_THE_RUN, 5),
    };
    let mut grown = Vec::new();
    // Where much else runs, a quarter may have less than a slice. What grows does so in a longer run, too.
    for _ in 0..attempts {
        grown = grows(mechanisms, time, judged);
        if grown.is_empty() {
            return;
        }
        time *= 2;
    }
    panic!("{}", grown.join("\n"));
}

/// What has grown in a run that goes on for so long.
#[expect(clippy::print_stderr, reason = "the table is the result of this test")]
fn grows(mechanisms: &str, time: Duration, judged: usize) -> Vec<String> {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words: Vec<&str> = JOB.split_whitespace().chain([mechanisms]).collect();
    let (begin, running) = (Instant::now(), sandbox.start(&words));
    let pid = running.child.id();
    let (mut looks, mut shown): (Vec<Look>, usize) = (Vec::new(), 0);
    eprintln!("minutes  memory MB  {}  (the least of each minute)", COUNTED.join("  "));
    while begin.elapsed() < time {
        let Some(look) = Look::now(begin, pid, &sandbox, &before) else { break };
        looks.push(look);
        if looks.last().zip(looks.get(shown)).is_some_and(|(last, first)| {
            last.at - first.at >= Duration::from_secs(60).min(time / 8)
        }) {
            let (counts, memory) = least(&looks[shown..]);
            let widths = COUNTED.map(str::len);
            let cells =
                counts.iter().zip(widths).map(|(count, width)| format!("  {count:>width$}"));
            let minutes = look.at.as_secs_f64() / 60.0;
            eprintln!("{minutes:>7.1}  {:>9.2}{}", memory / 1e6, cells.collect::<String>());
            shown = looks.len();
        }
        sleep(LOOK);
    }
    signal("INT", pid);
    let ended = running.end();
    no_panic(&ended);
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let document = sandbox.result("soak.json");
    let (mut slices, mut measured) = (0, 0);
    for cell in cells(&document) {
        // Whether a cell fails is for other tests to judge; here it is one that was not measured to the end.
        if cell["status"] == "failed" || cell["status"] == "deadline" {
            eprintln!("{}: {}: {}", cell["status"], cell["id"], cell["reason"]);
        }
        let of_cell = rounds(cell).len();
        (slices, measured) = (slices + of_cell, measured + usize::from(of_cell > 0));
    }
    let span = looks.last().map_or(0.0, |look| look.at.as_secs_f64());
    let duration = document["duration_s"].as_f64().expect("a number").max(1.0);
    let per_quarter = slices as f64 * (span / duration).min(1.0) / 4.0;
    let grown = grown(&looks, judged, per_quarter);
    let bytes = fs::metadata(sandbox.home().join("soak.json")).map_or(0, |file| file.len());
    eprintln!(
        "soak: {:.1} minutes, {} looks, {slices} slices of {measured} cells, document {:.1} MB, {}",
        span / 60.0,
        looks.len(),
        bytes as f64 / 1e6,
        if grown.is_empty() { "nothing grew".to_owned() } else { grown.join("; ") }
    );
    nothing_is_left(&sandbox, &before);
    if slices == 0 {
        return vec!["nothing was measured yet: let it go on for longer".to_owned()];
    }
    grown
}

#[test]
fn what_grows_is_told_and_what_comes_back_is_not() {
    let looks = |count: &dyn Fn(usize) -> usize, memory: &dyn Fn(usize) -> f64| -> Vec<Look> {
        let look = |at| Look {
            at: Duration::from_secs(at as u64),
            counts: [7 + count(at), 1, 0, 0],
            memory: memory(at),
        };
        (0..400).map(look).collect()
    };
    let slices = 1000.0;
    let grown = |looks: &[Look]| grown(looks, COUNTED.len(), slices);
    let comes_and_goes = |at: usize| at * 7 % 11;
    let of_each = |bytes: f64| move |at: usize| 3e6 + at as f64 * 10.0 * bytes;
    assert!(grown(&looks(&comes_and_goes, &of_each(KEPT))).is_empty());
    // One descriptor that stays from some moment on, and one more now and then.
    for leak in
        [&|at| comes_and_goes(at) + usize::from(at > 250), &|at| at / 90] as [&dyn Fn(_) -> _; 2]
    {
        let told = grown(&looks(leak, &of_each(0.0)));
        assert!(told.len() == 1 && told[0].starts_with("descriptors: never below"), "{told:?}");
    }
    let told = grown(&looks(&comes_and_goes, &of_each(2.0 * KEPT)));
    assert!(told.len() == 1 && told[0].starts_with("memory: "), "{told:?}");
}
