//! The published experiment itself: two socat processes, timed around their commands.

use super::super::work::Turn;
use super::plan::{Method, Plan, TransferRun};
use ipcperf_engine::keeper::{Error, Outlet, Programs};
use ipcperf_engine::task::TaskError;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::pipe;
use ipcperf_sys::program::counts_bytes;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const NAME: &str = "socat";
/// Attempts at a run whose ends miss or lose each other.
const ATTEMPTS: u64 = 20;
/// The sink's head start grows by this much after each miss.
const HEAD_START: Duration = Duration::from_millis(2);
/// How long the program may take to print its version.
const VERSION: Duration = Duration::from_secs(5);

/// The error of a source whose sink has left. A sink that reads a socket leaves in the first pause of half a second,
/// because its null device ends the other direction at once.
const LEFT: &str = "Broken pipe";
/// Errors of an end that could not find the other.
const RACES: [&str; 4] =
    ["Connection refused", "No such file or directory", "Address already in use", "File exists"];

/// The program.
#[derive(Clone, Debug)]
pub(super) struct Socat {
    path: PathBuf,
    version: String,
}

/// The one that is installed, or why none can be used; looked for once.
pub(super) fn installed() -> &'static Result<Socat, String> {
    static FOUND: OnceLock<Result<Socat, String>> = OnceLock::new();
    FOUND.get_or_init(Socat::find)
}

impl Socat {
    /// Looks for it, and for what is needed to count the bytes that arrive.
    fn find() -> Result<Self, String> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&paths)
            .map(|folder| folder.join(NAME))
            .find(|path| path.is_file())
            .ok_or("socat is not installed; apt-get install socat, or the package of that name elsewhere")?;
        if !counts_bytes() {
            return Err("this kernel does not count what socat writes (/proc/PID/io)".into());
        }
        let version = version(&path)
            .map_err(|why| format!("the socat that is installed does not run: {why}"))?;
        Ok(Self { path, version })
    }

    /// "socat 1.7.4.4".
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn measure(&self, plan: &Plan, turn: &Turn<'_>) -> Result<TransferRun, TaskError> {
        let mut words = String::new();
        for missed in 0..ATTEMPTS {
            let more = HEAD_START * u32::try_from(missed).unwrap_or(u32::MAX);
            match self.attempt(plan, turn, Some(more))? {
                Ok(run) => return Ok(TransferRun { races_lost: missed, ..run }),
                Err(what) => words = what,
            }
        }
        Err(TaskError::Failed(format!("socat: no whole run in {ATTEMPTS} attempts: {words}")))
    }

    /// Starts both ends at the same moment; the error of the end that did not find the other.
    pub(super) fn at_once(
        &self,
        plan: &Plan,
        turn: &Turn<'_>,
    ) -> Result<Option<String>, TaskError> {
        Ok(self.attempt(plan, turn, None)?.err())
    }

    /// Tries it once. The inner error is what an end printed that missed or lost the other. The sink has the published
    /// head start and `more`; with `None` it has none.
    fn attempt(
        &self,
        plan: &Plan,
        turn: &Turn<'_>,
        more: Option<Duration>,
    ) -> Result<Result<TransferRun, String>, TaskError> {
        let name = format!("{}-{:x}", plan.method.name(), turn.nonce);
        // The two make something under this name, and leave it if they are killed.
        let _guard = Unlink::new(turn.directory.join(&name));
        let port = if plan.method == Method::Tcp { free_port()? } else { 0 };
        let (mut from, mut to) = (Stdio::null(), Stdio::null());
        if plan.method == Method::AnonymousPipe {
            let failed = |error: ipcperf_core::SetupError| TaskError::Failed(error.to_string());
            let pair = pipe::pair().map_err(failed)?;
            pipe::set_capacity(&pair.write, plan.pipe_bytes).map_err(failed)?;
            (from, to) = (pair.read.into(), pair.write.into());
        }
        let mut programs = Programs::new(turn.deadline, turn.interrupts);
        let mut start_ns = monotonic_ns();
        let mut ready = self.command(turn, &sink(plan, &name, port));
        programs.start(NAME, ready.stdin(from), None)?;
        if let Some(more) = more.filter(|_| plan.method != Method::AnonymousPipe) {
            head_start(more, turn)?;
            start_ns = monotonic_ns();
        }
        // The coordinator's own ends of the pipe go with the commands.
        ready = self.command(turn, &source(plan, &name, port));
        programs.start(NAME, ready.stdout(to), None)?;
        drop(ready);
        let finished = match programs.finish(None) {
            // Both started at the same time and one was not there yet, or the machine paused and one left before all
            // bytes had come.
            Err(Error::Ended { complaint, .. })
                if RACES.iter().any(|it| complaint.contains(it))
                    || more.is_some() && complaint.contains(LEFT) =>
            {
                return Ok(Err(complaint));
            }
            other => other?,
        };
        let received = finished.programs.first().and_then(|sink| sink.written_bytes());
        let received = received
            .ok_or_else(|| TaskError::Failed("socat: what the sink took was not counted".into()))?;
        // A run that lost bytes would look fast.
        if received != plan.bytes {
            let expected = plan.bytes;
            let why = format!("socat: the sink took {received} of {expected} bytes");
            return Err(TaskError::Failed(why));
        }
        Ok(Ok(TransferRun {
            wall_ns: finished.end_ns.saturating_sub(start_ns),
            user_ns: finished.programs.iter().map(|one| one.ended.user_ns).sum(),
            system_ns: finished.programs.iter().map(|one| one.ended.system_ns).sum(),
            races_lost: 0,
            port,
        }))
    }

    fn command(&self, turn: &Turn<'_>, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env("LC_ALL", "C").current_dir(turn.directory);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

/// What the published script does between the sink's start and its own first look at the clock: it runs `date`. The
/// sink needs about that long to listen; `more` is for machines on which it needs longer.
///
/// # Errors
/// The user interrupted. Without `date` there is no head start, and the attempt may miss.
fn head_start(more: Duration, turn: &Turn<'_>) -> Result<(), TaskError> {
    let mut date = Command::new("date");
    date.arg("+%s%N").stdin(Stdio::null()).stdout(Stdio::null());
    let mut programs = Programs::new(turn.deadline, turn.interrupts);
    if let Err(Error::Interrupted) =
        programs.start("date", &mut date, None).and_then(|()| programs.finish(None))
    {
        return Err(TaskError::Interrupted);
    }
    std::thread::sleep(more);
    Ok(())
}

/// A port that was free a moment ago: the published one may be taken.
fn free_port() -> Result<u16, TaskError> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The two commands of a run, the source first.
pub(super) fn commands(plan: &Plan, port: u16) -> [String; 2] {
    let name = plan.method.name();
    [source(plan, name, port), sink(plan, name, port)]
        .map(|arguments| format!("{NAME} {}", arguments.join(" ")))
}

/// The same for a shell, in a form that cannot hang: the named pipe and the path of the socket exist before the source starts, a
/// source retries until its sink listens, and an end that waits for ever is stopped. socat tries again where a connection is
/// refused, and not where the path is missing.
pub(super) fn script(plan: &Plan, port: u16) -> String {
    let [mut source, sink] = commands(plan, port).map(|command| format!("timeout 600 {command}"));
    let name = plan.method.name();
    match plan.method {
        Method::AnonymousPipe => format!("{source} | {sink}"),
        Method::NamedPipe => format!("mkfifo {name}; {sink} & {source}; wait; rm {name}"),
        Method::UnixStream | Method::Tcp => {
            source.push_str(",retry=50,interval=0.1");
            let wait = match plan.method {
                Method::UnixStream => {
                    format!("for _ in $(seq 500); do test -S {name} && break; sleep 0.01; done; ")
                }
                _ => String::new(),
            };
            format!("{sink} & {wait}{source}; wait")
        }
    }
}

fn source(plan: &Plan, name: &str, port: u16) -> Vec<String> {
    let zeros = format!("OPEN:/dev/zero,readbytes={}", plan.bytes);
    let way = match plan.method {
        Method::AnonymousPipe => "STDOUT".into(),
        Method::NamedPipe => format!("PIPE:{name},wronly"),
        Method::UnixStream => format!("UNIX:{name}"),
        Method::Tcp => format!("TCP:127.0.0.1:{port}"),
    };
    flags(plan).into_iter().chain([zeros, way]).collect()
}

/// As published, except for the address of the TCP listener, which only this machine can reach.
fn sink(plan: &Plan, name: &str, port: u16) -> Vec<String> {
    let way = match plan.method {
        Method::AnonymousPipe => "STDIN".into(),
        Method::NamedPipe => format!("PIPE:{name},rdonly"),
        Method::UnixStream => format!("UNIX-LISTEN:{name}"),
        Method::Tcp => format!("TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1"),
    };
    flags(plan).into_iter().chain([way, "OPEN:/dev/null".into()]).collect()
}

fn flags(plan: &Plan) -> Vec<String> {
    let mut flags = Vec::new();
    match plan.closing() {
        _ if plan.one_way => flags.push("-u".into()),
        // The null device of a sink that reads a socket ends its other direction at once, so a shorter wait would end the
        // sink in the first pause of the source. It does not wait at the end either.
        Some(closing) if plan.method.is_pipe() => {
            flags.extend(["-t".into(), format!("{:.6}", closing.as_secs_f64())]);
        }
        _ => {}
    }
    flags.extend(["-b".into(), plan.block.to_string()]);
    flags
}

/// The number in "socat version 1.7.4.4 on 06 Nov 2022".
fn version(path: &Path) -> Result<String, Error> {
    let (output, theirs) = Outlet::open()?;
    let mut programs = Programs::new(Instant::now() + VERSION, None);
    let mut command = Command::new(path);
    command.arg("-V").stdin(Stdio::null()).stdout(theirs);
    programs.start(NAME, &mut command, None)?;
    drop(command);
    let text = programs.finish(Some(output))?.start;
    let number = text.split("socat version ").nth(1);
    let number = number.and_then(|rest| rest.split_ascii_whitespace().next());
    let number = number.ok_or_else(|| Error::Failed(format!("{NAME} -V tells no version")))?;
    Ok(format!("{NAME} {number}"))
}
