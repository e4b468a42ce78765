//! Ends that are scheduled as was asked for: the kernel has them so while they measure, and what is refused names the right that
//! is missing.

use crate::common::{Sandbox, cells, list, skipped, text, wait_for};
use crate::container::without;
use crate::interruption::nothing_is_left;
use crate::strangers::Somebody;
use crate::watch::{Objects, signal, workers};
use ipcperf_sys::affinity;
use ipcperf_sys::scheduler;
use ipcperf_sys::seccomp::Refusal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const SHORT: [&str; 6] = ["--rounds", "2", "--slice", "5ms", "--warmup", "2ms"];

/// The cells of a short run of a pipe on one CPU.
fn measured(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let file = "scheduled.json";
    let always = ["run", "-q", "-o", file, "-m", "pipe"];
    let ended = sandbox.run(&[&always, &SHORT[..], words].concat());
    assert!([Some(0), Some(3)].contains(&ended.status.code()), "{words:?}: {}", ended.stderr);
    cells(&sandbox.result(file)).to_vec()
}

fn the_one(cells: &[Value]) -> &Value {
    let ids: Vec<&Value> = cells.iter().map(|cell| &cell["id"]).collect();
    let [cell] = cells else { panic!("{ids:?}") };
    cell
}

/// Whether a cell could be had; where not, the right is named.
fn may(what: &str, cell: &Value) -> bool {
    if cell["status"] != "unavailable" {
        return true;
    }
    skipped(what, text(cell, "reason"));
    false
}

#[test]
fn what_needs_no_right_is_available_and_part_of_the_identity() {
    let sandbox = Sandbox::new();
    let words = ["--place", "same-cpu", "--sched", "none,other,batch,idle,lead=idle+follow=batch"];
    let all = measured(&sandbox, &words);
    let seen: Vec<(String, String)> = all
        .iter()
        .map(|cell| {
            assert_eq!((text(cell, "status"), &cell["verified"]), ("ok", &true.into()), "{cell}");
            let class = |end: &str| cell["scheduled"][end]["class"].as_str().unwrap_or("-");
            let name = |end: &str| class(end).split(':').next().unwrap_or_default().to_owned();
            (text(cell, "id").to_owned(), format!("{} {}", name("lead"), name("follow")))
        })
        .collect();
    let id = |more: &str| format!("pipe ping-pong 64B same-cpu{more}");
    let expected = [
        ("", "- -"),
        (" sched=other", "other other"),
        (" sched=batch", "batch batch"),
        (" sched=idle", "idle idle"),
        (" sched=lead=idle+follow=batch", "idle batch"),
    ];
    for (more, classes) in expected {
        let found = seen.iter().find(|(known, _)| *known == id(more));
        assert_eq!(found.map(|(_, found)| found.as_str()), Some(classes), "{more}: {seen:?}");
    }
    assert_eq!(all.len(), expected.len());
    sandbox.leaves_nothing();
}

#[test]
fn a_nice_value_is_given_to_one_end_or_both() {
    if scheduler::own().expect("a class").nice > 17 {
        return skipped("nice", "this process has a nice value that the test would give an end");
    }
    let sandbox = Sandbox::new();
    let all = measured(&sandbox, &["--place", "same-cpu", "--nice", "19,lead=18"]);
    for cell in &all {
        let scheduled = &cell["scheduled"];
        let nice = |end: &str| scheduled[end]["nice"].as_i64().expect("a nice value");
        match cell["load"]["nice"].as_str() {
            Some("19") => assert_eq!((nice("lead"), nice("follow")), (19, 19), "{cell}"),
            Some("lead=18") => assert!(nice("lead") == 18 && nice("follow") < 18, "{cell}"),
            other => panic!("{other:?}"),
        }
    }
    // Next to other processes it counts within a group only, where there are groups; one finding for each of them.
    let document = sandbox.result("scheduled.json");
    let found = list(&document["noise"], "findings").iter();
    let found = found.filter(|finding| finding["code"] == "I-GROUPED").count();
    let is_within = |cell: &Value| !cell["scheduled"]["lead"]["within"].is_null();
    assert_eq!(found, usize::from(all.iter().any(is_within)));
}

#[test]
fn a_slice_is_read_back_or_the_kernel_has_none() {
    let sandbox = Sandbox::new();
    let all = measured(&sandbox, &["--place", "same-cpu", "--sched", "other:slice=100us"]);
    let cell = the_one(&all);
    if may("sched-slice", cell) {
        assert_eq!(cell["scheduled"]["follow"]["class"], "other:slice=100us", "{cell}");
    } else {
        assert!(text(cell, "reason").contains("Linux 6.12 or newer"), "{cell}");
    }
}

/// The policy and the priority of a process, as the kernel shows them, and its limit of realtime.
fn policy(pid: u32) -> Option<(u64, u64, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(37);
    let (priority, policy) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let limit = limits.lines().find(|line| line.starts_with("Max realtime timeout"))?;
    Some((policy, priority, limit.split_whitespace().nth(3)?.to_owned()))
}

#[test]
fn an_end_of_a_realtime_class_has_it_while_it_measures_with_a_limit_that_outlives_the_run() {
    let sandbox = Sandbox::new();
    let tried = measured(&sandbox, &["--place", "same-cpu", "--sched", "fifo:7"]);
    if !may("sched-fifo", the_one(&tried)) {
        return;
    }
    let before = Objects::now();
    let words =
        "run -q -m pipe --place same-cpu --sched lead=fifo:7+follow=rr:3 --rounds 1 --slice 20s";
    let mut running = sandbox.start(&words.split(' ').collect::<Vec<_>>());
    let found = wait_for("both ends in their classes", || {
        assert!(running.child.try_wait().expect("our own child").is_none(), "it has ended");
        let mut found: Vec<_> = workers(&sandbox).into_iter().filter_map(policy).collect();
        found.retain(|(policy, ..)| *policy > 0);
        found.sort();
        (found.len() == 2).then_some(found)
    });
    // SCHED_FIFO is 1 and SCHED_RR 2 (`linux/sched.h`).
    let classes: Vec<_> = found.iter().map(|(policy, priority, _)| (*policy, *priority)).collect();
    assert_eq!(classes, [(1, 7), (2, 3)]);
    let has_limit = |limit: &String| limit.parse::<u64>().is_ok_and(|micros| micros > 0);
    assert!(found.iter().all(|(.., limit)| has_limit(limit)), "{found:?}");
    signal("KILL", running.child.id());
    running.end();
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_deadline_is_had_without_a_placement_and_refused_where_ends_are_pinned() {
    let sandbox = Sandbox::new();
    let words = ["--sched", "deadline:2ms/10ms/10ms", "--place"];
    let all = measured(&sandbox, &[&words[..], &["free"]].concat());
    if may("sched-deadline", the_one(&all)) {
        let cell = the_one(&all);
        assert_eq!(cell["scheduled"]["lead"]["class"], "deadline:2ms/10ms/10ms", "{cell}");
        let all = measured(&sandbox, &[&words[..], &["same-cpu"]].concat());
        // One CPU is a whole scheduling domain.
        if affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) {
            let reason = text(the_one(&all), "reason");
            assert!(reason.contains("may use all CPUs of its scheduling domain"), "{reason}");
            assert!(reason.contains("; --place free, or an exclusive cpuset"), "{reason}");
        }
    }
    let all = measured(&sandbox, &[&words[..], &["free", "--follow-in", "pid"]].concat());
    assert!(text(the_one(&all), "reason").contains("can start no other process"), "{all:?}");
    let words = [&words[..], &["free", "-m", "uring-pipe/sqpoll"]].concat();
    let all = measured(&sandbox, &words);
    let ring = all.iter().find(|cell| text(cell, "mechanism") == "uring-pipe/sqpoll");
    let reason = text(ring.expect("a cell of the ring"), "reason");
    assert!(reason.contains("io_uring") || reason.contains("can start no threads"), "{reason}");
}

#[test]
fn without_a_right_the_reason_names_it() {
    let Some(somebody) = Somebody::new() else { return };
    for (words, told) in [
        (
            "--place same-cpu --sched fifo:10",
            "fifo:10 needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 10 where it is 0",
        ),
        (
            "--place same-cpu --sched lead=rr:2",
            "rr:2 needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 2 where it is 0",
        ),
        ("--sched deadline:1ms/5ms/10ms --place free", "needs CAP_SYS_NICE"),
        ("--nice -20", "needs CAP_SYS_NICE, or RLIMIT_NICE of 40 where it is 0"),
        ("--sched idle,batch,other", ""),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let limits = ["prlimit", "--rtprio=0:0", "--nice=0:0"];
        let always = ["run", "-q", "-m", "pipe", "-o", "sched.json"];
        let ended = somebody.run(&limits, &[&always[..], &SHORT, &words].concat());
        // On a busy machine an end of the class idle may not get its CPU in time: then its cell fails or is not proved.
        let codes: &[i32] = if told.is_empty() { &[0, 1, 5] } else { &[0, 3] };
        let code = ended.status.code().expect("it ends");
        assert!(codes.contains(&code), "{words:?}: {code} {}", ended.stderr);
        let document = somebody.sandbox.result("sched.json");
        for cell in cells(&document) {
            match told {
                "" => assert_ne!(text(cell, "status"), "unavailable", "{cell}"),
                told => assert!(text(cell, "reason").contains(told), "{cell}"),
            }
        }
    }
    // With the limit that was named it is had. Only root can raise it, before it is another user, and not in every container.
    let raise = |words: &[&str]| {
        let mut command = Command::new("prlimit");
        command.arg("--rtprio=10:10").args(words);
        command
    };
    if !raise(&["true"]).output().is_ok_and(|output| output.status.success()) {
        skipped("rtprio-limit", "prlimit may not raise RLIMIT_RTPRIO here");
        return;
    }
    let always = [
        "run",
        "-q",
        "-m",
        "pipe",
        "-o",
        "limit.json",
        "--place",
        "same-cpu",
        "--sched",
        "fifo:10",
    ];
    let theirs = somebody.command(&[], &[&always[..], &SHORT].concat());
    let mut raised = raise(&[]);
    raised.arg(theirs.get_program()).args(theirs.get_args());
    somebody.sandbox.spawn(somebody.sandbox.surround(raised, &[])).end();
    let document = somebody.sandbox.result("limit.json");
    let cell = the_one(cells(&document));
    let class = &cell["scheduled"]["lead"]["class"];
    assert!(
        class == "fifo:10" || text(cell, "reason").contains("rt_runtime_us"),
        "{}",
        cell["reason"]
    );
}

/// A control group of version 1 without realtime, which every new one is.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let around = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"].map(Path::new);
        let around = around.into_iter().find(|folder| folder.join("cpu.rt_runtime_us").exists())?;
        let group = Self(around.join(format!("ipcperf-it-{}", std::process::id())));
        fs::create_dir(&group.0).ok().map(|()| group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever was in it has ended; the kernel takes a moment to notice.
        wait_for("an empty group", || fs::remove_dir(&self.0).is_ok().then_some(()));
    }
}

#[test]
fn a_group_without_realtime_is_named_as_the_right_that_is_missing() {
    let Some(group) = Group::new() else {
        return skipped("sched-fifo", "no group with a cpu.rt_runtime_us can be made");
    };
    let sandbox = Sandbox::new();
    let mut shell = Command::new("sh");
    let entered = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
    shell.args(["-c", entered]).arg(&group.0).arg(env!("CARGO_BIN_EXE_ipcperf"));
    let words = ["run", "-q", "-m", "pipe", "-o", "group.json", "--sched", "fifo:10,batch"];
    let ended = sandbox.spawn(sandbox.surround(shell, &[&words[..], &SHORT].concat())).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    for cell in cells(&sandbox.result("group.json")) {
        match cell["load"]["sched"].as_str() {
            Some("batch") => assert_eq!(text(cell, "status"), "ok", "{cell}"),
            _ => {
                let reason = text(cell, "reason");
                assert!(
                    reason.contains("and cpu.rt_runtime_us = 0 in /sys/fs/cgroup/"),
                    "{reason}"
                );
                assert!(reason.contains("; echo 950000 > /sys/fs/cgroup/"), "{reason}");
            }
        }
    }
}

#[test]
fn a_sandbox_that_refuses_the_call_is_a_reason() {
    let sandbox = Sandbox::new();
    let all = without(&[libc::SYS_sched_setattr], Refusal::NotPermitted, || {
        measured(&sandbox, &["--place", "same-cpu", "--sched", "batch"])
    });
    let all = all.expect("this kernel has filters");
    let reason = text(the_one(&all), "reason");
    assert!(
        reason.contains("batch is refused (sched_setattr: Operation not permitted)"),
        "{reason}"
    );
}

#[test]
fn what_cannot_be_asked_for_is_an_error_with_the_nearest_right_word() {
    let sandbox = Sandbox::new();
    for (words, told) in [
        ("--sched ilde", "did you mean 'idle'?"),
        ("--sched fifo", "needs a priority from 1 to 99"),
        ("--nice 20", "'20' is not a nice value (-20 to 19)"),
        ("--cgroup-weight 0", "'0' is not a weight from 1 to 10000"),
        ("--sched rr:5 --nice 3", "--nice has no effect in the class rr:5"),
        ("--sched batch -p connect", "--sched needs the pattern ping-pong"),
        ("--sched batch -p ping-pong,fan-in", "--sched does not work with the pattern fan-in"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        sandbox.refuses(&[&["run", "-m", "unix-stream"][..], &words].concat(), told);
    }
    let all = measured(&sandbox, &["--follow", "cat", "--sched", "batch", "--place", "same-cpu"]);
    let told = "schedule our own end, the lead alone with lead=VALUE";
    let with_program = all.iter().find(|cell| !cell["load"]["follow"].is_null());
    let reason = text(with_program.expect("a cell with a program"), "reason");
    assert!(reason.contains(told), "{reason}");
}

#[test]
fn job_files_have_the_keys_and_comparisons_the_words() {
    let sandbox = Sandbox::new();
    let job = "mechanism = \"pipe\"\nplace = \"same-cpu\"\nsched = \"batch\"\nnice = 3\n";
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let ended = sandbox.run(&[&["run", "-q", "job.toml", "-o", "job.json"][..], &SHORT].concat());
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stderr, ended.stdout);
    let document = sandbox.result("job.json");
    let cell = the_one(cells(&document));
    assert_eq!(text(cell, "id"), "pipe ping-pong 64B same-cpu sched=batch nice=3");
    let words = [
        "compare",
        "-q",
        "--live",
        "pipe same-cpu sched=lead=batch",
        "pipe same-cpu",
        "--rounds",
        "6",
    ];
    let ended = sandbox.run(&[&words[..], &["--slice", "5ms"]].concat());
    assert!(ended.status.code() != Some(2), "{}", ended.stderr);
    assert!(ended.stdout.contains("sched=lead=batch"), "{}", ended.stdout);
}

/// Something that is always busy on one CPU; it ends with its owner.
struct Hog(Child);

impl Hog {
    fn on(cpu: usize) -> Self {
        let hog =
            Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell"));
        affinity::allow(hog.0.id(), &[cpu]).expect("our own child");
        hog
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn next_to_a_busy_process_an_end_has_a_run_delay_and_no_finding_that_there_is_none() {
    if fs::read_to_string("/proc/self/schedstat").is_err() {
        return skipped("schedstat", "the kernel does not say how long a process waits for a CPU");
    }
    let sandbox = Sandbox::new();
    let cpu = affinity::allowed_cpus().expect("readable")[0];
    let _hog = Hog::on(cpu);
    let place = format!("{cpu},{cpu}");
    let words = ["--place", &place, "--sched", "lead=batch"];
    let all = measured(&sandbox, &words);
    let cell = the_one(&all);
    for end in ["lead", "follow"] {
        let delay = &cell["scheduled"][end]["run_delay_per_wakeup_ns"]["value"];
        assert!(delay.as_f64().is_some_and(|ns| ns > 0.0), "{cell}");
    }
    let document = sandbox.result("scheduled.json");
    let mut found = list(&document["noise"], "findings").iter();
    assert!(!found.any(|finding| finding["code"] == "I-UNCONTESTED"));
    let ended = sandbox.done(&["report", "scheduled.json", "--format", "csv"]);
    for column in ["lead_class", "follow_nice", "lead_run_delay_per_wakeup_ns"] {
        assert!(ended.stdout.contains(column), "{}", ended.stdout);
    }
}
