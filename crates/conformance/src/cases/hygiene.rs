//! C15: a process holds only what it needs, passes nothing on to its children, and has threads only where it says so.

use crate::census::{Descriptor, Descriptors};
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Script, Step};
use ipcperf_core::Family;
use std::collections::BTreeSet;
use std::fs;

pub(crate) fn hygiene(scene: &Scene<'_>) -> Result<(), Trouble> {
    for options in scene.entry.setups() {
        let script = Script::default().both(Step::Census).both(Step::Hold);
        let mut pair = scene.opened(&options, scene.size(64, &options), script)?;
        pair.attached()?;
        // Both ports are alive while the third process looks at itself.
        let coordinator = Descriptors::take();
        let declared = scene.entry.spec().threads;
        for pid in pair.pids() {
            let [own, of_kernel] = threads(pid);
            // A ring may have threads of the kernel that it does not need: they are no more than allowed.
            let as_declared = if declared { own + of_kernel > 1 } else { own == 1 };
            ensure(as_declared, || {
                format!("threads: {declared}, but an end has {own}, and {of_kernel} of the kernel")
            })?;
        }
        pair.go_both()?;
        let [lead, follow] = pair.done()?.map(|seen| seen[0].census.clone().unwrap_or_default());
        for (name, census) in [("lead", &lead), ("follow", &follow), ("coordinator", &coordinator)]
        {
            // What a library opens is its own affair.
            let is_library = scene.entry.spec().family == Family::Library;
            let open = census.own().find(|fd| {
                !fd.is_close_on_exec && !is_library && !scene.inherited.fds.contains(fd)
            });
            ensure(open.is_none(), || {
                let text = open.map_or_else(String::new, |fd| fd.target.clone());
                format!("{name}: {text} is not close-on-exec")
            })?;
        }
        let all = [("the other worker", &lead, &follow), ("the coordinator", &coordinator, &lead)];
        for (name, one, two) in all.into_iter().chain([("the coordinator", &coordinator, &follow)])
        {
            let shared: Vec<_> =
                ends(scene, one).intersection(&ends(scene, two)).cloned().collect();
            ensure(shared.is_empty(), || {
                format!("a worker and {name} hold the same end: {}", shared.join(", "))
            })?;
        }
    }
    Ok(())
}

/// `PF_IO_WORKER` of the kernel: a thread that it runs in a process for its io_uring.
const IO_WORKER: u64 = 0x10;

/// How many threads of a process are its own, and how many are of the kernel.
fn threads(pid: u32) -> [usize; 2] {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return [1, 0] };
    let flags = |task: fs::DirEntry| -> Option<u64> {
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        // The name before it may contain anything.
        stat.rsplit_once(") ")?.1.split(' ').nth(6)?.parse().ok()
    };
    let is_own = |task| flags(task).is_none_or(|flags| flags & IO_WORKER == 0);
    let (own, of_kernel): (Vec<bool>, Vec<bool>) =
        tasks.flatten().map(is_own).partition(|is_own| *is_own);
    [own.len(), of_kernel.len()]
}

/// Descriptors that are one end of something: sockets, and whatever can only be read or only be written. Counters,
/// queues and memory are one object that both ends hold by nature, and all objects of the kernel without a file, such as
/// watches, bear one name by which nobody can tell them apart.
fn ends(scene: &Scene<'_>, census: &Descriptors) -> BTreeSet<String> {
    let is_end = |fd: &&Descriptor| {
        let can_be_told = !fd.target.starts_with("anon_inode:");
        fd.target.starts_with("socket:") || fd.access != 2 && can_be_told
    };
    census
        .own()
        .filter(is_end)
        .filter(|fd| !scene.inherited.fds.contains(fd))
        .map(|fd| format!("{} (access {})", fd.target, fd.access))
        .collect()
}
