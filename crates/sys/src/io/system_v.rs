//! What queues, memory and semaphores of System V share, `sysvipc(7)`: how a key is found, and removal by key.

use crate::io::last_errno;
use crate::io::names::{self, Unlink};
use ipcperf_core::{Missing, SetupError};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// Makes an object that only this user may use, under a key that nobody has. The key is written into the ledger of the
/// run, behind `prefix`, before `get`, the call named `call`, is made with it and flags.
pub(crate) fn create(
    directory: &Path,
    prefix: &str,
    call: &str,
    get: impl Fn(i32, i32) -> Result<i32, i32>,
) -> Result<(i32, Unlink), SetupError> {
    loop {
        let key = RandomState::new().hash_one(directory) as i32;
        if key == libc::IPC_PRIVATE {
            // Makes an object that no key finds again.
            continue;
        }
        let noted = names::note(directory, prefix, &format!("{key:08x}"), &[])?;
        match get(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) {
            Ok(id) => return Ok((id, noted)),
            // The key is somebody else's.
            Err(libc::EEXIST) => {}
            Err(code) => return Err(SetupError::sys(call, code)),
        }
    }
}

/// One column of the tables below `/proc/sysvipc` (`sem`, `shm`), for each object in this namespace, of whomever.
pub(crate) fn objects(table: &str, column: usize) -> Vec<u64> {
    let text = std::fs::read_to_string(format!("/proc/sysvipc/{table}")).unwrap_or_default();
    let value = |line: &str| line.split_ascii_whitespace().nth(column)?.parse().ok();
    text.lines().skip(1).filter_map(value).collect()
}

/// A limit of the number of objects: what it counts, its name, the kernel's default of it, and how it is set to that.
pub(crate) struct Most {
    pub(crate) what: &'static str,
    pub(crate) name: &'static str,
    pub(crate) default: u64,
    pub(crate) set: &'static str,
    /// The letter of the objects for `ipcs` and `ipcrm`.
    pub(crate) letter: char,
}

impl Most {
    /// Why there can be no more of them. A limit below the kernel's default is too low; another one is reached when somebody
    /// leaves objects behind.
    pub(crate) fn reached(&self, limit: u64) -> Missing {
        let Self { what, name, default, set, letter } = self;
        let what = format!("as many {what} exist as {name} allows ({limit})");
        if limit < *default {
            return Missing::new(what, format!("sysctl {set}"));
        }
        let how = format!(
            "remove unused ones: ipcs -{letter} shows them, ipcrm -{letter} ID removes one"
        );
        Missing::new(what, how)
    }
}

/// The number that a `get` call has returned.
pub(crate) fn number(returned: i32) -> Result<i32, i32> {
    if returned < 0 { Err(last_errno()) } else { Ok(returned) }
}

/// What `IPC_RMID` has returned: whether there was something to remove.
pub(crate) fn removed(returned: i32) -> Result<bool, i32> {
    match number(returned) {
        Ok(_) => Ok(true),
        Err(libc::EINVAL | libc::EIDRM | libc::ENOSYS) => Ok(false),
        Err(code) => Err(code),
    }
}

/// Removes the object with `key`; `false` if there is none.
pub(crate) fn remove_by_key(
    key: i32,
    get: impl Fn(i32) -> Result<i32, i32>,
    remove: impl Fn(i32) -> Result<bool, i32>,
) -> Result<bool, i32> {
    if key == libc::IPC_PRIVATE {
        // That key finds nothing; asking for it would make an object.
        return Ok(false);
    }
    match get(key) {
        Ok(id) => remove(id),
        Err(libc::ENOENT | libc::EIDRM | libc::ENOSYS) => Ok(false),
        Err(code) => Err(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_lowered_is_told_from_objects_that_were_left_behind() {
        let most = Most {
            what: "queues",
            name: "kernel.msgmni",
            default: 32_000,
            set: "kernel.msgmni=32000",
            letter: 'q',
        };
        let low = most.reached(16).to_string();
        let wanted =
            "as many queues exist as kernel.msgmni allows (16); sysctl kernel.msgmni=32000";
        assert_eq!(low, wanted);
        let leak = most.reached(32_000);
        assert!(leak.what.ends_with("(32000)") && leak.how.contains("ipcrm -q"), "{leak:?}");
    }
}
