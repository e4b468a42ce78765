//! Columns of what a message costs, from left to right. They stand to the right of those in `figures.rs`.

use super::column::{COLUMN, Column, Room};
use super::facts::{is_closed, is_connected, is_counted};
use super::field::{count, float, text};
use super::{heads, legends, texts};
use ipcperf_core::Exchange;
use ipcperf_judge::figures;
use ipcperf_judge::figures::{NONE, or_none};
use ipcperf_render::text::grouped;

/// CPU time and what failed, then the parts and the causes of that time.
pub(super) const COSTS: &[Column] = &[
    Column {
        name: "CPU/msg",
        head: Some(|chapter, _| heads::cost(chapter.pattern).to_owned()),
        value: texts::cost,
        patterns: is_closed,
        figures: Room::Rank(100),
        is_listed: true,
        word_after: "transform",
        meaning: "CPU time of both sides per message in one direction",
        advice: "rank by it if CPUs are scarce: ipcperf choose --by cpu",
        headings: &[(
            "idle CPU",
            (
                "CPU/req",
                "CPU time of server and clients per request",
                "rank by it if CPUs are scarce",
            ),
        )],
        csv_after: "jain",
        csv: &[
            float("cpu_ns_per_message", "/cpu_ns_per_message/total"),
            float("cpu_ns_per_message_low", "/cpu_ns_per_message/ci95/0"),
            float("cpu_ns_per_message_high", "/cpu_ns_per_message/ci95/1"),
            float("lead_cpu_ns_per_message", "/cpu_ns_per_message/lead"),
            float("follow_cpu_ns_per_message", "/cpu_ns_per_message/follow"),
        ],
        legend_after: "uncertainty",
        is_joined: true,
        legend: Some(legends::cost_of_messages),
        ..COLUMN
    },
    // What was busy.
    Column {
        name: "limit",
        is_number: false,
        text: Some(|row| or_none(row.cell.serve.as_ref(), |serve| serve.limit.clone())),
        patterns: is_connected,
        figures: Room::Rank(60),
        word_after: "conns",
        meaning: "what had at least 85 % of a CPU: the server, the clients, both, cpu (the one that they share) or neither; in 'report --fail-if', the bound of a figure",
        advice: "give what is busy more CPUs; with neither, raise --conns or --inflight",
        ..COLUMN
    },
    Column {
        name: "errors",
        text: Some(|row| match (&row.cell.serve, row.cell.lost) {
            // A connection that stays hardly ever fails: only then it is shown.
            (Some(_), 0) => NONE.to_owned(),
            (_, lost) => grouped(lost),
        }),
        patterns: |facts| facts.exchange == Exchange::Request,
        figures: Room::Rank(70),
        word_after: "syscalls",
        meaning: "requests that failed; the line below the row says why",
        advice: "read W-REFUSED in the findings for the remedy",
        csv_after: "messages",
        csv: &[count("lost", "/lost")],
        ..COLUMN
    },
    Column {
        name: "user",
        value: |cell| Some(cell.cpu_ns_per_message.as_ref()?.user),
        costs: Room::Rank(20),
        word_after: "CPU",
        meaning: "the part of the CPU time spent in the programs themselves",
        advice: "if it is large, they busy-wait or copy",
        csv_after: "follow_cpu_ns_per_message",
        csv: &[float("user_cpu_ns_per_message", "/cpu_ns_per_message/user")],
        legend_after: "mean",
        legend: Some(legends::parts_of_cost),
        ..COLUMN
    },
    Column {
        name: "system",
        value: |cell| Some(cell.cpu_ns_per_message.as_ref()?.system),
        costs: Room::Rank(30),
        meaning: "the part of the CPU time that the kernel spends for them",
        advice: "if it is large, look at the system calls",
        csv: &[float("system_cpu_ns_per_message", "/cpu_ns_per_message/system")],
        ..COLUMN
    },
    Column {
        name: "machine",
        value: |cell| cell.machine_cpu_ns_per_message.as_ref()?.value,
        costs: Room::Rank(40),
        meaning: "busy time of all CPUs per message, minus the idle load; it includes kernel work that belongs to no process",
        advice: "use longer slices for it than for the rest",
        csv: &[float("machine_cpu_ns_per_message", "/machine_cpu_ns_per_message/value")],
        is_joined: true,
        legend: Some(legends::machine),
        ..COLUMN
    },
    Column {
        name: "switches",
        value: |cell| cell.context_switches_per_message,
        unit: figures::count,
        patterns: is_closed,
        figures: Room::Rank(220),
        costs: Room::Rank(60),
        is_listed: true,
        word_after: "energy",
        meaning: "context switches of both sides per message; near 0, neither side slept",
        advice: "on two CPUs, expect one for each message that wakes the peer",
        csv_after: "syscalls_per_message",
        csv: &[
            float("context_switches_per_message", "/context_switches_per_message"),
            float("voluntary_switches_per_message", "/voluntary_switches_per_message"),
        ],
        ..COLUMN
    },
    Column {
        name: "preempted",
        value: |cell| cell.involuntary_switches_per_message,
        unit: figures::count,
        costs: Room::Rank(80),
        meaning: "involuntary context switches per message; for a program, per round",
        advice: "look for other work on the CPUs",
        csv: &[float("involuntary_switches_per_message", "/involuntary_switches_per_message")],
        ..COLUMN
    },
    Column {
        name: "run delay",
        value: |cell| {
            let scheduled = cell.scheduled.as_ref()?;
            let ends = [&scheduled.lead, &scheduled.follow];
            ends.into_iter()
                .filter_map(|end| end.run_delay_per_wakeup_ns.as_ref()?.value)
                .reduce(f64::max)
        },
        is_shown: |chapter, _| chapter.has(|cell| cell.scheduled.is_some()),
        figures: Room::Rank(35),
        costs: Room::Rank(85),
        meaning: "time ready but not running per voluntary context switch, waits after a preemption included, for the side with the longer delay",
        advice: "ask for a class, nice value or weight that shortens it: ipcperf run --sched, --nice, --cgroup-weight",
        csv: &[
            text("lead_class", "/scheduled/lead/class"),
            count("lead_nice", "/scheduled/lead/nice"),
            count("lead_cgroup_weight", "/scheduled/lead/cgroup_weight"),
            float("lead_run_delay_per_wakeup_ns", "/scheduled/lead/run_delay_per_wakeup_ns/value"),
            float(
                "lead_run_delay_per_wakeup_low_ns",
                "/scheduled/lead/run_delay_per_wakeup_ns/ci95/0",
            ),
            float(
                "lead_run_delay_per_wakeup_high_ns",
                "/scheduled/lead/run_delay_per_wakeup_ns/ci95/1",
            ),
            text("follow_class", "/scheduled/follow/class"),
            count("follow_nice", "/scheduled/follow/nice"),
            count("follow_cgroup_weight", "/scheduled/follow/cgroup_weight"),
            float(
                "follow_run_delay_per_wakeup_ns",
                "/scheduled/follow/run_delay_per_wakeup_ns/value",
            ),
            float(
                "follow_run_delay_per_wakeup_low_ns",
                "/scheduled/follow/run_delay_per_wakeup_ns/ci95/0",
            ),
            float(
                "follow_run_delay_per_wakeup_high_ns",
                "/scheduled/follow/run_delay_per_wakeup_ns/ci95/1",
            ),
        ],
        ..COLUMN
    },
    Column {
        name: "faults",
        value: |cell| cell.page_faults_per_message,
        unit: figures::count,
        costs: Room::Rank(70),
        word_after: "waits",
        meaning: "page faults per message",
        advice: "expect some if memory is allocated for each message",
        csv: &[float("page_faults_per_message", "/page_faults_per_message")],
        ..COLUMN
    },
    Column {
        name: "IPIs",
        value: |cell| cell.ipis_per_message,
        unit: figures::count,
        patterns: is_counted,
        figures: Room::Rank(250),
        costs: Room::Rank(110),
        meaning: "interrupts between CPUs per message",
        advice: "look at wake-ups across CPUs, which need them",
        csv: &[float("ipis_per_message", "/ipis_per_message")],
        ..COLUMN
    },
    Column {
        name: "syscalls",
        value: |cell| cell.syscalls_per_message,
        unit: figures::count,
        patterns: is_counted,
        figures: Room::Rank(260),
        costs: Room::Rank(90),
        meaning: "system calls of both sides per message",
        advice: "see each of them: ipcperf run --time-calls",
        csv_after: "energy_nj_per_message",
        csv: &[float("syscalls_per_message", "/syscalls_per_message")],
        ..COLUMN
    },
    Column {
        name: "energy",
        value: |cell| cell.energy_nj_per_message.as_ref()?.value,
        unit: figures::nanojoules,
        costs: Room::Rank(100),
        word_after: "machine",
        meaning: "package energy per message, if the machine reports it",
        advice: "compare it only on a quiet machine",
        csv_after: "machine_cpu_ns_per_message",
        csv: &[float("energy_nj_per_message", "/energy_nj_per_message/value")],
        ..COLUMN
    },
    // The primary metric, in a table of CPU time.
    Column {
        name: "figure",
        head: Some(|chapter, _| heads::time_or(chapter, "p50", "rate")),
        is_drawn: true,
        text: Some(texts::figure),
        second: texts::figure_of_other_mode,
        costs: Room::Rank(50),
        ..COLUMN
    },
];
