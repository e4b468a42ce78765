//! The columns of a choice: times, costs and rates of a mechanism at one size.

use super::field::quantile;
use ipcperf_core::result::{Cell, Goal, Requirements};
use ipcperf_core::{PatternKind, Wait};
use ipcperf_judge::{MetricKind, ROUND_TRIP, figures};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    P50,
    P99,
    P999,
    Cpu,
    Rate,
    /// CPUs that both ends take at the rate that was asked for.
    Cores,
}

impl What {
    /// Whether a mechanism that nothing else beats in all of these has a row of its own.
    pub(super) fn is_price(self, by: Goal) -> bool {
        match self {
            Self::P99 => by != Goal::P999,
            Self::P999 => by == Goal::P999,
            Self::Cpu | Self::Rate => true,
            Self::P50 | Self::Cores => false,
        }
    }
}

/// CPUs that both ends take at a rate, by the CPU time of a closed loop, whose sender does not watch the clock as that of
/// an open loop does. Each request and its answer are two messages.
pub(super) fn cores(cell: &Cell, rate: f64) -> Option<f64> {
    Some(2.0 * rate * cell.cpu_ns_per_message.as_ref()?.figure().value? / 1e9)
}

/// `0.41`.
pub(super) fn cores_words(cores: f64) -> String {
    figures::bounded(cores, |cores| format!("{cores:.2}"))
}

/// The CPU time that both ends take while nothing happens, by their kind of waiting, and why.
pub(super) const fn idle_words(wait: Wait) -> (&'static str, &'static str) {
    match wait {
        Wait::SpinThenBlock => ("brief", "they spin for a bounded time, then sleep"),
        Wait::Spin => ("2 CPUs", "both spin"),
        _ => ("none", "they sleep"),
    }
}

/// A column.
pub(super) struct View {
    pub(super) pattern: PatternKind,
    pub(super) what: What,
}

/// The columns, the most wanted first.
pub(super) fn views(wanted: &Requirements) -> Vec<View> {
    let timed = wanted.timed();
    let of = |pattern: &PatternKind| {
        [What::P50, What::P99, What::P999].map(|what| View { pattern: *pattern, what })
    };
    let mut views: Vec<View> = timed.iter().take(1).flat_map(of).collect();
    if wanted.is_served() {
        // One run of a server says all of it.
        views
            .extend([What::Cpu, What::Rate].map(|what| View { pattern: PatternKind::Serve, what }));
        return views;
    }
    if wanted.consumers > 0 {
        let of = |what| View { pattern: PatternKind::Broadcast, what };
        return [What::Rate, What::Cpu].map(of).into();
    }
    if wanted.rate_per_second.is_some() {
        views.push(View { pattern: PatternKind::PingPong, what: What::Cores });
    }
    views.push(View { pattern: PatternKind::PingPong, what: What::Cpu });
    views.push(View { pattern: PatternKind::Stream, what: What::Rate });
    views.extend(timed.iter().skip(1).flat_map(of));
    views
}

impl View {
    pub(super) fn head(&self, wanted: &Requirements) -> String {
        let paused = self.pattern == PatternKind::PingPong && wanted.timed().len() > 1;
        let when = if paused { "paused " } else { "" };
        match self.what {
            What::P50 => format!("{when}p50"),
            What::P99 => format!("{when}p99"),
            What::P999 => format!("{when}p99.9"),
            What::Cores => "cores".to_owned(),
            What::Cpu if self.pattern == PatternKind::Serve => "CPU/req".to_owned(),
            What::Cpu => "CPU/msg".to_owned(),
            What::Rate => "rate".to_owned(),
        }
    }

    pub(super) fn read(&self, cell: &Cell, wanted: &Requirements) -> Option<f64> {
        match self.what {
            What::P99 => quantile(cell, "p99"),
            What::P999 => quantile(cell, "p99.9"),
            What::Cores => cores(cell, wanted.rate_per_second?),
            What::Cpu => cell.cpu_ns_per_message.as_ref()?.figure().value,
            What::P50 => ROUND_TRIP.of_cell(cell)?.value,
            What::Rate => cell.figure()?.value,
        }
    }

    /// What it is compared by, where it is a price.
    pub(super) fn kind(&self) -> Option<MetricKind> {
        match self.what {
            What::P99 => Some(MetricKind::P99),
            What::Cpu => Some(MetricKind::Cpu),
            What::Rate => Some(MetricKind::of(self.pattern)),
            What::P999 => Some(MetricKind::P999),
            What::P50 | What::Cores => None,
        }
    }

    /// As a price.
    pub(super) fn less_is_better(&self, figure: Option<f64>) -> Option<f64> {
        if self.what == What::Rate { figure.map(f64::recip) } else { figure }
    }

    pub(super) fn words(&self, figure: Option<f64>, size: u64) -> String {
        figures::or_none(figure, |figure| match self.what {
            What::Cores => cores_words(figure),
            What::Rate => MetricKind::of(self.pattern).words(figure, size),
            _ => figures::nanos(figure),
        })
    }
}
