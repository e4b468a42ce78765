//! How a thread is scheduled, as `sched_getattr` and `sched_setattr` have it.
//!
//! # Safety
//! The kernel reads or writes one live structure, whose first field is its length.

use crate::io::raw;
use ipcperf_core::SchedClass;

/// `struct sched_attr` of `linux/sched/types.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    priority: u32,
    pub(crate) runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// The children of a thread have none of its classes (`SCHED_FLAG_RESET_ON_FORK`): what others have set is kept.
const RESET_ON_FORK: u64 = 1;
const SIZE: usize = size_of::<Attributes>();

impl Attributes {
    /// Of a thread; 0 is the calling one.
    pub(crate) fn of(thread: u32) -> Result<Self, i32> {
        let mut found = Self { size: SIZE as u32, ..Self::default() };
        let args = [thread as usize, (&raw mut found) as usize, SIZE, 0, 0, 0];
        // SAFETY: the kernel writes at most this number of bytes to a live structure.
        unsafe { raw::call6(libc::SYS_sched_getattr, args) }.map(|_| found)
    }

    pub(crate) fn set(mut self, thread: u32) -> Result<(), i32> {
        self.size = SIZE as u32;
        // SAFETY: the kernel reads this number of bytes of a live structure.
        unsafe { raw::call3(libc::SYS_sched_setattr, thread as usize, (&raw mut self) as usize, 0) }
            .map(drop)
    }

    /// With this class; of the fair ones with a nice value.
    pub(crate) fn with(class: SchedClass, nice: i32, flags: u64) -> Self {
        let all = Self { flags: flags & RESET_ON_FORK, ..Self::default() };
        let policy = |policy: i32| Self { policy: policy.cast_unsigned(), ..all };
        match class {
            SchedClass::Other { slice_ns } => {
                Self { nice, runtime: slice_ns, ..policy(libc::SCHED_OTHER) }
            }
            SchedClass::Batch => Self { nice, ..policy(libc::SCHED_BATCH) },
            SchedClass::Idle => Self { nice, ..policy(libc::SCHED_IDLE) },
            SchedClass::Fifo(priority) => {
                Self { priority: priority.into(), ..policy(libc::SCHED_FIFO) }
            }
            SchedClass::RoundRobin(priority) => {
                Self { priority: priority.into(), ..policy(libc::SCHED_RR) }
            }
            SchedClass::Deadline { runtime_ns, deadline_ns, period_ns } => Self {
                runtime: runtime_ns,
                deadline: deadline_ns,
                period: period_ns,
                ..policy(libc::SCHED_DEADLINE)
            },
        }
    }

    /// The class; `None` for one that has no name here.
    pub(crate) fn class(&self) -> Option<SchedClass> {
        let priority = u8::try_from(self.priority).ok()?;
        match self.policy.cast_signed() {
            libc::SCHED_OTHER => Some(SchedClass::Other { slice_ns: self.runtime }),
            libc::SCHED_BATCH => Some(SchedClass::Batch),
            libc::SCHED_IDLE => Some(SchedClass::Idle),
            libc::SCHED_FIFO => Some(SchedClass::Fifo(priority)),
            libc::SCHED_RR => Some(SchedClass::RoundRobin(priority)),
            libc::SCHED_DEADLINE => Some(SchedClass::Deadline {
                runtime_ns: self.runtime,
                deadline_ns: self.deadline,
                period_ns: self.period,
            }),
            _ => None,
        }
    }
}

/// Does something while the calling thread has slices of this length, where its class has some and the kernel grants them to
/// single threads (Linux 6.12): a thread that is started meanwhile has them, too.
pub(crate) fn with_slice<T>(slice_ns: u64, make: impl FnOnce() -> T) -> T {
    let has_slices = |class| matches!(class, Some(SchedClass::Other { .. } | SchedClass::Batch));
    let own = Attributes::of(0).ok().filter(|own| has_slices(own.class()));
    let shorter = |own: &Attributes| Attributes { runtime: slice_ns, ..*own }.set(0).is_ok();
    let own = own.filter(shorter);
    let made = make();
    if let Some(own) = own {
        // With the slice that it had: it may be one that was asked for.
        let _ = own.set(0);
    }
    made
}
