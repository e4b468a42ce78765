//! A rate that nobody keeps up with: what was achieved, what the limit is, and what would meet the rate.

use super::field::{Field, achieved, is_saturated};
use super::trial::Workload;
use ipcperf_core::result::{Cell, Goal, Requirements, ResultSet};
use ipcperf_core::{Capability, PatternKind};
use ipcperf_judge::figures;
use ipcperf_kit::document::Specs;
use ipcperf_render::text;

/// How much of what one connection answers at most it can be asked for: near the most, random arrivals wait long.
const SHARE: f64 = 0.8;

/// The mechanism that came nearest to a rate.
pub(super) struct Pace {
    rate: f64,
    name: String,
    /// Whether it may have several requests under way: an answer that is lost would look like one that is late.
    keeps_all: bool,
    /// Bytes of a message, requests that were answered in a second, and CPU time of one, ns.
    sizes: Vec<(u64, f64, Option<f64>)>,
    cpus: usize,
}

impl Pace {
    /// `None` where some mechanism keeps up, or where none was asked to.
    pub(super) fn of(set: &ResultSet, wanted: &Requirements, specs: &Specs) -> Option<Self> {
        let rate = wanted.rate_per_second?;
        // Everybody who could be chosen if there were no rate and no limit.
        let slower =
            Requirements { rate_per_second: None, p99_ns: None, by: Goal::P50, ..wanted.clone() };
        let field = Field::of(set, &slower, specs);
        let spinning = field.spinning.iter().flat_map(|field| &field.entrants);
        let trials = Workload::all(wanted, &[PatternKind::Rate]);
        let mut best: Option<(f64, bool, Vec<&Cell>)> = None;
        for entrant in field.entrants.iter().chain(spinning) {
            let cells: Option<Vec<&Cell>> =
                trials.iter().map(|trial| entrant.cell(wanted, *trial)).collect();
            let Some(cells) = cells else { continue };
            if !cells.iter().any(|cell| is_saturated(cell)) {
                return None;
            }
            let rates: Option<Vec<f64>> = cells.iter().map(|cell| achieved(cell)).collect();
            let least = rates?.into_iter().fold(f64::INFINITY, f64::min);
            if best.as_ref().is_none_or(|(most, ..)| least > *most) {
                best = Some((least, entrant.spec.can(Capability::BackPressure), cells));
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
        format!(
            "None keeps up with {}: {} comes nearest, and answers {}. The limit is that a connection has one request under way, \
             which takes it {} here.",
            figures::per_second(self.rate),
            self.name,
            text::join(&each),
            figures::nanos(1e9 / self.least()),
        )
    }

    /// What would meet the rate.
    pub(super) fn remedies(&self) -> Vec<String> {
        let name = &self.name;
        let one = SHARE * self.least();
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
        let digits = 10_f64.powf((one.max(10.0).log10().floor() - 1.0).max(0.0));
        let lower = ((one / digits).floor() * digits).max(1.0);
        let mechanism = name.split(' ').next().unwrap_or(name);
        let several = format!(
            "several requests under way over one connection: 'ipcperf run -m {mechanism} -p request --inflight 8' measures that"
        );
        let mut all = vec![connections, format!("a lower rate: --rate {lower:.0}")];
        all.extend(self.keeps_all.then_some(several));
        all
    }
}
