//! How the kernels of two documents schedule, as what confounds a difference between them.

use super::*;
use ipcperf_judge::factor_names;

/// A change of a kernel, the factor that it is, and the words for it before and after.
type KernelFact = (fn(&mut Kernel), &'static str, [&'static str; 2]);

#[test]
fn each_fact_of_the_kernel_confounds_by_its_name_where_both_documents_have_it() {
    let side = |nanos| sample::set(vec![around("pipe", nanos, 0.01)]);
    let old = [sample::recorded("old.json", &sample::without_scheduling(side(10_000.0)))];
    let [mut whole, mut new] =
        [10_000.0, 20_000.0].map(|ns| [sample::recorded("x.json", &side(ns))]);
    for one in [&mut whole, &mut new] {
        let sysctl = &mut one[0].set.kernel.sysctl;
        sysctl.insert("kernel.sched_rt_runtime_us".to_owned(), "950000".to_owned());
    }
    let differ = |a: &[Recorded], b: &[Recorded]| files(a, b).confounded_by;
    assert!(differ(&old, &new).is_empty(), "the older document has none of them");
    assert!(differ(&whole, &new).is_empty());
    let facts: [KernelFact; 7] = [
        (|k| k.preemption = Some("none".to_owned()), "preemption", ["full", "none"]),
        (|k| k.sched_ext = Some("lavd".to_owned()), "sched-ext", ["disabled", "lavd"]),
        (|k| k.autogroup = Some(false), "autogroup", ["on", "off"]),
        (|k| k.hz = Some(1000), "hz", ["250", "1000"]),
        (|k| k.shmem_huge_pages = Some("force".to_owned()), "shmem-huge-pages", ["never", "force"]),
        (
            |k| {
                k.sched_features.insert("HRTICK".to_owned(), true);
            },
            "sched-features",
            ["HRTICK: off", "HRTICK: on"],
        ),
        (
            |k| {
                k.sysctl.insert("kernel.sched_rt_runtime_us".to_owned(), "-1".to_owned());
            },
            "rt-runtime",
            ["950000", "-1"],
        ),
    ];
    for (change, name, words) in facts {
        let mut other = new.clone();
        change(&mut other[0].set.kernel);
        assert!(differ(&old, &other).is_empty(), "{name}");
        let document = files(&whole, &other);
        assert_eq!(document.confounded_by, [name]);
        assert_eq!(document.factors[name], words);
        let expected = Terms { factors: vec![name.to_owned()], ..terms() };
        let document = compare_files(&whole, &other, &expected).expect("comparable");
        assert!(document.confounded_by.is_empty(), "{name}");
        assert!(factor_names().contains(&name));
    }
}

#[test]
fn a_model_that_can_change_and_a_feature_that_a_kernel_lacks_confound_nothing() {
    let of = |change: fn(&mut Kernel)| {
        let mut set = sample::small();
        set.kernel.preemption = Some("full".to_owned());
        let features = ["HRTICK", "PLACE_LAG"].map(|name| (name.to_owned(), true));
        set.kernel.sched_features = features.into();
        change(&mut set.kernel);
        set
    };
    let one = of(|_| ());
    let unknown = of(|kernel| kernel.preemption = Some("dynamic".to_owned()));
    let newer = of(|kernel| {
        kernel.sched_features.remove("HRTICK");
        kernel.sched_features.insert("RUN_TO_PARITY".to_owned(), true);
    });
    for other in [&unknown, &newer] {
        assert_eq!(differences(&[&one], &[other], Class::Factor), Differences::new());
        assert_eq!(changes(&facts(&one), &facts(other)), Differences::new());
    }
    let changed = of(|kernel| {
        kernel.sched_features = [("PLACE_LAG".to_owned(), false)].into();
    });
    let found = differences(&[&one, &newer], &[&changed], Class::Factor);
    assert_eq!(found["sched-features"], ["PLACE_LAG: on", "PLACE_LAG: off"]);
}
