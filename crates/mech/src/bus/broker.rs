//! The broker of a D-Bus channel: a dbus-daemon that serves this channel alone.

use ipcperf_core::{Guard, Link, Missing, SetupError, Shape};
use ipcperf_sys::io::companion::Companion;
use ipcperf_sys::io::names::Unlink;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The program that serves a bus.
const DAEMON: &str = "dbus-daemon";

/// Starts a broker and stops it: whether it is installed, and may do what it must, nothing else tells.
pub(crate) fn try_one() -> Result<(), Missing> {
    let (_run, shape) = crate::trial()?;
    serve(&shape).map(drop).map_err(|error| {
        let what = format!("{DAEMON} is not installed, or cannot be started: {error}");
        Missing::new(what, "install the package dbus-daemon")
    })
}

/// Where the broker of a channel listens.
pub(crate) fn door(shape: &Shape) -> Result<PathBuf, Missing> {
    shape.path("bus")
}

/// Starts a broker that only this user can reach. It serves no names of its own and starts nothing.
pub(crate) fn serve(shape: &Shape) -> Result<Link, SetupError> {
    let door = door(shape)?;
    let text = configuration(&address(door.as_os_str().as_bytes()));
    let rules = Unlink::write(shape.path("bus.conf")?, &text)?;
    let door_guard = Unlink::new(door);
    let arguments = ["--nofork".into(), "--nopidfile".into(), "--print-address=1".into()];
    let file = format!("--config-file={}", rules.path().display());
    let broker = Companion::start(DAEMON, arguments.into_iter().chain([file]))?;
    // Dropped in this order: first the broker, then its names.
    Ok(Link { guards: vec![Guard::new((broker, door_guard, rules))], ..Link::default() })
}

/// A path as addresses of D-Bus write it: most letters as they are, every other byte as `%` and two digits.
fn address(path: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.*".contains(&byte);
    path.iter().fold(String::from("unix:path="), |mut text, byte| {
        if plain(*byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
        text
    })
}

/// The limits: messages as large as the specification allows (128 MiB), and a bound for what is under way.
fn configuration(address: &str) -> String {
    format!(
        "<busconfig>\
         <type>session</type><listen>{address}</listen><auth>EXTERNAL</auth>\
         <policy context=\"default\">\
         <allow send_destination=\"*\"/><allow receive_sender=\"*\"/><allow own=\"*\"/>\
         </policy>\
         <limit name=\"max_message_size\">134217728</limit>\
         <limit name=\"max_incoming_bytes\">8388608</limit>\
         <limit name=\"max_outgoing_bytes\">1073741824</limit>\
         </busconfig>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_address_nor_the_rules() {
        assert_eq!(address(b"/run/a-b_1.c"), "unix:path=/run/a-b_1.c");
        assert_eq!(address(b"/a b,<&;"), "unix:path=/a%20b%2c%3c%26%3b");
    }
}
