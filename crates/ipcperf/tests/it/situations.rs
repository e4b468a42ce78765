//! Limits and refusals of the system as a table: a situation, a command, and what the program answers.
//!
//! The constants are the situations, the table below them has the answers. A situation that cannot be made here (it takes root, a
//! namespace, or a file system that the kernel lacks) is tried with `true` first, and its rows are skipped with the reason.

use crate::common::{Ended, Sandbox, cells, skipped, valid, words};
use crate::container::without;
use crate::strangers::Somebody;
use ipcperf_sys::seccomp::Refusal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipcperf");

/// What makes a situation. All parts of it hold at the same time.
#[derive(Clone, Copy, Debug)]
struct Situation {
    /// A line of shell in which `"$@"` is the program. `$HOME` is the working folder, and there are `$XDG_RUNTIME_DIR` and
    /// `$TMPDIR`.
    shell: &'static str,
    /// System calls that are refused to all that this line starts, and their error.
    refused: (&'static [i64], i32),
    /// As whom.
    who: Who,
}

#[derive(Clone, Copy, Debug)]
enum Who {
    /// The user who tests, often root.
    Tester,
    /// An ordinary user of whom nothing else runs.
    Somebody,
}

impl Situation {
    /// The program as it is started anywhere.
    const USUAL: Self = Self { shell: r#"exec "$@""#, refused: (&[], 0), who: Who::Tester };

    const fn shell(shell: &'static str) -> Self {
        Self { shell, ..Self::USUAL }
    }

    const fn somebody(shell: &'static str) -> Self {
        Self { shell, who: Who::Somebody, ..Self::USUAL }
    }

    const fn without(calls: &'static [i64], errno: i32) -> Self {
        Self { refused: (calls, errno), ..Self::USUAL }
    }

    /// Hands to `then` a sandbox and what does a command in this situation; says why where it cannot be made.
    fn made(&self, then: impl FnOnce(&Sandbox, &dyn Fn(&str) -> Ended)) {
        let somebody = match self.who {
            Who::Tester => None,
            Who::Somebody => match Somebody::new() {
                None => return,
                somebody => somebody,
            },
        };
        let own = Sandbox::new();
        let sandbox = somebody.as_ref().map_or(&own, |somebody| &somebody.sandbox);
        let start = |program: &Path, words: &[&str]| {
            let (calls, errno) = self.refused;
            let mut command = sandbox.surround(self.starting(somebody.as_ref(), program), words);
            // No line is broken within what a row looks for.
            command.env("COLUMNS", "1000");
            match calls {
                [] => Ok(sandbox.spawn(command).end()),
                _ => without(calls, Refusal::With(errno), || sandbox.spawn(command).end()),
            }
        };
        let why = match start("true".as_ref(), &[]) {
            Ok(ended) if ended.status.success() => {
                let program = somebody.as_ref().map_or(PROGRAM.into(), Somebody::program);
                return then(sandbox, &|line| start(&program, &words(line)).expect("as before"));
            }
            Ok(ended) => ended.stderr,
            Err(error) => error.to_string(),
        };
        skipped(&format!("'{}' without {:?}", self.shell, self.refused.0), why);
    }

    /// The line of shell with a program.
    fn starting(&self, somebody: Option<&Somebody>, program: &Path) -> Command {
        let by = ["sh", "-c", self.shell, "sh"];
        let mut command = match somebody {
            Some(somebody) => somebody.starting(&by),
            None => {
                let mut command = Command::new("env");
                command.args(by);
                command
            }
        };
        command.arg(program);
        command
    }

    /// The command ends in it with this code, says all of this, and leaves nothing.
    fn answers(&self, command: &str, code: i32, says: &[&str]) {
        self.made(|sandbox, run| {
            let ended = run(command);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert_eq!(ended.status.code(), Some(code), "{command}: {said}");
            for part in says {
                assert!(said.contains(part), "{command} does not say '{part}': {said}");
            }
            for part in ["panicked", "RUST_BACKTRACE"] {
                assert!(!said.contains(part), "{command}: {said}");
            }
            sandbox.leaves_nothing();
        });
    }
}

const SMALL_STACK: Situation = Situation::shell(r#"exec prlimit --stack=65536:65536 "$@""#);
const LITTLE_MEMORY: Situation = Situation::shell(r#"exec prlimit --data=16000000:16000000 "$@""#);
const SMALL_FILES: Situation = Situation::shell(r#"exec prlimit --fsize=1024:1024 "$@""#);
const NO_FILES: Situation = Situation::shell(r#"exec prlimit --nofile=7:7 "$@""#);
/// With a directory in memory of its own, which is empty afterwards.
const NO_FILES_NOTHING_LEFT: Situation = Situation::shell(
    r#"exec unshare --mount --map-root-user sh -c 'mount -t tmpfs tmpfs /dev/shm || exit; prlimit --nofile=7:7 "$@"; code=$?
       left=$(ls -A /dev/shm); test -z "$left" || echo "left in /dev/shm: $left"; test -z "$left" && exit $code' sh "$@""#,
);
const ONE_WORKER: Situation = Situation::somebody(r#"exec prlimit --nproc=2:2 "$@""#);
const FEW_PROCESSES: Situation = Situation::somebody(r#"exec prlimit --nproc=6:6 "$@""#);
/// The folder of the controller where it has a hierarchy of its own, or that of all controllers.
const SMALL_GROUP: Situation = Situation::shell(
    r#"d=/sys/fs/cgroup; test -d $d/pids && d=$d/pids; d=$d/ipcperf-test-$$
       mkdir $d || exit; echo 2 >$d/pids.max && sh -c 'echo $$ >$0/cgroup.procs && exec "$@"' $d "$@"
       code=$?; rmdir $d; exit $code"#,
);
const NO_OWN_FILES: Situation = Situation::somebody(r#"umask 0777; exec "$@""#);
const NO_DIRECTORY: Situation = Situation::shell(r#"exec env XDG_RUNTIME_DIR= TMPDIR=/proc "$@""#);
const READ_ONLY: Situation = Situation::shell(
    r#"exec unshare --mount sh -c 'while read -r _ m _; do mount -o remount,bind,ro "$m"; done </proc/self/mounts 2>/dev/null
       if touch "$HOME/x" /dev/shm/x 2>/dev/null; then echo "something can be written"; exit 1; fi; exec "$@"' sh "$@""#,
);
const NO_DEVICES: Situation = Situation::shell(
    r#"exec unshare --mount sh -c 'mount -t tmpfs tmpfs /dev && exec "$@"' sh "$@""#,
);
const NO_PROC: Situation = Situation::shell(
    r#"exec unshare --mount sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh "$@""#,
);
const FEW_QUEUES: Situation = Situation::shell(
    r#"exec unshare --ipc sh -c 'echo 1 >/proc/sys/kernel/msgmni && exec "$@"' sh "$@""#,
);
const FEW_SEMAPHORES: Situation = Situation::shell(
    r#"exec unshare --ipc sh -c 'echo 1 1 1 1 >/proc/sys/kernel/sem && exec "$@"' sh "$@""#,
);
const LITTLE_SHARED: Situation = Situation::shell(
    r#"exec unshare --ipc sh -c 'echo 1 >/proc/sys/kernel/shmmax && exec "$@"' sh "$@""#,
);
const NO_IO_URING: Situation = Situation::without(&[libc::SYS_io_uring_setup], libc::EPERM);
const NO_MEMFD: Situation = Situation::without(&[libc::SYS_memfd_create], libc::ENOSYS);
const NO_QUEUES: Situation = Situation::without(&[libc::SYS_mq_open], libc::EPERM);
const NO_BIND: Situation = Situation::without(&[libc::SYS_bind], libc::EACCES);
const NO_PINNING: Situation = Situation::without(&[libc::SYS_sched_setaffinity], libc::EPERM);
const NO_LINKS: Situation = Situation::without(&[libc::SYS_linkat], libc::EPERM);
/// As some FUSE and 9p file systems are.
const NO_LINKS_NO_SYNC: Situation =
    Situation::without(&[libc::SYS_linkat, libc::SYS_renameat2, libc::SYS_fsync], libc::EINVAL);
const NO_NAMES: Situation =
    Situation::without(&[libc::SYS_linkat, libc::SYS_renameat, libc::SYS_renameat2], libc::EPERM);

const FEW_FILES: Situation = Situation::shell(r#"exec prlimit --nofile=64:64 "$@""#);
const FEW_FILES_AT_FIRST: Situation = Situation::shell(
    r#"printf '#!/bin/sh\ntest "$(ulimit -n)" = 64 && echo yes\n' >sixty-four && chmod +x sixty-four && exec prlimit --nofile=64:512 "$@""#,
);
/// Root may have any number of descriptors under way.
const FEW_FILES_OF_SOMEBODY: Situation = Situation::somebody(r#"exec prlimit --nofile=64:64 "$@""#);
/// Some kernels charge a ring to it, and others do not.
const LITTLE_LOCKED_MEMORY: [Situation; 2] = [
    Situation::somebody(r#"exec prlimit --memlock=8192:8192 "$@""#),
    Situation::somebody(r#"exec prlimit --memlock=16384:16384 "$@""#),
];
/// All pages that the pipes of a user may hold are in use while the program runs. 1031 is F_SETPIPE_SZ, 1032 F_GETPIPE_SZ.
const NO_PAGES_FOR_PIPES: Situation = Situation::somebody(
    r#"exec python3 -c 'import fcntl, os, subprocess, sys
pipes = []
def size(): return fcntl.fcntl(pipes[-1][1], 1032)
while len(pipes) < 400:
    pipes.append(os.pipe())
    try: fcntl.fcntl(pipes[-1][1], 1031, 1 << 20)
    except PermissionError: break
while len(pipes) < 400 and size() >= 65536: pipes.append(os.pipe())
if size() >= 65536: sys.exit("no quota of pages for pipes")
sys.exit(subprocess.call(sys.argv[1:]))' "$@""#,
);
const FEW_PORTS: Situation = Situation::shell(
    r#"exec unshare --net --map-root-user sh -c 'ip link set lo up && cd /proc/sys/net/ipv4 && echo 40000 40015 >ip_local_port_range && cd "$HOME" && exec "$@"' sh "$@""#,
);
const SMALL_BACKLOGS: Situation = Situation::shell(
    r#"exec unshare --net --map-root-user sh -c 'echo 100 >/proc/sys/net/core/somaxconn && exec "$@"' sh "$@""#,
);
/// A queue that no packet fits drops all of them, as a firewall does.
const DROPPED: Situation = Situation::shell(
    r#"exec unshare --net --map-root-user sh -c 'ip link set lo up && tc qdisc replace dev lo root bfifo limit 1 && exec "$@"' sh "$@""#,
);
/// A tracer of the program and all that it starts, as `strace -f` is, but without stops at calls. 0x4200 is PTRACE_SETOPTIONS
/// (forks, clones, and the end of the tracer), 7 PTRACE_CONT, 0x40000000 __WALL.
const TRACED: Situation = Situation::shell(
    r#"exec python3 -c 'import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.execvp(sys.argv[1], sys.argv[1:])
os.waitpid(child, 0)
if libc.ptrace(0x4200, child, None, 0x10000e) != 0: sys.exit("no ptrace here")
libc.ptrace(7, child, None, None)
while True:
    pid, status = os.waitpid(-1, 0x40000000)
    if os.WIFSTOPPED(status):
        number = os.WSTOPSIG(status)
        libc.ptrace(7, pid, None, 0 if number in (signal.SIGTRAP, signal.SIGSTOP) else number)
    elif pid == child: sys.exit(os.waitstatus_to_exitcode(status))' "$@""#,
);

/// Each row is a test: its name, the situation, the command; the exit code, and parts of what is said.
macro_rules! situations {
    ($($name:ident: $situation:expr, $command:expr => $code:literal, [$($says:literal),+];)+) => {
        $(#[test]
        fn $name() {
            $situation.answers($command, $code, &[$($says),+]);
        })+
    };
}

situations! {
    a_stack_that_is_too_small: SMALL_STACK, "list"
        => 3, ["a stack (ulimit -s) of 64 KiB is too small: 1 MiB is the least"];
    private_memory_that_is_too_small: LITTLE_MEMORY, "run -m pipe -o run.json"
        => 3, ["nothing can be measured here: private memory (ulimit -d) of 15625 KiB is too small: 64 MiB is the least"];
    files_that_are_too_small: SMALL_FILES, "run -m pipe -o run.json"
        => 3, ["nothing can be measured here: a file size (ulimit -f) of 1 KiB is too small: 16 MiB is the least"];
    files_that_are_too_small_for_an_answer: SMALL_FILES, "list --json"
        => 1, ["standard output: File too large"];
    too_few_descriptors_for_anything: NO_FILES, "run -m pipe -o run.json"
        => 3, ["nothing can be measured here: a number of open files (ulimit -n) of 7 is too small: 32 is the least"];
    too_few_descriptors_in_the_list: NO_FILES_NOTHING_LEFT, "list"
        => 0, ["0 of ", " can run here", "(ulimit -n) of 7 is too small: 32 is the least"];
    too_few_descriptors_for_a_choice: NO_FILES, "choose -s 64"
        => 3, ["nothing can be measured here: a number of open files (ulimit -n) of 7 is too small"];
    too_few_descriptors_for_the_doctor: NO_FILES, "doctor"
        => 0, ["measuring: impossible", "(ulimit -n) of 7 is too small", "Remedy: ulimit -n 1024."];
    too_few_descriptors_to_leave_anything: NO_FILES, "clean"
        => 0, ["nothing was left behind"];
    one_process_too_few_for_a_pair: ONE_WORKER, "run -m pipe -o run.json"
        => 3, ["no worker process: this user may have 2 processes and threads (ulimit -u); "];
    a_control_group_too_small_for_a_pair: SMALL_GROUP, "run -m pipe -o run.json"
        => 3, ["/pids.max allows 2 processes and threads, all in use; echo max > /sys/fs/cgroup/"];
    a_control_group_that_the_doctor_sees: SMALL_GROUP, "doctor"
        => 0, ["rocesses of the control group of 2 may prevent", "Remedy: echo max > /sys/fs/cgroup/"];
    fewer_processes_than_clients: FEW_PROCESSES,
        "run -m unix-stream -p connect --conns 10 --place free --rounds 1 --slice 5ms"
        => 3, ["10 clients", "ulimit -u"];
    fewer_files_than_clients: FEW_FILES,
        "run -m unix-stream -p connect --conns 100 --place free --rounds 1 --slice 5ms"
        => 3, ["100 clients", "RLIMIT_NOFILE is 64"];
    fewer_files_than_peers: FEW_FILES,
        "run -m pipe -p fan-in --peers 40 --place free --rounds 1 --slice 5ms"
        => 3, ["40 peers", "RLIMIT_NOFILE is 64"];
    few_files_that_can_be_more: FEW_FILES_AT_FIRST,
        "run -m unix-stream -p connect --conns 100 --place free --rounds 1 --slice 5ms"
        => 0, ["conns=100"];
    programs_of_others_have_the_files_of_before: FEW_FILES_AT_FIRST,
        "exec ./sixty-four --rounds 1"
        => 0, ["sixty-four"];
    fewer_files_than_descriptors_under_way: FEW_FILES_OF_SOMEBODY,
        "run -m fd-pass,memfd,temp-file -p stream --place free --rounds 1 --slice 20ms"
        => 0, ["fd-pass", "memfd"];
    fewer_files_than_descriptors_of_a_message: FEW_FILES_OF_SOMEBODY,
        "run -m fd-pass --set fd-pass.fds=100 --place free --rounds 1 --slice 5ms"
        => 3, ["100 descriptors", "RLIMIT_NOFILE is 64"];
    a_sandbox_that_refuses_io_uring_is_told_by_doctor: NO_IO_URING, "doctor"
        => 0, ["io_uring: refused"];
    pipes_that_are_smaller_than_usual: NO_PAGES_FOR_PIPES,
        "run -v -m pipe,fifo -p stream -s 64K --place free --rounds 1 --slice 5ms"
        => 0, ["pipe size=", "fifo size=", "(got ", "W-QUOTA", "fs.pipe-user-pages-soft"];
    larger_pipes_than_a_quota_allows: NO_PAGES_FOR_PIPES,
        "run -m pipe --set pipe.size=1M --place free --rounds 1 --slice 5ms"
        => 3, ["1 MiB", "sysctl", "fs.pipe-user-pages-soft=0"];
    a_loopback_interface_that_drops_all: DROPPED, "run -m tcp --place free --rounds 1 --slice 5ms"
        => 3, ["nothing that is sent to 127.0.0.1 arrives: a firewall or a queue of the loopback interface drops it"];
    workers_that_are_traced: TRACED, "run -m pipe --place free --rounds 1 --slice 5ms"
        => 3, ["E-TRACED", "because a tracer (ptrace) stopped the process at its system calls"];
    clients_and_a_server_that_are_traced: TRACED,
        "run -m unix-stream -p serve --conns 2 --place free --rounds 1 --slice 20ms"
        => 3, ["E-TRACED"];
    slices_in_which_nothing_that_is_due_is_answered: Situation::USUAL,
        "run -m unix-stream -p serve --conns 4 --rate 1M --slice 1ms --place free --rounds 3"
        => 0, ["conns=4"];
    fewer_ports_than_clients: FEW_PORTS,
        "run -m tcp -p connect --conns 64 --place free --rounds 1 --slice 20ms"
        => 1, ["E-REFUSED", "EADDRNOTAVAIL", "net.ipv4.ip_local_port_range="];
    more_clients_than_may_wait: Situation::USUAL,
        "run -m tcp -p connect --conns 64 --set tcp.backlog=8 --place free --rounds 1 --slice 50ms"
        => 0, ["tcp backlog=8"];
    the_backlog_is_what_the_system_allows: SMALL_BACKLOGS,
        "run -m unix-stream -p connect --place free --rounds 1 --slice 5ms -o -"
        => 0, ["\"backlog\":100,"];
    a_backlog_above_what_the_system_allows: SMALL_BACKLOGS,
        "run -m unix-stream -p connect --set unix-stream.backlog=101 --place free --rounds 1"
        => 3, ["net.core.somaxconn (100)", "sysctl net.core.somaxconn=101"];
    a_umask_that_takes_everything_from_its_user: NO_OWN_FILES,
        "run -m pipe,fifo --place free --rounds 1 --slice 1ms -o run.json"
        => 0, ["2 of 2 cells measured"];
    no_directory_for_a_run: NO_DIRECTORY, "run -m pipe,fifo --place free --rounds 1 --slice 1ms -o run.json"
        => 0, ["1 of 2 cells measured", "unavailable: fifo: no run directory (XDG_RUNTIME_DIR, TMPDIR) in '/proc'", "TMPDIR="];
    no_directory_for_what_needs_one: NO_DIRECTORY, "run -m fifo,inotify --place free -o run.json"
        => 3, ["unavailable: fifo and inotify: no run directory (XDG_RUNTIME_DIR, TMPDIR) in '/proc'"];
    no_directory_for_a_socket_with_a_path: NO_DIRECTORY,
        "run -m unix-stream --set unix-stream.bind=path --place free -o run.json"
        => 3, ["unavailable: unix-stream: no run directory"];
    no_directory_for_a_door: NO_DIRECTORY, "run -m unix-stream,fifo -p connect --place free -o run.json"
        => 3, ["no run directory"];
    no_directory_that_the_doctor_sees: NO_DIRECTORY, "doctor"
        => 0, ["run directory: none", "Remedy: TMPDIR="];
    a_system_that_can_only_be_read: READ_ONLY, "run -m pipe,fifo --place free --rounds 1 --slice 1ms -o -"
        => 0, ["no run directory", "Read-only file system", "TMPDIR=DIRECTORY"];
    a_root_without_devices: NO_DEVICES, "run -m pipe --place free -o run.json"
        => 3, ["no worker process: /dev/null: No such file or directory; mknod -m 666 /dev/null c 1 3"];
    a_root_without_devices_that_the_doctor_sees: NO_DEVICES, "doctor"
        => 0, ["measuring: impossible", "/dev/null: No such file or directory", "Remedy: mknod -m 666 /dev/null c 1 3."];
    a_root_without_proc: NO_PROC, "run -m pipe --place free -o run.json"
        => 3, ["no worker process: /proc/self/exe: No such file or directory; mount -t proc proc /proc"];
    a_lower_limit_of_message_queues: FEW_QUEUES, "run -m sysv-mq,sysv-mq/spin --place free -o run.json"
        => 3, ["as many System V message queues exist as kernel.msgmni allows (1); sysctl kernel.msgmni=32000"];
    a_lower_limit_of_semaphores: FEW_SEMAPHORES, "run -m sysv-sem --place free -o run.json"
        => 3, ["a set of 2 semaphores is above the first number of kernel.sem (1); sysctl kernel.sem="];
    a_lower_limit_of_shared_memory: LITTLE_SHARED,
        "run -m shm-ring/futex --set shm-ring.backing=sysv --place free -o run.json"
        => 3, ["of System V memory are above kernel.shmmax (1); sysctl kernel.shmmax="];
    a_sandbox_that_refuses_io_uring: NO_IO_URING, "run -m uring-pipe --rounds 1 --slice 1ms"
        => 3, ["io_uring"];
    a_sandbox_without_memory_files: NO_MEMFD, "run -m sysv-sem -o run.json"
        => 3, ["nothing can be measured here: no shared memory (memfd_create: Function not implemented)"];
    a_sandbox_that_refuses_queues: NO_QUEUES, "run -m posix-mq,posix-mq/spin --place free -o run.json"
        => 3, ["unavailable: posix-mq and posix-mq/spin: refused here: mq_open: Operation not permitted"];
    a_sandbox_that_refuses_queues_to_explain: NO_QUEUES, "explain posix-mq"
        => 3, ["posix-mq cannot run here: refused here: mq_open: Operation not permitted"];
    a_sandbox_that_refuses_names: NO_BIND,
        "run -m unix-stream,unix-dgram --set unix-stream.bind=path --set unix-dgram.bind=path --place free -o run.json"
        => 3, ["unavailable: unix-stream and unix-dgram: refused here: bind to a path in /", ": Permission denied"];
    a_sandbox_that_refuses_pinning: NO_PINNING, "run -m pipe,tcp --place same-cpu -o run.json"
        => 3, ["unavailable: pipe and tcp: no process can be pinned to a CPU (sched_setaffinity: Operation not permitted)"];
    a_sandbox_that_refuses_pinning_to_bounds: NO_PINNING,
        "run -m pipe --place free --rounds 1 --slice 1ms -o run.json"
        => 0, ["1 of 1 cell measured", "W-NOBOUND", "(no process can be pinned to a CPU (sched_setaffinity"];
    a_sandbox_that_refuses_pinning_to_the_doctor: NO_PINNING, "doctor"
        => 0, ["pinning: refused"];
    a_file_system_without_links: NO_LINKS, "run -m pipe --place free --rounds 1 --slice 1ms -o run.json"
        => 0, ["Result: run.json"];
    a_file_system_without_links_and_sync: NO_LINKS_NO_SYNC, "run -m pipe --place free --rounds 1 --slice 1ms"
        => 0, ["Result: ipcperf-"];
    a_file_system_in_which_nothing_gets_its_name: NO_NAMES, "run -m pipe --place free -o run.json"
        => 2, ["cannot write 'run.json': Operation not permitted; name another file with -o"];
}

/// What the list says of a mechanism is what a plan says of its cells, of a run and of a choice.
#[test]
fn the_list_the_run_and_the_choice_say_the_same() {
    let lacking_something = [NO_DIRECTORY, NO_QUEUES, NO_BIND].map(|situation| (situation, true));
    for (situation, lacks) in lacking_something.into_iter().chain([(Situation::USUAL, false)]) {
        situation.made(|_, run| {
            let list: Value = serde_json::from_str(&run("list --json").stdout).expect("JSON");
            let plan = run("run -m all --place free -s 64 --dry-run").stdout;
            let choice = run("choose -s 64 --dry-run").stdout;
            let mut lacking = 0;
            for one in list["mechanisms"].as_array().expect("a list") {
                let name = one["name"].as_str().expect("a name");
                let why = one["missing"].as_str();
                lacking += usize::from(why.is_some());
                for plan in [&plan, &choice] {
                    let cell = |line: &&str| line.starts_with(&format!("  {name} "));
                    for line in plan.lines().filter(cell) {
                        let told = line.contains(": unavailable: ");
                        match why {
                            Some(why) => {
                                assert!(line.contains(why), "{situation:?}: {line}: {why}")
                            }
                            // Two that spin on one CPU, and what a choice needs, are told of cells alone.
                            None => assert!(
                                !told
                                    || !line.contains("refused") && !line.contains("run directory"),
                                "{situation:?}: {line}"
                            ),
                        }
                    }
                }
            }
            assert!(!lacks || lacking > 0, "{situation:?}");
        });
    }
}

/// Nothing is tried, so nothing that a host lacks changes it.
#[test]
fn a_list_without_trials_is_the_same_everywhere() {
    let mut lists = BTreeSet::new();
    for situation in [Situation::USUAL, NO_DIRECTORY, NO_QUEUES, NO_MEMFD, ONE_WORKER] {
        situation.made(|_, run| {
            let list = run("list --no-probe --json");
            let mechanisms = valid("mechanisms", &list.stdout);
            let mechanisms = mechanisms["mechanisms"].as_array().expect("a list").clone();
            assert!(
                !mechanisms.is_empty() && mechanisms.iter().all(|one| one["available"].is_null())
            );
            lists.insert(format!("{mechanisms:?}{}", run("list --no-probe").stdout));
        });
    }
    assert_eq!(lists.len(), 1);
}

/// What a run of that user has left cannot be looked at: that is told, and removed once it can be.
#[test]
fn what_cannot_be_cleaned_is_told() {
    let locked = Situation::somebody(
        r#"d=$XDG_RUNTIME_DIR/ipcperf-$(id -u)-0123456789abcdef
           mkdir $d && : >$d/locked && chmod 0 $d && "$@"; code=$?; chmod 700 $d; rm -r $d; exit $code"#,
    );
    locked.answers("clean", 1, &["cannot clean directory", ": Permission denied"]);
}

/// Whatever the system does: a ring that cannot be had is missing to all of them, for the same reason.
#[test]
fn list_run_and_doctor_agree_on_io_uring() {
    let [few, some] = LITTLE_LOCKED_MEMORY;
    for situation in [Situation::USUAL, NO_IO_URING, few, some] {
        situation.made(|_, run| {
            let list = run("list --json");
            let list = valid("mechanisms", &list.stdout);
            let mechanisms = list["mechanisms"].as_array().expect("a list");
            let pipe = mechanisms.iter().find(|one| one["name"] == "uring-pipe").expect("its row");
            let missing = pipe["missing"].as_str().unwrap_or_default();
            let ended = run("run -m uring-pipe --place free --rounds 1 --slice 1ms -o -");
            let document = valid("result", &ended.stdout);
            let reason = cells(&document)[0]["reason"].as_str().unwrap_or_default();
            let expected = if missing.is_empty() { 0 } else { 3 };
            assert_eq!(ended.status.code(), Some(expected), "{situation:?}: {missing}: {reason}");
            assert!(reason.starts_with(missing), "{situation:?}: {missing}: {reason}");
            let doctor = valid("doctor", &run("doctor --format json").stdout);
            let checks = doctor["checks"].as_array().expect("a list");
            let check = checks.iter().find(|one| one["code"] == "URING").expect("its check");
            let found = if missing.is_empty() { "allowed" } else { "refused" };
            assert_eq!(check["found"], found, "{situation:?}: {check}");
            assert!(check["consequence"].as_str().is_some_and(|told| told.ends_with(missing)));
        });
    }
}
