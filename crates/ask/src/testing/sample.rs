//! Results for tests, and a list of mechanisms.

use crate::list::table::ListRow;
use ipcperf_core::options::{Knob, KnobKind};
use ipcperf_core::{Limit, Missing};
pub(crate) use ipcperf_judge::sample::*;

/// All sample mechanisms; POSIX message queues are missing.
pub(crate) fn list() -> Vec<ListRow> {
    const SIZE: Knob = Knob {
        name: "size",
        help: "Capacity of each pipe.",
        kind: KnobKind::Bytes { min: 4096, max: 1 << 30 },
        default: "kernel default (64K)",
    };
    SPECS
        .iter()
        .map(|spec| ListRow {
            tried: true,
            spec,
            knobs: if spec.name == "pipe" { &[SIZE] } else { &[] },
            missing: (spec.name == "posix-mq").then(|| {
                Missing::new(
                    "no POSIX message queues in this kernel",
                    "boot a kernel with CONFIG_POSIX_MQUEUE",
                )
            }),
            limit: (spec.name == "posix-mq").then_some(Limit {
                bytes: 8192,
                set_by: "fs.mqueue.msgsize_max",
                raise: "sysctl fs.mqueue.msgsize_max=65536",
            }),
        })
        .collect()
}
