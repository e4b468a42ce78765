//! A rate that nobody keeps up with: what was achieved, what the limit is, and what would meet the rate.

use super::field::{Entrant, Field, achieved, is_saturated};
use super::trial::{Workload, in_flight};
use ipcperf_core::result::{Attempt, Cell, Goal, Requirements, ResultSet, Status};
use ipcperf_core::{Capability, PatternKind, Spec};
use ipcperf_judge::figures;
use ipcperf_kit::document::Specs;
use ipcperf_render::text;

/// How much of what one connection answers at most it can be asked for: near the most, random arrivals wait long.
pub(crate) const SHARE: f64 = 0.8;

/// The mechanisms that could be chosen if there were no rate and no limit, with their cells of these trials.
fn entrants<'a>(
    set: &'a ResultSet,
    wanted: &Requirements,
    trials: &[Workload],
    specs: &Specs,
) -> Vec<(&'static Spec, Vec<&'a Cell>)> {
    if wanted.is_served() {
        // A server has no cells without the rate that show who could be chosen.
        let names = text::each_once(set.cells.iter().map(|cell| cell.key.mechanism.as_str()));
        let of = |name: &str, trial: &Workload| {
            let is_it = |cell: &&Cell| {
                cell.key.mechanism == name && cell.status == Status::Ok && trial.is_of(wanted, cell)
            };
            set.cells.iter().find(is_it)
        };
        let entrant = |name: &str| {
            let spec = specs(name).filter(|spec| wanted.unmet(spec).is_empty())?;
            Some((spec, trials.iter().map(|trial| of(name, trial)).collect::<Option<_>>()?))
        };
        return names.into_iter().filter_map(entrant).collect();
    }
    let slower = Requirements { rate_per_second: None, by: Goal::P50, ..wanted.without_limits() };
    let field = Field::of(set, &slower, specs);
    let spinning = field.spinning.iter().flat_map(|field| &field.entrants);
    let entrant = |entrant: &Entrant<'a>| {
        let cells = trials.iter().map(|trial| entrant.cell(wanted, *trial));
        Some((entrant.spec, cells.collect::<Option<_>>()?))
    };
    field.entrants.iter().chain(spinning).filter_map(entrant).collect()
}

/// How much an attempt could be asked for: what the first says is that already, where it was a closed loop.
fn usable(attempt: &Attempt, wanted: &Requirements) -> f64 {
    let is_closed = (attempt.inflight, attempt.conns) == (1, 1) && wanted.conns != 1;
    attempt.achieved_per_second * if is_closed { 1.0 } else { SHARE }
}

/// The mechanism that came nearest to a rate.
pub(super) struct Pace {
    rate: f64,
    name: String,
    /// Whether it may have several requests under way: an answer that is lost would look like one that is late.
    keeps_all: bool,
    /// Whether several requests were in flight, or were tried before.
    has_several: bool,
    /// ` with 4 requests in flight`, where there were several.
    flight: String,
    /// The most that an attempt could be asked for, per second.
    tried: f64,
    /// Bytes of a message, requests that were answered in a second, and CPU time of one, ns.
    sizes: Vec<(u64, f64, Option<f64>)>,
    cpus: usize,
}

impl Pace {
    /// `None` where some mechanism keeps up, or where none was asked to.
    pub(super) fn of(set: &ResultSet, wanted: &Requirements, specs: &Specs) -> Option<Self> {
        let rate = wanted.rate_per_second?;
        let open = wanted.timed().into_iter().filter(|pattern| *pattern != PatternKind::PingPong);
        let trials = Workload::all(wanted, &open.collect::<Vec<_>>());
        let mut best: Option<(f64, bool, Vec<&Cell>)> = None;
        for (spec, cells) in entrants(set, wanted, &trials, specs) {
            if !cells.iter().any(|cell| is_saturated(cell)) {
                return None;
            }
            let rates: Option<Vec<f64>> = cells.iter().map(|cell| achieved(cell)).collect();
            let least = rates?.into_iter().fold(f64::INFINITY, f64::min);
            if best.as_ref().is_none_or(|(most, ..)| least > *most) {
                best = Some((least, spec.can(Capability::BackPressure), cells));
            }
        }
        let (_, keeps_all, cells) = best?;
        let of = |cell: &&Cell| {
            let cpu = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.figure().value);
            // A request and its answer.
            Some((cell.key.size_bytes, achieved(cell)?, cpu.map(|nanos| 2.0 * nanos)))
        };
        Some(Self {
            rate,
            name: crate::results::chapters::name(cells.first()?),
            keeps_all,
            has_several: wanted.is_served() || !wanted.attempts.is_empty(),
            flight: in_flight(wanted),
            tried: wanted.attempts.iter().map(|one| usable(one, wanted)).fold(0.0, f64::max),
            sizes: cells.iter().filter_map(of).collect(),
            cpus: set.host.cpus_allowed.len().max(1),
        })
    }

    /// The least that one connection answered, of all sizes.
    fn least(&self) -> f64 {
        self.sizes.iter().map(|(_, rate, _)| *rate).fold(f64::INFINITY, f64::min)
    }

    /// What was achieved by whom, and why it is not more.
    pub(super) fn achieved(&self) -> String {
        let each = |(size, rate, _): &(u64, f64, Option<f64>)| {
            format!("{} of {}", figures::per_second(*rate), figures::size(*size))
        };
        let each: Vec<String> = self.sizes.iter().map(each).collect();
        let why = match self.has_several {
            true => String::new(),
            false => format!(
                " The limit is that a connection has one request in flight, which takes it {} here.",
                figures::nanos(1e9 / self.least())
            ),
        };
        format!(
            "None keeps up with {}: {}{} comes nearest, and answers {}.{why}",
            figures::per_second(self.rate),
            self.name,
            self.flight,
            text::join(&each),
        )
    }

    /// What would meet the rate.
    pub(super) fn remedies(&self) -> Vec<String> {
        let one = (SHARE * self.least()).max(self.tried);
        let digits = 10_f64.powf((one.max(10.0).log10().floor() - 1.0).max(0.0));
        let lower = ((one / digits).floor() * digits).max(1.0);
        let lower = format!("a lower rate: --rate {lower:.0}");
        if self.has_several {
            return vec![lower];
        }
        let name = &self.name;
        let count = (self.rate / one).ceil();
        let costs = self.sizes.iter().filter_map(|(.., cpu)| *cpu);
        let needed = self.rate * costs.fold(0.0, f64::max) / 1e9;
        let cpus = text::counted(self.cpus as u64, "CPU");
        let connections = if needed > self.cpus as f64 {
            format!(
                "more CPUs: over {name} this rate takes {needed:.1} CPUs, and there {} {cpus}",
                if self.cpus == 1 { "is" } else { "are" }
            )
        } else {
            let each = figures::per_second(self.rate / count);
            format!(
                "{count:.0} connections over {name}, with {each} each (about {needed:.1} of {cpus} busy)"
            )
        };
        let mechanism = name.split(' ').next().unwrap_or(name);
        let several = format!(
            "several requests in flight over one connection: 'ipcperf run -m {mechanism} -p request --inflight 8' measures that"
        );
        let mut all = vec![connections, lower];
        all.extend(self.keeps_all.then_some(several));
        all
    }
}
