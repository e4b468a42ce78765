//! `predict`: what a server and its client would gain from sockets of another kind, found by giving them some.

use super::clients::{self, PrintedFigure};
use super::interference;
use super::names;
use super::proof::{self, Proof};
use super::rounds::{self as predict, ClientWork, PredictSettings, Predicted};
use super::servers;
use super::work::{self, WorkDifference};
use crate::record::audit::findings;
use crate::server::{joined, split};
use crate::swap::command::{ExchangeArgs, is_32_bit};
use crate::swap::watch::Job;
use ipcperf_ask::ComparisonDocument;
use ipcperf_core::result::{
    ComparisonPlan, Difference, ExchangedPrograms, Finding, Origin, Plan, Status,
};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::fresh_seed;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_judge::{ProgramFigure, Programs, compare_programs};
use ipcperf_kit::args::{LabelArgs, LookArgs, ProgressArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::{Document, Show};
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::external::objection;
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::paths_in_text;
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::{gates, measure, output, reading, request};
use ipcperf_render::text::counted;
use ipcperf_stats::{median, robust_cv};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// The server and its arguments. It is started again for each run, and ended with SIGTERM
    #[arg(long, value_name = "COMMAND")]
    server: String,
    /// The client and its arguments, started when the server listens; it has to end by itself
    #[arg(long, value_name = "COMMAND")]
    client: String,
    /// Exchange no sockets, and compare with this server as B, configured by hand [default with --client-b: the same
    /// server]
    #[arg(long, value_name = "COMMAND")]
    server_b: Option<String>,
    /// The client of B [default with --server-b: the same client]
    #[arg(long, value_name = "COMMAND")]
    client_b: Option<String>,
    /// Exchange sockets as well, and run --server-b and --client-b in the same rounds, to show the error of the exchange
    #[arg(long)]
    with_truth: bool,
    /// When the server listens, repeat this command until it succeeds, then start the client [default: pg_isready for
    /// PostgreSQL and mysqladmin ping for MariaDB, if they are installed]
    #[arg(long, value_name = "COMMAND")]
    ready: Option<String>,
    #[command(flatten)]
    exchange: ExchangeArgs,
    /// The figure that the client prints: the name of a known client (pgbench, wrk, ab, hey, redis-benchmark, ...), or a
    /// regular expression with the number as its first group; the last match counts. More is better, per second
    #[arg(long, value_name = "CLIENT|REGEX")]
    figure: Option<String>,
    /// The figure is a time: less is better
    #[arg(long, requires = "figure")]
    less_is_better: bool,
    /// Number of requests that the client makes in a run, for figures per request [default: counted in the recorded run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Give a verdict although the work of A and B differs or cannot be compared; the reason is shown
    #[arg(long, value_name = "REASON")]
    allow_different: Option<String>,
    /// Measure in this many sessions, 1 or 4 to 24: the interval then includes the differences between sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    sessions: u64,
    /// How long to wait between two sessions
    #[arg(long, value_name = "TIME", default_value = "2m", requires = "sessions")]
    apart: String,
    /// Rounds of a session; each runs server and client twice unchanged and once with other sockets, in random order
    #[arg(long, value_name = "N", default_value_t = 12)]
    rounds: u64,
    /// Show figures without a verdict; fewer than 8 rounds are then enough
    #[arg(long, conflicts_with = "fail_on")]
    no_verdict: bool,
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

impl CommandArgs for PredictArgs {
    const NAME: &'static str = "predict";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str = "Predict what a server and its client gain from other sockets, by running both ways side by side";
    const EXAMPLES: &'static str = "Examples:
  ipcperf predict --server 'redis-server --port 6380' --client 'redis-benchmark -p 6380 -t get -c 16 -n 50000 -q'
  ipcperf predict --server 'nginx -c /tmp/n.conf' --client 'wrk -d 1s http://127.0.0.1:8080/' --figure wrk
  ipcperf predict --server './server 7000' --client './client 7000' --figure 'made ([0-9.]+) requests/s'
  ipcperf predict --server 'postgres -D data' --ready 'pg_isready -h 127.0.0.1' --client 'pgbench -h 127.0.0.1 -S -T 2' --figure pgbench
  ipcperf predict --server 'redis-server --unixsocket r.sock' --client 'redis-benchmark' --client-b 'redis-benchmark -s r.sock'
  ipcperf predict --to tcp --server './server s.sock' --client './client s.sock'

A client that makes the same requests in every run needs no --figure: its run time is compared.
One run of A and one of B are recorded first, and there is no verdict (exit code 5) unless both have
the same connections, requests and bytes.";
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
    let arms = if args.is_configured() { predict::CONFIGURED } else { predict::ARMS };
    let own_figure = PrintedFigure::of(&names::program(&client));
    let (jobs, by_hand) = args.jobs(registry, server, client)?;
    let asked = args.figure.as_deref().map(|text| PrintedFigure::asked(text, args.less_is_better));
    let mut asked = ClientFigure { figure: asked.transpose()?, requests: args.requests };
    let second = Duration::from_secs(1);
    let mut settings = PredictSettings {
        rounds: rounds(args)?,
        sessions: sessions(args.sessions)?,
        apart: request::time("--apart", &args.apart, second / 100, second * 24 * 3600)?,
        deadline: request::time("--deadline", &args.deadline, second / 100, second * 3600)?,
        seed: args.seed.unwrap_or_else(fresh_seed),
        figure: asked.figure.clone(),
        arms,
        a_works: false,
    };
    let now = jiff::Timestamp::now();
    let path = args.output.as_deref();
    if args.dry_run {
        let rounds = counted(settings.rounds, "round");
        let (deadline, seed) = (settings.deadline.as_secs_f64(), settings.seed);
        let arms = arms.into_iter().chain(predict::BY_HAND.into_iter().filter(|_| args.with_truth));
        let arms: Vec<String> = arms.map(|arm| format!("  {words}, {arm}")).collect();
        let sessions = match settings.sessions {
            1 => String::new(),
            several => format!("{several} sessions of "),
        };
        let head = format!(
            "{sessions}{rounds} of {} runs of at most {deadline} s, seed {seed}",
            arms.len()
        );
        return output::lines([head].into_iter().chain(arms));
    }
    let target = path.map(|path| Target::choose(Some(path), &now)).transpose()?;
    let interrupts = measure::interrupts()?;
    let allowed = args.allow_different.as_deref();
    let proof = Proof::of(args.exchange.to(), &jobs, &mut settings, &interrupts)?;
    if let Some(what) = proof.objection().filter(|_| allowed.is_none()) {
        return Err(Stop::invalid(format!("no verdict: {what}. {}", advice(&jobs, args))));
    }
    if let Some(by_hand) = &by_hand {
        let by_hand = Proof::of(args.exchange.to(), by_hand, &mut settings.clone(), &interrupts)?;
        if let Some(what) = by_hand.objection().filter(|_| allowed.is_none()) {
            return Err(Stop::invalid(format!("no verdict, with B by hand: {what}")));
        }
    }
    // Programs of one name cannot be told from each other.
    let [ready, client] = [&jobs[0].ready, &jobs[0].client].map(|words| names::program(words));
    let is_told = asked.figure.is_some() || asked.requests.is_some() || ready == client;
    if !is_told && proof.amount == Some(WorkDifference::Same) {
        asked.requests = proof.a.as_ref().and_then(|traffic| traffic.requests);
        if let Some(requests) = asked.requests.filter(|_| !args.progress.quiet) {
            let made = counted(requests, "request");
            note(&format!(
                "The client made {made} in the recorded run; --requests N sets another number"
            ));
        }
    }
    let line = ProgressLine::counting("runs", args.progress.is_silent());
    let began = Instant::now();
    let predicted =
        predict::run(&jobs, by_hand.as_ref(), &settings, &interrupts, &mut |progress| {
            line.show(progress);
        })?;
    let Predicted { findings: mut found, rounds, by_hand, sessions, repeated, stopped } = predicted;
    let Some(last) = rounds.last().map(|[_, _, b]| b) else {
        return Err(Stop::interrupted("interrupted before the first round was complete"));
    };
    if last.exchanged.bound.is_empty() && !args.is_configured() {
        return Err(Stop::nothing_ran(proof::nothing(last)));
    }
    let mut facts = facts(args, &proof, &rounds);
    facts.repeated = repeated;
    facts.longer = clients::longer(&client).map(str::to_owned);
    facts.different_because = allowed.map(str::to_owned);
    let mut doubt = proof.objection();
    let mut advice = advice(&jobs, args);
    let is_timed = asked.figure.is_none() && work::takes_fixed_time(&rounds, proof.amount.as_ref());
    if is_timed {
        let is_found = |figure: &PrintedFigure| {
            rounds.iter().flatten().all(|work| figure.find(&work.output).is_ok())
        };
        asked.figure = own_figure.filter(is_found);
        asked.requests = None;
        match &asked.figure {
            Some(_) if args.progress.quiet => {}
            Some(figure) => note(&format!(
                "The client works for a fixed time, so its own figure is compared: '{}'",
                figure.text()
            )),
            None => (doubt, advice) = (Some(FIXED_TIME.to_owned()), NAME_IT.to_owned()),
        }
    } else if let (Some(WorkDifference::Other(what)), None) = (&proof.amount, &asked.figure) {
        facts.different.extend(what.iter().cloned());
    }
    facts.different.extend(work::timed(&rounds, proof.same_connections()));
    // Two runs in each round stand for three: A is its own control.
    let by_hand_rounds: Vec<[ClientWork; 3]> =
        by_hand.iter().map(|[a, b]| [a.clone(), a.clone(), b.clone()]).collect();
    let of_hand = work::timed(&by_hand_rounds, true).into_iter();
    facts.different.extend(of_hand.map(|what| format!("configured by hand: {what}")));
    if !facts.different.is_empty() {
        let what = facts.different.join("; ");
        doubt = Some(format!("A and B did not do the same work ({what})"));
    }
    let is_judged = doubt.is_none() && !args.no_verdict;
    if let Some(why) = interference::objection(&rounds).filter(|_| is_judged) {
        (doubt, advice) = (Some(why), BY_HAND.to_owned());
    }
    let doubt = doubt.filter(|_| allowed.is_none() || (is_timed && asked.figure.is_none()));
    facts.requests = asked.requests;
    facts.figure = asked.figure.as_ref().map(|figure| figure.text().to_owned());
    let figures = asked.figures(&rounds)?;
    let by_hand = asked.by_hand(&by_hand)?;
    let decides = figures.iter().take(1).flat_map(|figure| &figure.rounds);
    found.spreads = decides.filter_map(|rounds| robust_cv(rounds)).collect();
    let plan = ComparisonPlan {
        rounds: settings.rounds * settings.sessions,
        duration_s: began.elapsed().as_secs_f64(),
        seed: settings.seed,
        ..ComparisonPlan::default()
    };
    let command = Plan { command: "predict".into(), rounds: settings.rounds, ..Plan::default() };
    let set = measure::take(command, settings.seed, Origin::default(), &now, || Ok(found))?;
    let to = args.exchange.to();
    let from = if to.split_whitespace().next() == Some("tcp") { "unix-stream" } else { "tcp" };
    let kinds = if args.is_configured() { ["A", "B"] } else { [from, to] };
    let [a, b] = kinds.map(|kind| format!("{kind} {words}"));
    let has_doubt = doubt.is_some();
    let doubt = doubt.or_else(|| args.no_verdict.then(|| "no verdict was asked for".to_owned()));
    let is_interrupted = set.interrupted || stopped.is_some();
    let programs = Programs { a, b, facts, figures, by_hand, sessions, doubt, set: &set };
    let document = compare_programs(programs, plan);
    let mut document =
        reading::shareable(document, |text| ComparisonDocument::load(text).ok().map(|read| read.0));
    document.origin = origin;
    document.interrupted = is_interrupted;
    let is_faster =
        document.comparisons.iter().all(|one| one.primary.verdict == Difference::Faster);
    if let (Some(facts), true, "unix-stream") = (&mut document.programs, is_faster, kinds[1]) {
        facts.setting = servers::setting(&names::program(&jobs[0].program)).map(str::to_owned);
    }
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
    if has_doubt {
        note(&format!("ipcperf: no verdict. {advice}"));
    }
    if let Some(why) = stopped {
        let kept = counted(rounds.len() as u64, "round");
        return Err(Stop::internal(format!("{why}; kept: {kept}")));
    }
    let is_invalid = has_doubt || measure::invalid(&set.noise);
    let ended = measure::worst(set.interrupted, is_invalid, &[Status::Ok]);
    Ok(ended.or(gates::outcome(&gates, &document.0)).map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// The fewest rounds whose control (A again over A) has an interval.
const FEWEST: u64 = 8;

/// How many rounds.
fn rounds(args: &PredictArgs) -> Result<u64, Stop> {
    let rounds = request::rounds(args.rounds)?;
    if rounds < FEWEST && !args.no_verdict {
        return Err(Stop::usage(format!(
            "--rounds {rounds}: a verdict needs {FEWEST} or more, because fewer give no interval of A against itself; \
             --no-verdict shows only the figures"
        )));
    }
    Ok(rounds)
}

/// The fewest sessions whose interval is of use: of three Student's t takes 4.3 standard errors, of four 3.2.
const FEWEST_SESSIONS: u64 = 4;

/// How many sessions.
fn sessions(sessions: u64) -> Result<u64, Stop> {
    match sessions {
        1 | FEWEST_SESSIONS..=24 => Ok(sessions),
        _ => Err(Stop::usage(format!(
            "--sessions {sessions}: give 1, or {FEWEST_SESSIONS} to 24; the interval of 2 or 3 sessions is too wide to be useful"
        ))),
    }
}

/// Why the time of a client that works for a fixed time is no figure.
const FIXED_TIME: &str = "the client works for a fixed time, so its run time cannot be compared: its own figure is needed (--figure)";

/// What to try then.
const NAME_IT: &str = "Name the figure that the client prints: --figure CLIENT for a known client (pgbench, wrk, ab, hey, ...), or \
                       an expression with a group for the number, like --figure 'made ([0-9.]+) requests/s'";

/// What to try where the exchange is not what the user would get.
const BY_HAND: &str = "Give the client more work in a run, or configure B by hand and compare without an exchange: --server-b \
                       COMMAND --client-b COMMAND. If the difference does not matter, use --allow-different REASON";

/// What to try where the work differs.
fn advice([_, job]: &[Job; 2], args: &PredictArgs) -> String {
    let meant = "If the difference is intended, use --allow-different REASON";
    if args.is_configured() {
        return format!("Run both and compare what they print. {meant}");
    }
    let (server, client) = (joined(&job.program), joined(&[joined(&job.client)]));
    let to = joined(&[args.exchange.to().to_owned()]);
    format!(
        "See what the programs print with exchanged sockets: ipcperf swap --to {to} --client {client} -- {server}. A rule that \
         allows addresses ('allow 127.0.0.1') refuses clients on other sockets. {meant}"
    )
}

impl PredictArgs {
    /// Whether the user has configured both, and nothing is exchanged.
    fn is_configured(&self) -> bool {
        (self.server_b.is_some() || self.client_b.is_some()) && !self.with_truth
    }

    /// The programs as they are and as they were configured by hand, with nothing in their way.
    fn by_hand(&self, server: &[String], client: &[String]) -> Result<Option<[Job; 2]>, Stop> {
        if self.server_b.is_none() && self.client_b.is_none() {
            return match self.with_truth {
                true => Err(Stop::usage(
                    "--with-truth: add --server-b or --client-b, the configuration by hand",
                )),
                false => Ok(None),
            };
        }
        let other = |flag, text: &Option<String>, same: &[String]| match text {
            Some(text) => split(flag, text),
            None => Ok(same.to_vec()),
        };
        let server_b = other("--server-b", &self.server_b, server)?;
        let client_b = other("--client-b", &self.client_b, client)?;
        let mut jobs = Vec::new();
        for (server, client) in [(server, client), (&server_b, &client_b)] {
            let missing = [server, client].into_iter().find_map(|words| objection(words.first()?));
            if let Some(why) = missing {
                return Err(Stop::usage(why));
            }
            let mut job = Job::of(server.to_vec());
            (job.client, job.is_bare) = (client.to_vec(), true);
            jobs.push(job);
        }
        Ok(<[Job; 2]>::try_from(jobs).ok())
    }

    /// What runs as A and as B, and what runs by hand in the same rounds.
    fn jobs(
        &self,
        registry: &Registry,
        server: Vec<String>,
        client: Vec<String>,
    ) -> Result<([Job; 2], Option<[Job; 2]>), Stop> {
        let ready = self.ready.as_deref().map(|text| split("--ready", text)).transpose()?;
        if let Some(why) = ready.iter().flatten().next().and_then(|name| objection(name)) {
            return Err(Stop::usage(format!("--ready: {why}")));
        }
        let when_ready = |mut job: Job| {
            let known = || servers::ready(&names::program(&job.program), &job.client);
            let known = || known().filter(|words| objection(&words[0]).is_none());
            job.ready = ready.clone().or_else(known).unwrap_or_default();
            job.forgives = true;
            job
        };
        let by_hand = self.by_hand(&server, &client)?.map(|jobs| jobs.map(when_ready));
        if let (Some(jobs), false) = (&by_hand, self.with_truth) {
            if self.exchange.port().is_some() || self.exchange.to() != "unix-stream" {
                return Err(Stop::usage(
                    "--server-b: it exchanges no sockets, so --to and --port have no effect; --with-truth does both",
                ));
            }
            return Ok((jobs.clone(), None));
        }
        for program in [&server, &client].into_iter().filter_map(|words| words.first()) {
            if is_32_bit(program) {
                return Err(Stop::usage(format!(
                    "'{program}' is a 32-bit program: its calls cannot be recorded, and its work cannot be compared"
                )));
            }
        }
        let b = when_ready(self.exchange.job(registry, server, client)?);
        let mut a = b.clone();
        a.is_as_it_is = true;
        Ok(([a, b], by_hand))
    }
}

/// `redis-benchmark on redis-server`.
fn words(server: &[String], client: &[String]) -> String {
    // Blanks part words from each other.
    let [client, server] =
        [client, server].map(|words| names::program(words).replace(char::is_whitespace, "_"));
    format!("{client} on {server}")
}

/// What the runs of a client are compared by.
struct ClientFigure {
    figure: Option<PrintedFigure>,
    requests: Option<u64>,
}

/// How long a run took, s.
fn seconds(work: &ClientWork) -> f64 {
    work.worked.elapsed_ns.max(1) as f64 / 1e9
}

impl ClientFigure {
    /// The figure of a run that decides.
    fn value(&self, work: &ClientWork) -> Result<f64, Stop> {
        match (&self.figure, self.requests) {
            (Some(figure), _) => figure.find(&work.output),
            (None, Some(requests)) => Ok(requests as f64 / seconds(work)),
            (None, None) => Ok(work.worked.elapsed_ns.max(1) as f64),
        }
    }

    /// The same of configurations by hand, by rounds; none if there are none.
    fn by_hand(&self, rounds: &[[ClientWork; 2]]) -> Result<Option<[Vec<f64>; 2]>, Stop> {
        let arm = |at: usize| -> Result<Vec<f64>, Stop> {
            rounds.iter().map(|round| self.value(&round[at])).collect()
        };
        let both = [arm(0)?, arm(1)?];
        Ok(Some(both).filter(|_| !rounds.is_empty()))
    }

    /// What the rounds are compared by.
    fn figures(&self, rounds: &[[ClientWork; 3]]) -> Result<Vec<ProgramFigure>, Stop> {
        let of = |name,
                  more_is_better,
                  value: &dyn Fn(&ClientWork) -> Result<f64, Stop>|
         -> Result<ProgramFigure, Stop> {
            let arm = |at: usize| -> Result<Vec<f64>, Stop> {
                rounds.iter().map(|round| value(&round[at])).collect()
            };
            let rounds = [arm(0)?, arm(1)?, arm(2)?];
            Ok(ProgramFigure { name, more_is_better, rounds })
        };
        let (name, more_is_better) = match (&self.figure, self.requests) {
            (Some(figure), _) => ("figure", !figure.less_is_better),
            (None, Some(_)) => ("requests_per_second", true),
            (None, None) => ("elapsed_ns", false),
        };
        let primary = of(name, more_is_better, &|work| self.value(work))?;
        // What the CPU time of a run was used for.
        let amount = |work: &ClientWork| match (self.requests, &self.figure) {
            (Some(requests), _) => Ok(requests as f64),
            (None, Some(figure)) if !figure.less_is_better => {
                figure.find(&work.output).map(|rate| rate * seconds(work))
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

/// What ran, and what was seen of it.
fn facts(args: &PredictArgs, proof: &Proof, rounds: &[[ClientWork; 3]]) -> ExchangedPrograms {
    let cpus = |arm: usize, used: fn(&ClientWork) -> u64| {
        let share = |round: &[ClientWork; 3]| {
            let work = &round[arm];
            used(work) as f64 / work.worked.elapsed_ns.max(1) as f64
        };
        median(&rounds.iter().map(share).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let both = |used: fn(&ClientWork) -> u64| [cpus(0, used), cpus(2, used)];
    let filter: Vec<f64> = rounds.iter().flatten().map(|work| work.filter_ns).collect();
    let exchanged = interference::exchanged(rounds);
    let connections = |arm: usize| {
        let all: Vec<f64> =
            rounds.iter().map(|round| round[arm].worked.connections as f64).collect();
        median(&all).unwrap_or(0.0) as u64
    };
    let length = |arm: usize| {
        let all: Vec<f64> = rounds.iter().map(|round| seconds(&round[arm])).collect();
        median(&all).unwrap_or(0.0)
    };
    let mut work = BTreeMap::from([("connections".to_owned(), [0, 2].map(connections))]);
    if let (Some(a), Some(b)) = (&proof.a, &proof.b) {
        // Without an exchange nobody counts them in timed runs.
        if args.is_configured() {
            work.insert("connections".to_owned(), [a.connections, b.connections]);
        }
        let requests = a.requests.zip(b.requests).map(|(a, b)| ("requests", [a, b]));
        let bytes =
            [("bytes asked", [a.asked, b.asked]), ("bytes answered", [a.answered, b.answered])];
        let rows = requests.into_iter().chain(bytes);
        work.extend(rows.map(|(name, amounts)| (name.to_owned(), amounts)));
    }
    let different = match &proof.amount {
        Some(WorkDifference::Different(what)) => what.clone(),
        _ => Vec::new(),
    };
    let arms = [("A", &proof.a), ("B", &proof.b)];
    let delayed = arms.into_iter().filter_map(|(arm, traffic)| {
        let (kind, delayed) = traffic.as_ref()?.delayed.as_ref()?;
        let finding = findings::nagle(kind, delayed);
        Some(Finding { cells: vec![arm.to_owned()], ..finding })
    });
    ExchangedPrograms {
        findings: delayed.collect(),
        server: paths_in_text::without_home(&args.server),
        client: paths_in_text::without_home(&args.client),
        server_b: args.server_b.as_deref().map(paths_in_text::without_home),
        client_b: args.client_b.as_deref().map(paths_in_text::without_home),
        requests: None,
        figure: None,
        work,
        different,
        different_because: None,
        setting: None,
        run_s: [0, 2].map(length),
        by_hand: None,
        longer: None,
        repeated: 0,
        server_cpus: both(|work| work.worked.server_ns),
        client_cpus: both(|work| work.worked.client_ns),
        cpu_is_incomplete: rounds.iter().flatten().any(|work| work.worked.is_incomplete),
        connections: rounds.last().map_or(0, |[_, _, b]| b.worked.connections),
        answering: [0, 2].map(|arm| interference::answering(rounds, arm)),
        options: exchanged.options,
        left: exchanged.left,
        filter_ns: median(&filter).unwrap_or(0.0),
    }
}
