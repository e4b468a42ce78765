//! What recorded files say, and what is not concluded from those that are missing.

use super::*;
use std::fs;

const NOTHING: Sources<'_> = Sources {
    switch: None,
    is_realtime: false,
    version: "",
    release: "",
    command_line: "",
    configuration: None,
};

/// A file of sched_ext.
fn extension(path: &str) -> String {
    format!("sys/kernel/sched_ext/{path}")
}

/// A kernel whose model can change, as `/proc/version` has it.
const SWITCHED: &str =
    "Linux version 6.18.44 (builder@host) (gcc (GCC) 15.3.0) #1 SMP PREEMPT_DYNAMIC Mon Jan 1";

#[test]
fn the_present_model_is_the_one_in_parentheses() {
    let of = |text| preemption(&Sources { switch: Some(text), version: SWITCHED, ..NOTHING });
    assert_eq!(of("none voluntary (full) lazy"), Some("full"));
    assert_eq!(of("(none) voluntary full"), Some("none"));
    assert_eq!(of("none voluntary full (lazy)"), Some("lazy"));
    assert_eq!(of("none (a new one)"), None);
    // It may have changed since the kernel was booted.
    let changed = Sources {
        switch: Some("none (voluntary) full"),
        command_line: "quiet preempt=full",
        ..NOTHING
    };
    assert_eq!(preemption(&changed), Some("voluntary"));
}

#[test]
fn a_model_that_can_change_is_that_of_the_boot_or_unknown() {
    let of = |command_line, configuration| {
        preemption(&Sources { version: SWITCHED, command_line, configuration, ..NOTHING })
    };
    let built = Some("# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250");
    assert_eq!(of("quiet", None), Some("dynamic"));
    assert_eq!(of("quiet", Some("CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPTION=y")), Some("dynamic"));
    assert_eq!(of("quiet", built), Some("voluntary"));
    assert_eq!(of("quiet preempt=lazy panic=1", built), Some("lazy"));
    assert_eq!(of("preempt=none preempt=full", built), Some("full"));
    assert_eq!(of("preempt=sometimes", built), Some("voluntary"));
    assert_eq!(of("quiet -- preempt=full", built), Some("voluntary"));
    assert_eq!(of("nopreempt=full", None), Some("dynamic"));
}

#[test]
fn a_model_that_cannot_change_is_the_one_of_the_build() {
    let of = |version, release, configuration| {
        let command_line = "preempt=none";
        preemption(&Sources { version, release, command_line, configuration, ..NOTHING })
    };
    let version = "Linux version 6.1.0-13 (debian) #1 SMP PREEMPT Debian 6.1.55-1 (2023-09-29)";
    assert_eq!(of(version, "6.1.0-13-amd64", None), Some("full"));
    assert_eq!(of(version, "6.13.2", None), None, "this may be lazy");
    assert_eq!(of(version, "6.13.2", Some("CONFIG_PREEMPT_LAZY=y\n")), Some("lazy"));
    assert_eq!(of(version, "rolling", None), None);
    let plain = "Linux version 5.14.0-1.el9.x86_64 (builder) #1 SMP Thu Nov 2";
    assert_eq!(of(plain, "5.14.0", None), None, "none or voluntary");
    assert_eq!(of(plain, "5.14.0", Some("CONFIG_PREEMPT_VOLUNTARY=y\n")), Some("voluntary"));
    let realtime = "Linux version 6.12.1-rt5 (builder) #1 SMP PREEMPT_RT Thu Nov 2";
    assert_eq!(of(realtime, "6.12.1-rt5", Some("CONFIG_PREEMPT_LAZY=y\n")), Some("rt"));
    assert_eq!(preemption(&Sources { is_realtime: true, ..NOTHING }), Some("rt"));
    assert_eq!(preemption(&NOTHING), None);
}

#[test]
fn the_tick_is_a_whole_number_per_second_or_unknown() {
    for (step, hz) in
        [(10_000_000, 100), (4_000_000, 250), (3_333_333, 300), (1_000_000, 1000), (976_563, 1024)]
    {
        assert_eq!(hz_of_step(step), Some(hz), "{step}");
    }
    for step in [0, 1, 3_000_000, 3_333_334, 1_000_000_000, u64::MAX] {
        assert_eq!(hz_of_step(step), None, "{step}");
    }
}

/// A machine with these files.
fn described(files: &[(&str, &str)], configuration: Option<&str>, step: Option<u64>) -> Kernel {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }
    let mut kernel = Kernel::default();
    describe(&mut kernel, root.path(), configuration, step);
    kernel
}

#[test]
fn every_file_is_read_where_the_kernel_has_it() {
    let kernel = described(
        &[
            ("proc/version", SWITCHED),
            ("proc/cmdline", "quiet preempt=lazy\n"),
            ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
            ("sys/kernel/sched_ext/state", "enabled\n"),
            (&extension(SCHEDULER), "lavd_1.0.17_x86_64\n"),
            ("sys/kernel/debug/sched/features", "PLACE_LAG NO_HRTICK NONTASK_CAPACITY \n"),
            (
                "sys/kernel/mm/transparent_hugepage/shmem_enabled",
                "always within_size [advise] never deny force\n",
            ),
        ],
        Some("CONFIG_HZ_300=y\nCONFIG_HZ=300\n"),
        None,
    );
    assert_eq!(kernel.preemption.as_deref(), Some("lazy"));
    assert_eq!(kernel.autogroup, Some(true));
    assert_eq!(kernel.sched_ext.as_deref(), Some("lavd_1.0.17_x86_64"));
    let features = [("HRTICK", false), ("NONTASK_CAPACITY", true), ("PLACE_LAG", true)]
        .map(|(name, is_on)| (name.to_owned(), is_on));
    assert_eq!(kernel.sched_features, features.into());
    assert_eq!(kernel.hz, Some(300));
    assert_eq!(kernel.shmem_huge_pages.as_deref(), Some("advise"));
    assert_eq!(
        kernel.scheduling(),
        "preemption lazy, 300 Hz, sched_ext lavd_1.0.17_x86_64, autogroup on, 3 features"
    );
}

#[test]
fn a_scheduler_has_its_name_its_state_or_none() {
    let of = |files: &[(&str, &str)]| described(files, None, None).sched_ext;
    let state = "sys/kernel/sched_ext/state";
    assert_eq!(of(&[(state, "disabled\n")]).as_deref(), Some("disabled"));
    let left = [(state, "disabled\n"), (&extension(SCHEDULER), "simple\n")];
    assert_eq!(of(&left).as_deref(), Some("disabled"));
    assert_eq!(of(&[(state, "enabling\n")]).as_deref(), Some("enabling"));
    assert_eq!(of(&[]), None);
    let before = ("sys/kernel/debug/sched_features", "NO_HRTICK\n");
    let features = described(&[before], None, None).sched_features;
    assert_eq!(features, [("HRTICK".to_owned(), false)].into());
}

#[test]
fn what_cannot_be_read_is_absent() {
    let empty = serde_json::to_value(Kernel::default()).expect("a document");
    let of = |files: &[(&str, &str)]| {
        serde_json::to_value(described(files, Some("CONFIG_HZ=fast\n"), Some(1)))
            .expect("a document")
    };
    assert_eq!(of(&[]), empty);
    assert_eq!(described(&[], None, None).scheduling(), "");
    let odd = [
        ("proc/sys/kernel/sched_autogroup_enabled", "maybe\n"),
        ("sys/kernel/sched_ext/state", "\n"),
        ("sys/kernel/mm/transparent_hugepage/shmem_enabled", "never\n"),
        ("sys/kernel/debug/sched/features", "\n"),
    ];
    assert_eq!(of(&odd), empty);
}

/// The coarse clocks are a way of their own to the same number, so that either is checked where both can be had.
#[test]
fn the_clock_and_the_configuration_of_this_kernel_agree() {
    let configuration = crate::accounting::configuration().unwrap_or_default();
    let built = option(&configuration, "CONFIG_HZ").and_then(|hz| hz.parse().ok());
    let measured = ipcperf_sys::clock::coarse_step_ns().and_then(hz_of_step);
    if built.is_some() && measured.is_some() {
        assert_eq!(measured, built);
    }
}
