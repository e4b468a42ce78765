//! `record`: who talks to whom among programs that run, and what it would take to put something else in between.

use super::session::{self as record, Recorded, Wanted};
use crate::profile::{PROFILE_SCHEMA, Profile, RecordedBy};
use crate::server::{exit_code, split};
use ipcperf_core::result::Origin;
use ipcperf_engine::host;
use ipcperf_engine::task::TaskError;
use ipcperf_kit::args::{LabelArgs, LookArgs, ProgressArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::Show;
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::{external, measure, output, request};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// Programs in the kernel: cheap, needs CAP_BPF and CAP_PERFMON
    Bpf,
    /// Stops the programs at each call: needs no rights, stretches times
    Ptrace,
}

/// A client, a time, and what becomes of the profile.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeptArgs {
    /// A client, started when the program listens; when the client ends, the program is ended
    #[arg(long, value_name = "COMMAND", requires = "program")]
    client: Option<String>,
    /// End after this time, and end the program [default: when the program ends]
    #[arg(long = "for", value_name = "TIME")]
    during: Option<String>,
    /// Write the profile to this file (JSON); '-' prints it instead of a table
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// Attach to this running process and record its children, too (repeatable). It keeps running afterwards
    #[arg(long, value_name = "PID", conflicts_with = "program", requires = "during", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Vec<u32>,
    /// How calls are recorded [default: bpf, or ptrace if bpf is not allowed]
    #[arg(long, value_enum)]
    with: Option<Way>,
    #[command(flatten)]
    kept: KeptArgs,
    /// The program and its arguments
    #[arg(required_unless_present = "pid", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

impl CommandArgs for RecordArgs {
    const NAME: &'static str = "record";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str =
        "Record which running programs exchange data: sizes, requests, calls and times";
    const EXAMPLES: &'static str = "Examples:
  ipcperf record --client 'redis-benchmark -p 6380 -t get -c 16 -n 50000 -q' -- redis-server --port 6380
  ipcperf record -o profile.json -- sh -c 'seq 1000000 | sort | tail -1'
  ipcperf record --pid 4711 --for 10s

The profile has sizes, counts, times and the names of programs, but no data, arguments,
addresses or users. The program's exit code is kept, or the client's if there is one (128 + N if
signal N ended it).";

    const DOCUMENTS: &'static [DocumentKind] = PROFILE;

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        run(self)
    }
}

/// The profile, which `record` and `audit` write.
pub(crate) const PROFILE: &[DocumentKind] = &[DocumentKind::of::<Profile>("profile", schema)];

const SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));

fn schema() -> String {
    ipcperf_packed::text(SCHEMAS, "profile").unwrap_or_default()
}

fn run(args: &RecordArgs) -> Result<ExitCode, Stop> {
    if let Some(pid) = args.pid.iter().find(|pid| !ipcperf_sys::process::exists(**pid)) {
        return Err(Stop::usage(format!("--pid {pid}: there is no such process")));
    }
    let by = args.with.map(|way| match way {
        Way::Bpf => RecordedBy::Bpf,
        Way::Ptrace => RecordedBy::Ptrace,
    });
    let wanted = Wanted { processes: args.pid.clone(), by, ..args.kept.wanted(&args.program)? };
    let (profile, status) = args.kept.record(&wanted)?;
    Ok(match status {
        _ if profile.interrupted => Code::Interrupted.into(),
        // It was ended by us when its time was over.
        Some(status) if wanted.during.is_none() => exit_code(status),
        _ => ExitCode::SUCCESS,
    })
}

impl KeptArgs {
    /// Programs to record.
    pub(crate) fn wanted(&self, program: &[String]) -> Result<Wanted, Stop> {
        let client = self.client.as_deref().map(|client| split("--client", client)).transpose()?;
        let second = Duration::from_secs(1);
        let during = self.during.as_deref();
        let during = during.map(|text| request::time("--for", text, second / 100, second * 3600));
        let (program, client) = (program.to_vec(), client.unwrap_or_default());
        for program in program.first().into_iter().chain(client.first()) {
            if let Some(why) = external::objection(program) {
                return Err(Stop::usage(why));
            }
        }
        Ok(Wanted { program, client, during: during.transpose()?, ..Wanted::default() })
    }

    /// Records, shows and keeps it. With it comes how the program ended.
    pub(crate) fn record(&self, wanted: &Wanted) -> Result<(Profile, Option<ExitStatus>), Stop> {
        let format = output::format(&self.look)?;
        let origin = self.label.origin()?;
        let now = jiff::Timestamp::now();
        let path = self.output.as_deref();
        let target = path.map(|path| Target::choose(Some(path), &now)).transpose()?;
        let interrupts = measure::interrupts()?;
        let recorded = record::run(wanted, &interrupts).map_err(|error| match error {
            TaskError::Interrupted => Stop::interrupted("interrupted"),
            TaskError::Deadline(why) | TaskError::Failed(why) => Stop::nothing_ran(why),
        })?;
        if let Some(why) = &recorded.why {
            note(&format!("ipcperf: recorded by ptrace, which stretches times: {why}"));
        }
        let status = recorded.status;
        let document = document(recorded, origin, &now);
        let style = output::style(&self.look, false);
        let publication = Publication {
            name: if document.audit.is_some() { "Audit" } else { "Profile" },
            document: &document,
            target: target.as_ref(),
            quiet: self.progress.quiet,
            screen: Some(Show::new(format, &style)),
        };
        publication.publish(|| ())?;
        Ok((document, status))
    }
}

fn document(recorded: Recorded, origin: Origin, began: &jiff::Timestamp) -> Profile {
    Profile {
        schema: PROFILE_SCHEMA.to_owned(),
        origin,
        tool: ipcperf_kit::build::tool(),
        kernel: host::kernel(),
        started_utc: began.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        duration_s: recorded.elapsed.as_secs_f64(),
        by: recorded.by,
        interrupted: recorded.is_interrupted,
        is_full: recorded.is_full,
        calls: recorded.calls,
        lost: recorded.lost,
        price_ns: recorded.price_ns,
        own_cpu_ns: recorded.price_ns.map(|_| recorded.own_cpu_ns),
        programs: recorded.programs,
        channels: recorded.channels,
        shared: recorded.shared,
        unseen: recorded.unseen,
        audit: recorded.audit,
    }
}
