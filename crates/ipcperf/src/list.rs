//! `list` and `describe`: what there is, and whether this machine has it.

use crate::args::{DescribeArgs, ListArgs};
use crate::error::{Stop, unknown};
use crate::output;
use ipcperf_core::OptionSet;
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_report::{Format, ListRow};
use std::process::ExitCode;

fn row(entry: &Entry) -> Result<ListRow, Stop> {
    let options = OptionSet::default();
    let refused =
        |error| Stop::internal(format!("{}: default knobs: {error}", entry.spec.full_name()));
    Ok(ListRow {
        spec: entry.spec,
        knobs: entry.knobs,
        missing: entry.probe(&options).map_err(refused)?.err(),
        limit: entry.limit(&options).map_err(refused)?,
    })
}

pub(crate) fn list(registry: &Registry, args: &ListArgs) -> Result<ExitCode, Stop> {
    let format = if args.json { Format::Json } else { output::format(&args.look)? };
    let rows = registry.entries().iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let mut bytes = Vec::new();
    ipcperf_report::list(&rows, format, &output::style(&args.look, false), &mut bytes)
        .map_err(|error| Stop::internal(format!("list: {error}")))?;
    output::to_stdout(&bytes)
}

pub(crate) fn describe(registry: &Registry, args: &DescribeArgs) -> Result<ExitCode, Stop> {
    let Some(entry) = registry.find(&args.name) else {
        let names: Vec<String> =
            registry.entries().iter().map(|entry| entry.spec.full_name()).collect();
        let names = names.iter().map(String::as_str);
        return Err(unknown("mechanism", &args.name, names, "'ipcperf list' shows them all"));
    };
    let row = row(entry)?;
    let style = output::style(&args.look, false);
    let mut bytes = Vec::new();
    match output::format(&args.look)? {
        Format::Table => ipcperf_report::describe(&row, &style, &mut bytes),
        format => ipcperf_report::list(&[row], format, &style, &mut bytes),
    }
    .map_err(|error| Stop::internal(format!("describe: {error}")))?;
    output::to_stdout(&bytes)
}
