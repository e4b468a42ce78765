//! What queues, memory and semaphores of System V share, `sysvipc(7)`: how a key is found, and removal by key.

use crate::io::last_errno;
use crate::io::names::{self, Unlink};
use ipcperf_core::SetupError;
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
            Err(code) => return Err(SetupError::sys(format!("{call} 0x{key:08x}"), code)),
        }
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
