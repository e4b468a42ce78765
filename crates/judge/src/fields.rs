//! What two documents must have in common to be compared, what confounds a difference between them, and what is of no
//! account. One row for each.

use ipcperf_core::map_of;
use ipcperf_core::result::{self, ResultSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What it means if two documents differ in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// They cannot be compared.
    Hard,
    /// It may be the reason of a difference by itself.
    Factor,
}

/// One field. Those that are in no row are of no account: when, which seed, how much memory.
pub(crate) struct Field {
    /// The word for it, on the command line too.
    pub name: &'static str,
    pub class: Class,
    /// What a document has there, part by part.
    of: fn(&ResultSet) -> Parts,
}

const fn hard(name: &'static str, of: fn(&ResultSet) -> Parts) -> Field {
    Field { name, class: Class::Hard, of }
}

const fn factor(name: &'static str, of: fn(&ResultSet) -> Parts) -> Field {
    Field { name, class: Class::Factor, of }
}

/// What a document has in one field.
pub(crate) type Parts = BTreeMap<String, String>;

/// What a document has in every field, by its name.
pub type Facts = BTreeMap<String, Parts>;

/// A field of one part.
fn one(value: impl fmt::Display) -> Parts {
    [(String::new(), value.to_string())].into()
}

/// A part that a document may lack.
fn or_none(value: Option<&String>) -> Parts {
    one(value.map_or("none", String::as_str))
}

/// A part that is absent where it is not known.
fn if_known(value: Option<impl fmt::Display>) -> Parts {
    value.map(one).unwrap_or_default()
}

const fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// What the build says of these keys.
fn build(set: &ResultSet, is_wanted: impl Fn(&str) -> bool) -> Parts {
    let facts = set.tool.build.iter().filter(|(key, _)| is_wanted(key));
    map_of(facts.map(|(key, value)| (key.clone(), value.clone())))
}

/// Keys of the build that say whether the program itself was optimised: without that it measures itself.
const OPTIMISATION: [&str; 2] = ["debug_assertions", "opt_level"];

/// The key of the build that says how the timed loops enter the kernel, and its value for builds that lack the key.
const ROUTE: (&str, &str) = ("syscall_route", "inline assembly");

/// The price of a first return; older builds did not measure it.
const RETURN: &str = "return";

/// Prices of a first return that are equal as far as this is known: within so many ns, or this share of the larger. Eight in
/// ten of 175 runs on one busy machine lay between 260 and 725 ns, with a median of 483.
const NEAR: (f64, f64) = (200.0, 0.75);

/// Older builds did not write it, and some machines do not tell.
const MICROCODE: &str = "microcode";

/// The label; most documents have none.
const HOST: &str = "host";

const PREEMPTION: &str = "preemption";
const SCHED_EXT: &str = "sched-ext";
const AUTOGROUP: &str = "autogroup";
const SCHED_FEATURES: &str = "sched-features";
const HZ: &str = "hz";
const SHMEM_HUGE_PAGES: &str = "shmem-huge-pages";
const RT_RUNTIME: &str = "rt-runtime";

/// Fields that a document may lack since its build was older, its machine does not say it or its user did not. Nothing can
/// be said of what is lacking.
const OPTIONAL: [&str; 10] = [
    MICROCODE,
    HOST,
    PREEMPTION,
    SCHED_EXT,
    AUTOGROUP,
    SCHED_FEATURES,
    HZ,
    SHMEM_HUGE_PAGES,
    RT_RUNTIME,
    RETURN,
];

pub(crate) const FIELDS: &[Field] = &[
    hard("architecture", |set| one(&set.host.arch)),
    hard("optimisation", |set| build(set, |key| OPTIMISATION.contains(&key))),
    factor("tool", |set| {
        let mut facts = build(set, |key| !OPTIMISATION.contains(&key) && key != ROUTE.0);
        facts.insert("version".to_owned(), set.tool.version.clone());
        facts
    }),
    factor("kernel", |set| one(format!("{} {}", set.kernel.release, set.kernel.version))),
    factor("mitigations", |set| set.kernel.mitigations.clone()),
    // The limit of real-time programs has a name of its own.
    factor("sysctl", |set| {
        let rest = set.kernel.sysctl.iter().filter(|(name, _)| *name != result::RT_RUNTIME);
        map_of(rest.map(|(name, value)| (name.clone(), value.clone())))
    }),
    factor(PREEMPTION, |set| {
        // That it can change says nothing of what it is.
        let model = set.kernel.preemption.as_ref();
        if_known(model.filter(|model| *model != result::DYNAMIC))
    }),
    factor(SCHED_EXT, |set| if_known(set.kernel.sched_ext.as_ref())),
    factor(AUTOGROUP, |set| if_known(set.kernel.autogroup.map(on_off))),
    factor(SCHED_FEATURES, |set| {
        let features = set.kernel.sched_features.iter();
        map_of(features.map(|(name, is_on)| (name.clone(), on_off(*is_on).to_owned())))
    }),
    factor(HZ, |set| if_known(set.kernel.hz)),
    factor(SHMEM_HUGE_PAGES, |set| if_known(set.kernel.shmem_huge_pages.as_ref())),
    factor(RT_RUNTIME, |set| if_known(set.kernel.rt_runtime_us())),
    factor("loopback", |set| set.kernel.loopback.clone()),
    factor("quota", |set| set.kernel.quotas.clone()),
    factor("accounting", |set| one(&set.kernel.cpu_accounting)),
    factor(HOST, |set| if_known(set.origin.host())),
    factor("cpu", |set| one(&set.host.cpu_model)),
    factor(MICROCODE, |set| if_known(set.host.microcode.as_ref())),
    factor("topology", |set| {
        let host = &set.host;
        let (cpus, cores) = (host.cpus_allowed.len(), host.cores);
        let (caches, nodes) = (host.last_level_caches, host.nodes);
        let kinds = host.core_kinds.iter();
        let kinds = kinds.map(|kind| format!(", {} of {}", kind.cpus.len(), kind.name));
        let kinds: String = kinds.collect();
        one(format!("{cpus} CPUs, {cores} cores, {caches} last-level caches, {nodes} nodes{kinds}"))
    }),
    factor("hypervisor", |set| or_none(set.host.hypervisor.as_ref())),
    factor("container", |set| or_none(set.host.container.as_ref())),
    factor("cpu-limit", |set| or_none(set.host.cpu_limit.as_ref())),
    factor("frequency", |set| or_none(set.host.frequency.as_ref())),
    factor("idle", |set| or_none(set.host.idle.as_ref())),
    factor("clock", |set| one(&set.clock.source)),
    factor("slice", |set| {
        let plan = &set.invocation.plan;
        let time = |ms: f64| format!("{ms:.1} ms");
        let counted = |count: u64, what: &str| ipcperf_core::text::counted(count, what);
        let slice = plan.samples.map_or_else(|| time(plan.slice_ms), |one| counted(one, "sample"));
        let warmup = plan.warmup_operations;
        let warmup = warmup.map_or_else(|| time(plan.warmup_ms), |one| counted(one, "operation"));
        let batch = plan.batch.filter(|batch| *batch > 1);
        let batch = batch.map(|batch| format!(" in batches of {batch}")).unwrap_or_default();
        one(format!("{slice}{batch} after {warmup} of warm-up"))
    }),
    factor("calls", |set| one(set.tool.build.get(ROUTE.0).map_or(ROUTE.1, String::as_str))),
    factor(RETURN, |set| {
        let price = set.bounds.return_after_switch_ns.as_ref();
        price.map(|price| one(format!("{:.0} ns", price.median.max(0.0)))).unwrap_or_default()
    }),
];

/// The words for what may differ between two documents and still be compared.
#[must_use]
pub fn factor_names() -> Vec<&'static str> {
    let factors = FIELDS.iter().filter(|field| field.class == Class::Factor);
    factors.map(|field| field.name).collect()
}

/// What differs, by name: what it is of A and of B.
pub type Differences = BTreeMap<String, [String; 2]>;

/// Two sets of documents that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomparable(pub Differences);

impl fmt::Display for Incomparable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.0.iter().map(|(name, [a, b])| format!("{name} ({a} and {b})"));
        let all: Vec<String> = told.collect();
        write!(out, "these results cannot be compared: they differ in {}", all.join(", "))
    }
}

impl std::error::Error for Incomparable {}

/// What differs in fields of one class between documents A and B, or among those of one side.
pub fn differences(a: &[&ResultSet], b: &[&ResultSet], class: Class) -> Differences {
    let fields = FIELDS.iter().filter(|field| field.class == class);
    map_of(fields.filter_map(|field| Some((field.name.to_owned(), difference(field, a, b)?))))
}

/// Whether a document says nothing in this field.
fn is_unsaid(field: &str, parts: &Parts) -> bool {
    OPTIONAL.contains(&field) && parts.is_empty()
}

/// Whether figures of this field are so near each other that they are one.
fn are_near(field: &str, all: &[&BTreeSet<Parts>]) -> bool {
    let number = |text: &String| text.split(' ').next()?.parse::<f64>().ok();
    let found: Vec<f64> = match field {
        RETURN => {
            let texts = all.iter().flat_map(|side| side.iter()).flat_map(BTreeMap::values);
            texts.filter_map(number).collect()
        }
        _ => return false,
    };
    let ends = found
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |ends, one| (ends.0.min(*one), ends.1.max(*one)));
    ends.1 - ends.0 <= NEAR.0.max(NEAR.1 * ends.1)
}

/// What a document has in every field.
pub fn facts(set: &ResultSet) -> Facts {
    map_of(FIELDS.iter().map(|field| (field.name.to_owned(), (field.of)(set))))
}

/// What differs between the facts of two documents, by name of the field.
pub fn changes(before: &Facts, after: &Facts) -> Differences {
    let both = before.iter().filter_map(|(name, parts)| Some((name, parts, after.get(name)?)));
    let change = |(name, a, b): (&String, &Parts, &Parts)| {
        let is_said = ![a, b].into_iter().any(|parts| is_unsaid(name, parts));
        let sides = is_said.then(|| sides(name, &[a.clone()].into(), &[b.clone()].into()))?;
        Some((name.clone(), sides?))
    };
    map_of(both.filter_map(change))
}

fn difference(field: &Field, a: &[&ResultSet], b: &[&ResultSet]) -> Option<[String; 2]> {
    let values = |sets: &[&ResultSet]| {
        let all = sets.iter().map(|set| (field.of)(set));
        all.filter(|parts| !is_unsaid(field.name, parts)).collect()
    };
    sides(field.name, &values(a), &values(b))
}

/// What differs among the values of one field of A and of B.
fn sides(field: &str, a: &BTreeSet<Parts>, b: &BTreeSet<Parts>) -> Option<[String; 2]> {
    let all: BTreeSet<_> = a.union(b).collect();
    if all.len() < 2 || are_near(field, &[a, b]) {
        return None;
    }
    // Only the parts that are not the same everywhere.
    let keys: BTreeSet<&String> = all.iter().flat_map(|parts| parts.keys()).collect();
    // Nor a part that a kernel does not have, where nothing is said of what is lacking.
    let is_optional = OPTIONAL.contains(&field);
    let differs = |key: &&String| {
        let values = all.iter().map(|parts| parts.get(*key));
        values.filter(|value| value.is_some() || !is_optional).collect::<BTreeSet<_>>().len() > 1
    };
    let keys: Vec<&String> = keys.into_iter().filter(differs).collect();
    if keys.is_empty() {
        return None;
    }
    let words = |parts: &Parts| {
        let part = |key: &&String| {
            let value = parts.get(*key).map(String::as_str);
            let value = if is_optional { value } else { value.or(Some("none")) }?;
            Some(if key.is_empty() { value.to_owned() } else { format!("{key}: {value}") })
        };
        keys.iter().filter_map(part).collect::<Vec<_>>().join(", ")
    };
    let side = |values: &BTreeSet<Parts>| {
        let found = values.iter().map(words).filter(|words| !words.is_empty());
        let found: BTreeSet<String> = found.collect();
        match found.is_empty() {
            true => "not known".to_owned(),
            false => found.into_iter().collect::<Vec<_>>().join(" / "),
        }
    };
    Some([side(a), side(b)])
}
