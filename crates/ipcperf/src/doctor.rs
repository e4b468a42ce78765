//! `doctor`: is this machine fit to measure?

use crate::args::DoctorArgs;
use crate::error::Stop;
use crate::output;
use ipcperf_engine::doctor;
use ipcperf_sys::signals::Interrupts;
use std::process::ExitCode;

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Stop> {
    let format = output::text_format(&args.look)?;
    let interrupts = Interrupts::catch()
        .map_err(|error| Stop::internal(format!("signal descriptor: {error}")))?;
    let examination = doctor::examine(crate::build::tool(), Some(&interrupts))
        .map_err(|error| Stop::internal(format!("cannot examine: {error}")))?;
    let Some(examination) = examination else { return Ok(crate::error::Code::Interrupted.into()) };
    let mut bytes = Vec::new();
    ipcperf_report::doctor(&examination, format, &output::style(&args.look, false), &mut bytes)
        .map_err(|error| Stop::internal(format!("doctor: {error}")))?;
    output::to_stdout(&bytes)
}
