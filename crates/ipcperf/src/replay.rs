//! `replay`: the requests of a recorded channel by ends of ours, over the mechanism that was recorded and over others.

use crate::args::OutputArgs;
use crate::compare::arm;
use crate::document::{self, Document, text_of};
use crate::error::{Stop, note, unknown};
use crate::gates::Gates;
use crate::measure::{self, Experiment, SLICE, WARMUP};
use crate::progress::Line;
use crate::request;
use ipcperf_core::result::{
    Cell, ChannelNeed, Exchange, Origin, Profile, RecordedBy, RecordedChannel, ResultSet, Status,
};
use ipcperf_core::units::format_per_second;
use ipcperf_core::{Capability, Placement, Spec, findings};
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run::{self, Settings, fresh_seed};
use ipcperf_stats::ratio_estimate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "Examples:
  ipcperf record -o p.json --client 'redis-benchmark -p 6380 -t get -c 16 -n 50000 -q' -- redis-server --port 6380
  ipcperf replay p.json -m unix-stream,unix-seqpacket     its requests, by ends of ours
  ipcperf replay p.json -m pipe,posix-mq,shm-ring/futex   pipes, queues and shared memory: a channel for each connection
  ipcperf predict p.json --to unix-stream                 the same for one mechanism";

/// A replay is believed if its rate differs from the recorded one by at most this share.
const NEAR: f64 = 0.1;

/// Who uses this share of a CPU limits.
const BUSY: f64 = 0.85;

/// Rounds that find out what our own server takes.
const CALIBRATION: u64 = 6;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A profile: 'ipcperf record -o FILE'
    profile: PathBuf,
    /// Mechanisms to try beside the recorded one
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', required = true)]
    mechanism: Vec<String>,
    #[command(flatten)]
    channel: ChannelArgs,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 12)]
    rounds: u64,
    /// Print the plan without running anything
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What of a profile is replayed, and where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ChannelArgs {
    /// The channel of the profile to replay, as its table has it: 'tcp 6379' [default: the one with most requests]
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// CPU placement of a replay [default: free, wherever the scheduler puts the ends, as it did with the programs]
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
}

pub(crate) fn run(registry: &Registry, args: &ReplayArgs) -> Result<ExitCode, Stop> {
    let wanted = Wanted {
        profile: &args.profile,
        mechanisms: &args.mechanism,
        channel: &args.channel,
        rounds: args.rounds,
        dry_run: args.dry_run,
    };
    replay(registry, &wanted, &args.output)
}

/// What is to be replayed.
pub(crate) struct Wanted<'a> {
    pub(crate) profile: &'a Path,
    pub(crate) mechanisms: &'a [String],
    pub(crate) channel: &'a ChannelArgs,
    pub(crate) rounds: u64,
    pub(crate) dry_run: bool,
}

/// Replays a profile over the mechanism that was recorded, and others.
pub(crate) fn replay(
    registry: &Registry,
    wanted: &Wanted<'_>,
    output: &OutputArgs,
) -> Result<ExitCode, Stop> {
    let rounds = request::rounds(wanted.rounds)?;
    let shown = wanted.profile.display();
    let profile = match Document::read(&text_of(wanted.profile)?) {
        Ok(Document::Profile(profile)) => profile,
        Ok(_) => {
            return Err(Stop::incomparable(format!("'{shown}' is no profile of ipcperf record")));
        }
        Err(error) => return Err(Stop::incomparable(format!("'{shown}': {error}"))),
    };
    if let Some(Document::Result(set)) = document::done("run", output)? {
        return Ok(measure::verdict(&set).map_or(ExitCode::SUCCESS, ExitCode::from));
    }
    let ChannelArgs { channel, place } = wanted.channel;
    let wrong = |why: String| Stop::usage(format!("'{shown}': {why}"));
    let recorded = Recorded::of(&profile, channel.as_deref()).map_err(wrong)?;
    let host = request::host()?;
    let own = recorded.channel.kind.as_str();
    let mut names = vec![own];
    for name in wanted.mechanisms.iter().filter(|name| *name != own) {
        match recorded.lacks(&request::one(registry, name)?.entry) {
            Some(what) => note(&format!("ipcperf: {name} is left out: {what}")),
            None => names.push(name),
        }
    }
    let cells = |names: &[&str], service: u64| -> Result<Vec<CellPlan>, Stop> {
        let place = place.clone().unwrap_or_else(|| Placement::Free.to_string());
        let mut cells = Vec::new();
        for name in names {
            let load = recorded.load(&request::one(registry, name)?.entry);
            let words = format!("{name} serve {load} service={service}ns {place}");
            cells.extend(arm::cells(registry, &host, &words, None)?);
        }
        Ok(cells)
    };
    let calibrating = cells(&[own], 0)?;
    if let Some(why) = calibrating.iter().find_map(|cell| cell.objection.as_ref()) {
        return Err(Stop::nothing_ran(format!("{own} cannot be replayed here: {why}")));
    }
    let settings = |rounds| Settings {
        rounds,
        slice: SLICE,
        warmup: WARMUP,
        seed: fresh_seed(),
        ..Settings::default()
    };
    let service = match recorded.server_ns {
        Some(wanted_ns) if !wanted.dry_run => {
            let ours = calibrated(calibrating, &settings(CALIBRATION), output)?;
            (wanted_ns - ours).max(0.0) as u64
        }
        _ => 0,
    };
    let (cells, settings) = (cells(&names, service)?, settings(rounds));
    let experiment = Experiment::new("run", cells, settings);
    if wanted.dry_run {
        return experiment.print(output);
    }
    let amend = |set: &mut ResultSet| recorded.judge(set);
    let run = experiment.carry_out(registry, output, &Gates::default(), amend);
    run.map(|(code, _)| code)
}

/// What a server of ours takes for each request without any work, ns.
fn calibrated(cells: Vec<CellPlan>, settings: &Settings, output: &OutputArgs) -> Result<f64, Stop> {
    let line = Line::counting("slices", output.progress.is_silent());
    let interrupts = measure::interrupts()?;
    let plan = measure::plan("run", 1, settings, settings.slice);
    let now = jiff::Timestamp::now();
    let set = measure::take(plan, settings.seed, Origin::default(), &now, || {
        run::run(cells, settings, Some(&interrupts), &mut |at| line.show(at))
    })?;
    if set.interrupted {
        return Err(Stop::interrupted("interrupted before anything was replayed"));
    }
    let served = set.cells.first().and_then(|cell| cell.serve.as_ref());
    let ours = served.and_then(|serve| serve.server_cpu_ns.value);
    ours.ok_or_else(|| Stop::internal("the CPU time of a server of ours could not be measured"))
}

/// A channel that is replayed.
struct Recorded<'a> {
    channel: &'a RecordedChannel,
    conns: u64,
    clients: u64,
    style: &'static str,
    /// CPU time of the server for each request, without what recording added, ns.
    server_ns: Option<f64>,
    /// Requests per second, likewise.
    rate: Option<f64>,
    /// Why there is no rate.
    why: &'static str,
}

impl<'a> Recorded<'a> {
    fn of(profile: &'a Profile, asked: Option<&str>) -> Result<Self, String> {
        let channel = channel(profile, asked)?;
        match channel.exchange {
            Exchange::Closed => {}
            Exchange::OneWay => {
                return Err("this channel has no answers; measure it with 'ipcperf run -p stream'"
                    .to_owned());
            }
            Exchange::Pipelined => {
                return Err("its questions were sent ahead of answers, so that the size of each is not known".to_owned());
            }
        }
        if channel.connections * 2 > channel.requests {
            return Err(
                "nearly each request has a connection of its own; measure it with 'ipcperf run -p connect'".to_owned(),
            );
        }
        let program = |name: &Option<String>| {
            profile.programs.iter().find(|one| Some(&one.name) == name.as_ref())
        };
        let (asks, answers) = (program(&channel.asks), program(&channel.answers));
        let conns = channel.most_in_flight.unwrap_or(channel.connections).clamp(1, 1024);
        let style = match answers {
            Some(one) if conns > 1 && one.processes >= conns => "process",
            Some(one) if conns > 1 && one.threads >= conns => "threads",
            _ => "epoll",
        };
        let requests = channel.requests.max(1) as f64;
        let price = |calls: &BTreeMap<String, f64>| {
            profile.price_ns.unwrap_or(0.0).max(0.0) * calls.values().sum::<f64>()
        };
        let prices = [&channel.asker_calls, &channel.answerer_calls].map(price);
        let [client, server] = [asks, answers].map(|one| Some(one?.cpu_ns? as f64 / requests));
        let each = channel.span_ns.map(|span| span as f64 / requests);
        let busy = |cpu: Option<f64>| cpu.zip(each).is_some_and(|(cpu, each)| cpu >= BUSY * each);
        // What recording added to the one that limits, or to both in turn.
        let added = match (busy(server), busy(client)) {
            (true, _) => prices[1],
            (_, true) => prices[0],
            _ if conns == 1 => prices[0] + prices[1],
            _ => 0.0,
        };
        let (is_timed, why) = match () {
            () if profile.lost > 0 => (false, "events were lost"),
            () if profile.by == RecordedBy::Ptrace => {
                (false, "it was recorded by ptrace, which stretches times")
            }
            () if channel.asks == channel.answers => {
                (false, "the CPU time of two ends of one name cannot be told apart")
            }
            () => (true, "one of the ends was not recorded"),
        };
        Ok(Self {
            channel,
            conns,
            clients: asks.map_or(1, |one| one.processes.clamp(1, conns.min(64))),
            style,
            server_ns: server.filter(|_| is_timed).map(|cpu| (cpu - prices[1]).max(0.0)),
            rate: each
                .filter(|_| is_timed && server.is_some())
                .map(|each| 1e9 / (each - added).max(1.0)),
            why,
        })
    }

    /// The words of a cell that say what is asked and how. At a single channel that cannot be polled a thread waits.
    fn load(&self, entry: &Entry) -> String {
        let Self { conns, clients, style, .. } = self;
        let style = match *style {
            "epoll" if !waits_for_all(entry) => "threads",
            style => style,
        };
        format!("conns={conns} clients={clients} style={style} mix={}", mix(self.channel))
    }

    /// Why the requests would not be served over this mechanism as they were.
    fn lacks(&self, entry: &Entry) -> Option<&'static str> {
        lacks(&self.channel.needs, entry.spec).or_else(|| {
            (self.style == "epoll" && self.conns > 1 && !waits_for_all(entry)).then_some(
                "one process cannot wait for several of its channels, as the recorded one did; \
                 'ipcperf run -p serve --style threads' measures it by threads",
            )
        })
    }

    /// Says in the result whether the replay is like what was recorded, and what it claims then.
    fn judge(&self, set: &mut ResultSet) {
        let rate =
            |cell: &Cell| cell.serve.as_ref().and_then(|serve| serve.requests_per_second.value);
        let is_own = |cell: &&Cell| cell.key.mechanism == self.channel.kind;
        let own = set.cells.iter().filter(is_own).find(|cell| cell.status == Status::Ok);
        let kind = &self.channel.kind;
        let finding = match (own.and_then(|cell| Some((cell, rate(cell)?))), self.rate) {
            (None, _) => {
                findings::NOT_REPLAYED.found(&[&format!("the replay over {kind} has no rate")])
            }
            (Some((_, ours)), None) => findings::NOT_REPLAYED.found(&[&format!(
                "the replay over {kind} made {}, and no rate to hold against it is known, since {}",
                format_per_second(ours),
                self.why
            )]),
            (Some((cell, ours)), Some(recorded)) => {
                let share = ours / recorded;
                let words = format!(
                    "the replay over {kind} made {}, {share:.2} of the recorded {}",
                    format_per_second(ours),
                    format_per_second(recorded)
                );
                let others = set.cells.iter().filter(|cell| !is_own(cell));
                let ratios: Vec<String> = others.filter_map(|other| ratio(cell, other)).collect();
                let claims = match ratios.is_empty() {
                    true => "no other mechanism was replayed".to_owned(),
                    false => {
                        format!(
                            "the program would make {} times as many requests",
                            ratios.join(", ")
                        )
                    }
                };
                match (1.0 - NEAR..=1.0 + NEAR).contains(&share) {
                    true => findings::REPLAYED.found(&[&words, &claims]),
                    false => findings::NOT_REPLAYED.found(&[&words]),
                }
            }
        };
        set.noise.findings.push(finding);
    }
}

/// Whether one process can wait for all connections.
fn waits_for_all(entry: &Entry) -> bool {
    entry.spec.can(Capability::Listener) || entry.can_be_polled()
}

/// What a mechanism lacks that a channel needs.
fn lacks(needs: &[ChannelNeed], spec: &Spec) -> Option<&'static str> {
    let lacking = |need: &&ChannelNeed| match need {
        // Both come with UNIX sockets.
        ChannelNeed::Descriptors | ChannelNeed::Credentials => !spec.can(Capability::FdPassing),
        ChannelNeed::HalfClose => !spec.can(Capability::NoticesClose),
    };
    needs.iter().find(lacking).map(|need| match need {
        ChannelNeed::Descriptors => "it cannot pass descriptors, as the recorded programs do",
        ChannelNeed::Credentials => {
            "it does not say who the peer is, which the recorded programs ask"
        }
        ChannelNeed::HalfClose => {
            "it does not tell a peer that nothing more comes, as the recorded programs do"
        }
    })
}

/// `1.63 [1.49, 1.77] (unix-stream)`.
fn ratio(a: &Cell, b: &Cell) -> Option<String> {
    let rates = |cell: &Cell| -> BTreeMap<u64, f64> {
        let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
        accepted
            .map(|round| (round.round, round.messages as f64 / round.elapsed_ns.max(1.0)))
            .collect()
    };
    let (ours, theirs) = (rates(a), rates(b));
    let ratios = ours.iter().filter_map(|(round, ours)| Some(theirs.get(round)? / ours));
    let ratio = ratio_estimate(&ratios.collect::<Vec<_>>())?;
    let [low, high] = ratio.ci95.map(|interval| [interval.low, interval.high])?;
    Some(format!("{:.2} [{low:.2}, {high:.2}] ({})", ratio.value, b.key.mechanism))
}

/// The channel that was asked for, or that with most requests.
fn channel<'a>(profile: &'a Profile, asked: Option<&str>) -> Result<&'a RecordedChannel, String> {
    let name = |one: &RecordedChannel| format!("{} {}", one.kind, one.name).trim_end().to_owned();
    let most = profile.channels.iter().max_by_key(|one| one.requests);
    let Some(most) = most else { return Err("it has no channels".to_owned()) };
    let Some(asked) = asked else { return Ok(most) };
    let names: Vec<String> = profile.channels.iter().map(name).collect();
    let found = profile.channels.iter().find(|one| name(one) == asked);
    found.ok_or_else(|| {
        let known = format!("its channels: {}", names.join(", "));
        unknown("channel", asked, names.iter().map(String::as_str), &known).to_string()
    })
}

/// Sizes with their shares, as `--mix` takes them: hundredths of a percent that are 100 % together.
fn mix(channel: &RecordedChannel) -> String {
    let all: u64 = channel.sizes.iter().map(|size| size.count).sum();
    let share = |count: u64| (count as f64 / all.max(1) as f64 * 1e4).round() as u64;
    let mut parts: Vec<(u64, u64, u64)> = channel
        .sizes
        .iter()
        .map(|size| (size.question.max(2), size.answer, share(size.count)))
        .collect();
    parts.retain(|(_, _, share)| *share > 0);
    let rest: u64 = parts.iter().skip(1).map(|(_, _, share)| share).sum();
    if let Some((_, _, first)) = parts.first_mut() {
        *first = 10_000_u64.saturating_sub(rest);
    }
    let words = parts
        .iter()
        .map(|(question, answer, share)| format!("{question}:{answer}@{}%", *share as f64 / 100.0));
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::result::{Metric, Round, Served};
    use serde_json::json;

    fn recorded_channel() -> RecordedChannel {
        let channel = json!({
            "kind": "tcp", "name": "6379", "asks": "client", "answers": "server", "connections": 4,
            "exchange": "closed", "requests": 300, "unanswered": 0, "bytes_asked": 10_800,
            "bytes_answered": 1_500, "other_sizes": 0, "most_in_flight": 4, "needs": [],
            "sizes": [
                {"question": 36, "answer": 5, "count": 200}, {"question": 1, "answer": 9, "count": 100},
            ],
            "asker_calls": {}, "answerer_calls": {"read": 1.0, "write": 1.0},
        });
        serde_json::from_str(&channel.to_string()).expect("a channel")
    }

    /// A result of one mechanism at 100 requests per second, and another one at 150.
    fn set() -> ResultSet {
        let mut set = measure::tests::set(&["ok", "ok"]);
        for (cell, (name, rate)) in set.cells.iter_mut().zip([("tcp", 100), ("shm-ring", 150)]) {
            cell.key.mechanism = name.into();
            let metric = Metric { value: Some(f64::from(rate)), ..Metric::default() };
            cell.serve = Some(Served { requests_per_second: metric, ..Served::default() });
            let round =
                |round| Round { round, messages: rate as u64, elapsed_ns: 1e9, ..Round::default() };
            cell.rounds = (0..8).map(round).collect();
        }
        set
    }

    #[test]
    fn a_replay_claims_something_if_it_is_like_what_was_recorded() {
        let channel = recorded_channel();
        let recorded = |rate: Option<f64>| Recorded {
            channel: &channel,
            conns: 4,
            clients: 1,
            style: "epoll",
            server_ns: Some(1000.0),
            rate,
            why: "it is not known",
        };
        for (rate, code, part) in [
            (Some(105.0), "I-REPLAYED", "1.50 [1.50, 1.50] (shm-ring) times as many requests"),
            (Some(92.0), "I-REPLAYED", "1.09 of the recorded 92"),
            (Some(120.0), "W-NOT-REPLAYED", "0.83 of the recorded 120"),
            (None, "W-NOT-REPLAYED", "since it is not known"),
        ] {
            let mut set = set();
            recorded(rate).judge(&mut set);
            let [finding] = &set.noise.findings[..] else { panic!("{:?}", set.noise.findings) };
            assert_eq!(finding.code, code, "{}", finding.text);
            assert!(finding.text.contains(part), "{}", finding.text);
        }
    }

    #[test]
    fn a_replay_that_came_to_nothing_claims_nothing() {
        let channel = recorded_channel();
        let recorded = Recorded {
            channel: &channel,
            conns: 4,
            clients: 1,
            style: "epoll",
            server_ns: None,
            rate: Some(1.0),
            why: "",
        };
        let mut set = set();
        set.cells[0].status = Status::Rejected;
        recorded.judge(&mut set);
        assert_eq!(set.noise.findings[0].code, "W-NOT-REPLAYED");
        assert!(set.noise.findings[0].text.contains("has no rate"));
    }

    #[test]
    fn sizes_keep_their_shares() {
        let words = mix(&recorded_channel());
        assert_eq!(words, "36:5@66.67%,2:9@33.33%", "one byte does not say which request it is");
        assert!(words.parse::<ipcperf_core::Mix>().is_ok());
    }
}
