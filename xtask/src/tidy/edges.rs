//! The dependency table: who may know whom. It is what makes the sentence of each crate true.

use cargo_metadata::{DependencyKind, Metadata};

use super::file::Violation;

/// A dependency of a workspace package that its users build, too.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Built under `--cfg loom` only, that is, never shipped.
    pub(crate) loom_only: bool,
    /// Takes the simulated host along, which is for tests.
    pub(crate) is_for_tests: bool,
}

/// What a workspace package may depend on.
struct Allowed {
    package: &'static str,
    /// Workspace packages.
    inside: &'static [&'static str],
    /// Packages from elsewhere; `None` leaves them to the review of Cargo.toml.
    outside: Option<&'static [&'static str]>,
}

/// What the crate of questions may know: no other command, and no mechanism.
const COMMANDS: &[&str] = &[
    "ipcperf-core",
    "ipcperf-engine",
    "ipcperf-judge",
    "ipcperf-kit",
    "ipcperf-packed",
    "ipcperf-render",
    "ipcperf-stats",
    "ipcperf-sys",
];

/// What crates of further commands may know: the questions as well, whose screens of results and comparisons they show.
const MORE_COMMANDS: &[&str] = &[
    "ipcperf-ask",
    "ipcperf-core",
    "ipcperf-engine",
    "ipcperf-judge",
    "ipcperf-kit",
    "ipcperf-packed",
    "ipcperf-render",
    "ipcperf-stats",
    "ipcperf-sys",
];

/// The table of the architecture document. `ipcperf` knows everybody, and so does what tries all of it.
const TABLE: &[Allowed] = &[
    Allowed {
        package: "ipcperf-core",
        inside: &[],
        outside: Some(&["serde", "serde_json", "strsim", "schemars"]),
    },
    Allowed { package: "ipcperf-ring", inside: &[], outside: Some(&[]) },
    Allowed { package: "ipcperf-sys", inside: &["ipcperf-core", "ipcperf-ring"], outside: None },
    Allowed { package: "ipcperf-mech", inside: &["ipcperf-core", "ipcperf-sys"], outside: None },
    Allowed { package: "ipcperf-stats", inside: &["ipcperf-core"], outside: None },
    Allowed {
        package: "ipcperf-engine",
        inside: &["ipcperf-core", "ipcperf-sys", "ipcperf-stats"],
        outside: None,
    },
    Allowed {
        package: "ipcperf-builtin",
        inside: &["ipcperf-engine", "ipcperf-mech"],
        outside: Some(&[]),
    },
    Allowed { package: "ipcperf-render", inside: &["ipcperf-core"], outside: None },
    Allowed {
        package: "ipcperf-judge",
        inside: &["ipcperf-core", "ipcperf-stats"],
        outside: Some(&["serde", "serde_json"]),
    },
    Allowed { package: "ipcperf-packed", inside: &[], outside: Some(&["flate2"]) },
    Allowed {
        package: "ipcperf-kit",
        inside: &[
            "ipcperf-core",
            "ipcperf-engine",
            "ipcperf-judge",
            "ipcperf-render",
            "ipcperf-sys",
        ],
        outside: None,
    },
    Allowed { package: "ipcperf-ask", inside: COMMANDS, outside: None },
    Allowed {
        package: "ipcperf-plugin",
        inside: &[
            "ipcperf-conformance",
            "ipcperf-core",
            "ipcperf-engine",
            "ipcperf-kit",
            "ipcperf-sys",
        ],
        outside: None,
    },
    Allowed { package: "ipcperf-programs", inside: MORE_COMMANDS, outside: None },
    Allowed { package: "ipcperf-studies", inside: MORE_COMMANDS, outside: None },
    Allowed { package: "ipcperf-testing", inside: &["ipcperf-core"], outside: None },
    Allowed {
        package: "ipcperf-conformance",
        inside: &["ipcperf-core", "ipcperf-sys", "ipcperf-engine"],
        outside: None,
    },
    Allowed { package: "xtask", inside: &["ipcperf-stats"], outside: None },
];
const KNOW_EVERYBODY: [&str; 2] = ["ipcperf", "ipcperf-fuzz"];

/// Features that only tests may use.
const FOR_TESTS: [&str; 2] = ["simulate", "sample"];

/// Packages of the workspace and their edges, development dependencies left out.
pub(crate) fn from_metadata(metadata: &Metadata) -> (Vec<String>, Vec<Edge>) {
    let packages = metadata.workspace_packages();
    let edges = packages.iter().flat_map(|package| {
        let shipped = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
        shipped.map(|dependency| Edge {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            is_for_tests: dependency.features.iter().any(|one| FOR_TESTS.contains(&one.as_str())),
            loom_only: dependency.target.as_ref().is_some_and(|t| t.to_string() == "cfg(loom)"),
        })
    });
    (packages.iter().map(|package| package.name.to_string()).collect(), edges.collect())
}

/// Every edge that the table does not have.
pub(crate) fn check((packages, edges): &(Vec<String>, Vec<Edge>)) -> Vec<Violation> {
    let simulating = edges.iter().filter(|edge| edge.is_for_tests).map(|edge| {
        let what = format!("{} may simulate, or make results up, in tests only", edge.from);
        Violation::new("Cargo.toml", 0, what)
    });
    let mut violations: Vec<Violation> = simulating.collect();
    for package in packages.iter().filter(|package| !KNOW_EVERYBODY.contains(&package.as_str())) {
        let Some(allowed) = TABLE.iter().find(|allowed| allowed.package == package) else {
            let what = format!("package {package} is not in the dependency table");
            violations.push(Violation::new("Cargo.toml", 0, what));
            continue;
        };
        for edge in edges.iter().filter(|edge| edge.from == *package && !edge.loom_only) {
            let permitted = if packages.contains(&edge.to) {
                allowed.inside.contains(&edge.to.as_str())
            } else {
                allowed.outside.is_none_or(|outside| outside.contains(&edge.to.as_str()))
            };
            if !permitted {
                let what = format!("{package} may not depend on {}", edge.to);
                violations.push(Violation::new("Cargo.toml", 0, what));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_edge(from: &str, to: &str, loom_only: bool) -> Vec<Violation> {
        let edge =
            Edge { from: from.to_owned(), to: to.to_owned(), loom_only, is_for_tests: false };
        check_all(edge)
    }

    fn check_all(edge: Edge) -> Vec<Violation> {
        let packages = TABLE.iter().map(|allowed| allowed.package).chain(KNOW_EVERYBODY);
        check(&(packages.map(str::to_owned).collect(), vec![edge]))
    }

    #[test]
    fn only_tests_may_simulate() {
        let (from, to) = ("ipcperf".to_owned(), "ipcperf-engine".to_owned());
        let violations = check_all(Edge { from, to, loom_only: false, is_for_tests: true });
        assert_eq!(violations.len(), 1, "{violations:?}");
    }

    #[test]
    fn an_edge_of_the_table_is_permitted() {
        for (from, to) in [
            ("ipcperf-mech", "ipcperf-sys"),
            ("ipcperf-core", "serde"),
            ("ipcperf-sys", "libc"),
            ("ipcperf", "ipcperf-builtin"),
            ("ipcperf-builtin", "ipcperf-mech"),
            ("xtask", "ipcperf-stats"),
        ] {
            assert_eq!(check_edge(from, to, false), [], "{from} -> {to}");
        }
        assert_eq!(check_edge("ipcperf-ring", "loom", true), []);
    }

    #[test]
    fn any_other_edge_is_a_violation() {
        for (from, to) in [
            ("ipcperf-mech", "ipcperf-engine"),
            ("ipcperf-core", "libc"),
            ("ipcperf-ring", "loom"),
            ("ipcperf-engine", "ipcperf"),
            ("ipcperf-kit", "ipcperf-ask"),
            ("ipcperf-programs", "ipcperf-studies"),
            ("ipcperf-judge", "toml"),
            ("xtask", "ipcperf-core"),
        ] {
            assert_eq!(check_edge(from, to, false).len(), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn a_package_outside_the_table_is_a_violation() {
        assert_eq!(check(&(vec!["ipcperf-new".to_owned()], vec![])).len(), 1);
    }
}
