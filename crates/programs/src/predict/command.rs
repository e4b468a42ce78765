//! `predict`: what a server and its client would gain from sockets of another kind, found by giving them some.

use super::rounds::{self as predict, ClientWork, PredictSettings, Predicted};
use crate::profile::{Exchange, RecordedChannel};
use crate::record::session as record;
use crate::server::split;
use crate::swap::command::ExchangeArgs;
use crate::swap::watch::Job;
use ipcperf_ask::ComparisonDocument;
use ipcperf_core::result::{ComparisonPlan, ExchangedPrograms, Origin, Plan, Status};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::fresh_seed;
use ipcperf_engine::task::TaskError;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_judge::{ProgramFigure, Programs, compare_programs};
use ipcperf_kit::args::{LabelArgs, LookArgs, ProgressArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::{Document, Show};
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::{gates, measure, output, reading, request};
use ipcperf_render::text::counted;
use ipcperf_stats::{median, robust_cv};
use ipcperf_sys::signals::Interrupts;
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// The server and its arguments. It is started anew for each run, and ended with SIGTERM
    #[arg(long, value_name = "COMMAND")]
    server: String,
    /// The client and its arguments, started when the server listens; it has to end by itself
    #[arg(long, value_name = "COMMAND")]
    client: String,
    #[command(flatten)]
    exchange: ExchangeArgs,
    /// The client's own figure: its first group is a number in what the client prints; the last match counts. More is better,
    /// and it is per second
    #[arg(long, value_name = "REGEX")]
    figure: Option<String>,
    /// The figure is a time: less is better
    #[arg(long, requires = "figure")]
    less_is_better: bool,
    /// How many requests the client makes in a run, for figures per request [default: as many as are seen in a run that is
    /// recorded first]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Rounds; each runs both as they are twice and with other sockets once, in random order
    #[arg(long, value_name = "N", default_value_t = 12)]
    rounds: u64,
    /// How long the client may take in one run
    #[arg(long, value_name = "TIME", default_value = "60s")]
    deadline: String,
    /// Seed of the random order [default: random, recorded in the result]
    #[arg(long)]
    seed: Option<u64>,
    /// Exit 6 if it would certainly be slower by more than this, 9 if undecided (repeatable): slower:5%
    #[arg(long, value_name = "slower:SHARE")]
    fail_on: Vec<String>,
    /// Print the plan without running anything
    #[arg(long)]
    dry_run: bool,
    /// Write the comparison to this file (JSON); '-' prints it instead of a table
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// What is told of a run.
struct ClientFigure {
    figure: Option<Regex>,
    less_is_better: bool,
    requests: Option<u64>,
}

impl CommandArgs for PredictArgs {
    const NAME: &'static str = "predict";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str = "Predict what a server and its client gain from other sockets, by running both ways side by side";
    const EXAMPLES: &'static str = "Examples:
  ipcperf predict --server 'redis-server --port 6380' --client 'redis-benchmark -p 6380 -t get -c 16 -n 50000 -q'
  ipcperf predict --server 'nginx -c /tmp/n.conf' --client 'wrk -d 1s http://127.0.0.1:8080/' --figure 'Requests/sec: +([0-9.]+)'
  ipcperf predict --to tcp --server './server s.sock' --client './client s.sock'

A client that makes the same requests in every run needs no --figure: its time tells. How many it makes is seen in a run
that is recorded first, where questions and answers alternate.";
    const TASKS: &'static [TaskRow] = crate::swap::watch::TASKS;

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.registry, self)
    }
}

fn run(registry: &Registry, args: &PredictArgs) -> Result<ExitCode, Stop> {
    let format = output::format(&args.look)?;
    let origin = args.label.origin()?;
    let gates = gates::slower(&args.fail_on)?;
    let (server, client) = (split("--server", &args.server)?, split("--client", &args.client)?);
    let words = words(&server, &client);
    let job = args.exchange.job(registry, server, client)?;
    let mut asked = ClientFigure {
        figure: args.figure.as_deref().map(expression).transpose()?,
        less_is_better: args.less_is_better,
        requests: args.requests,
    };
    let second = Duration::from_secs(1);
    let settings = PredictSettings {
        rounds: request::rounds(args.rounds)?,
        deadline: request::time("--deadline", &args.deadline, second / 100, second * 3600)?,
        seed: args.seed.unwrap_or_else(fresh_seed),
    };
    let now = jiff::Timestamp::now();
    let path = args.output.as_deref();
    if args.dry_run {
        let rounds = counted(settings.rounds, "round");
        let (deadline, seed) = (settings.deadline.as_secs_f64(), settings.seed);
        let head = format!("{rounds} of 3 runs of at most {deadline} s, seed {seed}");
        return output::lines(
            [head].into_iter().chain(predict::ARMS.map(|arm| format!("  {words}, {arm}"))),
        );
    }
    let target = path.map(|path| Target::choose(Some(path), &now)).transpose()?;
    let interrupts = measure::interrupts()?;
    if asked.figure.is_none() && asked.requests.is_none() {
        asked.requests = recorded(&job, settings.deadline, &interrupts)?;
        if let Some(requests) = asked.requests.filter(|_| !args.progress.quiet) {
            let made = counted(requests, "request");
            note(&format!(
                "The client made {made} in a run that was recorded; --requests tells another number"
            ));
        }
    }
    let line = ProgressLine::counting("runs", args.progress.is_silent());
    let began = Instant::now();
    let found = predict::run(&job, &settings, &interrupts, &mut |progress| line.show(progress));
    let Predicted { mut findings, rounds } = found.map_err(|error| match error {
        TaskError::Interrupted => Stop::interrupted("interrupted"),
        TaskError::Deadline(why) | TaskError::Failed(why) => Stop::internal(why),
    })?;
    let Some(last) = rounds.last().map(|[_, _, b]| b) else {
        return Err(Stop::interrupted("interrupted before the first round was complete"));
    };
    if last.exchanged.bound.is_empty() {
        return Err(Stop::nothing_ran(nothing(last)));
    }
    let figures = asked.figures(&rounds)?;
    let decides = figures.iter().take(1).flat_map(|figure| &figure.rounds);
    findings.spreads = decides.filter_map(|rounds| robust_cv(rounds)).collect();
    let facts = facts(args, asked.requests, &rounds);
    let plan = ComparisonPlan {
        rounds: settings.rounds,
        duration_s: began.elapsed().as_secs_f64(),
        seed: settings.seed,
        ..ComparisonPlan::default()
    };
    let command = Plan { command: "predict".into(), rounds: settings.rounds, ..Plan::default() };
    let set = measure::take(command, settings.seed, Origin::default(), &now, || Ok(findings))?;
    let to = args.exchange.to();
    let from = if to.split_whitespace().next() == Some("tcp") { "unix-stream" } else { "tcp" };
    let [a, b] = [from, to].map(|kind| format!("{kind} {words}"));
    let programs = Programs { a, b, facts, figures, set: &set };
    let document = compare_programs(programs, plan);
    let mut document =
        reading::shareable(document, |text| ComparisonDocument::load(text).ok().map(|read| read.0));
    document.origin = origin;
    let style = output::style(&args.look, false);
    let document = ComparisonDocument(document);
    let publication = Publication {
        name: "Comparison",
        document: &document,
        target: target.as_ref(),
        quiet: args.progress.quiet,
        screen: Some(Show::new(format, &style)),
    };
    publication.publish(|| ())?;
    let ended = measure::worst(set.interrupted, measure::invalid(&set.noise), &[Status::Ok]);
    Ok(ended.or(gates::outcome(&gates, &document.0)).map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// How many requests the client makes: those of the channel with most of them, in a run of both that is recorded. `None` where
/// questions and answers do not alternate, or nothing can be recorded.
fn recorded(job: &Job, deadline: Duration, interrupts: &Interrupts) -> Result<Option<u64>, Stop> {
    let wanted = record::Wanted {
        program: job.program.clone(),
        client: job.client.clone(),
        during: Some(deadline),
        is_silent: true,
        ..record::Wanted::default()
    };
    // What is wrong with the programs the first round says.
    let Ok(recorded) = record::run(&wanted, interrupts) else { return Ok(None) };
    if recorded.is_interrupted {
        return Err(Stop::interrupted("interrupted before the first round was complete"));
    }
    let is_whole = recorded.lost == 0 && recorded.status.is_some_and(|status| status.success());
    let is_mutual = |one: &&RecordedChannel| {
        one.exchange == Exchange::Closed && one.asks.is_some() && one.answers.is_some()
    };
    let channels = recorded.channels.iter().filter(is_mutual).filter(|_| is_whole);
    Ok(channels.map(|one| one.requests).max())
}

/// `redis-benchmark on redis-server`.
fn words(server: &[String], client: &[String]) -> String {
    let [client, server] = [client, server].map(|words| {
        let program = words.first().map_or("", String::as_str);
        let name = Path::new(program).file_name();
        let name = name.map_or(program.into(), |name| name.to_string_lossy());
        // Blanks part words from each other.
        name.replace(char::is_whitespace, "_")
    });
    format!("{client} on {server}")
}

fn expression(text: &str) -> Result<Regex, Stop> {
    let regex = Regex::new(text).map_err(|why| Stop::usage(format!("--figure: {why}")))?;
    match regex.captures_len() {
        0 | 1 => Err(Stop::usage(format!(
            "--figure: '{text}' has no group for the number, like '([0-9.]+) requests'"
        ))),
        _ => Ok(regex),
    }
}

/// Why nothing was exchanged.
fn nothing(work: &ClientWork) -> String {
    let left = work.exchanged.left.keys().next();
    let why = left.map_or_else(
        || "the server bound no socket of the kind that is exchanged".to_owned(),
        Clone::clone,
    );
    format!("nothing was exchanged: {why}")
}

impl ClientFigure {
    /// What the rounds are compared by.
    fn figures(&self, rounds: &[[ClientWork; 3]]) -> Result<Vec<ProgramFigure>, Stop> {
        let of = |name, more_is_better, value: &dyn Fn(&ClientWork) -> Result<f64, Stop>| {
            let arm = |at: usize| -> Result<Vec<f64>, Stop> {
                rounds.iter().map(|round| value(&round[at])).collect()
            };
            let rounds = [arm(0)?, arm(1)?, arm(2)?];
            Ok(ProgramFigure { name, more_is_better, rounds })
        };
        let elapsed = |work: &ClientWork| work.worked.elapsed_ns.max(1) as f64;
        let primary =
            match (&self.figure, self.requests) {
                (Some(regex), _) => {
                    of("figure", !self.less_is_better, &|work| figure(regex, &work.output))?
                }
                (None, Some(requests)) => of("requests_per_second", true, &|work| {
                    Ok(requests as f64 / (elapsed(work) / 1e9))
                })?,
                (None, None) => of("elapsed_ns", false, &|work| Ok(elapsed(work)))?,
            };
        // What the CPU time of a run was used for.
        let amount = |work: &ClientWork| match (self.requests, &self.figure) {
            (Some(requests), _) => Ok(requests as f64),
            (None, Some(regex)) if !self.less_is_better => {
                figure(regex, &work.output).map(|rate| rate * elapsed(work) / 1e9)
            }
            _ => Ok(1.0),
        };
        let server =
            of("server_cpu_ns", false, &|work| Ok(work.worked.server_ns as f64 / amount(work)?))?;
        let client =
            of("client_cpu_ns", false, &|work| Ok(work.worked.client_ns as f64 / amount(work)?))?;
        Ok(vec![primary, server, client])
    }
}

/// The last number that the expression finds.
fn figure(regex: &Regex, output: &str) -> Result<f64, Stop> {
    let found = regex.captures_iter(output).last().and_then(|found| found.get(1));
    let Some(found) = found else {
        let text = regex.as_str();
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        return Err(Stop::usage(format!(
            "--figure: '{text}' finds nothing in what the client printed, which ends with: {last}"
        )));
    };
    let number = found.as_str().replace(',', "").parse::<f64>();
    number
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| Stop::usage(format!("--figure: '{}' is no number above 0", found.as_str())))
}

/// What ran, and what was seen of it.
fn facts(
    args: &PredictArgs,
    requests: Option<u64>,
    rounds: &[[ClientWork; 3]],
) -> ExchangedPrograms {
    let cpus = |arm: usize, used: fn(&ClientWork) -> u64| {
        let share = |round: &[ClientWork; 3]| {
            let work = &round[arm];
            used(work) as f64 / work.worked.elapsed_ns.max(1) as f64
        };
        median(&rounds.iter().map(share).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let both = |used: fn(&ClientWork) -> u64| [cpus(0, used), cpus(2, used)];
    let filter: Vec<f64> = rounds.iter().flatten().map(|work| work.filter_ns).collect();
    let last = rounds.last().map(|[_, _, b]| b.exchanged.clone()).unwrap_or_default();
    ExchangedPrograms {
        server: output::without_home(&args.server),
        client: output::without_home(&args.client),
        requests,
        figure: args.figure.clone(),
        server_cpus: both(|work| work.worked.server_ns),
        client_cpus: both(|work| work.worked.client_ns),
        cpu_is_incomplete: rounds.iter().flatten().any(|work| work.worked.is_incomplete),
        connections: last.connected,
        options: last.options,
        left: last.left,
        filter_ns: median(&filter).unwrap_or(0.0),
    }
}
