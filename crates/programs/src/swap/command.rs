//! `swap`: a program of others, as it is, with its sockets exchanged for those of another kind.

use super::watch::{self as swap, Job, Knobs, Swapped, To};
use crate::server::{exit_code, split};
use ipcperf_core::{KnobValue, Missing, nearest, options, units};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::TaskError;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::request::Asked;
use ipcperf_kit::{external, measure, request};
use ipcperf_sys::io::peer;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::sysctl;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

/// What becomes of sockets.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExchangeArgs {
    /// The new kind of socket: unix-stream in place of TCP, unix-seqpacket for programs that read whole messages, vsock over
    /// its loopback transport, or tcp (loopback) in place of UNIX sockets. Append knobs to the name: 'unix-stream sndbuf=1M
    /// backlog=4096 bind=abstract', 'vsock buffer=1M', 'tcp nodelay=off'
    #[arg(long, value_name = "MECHANISM", default_value = "unix-stream")]
    to: String,
    /// Exchange only the sockets of this TCP port
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// What is always so today; scripts of before give it
    #[arg(long, hide = true)]
    fake_peers: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SwapArgs {
    #[command(flatten)]
    exchange: ExchangeArgs,
    /// A client, started when the program listens; when the client ends, the program is ended
    #[arg(long, value_name = "COMMAND")]
    client: Option<String>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

/// `S_ISUID | S_ISGID` (`inode(7)`).
const SET_ID: u32 = 0o6000;

const KNOWN: [(&str, To); 4] = [
    ("unix-stream", To::UnixStream),
    ("unix-seqpacket", To::UnixSeqpacket),
    ("vsock", To::Vsock),
    ("tcp", To::Tcp),
];

/// What of a mechanism's knobs an exchanged socket has.
const KNOBS: [&str; 6] = ["bind", "sndbuf", "rcvbuf", "backlog", "nodelay", "buffer"];

impl CommandArgs for SwapArgs {
    const NAME: &'static str = "swap";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str =
        "Run a program with its TCP sockets exchanged for UNIX sockets, or UNIX sockets for TCP";
    const EXAMPLES: &'static str = "Examples:
  ipcperf swap --to unix-stream -- redis-server --port 6379
  ipcperf swap --to unix-stream --client 'redis-benchmark -p 6379 -t get' -- redis-server --port 6379
  ipcperf swap --to 'unix-stream bind=abstract backlog=4096' -- redis-server --port 6379
  ipcperf swap --to tcp --client 'redis-benchmark -s r.sock -t get' -- redis-server --port 0 --unixsocket r.sock

The program's exit code is kept, or the client's if there is one (128 + N if signal N ended it).";
    const TASKS: &'static [TaskRow] = swap::TASKS;

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.registry, self)
    }
}

fn run(registry: &Registry, args: &SwapArgs) -> Result<ExitCode, Stop> {
    let client = args.client.as_deref().map(|client| split("--client", client)).transpose()?;
    let job = args.exchange.job(registry, args.program.clone(), client.unwrap_or_default())?;
    let interrupts = measure::interrupts()?;
    let mut listens = |address: &str, path: &str| note(&format!("ipcperf: {address} -> {path}"));
    match swap::run(job, &interrupts, &mut listens) {
        Ok(swapped) => {
            let code = told(&swapped);
            let has_ended = args.client.is_some() && swapped.worked.is_none();
            if has_ended && swapped.status.success() && !swapped.is_interrupted {
                return Err(Stop::internal(TaskError::Failed(
                    "the program ended before it listened, so its client was not started"
                        .to_owned(),
                )));
            }
            Ok(code)
        }
        Err(TaskError::Interrupted) => Err(Stop::interrupted("interrupted")),
        Err(error) => Err(Stop::internal(error)),
    }
}

impl ExchangeArgs {
    /// The only port that is exchanged, if it is one.
    pub(crate) fn port(&self) -> Option<u16> {
        self.port
    }

    /// What the sockets become, as it was asked for.
    pub(crate) fn to(&self) -> &str {
        &self.to
    }

    /// A program and its client, if there is one, with their sockets exchanged.
    pub(crate) fn job(
        &self,
        registry: &Registry,
        program: Vec<String>,
        client: Vec<String>,
    ) -> Result<Job, Stop> {
        let wanted = self.to.trim();
        let name = wanted.split_whitespace().next().unwrap_or(wanted);
        let Some((_, to)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            let names = KNOWN.map(|(name, _)| name);
            let near = nearest(name, names);
            let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            let names = names.join(", ");
            return Err(Stop::usage(format!("--to {name}: sockets become one of {names}{near}")));
        };
        let knobs = knobs(registry, wanted)?;
        let may_look = peer::probe_descriptors().and_then(|()| peer::probe_memory(true));
        may_look.and_then(|()| peer::probe_memory(false)).map_err(Stop::nothing_ran)?;
        if *to == To::Tcp && self.port.is_some() {
            return Err(Stop::usage("--port: --to tcp exchanges UNIX sockets, which have no port"));
        }
        for program in program.first().into_iter().chain(client.first()) {
            if let Some(why) = external::objection(program) {
                return Err(Stop::usage(why));
            }
            if cfg!(not(target_arch = "x86_64")) && is_32_bit(program) {
                return Err(Stop::usage(format!(
                    "'{program}' is a 32-bit program, and its calls cannot be intercepted"
                )));
            }
            let mode = external::file_of(program).and_then(|file| file.metadata().ok());
            if mode.is_some_and(|facts| facts.permissions().mode() & SET_ID != 0) {
                return Err(Stop::usage(format!(
                    "'{program}' takes the rights of its owner (set-user-ID), which a filter does not allow; run it as that \
                     user"
                )));
            }
        }
        let mut job = Job::of(program);
        (job.client, job.to, job.knobs) = (client, *to, knobs);
        job.port = self.port;
        // Accepted and without meaning: addresses are told as before in any case.
        let _ = self.fake_peers;
        Ok(job)
    }
}

/// Whether a program is one of 32 bits: `EI_CLASS` is `ELFCLASS32` (`elf(5)`).
pub(crate) fn is_32_bit(program: &str) -> bool {
    let Some(file) = external::file_of(program) else { return false };
    let mut begin = [0_u8; 5];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"\x7fELF\x01"
}

/// How the new sockets are set up, by the knobs behind the name of their mechanism.
fn knobs(registry: &Registry, wanted: &str) -> Result<Knobs, Stop> {
    let Asked { entry, options } = request::one(registry, wanted)?;
    let mut knobs = Knobs::default();
    for (knob, text) in options.of(entry.spec.name) {
        let value = options::check(entry.spec.name, entry.knobs, knob, text);
        let value = value.map_err(|error| Stop::usage(error.to_string()))?;
        let number = match &value {
            KnobValue::Number(number) => usize::try_from(*number).ok(),
            _ => None,
        };
        match (knob, &value) {
            ("bind", KnobValue::Word(word)) if word != "socketpair" => {
                knobs.is_abstract = word == "abstract";
            }
            ("sndbuf", _) => knobs.buffers[0] = number,
            ("rcvbuf", _) => knobs.buffers[1] = number,
            ("buffer", KnobValue::Number(bytes)) => knobs.buffer = Some(*bytes),
            ("backlog", _) => knobs.backlog = number.and_then(|number| i32::try_from(number).ok()),
            ("nodelay", KnobValue::Flag(is_on)) => knobs.delays = !is_on,
            _ => {
                let known = KNOBS.join(", ");
                return Err(Stop::usage(format!(
                    "--to: an exchanged socket has no {knob}={text} (knobs: {known}; bind is path or abstract)"
                )));
            }
        }
    }
    for (asked, limit) in knobs.buffers.iter().zip(["wmem_max", "rmem_max"]) {
        let most = sysctl::number(&format!("net/core/{limit}"));
        if let (Some(asked), Some(most)) = (asked.map(|asked| asked as u64), most)
            && asked > most
        {
            let [wanted, allowed] = [asked, most].map(units::format_size);
            let what = format!("a buffer of {wanted} is more than net.core.{limit}, {allowed}");
            let how = format!("sysctl net.core.{limit}={asked}");
            return Err(Stop::nothing_ran(Missing::new(what, how)));
        }
    }
    let is_there = entry.probe(&options).map_err(|error| Stop::usage(error.to_string()))?;
    is_there.map_err(Stop::nothing_ran)?;
    Ok(knobs)
}

fn counted(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// What was exchanged, and the exit code.
fn told(swapped: &Swapped) -> ExitCode {
    let done = &swapped.exchanged;
    if done.bound.is_empty() {
        note("ipcperf: nothing was exchanged: the program bound no socket of that kind");
    } else {
        note(&format!(
            "ipcperf: exchanged {} and {}, and answered {}",
            units::counted(done.listeners(), "listener"),
            units::counted(done.connected, "connection"),
            units::counted(done.handed, "call")
        ));
    }
    for (option, times) in &done.options {
        note(&format!(
            "ipcperf: {option} was set {} without effect: the new socket has no such option",
            counted(*times)
        ));
    }
    for (option, times) in &done.asked {
        note(&format!(
            "ipcperf: {option} was read {}: the new socket does not count that, so the answer was zeros",
            counted(*times)
        ));
    }
    for (call, times) in &done.carried {
        note(&format!(
            "ipcperf: {call} with an address was called {}: ipcperf moved its bytes, which takes longer",
            counted(*times)
        ));
    }
    for (why, times) in &done.left {
        note(&format!("ipcperf: not exchanged, {}: {why}", counted(*times)));
    }
    if done.taken_back > 0 {
        note(&format!(
            "ipcperf: signals interrupted {} before ipcperf received them: such a call is restarted or, without SA_RESTART, \
             fails with EINTR",
            units::counted(done.taken_back, "call")
        ));
    }
    if !done.bound.is_empty() {
        note(&format!(
            "ipcperf: the filter adds {:.0} ns to every recv(2) and send(2), and {:.0} ns to every other system call",
            swapped.receive_ns.max(0.0),
            swapped.filter_ns.max(0.0)
        ));
    }
    if let Some(left) = &swapped.left_behind {
        note(&format!(
            "ipcperf: the program has ended, so {left}, which it started, was ended too. Start programs in the \
             foreground"
        ));
    }
    let status = swapped.status;
    if status.signal().is_some() && !swapped.is_interrupted {
        note(&format!("ipcperf: the program {}", describe_end(status)));
    }
    exit_code(status)
}
