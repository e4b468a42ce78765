//! `audit`: what is wrong with a benchmark of others, as far as its calls tell.

use super::findings;
use crate::profile::RecordedBy;
use crate::record::command::{KeptArgs, PROFILE};
use crate::record::session::{Audited, Wanted};
use crate::server::exit_code;
use ipcperf_core::findings::Row;
use ipcperf_core::result::Severity;
use ipcperf_core::units;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Code, Stop};
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The size that each message should have
    #[arg(short, long, value_name = "SIZE")]
    size: Option<String>,
    #[command(flatten)]
    kept: KeptArgs,
    /// The benchmark and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

impl CommandArgs for AuditArgs {
    const NAME: &'static str = "audit";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str =
        "Audit a benchmark: what it times, what its figure includes, and what is wrong with it";
    const EXAMPLES: &'static str = "Examples:
  ipcperf audit -- perf bench sched pipe -l 2000
  ipcperf audit --size 100 -- ./my-benchmark --messages 500
  ipcperf audit --client 'sockperf ping-pong -i 127.0.0.1 -t 1' -- sockperf server

The benchmark is stopped at each call, so let it exchange a few hundred messages. If it fails, its
exit code is kept; otherwise it is 5 with a fault (E-...), 3 if nothing was examined, else 0.";

    const DOCUMENTS: &'static [DocumentKind] = PROFILE;
    const FINDINGS: &'static [Row] = findings::ALL;

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        run(self)
    }
}

fn run(args: &AuditArgs) -> Result<ExitCode, Stop> {
    let size = args.size.as_deref().map(units::bytes).transpose();
    let size = size.map_err(|error| Stop::usage(format!("--size: {error}")))?;
    let wanted = Wanted {
        by: Some(RecordedBy::Ptrace),
        audit: Some(Audited { size }),
        ..args.kept.wanted(&args.program)?
    };
    let (profile, status) = args.kept.record(&wanted)?;
    let audit = profile.audit.unwrap_or_default();
    let has_fault = audit.findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(match status {
        _ if profile.interrupted => Code::Interrupted.into(),
        Some(status) if wanted.during.is_none() && !status.success() => exit_code(status),
        _ if has_fault => Code::Invalid.into(),
        _ if audit.messages == 0 => Code::NothingRan.into(),
        _ => ExitCode::SUCCESS,
    })
}
