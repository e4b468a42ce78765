//! The broker of a D-Bus channel: a dbus-daemon that serves this channel alone.

use ipcperf::tools::Unlink;
use ipcperf::tools::{self, Program};
use ipcperf::{Guard, Link, Missing, SetupError, Shape};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program that serves a bus.
const DAEMON: &str = "dbus-daemon";

/// Starts a broker and stops it. Nothing else shows whether it is installed and allowed to run.
pub(crate) fn try_one() -> Result<(), Missing> {
    let (_run, shape) = tools::trial()?;
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
    let mut command = Command::new(DAEMON);
    command.args(["--nofork", "--nopidfile", "--print-address=1"]);
    command.arg(format!("--config-file={}", rules.path().display()));
    let broker = start(command).map_err(|error| SetupError::Protocol(error.to_string()))?;
    // Dropped in this order: first the broker, then its names.
    Ok(Link { guards: vec![Guard::new((broker, door_guard, rules))], ..Link::default() })
}

/// Starts it and waits for the first line of its output, its address, which it prints when it is ready.
fn start(mut command: Command) -> io::Result<Program> {
    let (output, theirs) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(theirs).stderr(Stdio::null());
    let program = Program::start(&mut command)?;
    // The command holds a copy of the pipe, which would keep the output open after the program has ended.
    drop(command);
    match BufReader::new(output).read_line(&mut String::new())? {
        0 => Err(io::Error::other("it ended at once")),
        _ => Ok(program),
    }
}

/// A path as D-Bus addresses write it: most letters unchanged, every other byte as `%` and two digits.
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
