//! Which limit a call has reached that was to start a process or a thread, and what raises it.

use crate::io::sysctl;
use crate::procfs;
use ipcperf_core::Missing;
use ipcperf_core::units::format_size;
use rustix::process::{Resource, Rlimit, getrlimit};
use rustix::thread::CapabilitySet;

/// The limit that kept a process from being started, of which this is the `errno`; `None` where no limit is the reason, or it
/// is not known which.
#[must_use]
pub fn limit_reached(code: i32) -> Option<Missing> {
    match code {
        libc::EAGAIN => {
            let user = (!is_exempt()).then(|| getrlimit(Resource::Nproc));
            too_many(procfs::full_group(), system(), user.as_ref())
        }
        libc::ENOMEM => Some(too_large(&getrlimit(Resource::As), procfs::available_bytes())),
        _ => None,
    }
}

/// Whether the kernel lets this process have more processes than its user may have.
fn is_exempt() -> bool {
    use CapabilitySet as Set;
    rustix::thread::capabilities(None)
        .is_ok_and(|own| own.effective.intersects(Set::SYS_RESOURCE | Set::SYS_ADMIN))
}

/// Threads of the system, and how many it may have.
fn system() -> Option<(u64, u64)> {
    Some((procfs::threads()?, sysctl::number("kernel/threads-max")?))
}

/// Whichever of these is full. What the user has cannot be seen from within a container, so that its limit is what is left.
fn too_many(
    group: Option<u64>,
    system: Option<(u64, u64)>,
    user: Option<&Rlimit>,
) -> Option<Missing> {
    if let Some(limit) = group {
        let what = format!("the processes of the control group have reached pids.max ({limit})");
        return Some(Missing::new(what, "docker run --pids-limit, or TasksMax= of the service"));
    }
    if let Some((_, most)) = system.filter(|(threads, most)| threads + threads / 20 >= *most) {
        let what = format!("the threads of the system have reached kernel.threads-max ({most})");
        return Some(Missing::new(what, format!("sysctl kernel.threads-max={}", 2 * most)));
    }
    let user = user?;
    let limit = user.current?;
    let what = format!("the processes of this user have reached RLIMIT_NPROC ({limit})");
    Some(Missing::new(what, raised(user, 'u', "nproc", |most| most, limit.max(512) * 2)))
}

fn too_large(addresses: &Rlimit, available: Option<u64>) -> Missing {
    if let Some(limit) = addresses.current {
        let size = format_size(limit);
        let what = format!("the addresses of a process have reached RLIMIT_AS ({size})");
        let how = raised(addresses, 'v', "as", |most| most / 1024, limit.max(1 << 30) * 2);
        return Missing::new(what, how);
    }
    let free = available.map(|free| format!(": {} are left", format_size(free)));
    Missing::new(format!("memory is short{}", free.unwrap_or_default()), "end what else runs")
}

/// The command that raises a limit: the shell's, which counts in `units` of its own, or root's where it is as high as it may be.
fn raised(
    limit: &Rlimit,
    letter: char,
    name: &str,
    units: impl Fn(u64) -> u64,
    enough: u64,
) -> String {
    match limit.maximum {
        None => format!("ulimit -{letter} unlimited"),
        Some(most) if limit.current.is_some_and(|now| now < most) => {
            format!("ulimit -{letter} {}", units(most))
        }
        Some(_) => format!("as root: prlimit --pid $$ --{name}={enough}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_full_is_named_with_the_command_that_raises_it() {
        let user = |current, maximum| Rlimit { current, maximum };
        let tight = user(Some(1), Some(1));
        let [low, free] = [Some(90), None].map(|hard| user(Some(6), hard));
        let told = |group, system, user| too_many(group, system, user).map(|it| it.to_string());
        for (group, system, user, wanted) in [
            (Some(20), None, Some(&tight), "pids.max (20); docker run --pids-limit"),
            (None, Some((990, 1000)), None, "threads-max (1000); sysctl kernel.threads-max=2000"),
            (
                None,
                Some((99, 1000)),
                Some(&tight),
                "RLIMIT_NPROC (1); as root: prlimit --pid $$ --nproc=1024",
            ),
            (None, None, Some(&low), "RLIMIT_NPROC (6); ulimit -u 90"),
            (None, None, Some(&free), "RLIMIT_NPROC (6); ulimit -u unlimited"),
        ] {
            let told = told(group, system, user).expect(wanted);
            assert!(told.contains(wanted), "{told}");
        }
        assert_eq!(told(None, Some((99, 1000)), None), None);
        assert_eq!(told(None, None, Some(&user(None, None))), None);
        let told = too_large(&user(Some(64 << 20), None), None).to_string();
        assert!(told.contains("RLIMIT_AS (64 MiB); ulimit -v unlimited"), "{told}");
        let told = too_large(&user(None, None), Some(1 << 20)).to_string();
        assert!(told.starts_with("memory is short: 1 MiB are left; "), "{told}");
        assert_eq!(limit_reached(libc::ENOENT), None);
    }
}
