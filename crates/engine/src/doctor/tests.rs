//! Machines described by files, and the doctor's report on them.

use super::standing::{Files, checks};
use super::*;
use ipcperf_core::result::{Rating, Severity};
use std::path::Path;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::fs::write(path, text).expect("written");
    }
}

/// A machine with nothing to complain of.
fn good() -> (Host, Kernel, Vec<(&'static str, &'static str)>) {
    let host = Host {
        cpus_online: vec![0, 1],
        cpus_allowed: vec![0, 1],
        frequency: Some("intel_pstate, performance".into()),
        idle: Some("intel_idle, menu".into()),
        ..Host::default()
    };
    let mut kernel = Kernel::default();
    kernel.sysctl.insert("kernel.randomize_va_space".into(), "2".into());
    kernel.mitigations.insert("meltdown".into(), "Not affected".into());
    kernel.sched_ext = Some("disabled".into());
    let loopback = [("mtu", "65536"), ("qdisc", "noqueue"), ("filters", "0")];
    kernel.loopback = loopback.map(|(name, value)| (name.into(), value.into())).into();
    let files = vec![
        ("sys/devices/system/cpu/smt/active", "0\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/cpu/isolated", "1\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("proc/self/status", "Name:\tx\nSeccomp:\t0\n"),
        (
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n",
        ),
        ("proc/sys/kernel/io_uring_disabled", "0\n"),
        ("dev/shm/x", ""),
    ];
    (host, kernel, files)
}

/// The checks of the good machine after something was done to it.
fn after(
    change: impl FnOnce(&mut Host, &mut Kernel, &mut Vec<(&'static str, &'static str)>),
) -> Vec<Check> {
    let (mut host, mut kernel, mut files) = good();
    change(&mut host, &mut kernel, &mut files);
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), &files);
    checks(&Files::below(root.path()), &host, &kernel)
}

/// What is not fine: code and rating.
fn complaints(checks: &[Check]) -> Vec<(&'static str, Rating)> {
    let not_fine = checks.iter().filter(|check| check.rating != Rating::Fine);
    not_fine.map(|check| (check.code, check.rating)).collect()
}

#[test]
fn a_good_machine_has_no_complaints_and_no_findings() {
    let checks = after(|_, _, _| ());
    // The free room of /dev/shm is that of the machine that tests.
    let rest: Vec<_> = complaints(&checks).into_iter().filter(|(code, _)| *code != "SHM").collect();
    assert_eq!(rest, []);
    assert!(
        checks.iter().filter(|check| check.code != "SHM").all(|check| check.finding().is_none())
    );
}

type Change = fn(&mut Host, &mut Kernel, &mut Vec<(&'static str, &'static str)>);

#[test]
fn each_defect_is_told_by_its_check_alone() {
    let defects: [(&str, Rating, Change); 25] = [
        ("VM", Rating::Note, |host, _, _| host.hypervisor = Some("KVM".into())),
        ("CONTAINER", Rating::Note, |host, _, _| host.container = Some("docker".into())),
        ("CPUS", Rating::Warning, |host, _, _| host.cpus_allowed = vec![1]),
        ("CPUS", Rating::Note, |host, _, _| host.cpus_online = vec![0, 1, 2]),
        ("SMT", Rating::Note, |_, _, files| files.push(("sys/devices/system/cpu/smt/active", "1"))),
        ("FREQUENCY", Rating::Note, |host, _, _| host.frequency = None),
        ("FREQUENCY", Rating::Warning, |host, _, _| {
            host.frequency = Some("acpi-cpufreq, powersave".into());
        }),
        ("TURBO", Rating::Note, |_, _, files| {
            files.push(("sys/devices/system/cpu/intel_pstate/no_turbo", "0"));
        }),
        ("IDLE", Rating::Note, |_, _, files| {
            files.push(("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C6"));
            files.push(("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133"));
        }),
        ("ISOLATION", Rating::Note, |_, _, files| {
            files.push(("sys/devices/system/cpu/isolated", "\n"));
        }),
        ("HUGEPAGES", Rating::Note, |_, _, files| {
            files.push(("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"));
        }),
        ("SCHEDULER", Rating::Note, |_, kernel, _| {
            kernel.sched_ext = Some("lavd_1.0.17_x86_64".into());
        }),
        ("MITIGATIONS", Rating::Note, |_, kernel, _| {
            kernel.mitigations.insert("spectre_v2".into(), "Mitigation: Retpolines".into());
        }),
        ("ASLR", Rating::Warning, |_, kernel, _| {
            kernel.sysctl.insert("kernel.randomize_va_space".into(), "0".into());
        }),
        ("CPULIMIT", Rating::Warning, |host, _, _| host.cpu_limit = Some("50000 100000".into())),
        ("SECCOMP", Rating::Note, |_, _, files| files.push(("proc/self/status", "Seccomp:\t2"))),
        ("LIMITS", Rating::Warning, |_, _, files| {
            files.push(("proc/self/limits", "Max open files  20  20  files"));
        }),
        ("LIMITS", Rating::Warning, |_, _, files| {
            files.push(("proc/self/limits", "Max locked memory  65536  65536  bytes"));
        }),
        ("LIMITS", Rating::Warning, |_, _, files| {
            files.push(("proc/self/cgroup", "0::/a/b"));
            files.push(("sys/fs/cgroup/a/b/memory.max", "max"));
            files.push(("sys/fs/cgroup/a/memory.max", "67108864"));
        }),
        ("LIMITS", Rating::Warning, |_, _, files| {
            files.push(("proc/self/cgroup", "0::/a"));
            files.push(("sys/fs/cgroup/a/pids.max", "20"));
        }),
        ("LIMITS", Rating::Warning, |_, _, files| {
            files.push(("proc/self/cgroup", "8:pids:/a\n4:memory:/b\n0::/"));
            files.push(("sys/fs/cgroup/pids/a/pids.max", "20"));
            files.push(("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "9223372036854771712"));
        }),
        ("SYSCTL", Rating::Warning, |_, _, files| {
            files.push(("proc/sys/kernel/msgmni", "16"));
        }),
        ("URING", Rating::Warning, |_, _, files| {
            files.push(("proc/sys/kernel/io_uring_disabled", "2"));
        }),
        ("LOOPBACK", Rating::Warning, |_, kernel, _| {
            kernel.loopback.insert("qdisc".into(), "tbf".into());
        }),
        ("LOOPBACK", Rating::Warning, |_, kernel, _| {
            kernel.loopback.insert("filters".into(), "2".into());
        }),
    ];
    for (code, rating, change) in defects {
        let checks = after(change);
        let mut found = complaints(&checks);
        found.retain(|(code, _)| *code != "SHM");
        // An idle CPU of a guest goes back to its host, which is told beside the machine itself.
        found.retain(|(other, _)| !(code == "VM" && *other == "IDLE"));
        assert_eq!(found, [(code, rating)]);
        let check = checks.iter().find(|check| check.code == code).expect("the check");
        assert!(
            [&check.consequence, &check.found, &check.remedy].iter().all(|text| !text.is_empty()),
            "{check:?}"
        );
        assert!(!check.remedy.contains("ipcperf run --"), "no mechanism is named: {check:?}");
        let finding = check.finding().expect("a finding");
        let severity = if rating == Rating::Warning { Severity::Warning } else { Severity::Info };
        assert_eq!((finding.severity, &finding.code[2..]), (severity, code));
    }
}

#[test]
fn a_remedy_is_of_the_limits_that_are_tight_and_of_no_other() {
    let of = |files: &[(&'static str, &'static str)]| {
        let checks = after(|_, _, all| all.extend(files));
        checks.into_iter().find(|check| check.code == "LIMITS").expect("the check").remedy
    };
    let (limits, groups) = ("proc/self/limits", "proc/self/cgroup");
    let lines = "Max open files  20000  20000  files\nMax locked memory  65536  65536  bytes";
    assert_eq!(of(&[(limits, lines)]), "ulimit -l 8192");
    let lines = "Max open files  20  20  files\nMax processes  9  9  processes";
    assert_eq!(of(&[(limits, lines)]), "ulimit -n 1024 -u 1024");
    let pids = [(groups, "8:pids:/a"), ("sys/fs/cgroup/pids/a/pids.max", "20")];
    assert_eq!(of(&pids), "echo max > /sys/fs/cgroup/pids/a/pids.max");
    let memory =
        [(groups, "4:memory:/a"), ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864")];
    assert_eq!(of(&memory), "echo -1 > /sys/fs/cgroup/memory/a/memory.limit_in_bytes");
}

#[test]
fn a_setting_below_its_default_is_named_with_its_value() {
    let checks = after(|_, kernel, _| {
        kernel.sysctl.insert("fs.mqueue.msgsize_max".into(), "1024".into());
        kernel.sysctl.insert("kernel.msgmax".into(), "8192".into());
    });
    let check = checks.iter().find(|check| check.code == "SYSCTL").expect("the check");
    assert_eq!(check.rating, Rating::Warning);
    assert!(check.consequence.contains("fs.mqueue.msgsize_max=1024"), "{}", check.consequence);
    assert!(!check.consequence.contains("kernel.msgmax"), "{}", check.consequence);
    assert_eq!(check.remedy, "sysctl -w fs.mqueue.msgsize_max=8192");
}

#[test]
fn how_the_kernel_schedules_is_said_as_far_as_it_is_known() {
    let checks = after(|_, kernel, _| {
        kernel.preemption = Some("lazy".into());
        (kernel.hz, kernel.autogroup) = (Some(250), Some(false));
        kernel.sched_features = [("HRTICK".into(), false), ("PLACE_LAG".into(), true)].into();
        kernel.sysctl.insert("kernel.sched_rt_runtime_us".into(), "-1".into());
        kernel.shmem_huge_pages = Some("advise".into());
    });
    let found = |code| checks.iter().find(|check| check.code == code).expect("the check");
    let words = "preemption lazy, 250 Hz, sched_ext disabled, autogroup off, 2 features, no real-time limit";
    assert_eq!(
        (found("SCHEDULER").found.as_str(), found("SCHEDULER").rating),
        (words, Rating::Fine)
    );
    assert_eq!(found("HUGEPAGES").found, "madvise; shared memory: advise");
}

#[test]
fn without_any_file_nothing_is_made_up() {
    let root = tempfile::tempdir().expect("a directory");
    let checks = checks(&Files::below(root.path()), &Host::default(), &Kernel::default());
    let shared = checks.iter().find(|check| check.code == "SHM").expect("the check");
    assert_eq!((shared.found.as_str(), shared.rating), ("missing", Rating::Warning));
    let filter = checks.iter().find(|check| check.code == "SECCOMP").expect("the check");
    assert_eq!((filter.found.as_str(), filter.rating), ("not visible", Rating::Fine));
    assert!(checks.iter().all(|check| check.code != "SCHEDULER"));
}

#[test]
fn the_grade_is_the_worst_of_what_decides_it_and_noise_never_improves_it() {
    let quiet = moving::Moving { stolen: Some(0.0), busy_cpus: Some(0.0), ..Default::default() };
    let host = Host { cpus_online: vec![0, 1], ..Host::default() };
    let (centre, tail) = fitness(&quiet, &host);
    assert_eq!((centre.grade.as_str(), tail.grade.as_str()), ("A", "A"));
    let gaps = |share| vec![moving::Gaps { cpu: 0, share, per_second: 1.0, longest_ns: 1e6 }];
    let interrupted = moving::Moving { gaps: gaps(0.02), ..quiet };
    let (centre, tail) = fitness(&interrupted, &host);
    assert_eq!((centre.grade.as_str(), tail.grade.as_str()), ("A", "C"));
    assert!(tail.because.contains("2.0 %"), "{}", tail.because);
    let mut last = 'A';
    for stolen in [0.0, 0.005, 0.02, 0.1, 0.5] {
        let moving = moving::Moving { stolen: Some(stolen), gaps: gaps(0.0), ..Default::default() };
        let (centre, _) = fitness(&moving, &host);
        let grade = centre.grade.chars().next().expect("a grade");
        assert!(grade >= last && centre.because.contains("steal"), "{centre:?}");
        last = grade;
    }
    assert_eq!(last, 'F');
    let (unknown, _) = fitness(&moving::Moving::default(), &host);
    assert_eq!(unknown.grade, "unknown");
}
