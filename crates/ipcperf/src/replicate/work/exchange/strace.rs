//! strace beside two running processes, and what it wrote about them.

use super::Turn;
use ipcperf_engine::exec::Programs;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::io::names::Unlink;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often it is looked whether strace is there.
const LOOK: Duration = Duration::from_millis(2);
/// Where strace is, if it is in `PATH`.
pub(super) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("strace")).find(|file| file.is_file())
}

/// A running strace. Dropping it ends it; what it traces goes on.
pub(super) struct Strace<'a> {
    programs: Programs<'a>,
    output: Unlink,
}

impl<'a> Strace<'a> {
    /// Attaches to processes and returns when it watches all of them.
    pub(super) fn attach(
        program: &Path,
        pids: &[u32; 2],
        turn: &Turn<'a>,
    ) -> Result<Self, TaskError> {
        let output = Unlink::new(turn.directory.join(format!("strace-{:016x}", turn.nonce)));
        let mut command = Command::new(program);
        // One for both, as with -f, with the time of each call (-T) and without the bytes that are moved.
        command.args(["-f", "-T", "-s", "0", "-o"]).arg(output.path());
        for pid in pids {
            command.args(["-p", &pid.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut programs = Programs::new(turn.deadline, turn.interrupts);
        programs.start("strace", &mut command, None)?;
        while !pids.iter().all(|pid| is_traced(*pid)) {
            if programs.ends_within(LOOK)? {
                programs.finish(None)?;
                return Err(TaskError::Failed("strace ended before it had attached".into()));
            }
        }
        Ok(Self { programs, output })
    }

    /// Waits until it has gone, as it does when all that it traces has, and returns what it wrote.
    pub(super) fn finish(self) -> Result<String, TaskError> {
        self.programs.finish(None)?;
        Ok(std::fs::read_to_string(self.output.path())?)
    }
}

fn is_traced(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Times of the calls that `pid` made between its first two marks, by the name that they have elsewhere, nanoseconds.
/// The first `files` calls of `close` after a message that came are those of files.
pub(super) fn times(text: &str, pid: u32, files: usize) -> BTreeMap<&'static str, Vec<u32>> {
    let (mut times, mut marks, mut closes) = (BTreeMap::<_, Vec<u32>>::new(), 0, 0);
    for (name, nanos) in lines(text, pid) {
        let name = match name {
            "getppid" => {
                marks += 1;
                continue;
            }
            "openat" => "open",
            "unlinkat" => "unlink",
            "pselect6" => "select",
            "write" => "write",
            "sendmsg" => "sendmsg",
            "lseek" => "lseek",
            "read" => "read",
            "fcntl" => "seal",
            "mmap" => "mmap",
            "munmap" => "munmap",
            "memfd_create" => "open",
            "recvmsg" => {
                closes = 0;
                "recvmsg"
            }
            "close" => {
                closes += 1;
                if closes <= files { "close" } else { "close_client" }
            }
            _ => continue,
        };
        if marks == 1 {
            times.entry(name).or_default().push(nanos);
        }
    }
    times
}

/// Completed calls of `pid` with their times: `17 read(3, ""..., 5) = 5 <0.000012>`, or, where another process came
/// between, `17 <... read resumed>""..., 5) = 5 <0.000012>`.
fn lines(text: &str, pid: u32) -> impl Iterator<Item = (&str, u32)> {
    text.lines().filter_map(move |line| {
        let (owner, call) = line.split_once(' ')?;
        if owner.parse() != Ok(pid) {
            return None;
        }
        let call = call.trim_start();
        let (before, time) = call.strip_suffix('>')?.rsplit_once(" <")?;
        let seconds: f64 = time.parse().ok()?;
        let name = match before.strip_prefix("<... ") {
            Some(rest) => rest.split_once(" resumed")?.0,
            None => before.split_once('(')?.0,
        };
        // Saturates, and nothing lasts four seconds that is of interest here.
        Some((name, (seconds * 1e9).round() as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
        17 recvmsg(3, {msg_name=NULL}, 0) = 5 <0.5>\n\
        17 getppid() = 1 <0.000001>\n\
        18    getppid( <unfinished ...>\n\
        17 pselect6(5, [4], NULL, NULL, NULL, NULL <unfinished ...>\n\
        18 <... getppid resumed>) = 1 <0.000004>\n\
        18 openat(AT_FDCWD, \"/x/object\", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 7 <0.000016>\n\
        18 unlinkat(AT_FDCWD, \"/x/object\", 0) = 0 <0.000013>\n\
        18 write(7, \"\"..., 112192) = 112192 <0.000067>\n\
        18 pselect6(5, NULL, [4], NULL, NULL, NULL) = 1 (out [4]) <0.000002>\n\
        18 sendmsg(4, {msg_namelen=0, msg_controllen=32}, MSG_NOSIGNAL) = 0 <0.000014>\n\
        17 <... pselect6 resumed>) = 1 (in [4]) <0.000400>\n\
        17 recvmsg(4, {msg_namelen=0}, MSG_TRUNC) = 0 <0.000015>\n\
        17 lseek(8, 0, SEEK_SET) = 0 <0.000014>\n\
        17 read(8, \"\"..., 112192) = 112192 <0.000060>\n\
        17 close(8) = 0 <0.000018>\n\
        17 close(9) = 0 <0.000003>\n\
        17 close(10) = 0 <0.000005>\n\
        18 close(7) = 0 <0.000013>\n\
        18 getppid() = 1 <0.000001>\n\
        18 close(4) = 0 <0.000099>\n\
        17 getppid() = 1 <0.000001>\n\
        17 recvmsg(3, {msg_name=NULL}, 0) = 5 <0.5>\n\
        17 +++ exited with 0 +++\n";

    #[test]
    fn only_calls_between_the_marks_have_times_also_those_that_were_cut_in_two() {
        let sender = times(TEXT, 18, usize::MAX);
        let flat: Vec<_> = sender.iter().map(|(name, times)| (*name, times.as_slice())).collect();
        let wanted: [(&str, &[u32]); 6] = [
            ("close", &[13_000]),
            ("open", &[16_000]),
            ("select", &[2_000]),
            ("sendmsg", &[14_000]),
            ("unlink", &[13_000]),
            ("write", &[67_000]),
        ];
        assert_eq!(flat, wanted);
        let receiver = times(TEXT, 17, 1);
        assert_eq!(receiver["select"], [400_000]);
        assert_eq!(receiver["recvmsg"], [15_000]);
        assert_eq!(
            (&receiver["close"][..], &receiver["close_client"][..]),
            (&[18_000][..], &[3_000, 5_000][..])
        );
        assert!(!times(TEXT, 17, 0).contains_key("close"));
        assert!(times(TEXT, 19, 1).is_empty());
    }
}
