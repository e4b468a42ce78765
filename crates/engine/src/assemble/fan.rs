//! How the peers of a fan fared, from rounds to metrics.

use super::cell::Sliced;
use super::metric::{calls, over_rounds};
use crate::fan::RawFan;
use ipcperf_core::result::{Fan, FanRound, Metric};
use ipcperf_stats::jain;

pub(super) fn round(raw: &RawFan) -> FanRound {
    FanRound {
        served: raw.served.iter().map(|messages| messages.round() as u64).collect(),
        jain: jain(&raw.served),
        pids: raw.pids.clone(),
    }
}

pub(super) fn cell(accepted: &[&Sliced], kept: &[&Sliced], peers: u64) -> Fan {
    let rounds = || kept.iter().filter_map(|slice| slice.round.fan.as_ref());
    let over = |value: fn(&FanRound) -> Option<f64>| -> Metric {
        over_rounds(&rounds().filter_map(value).collect::<Vec<f64>>())
    };
    Fan {
        peers,
        jain: over(|round| round.jain),
        least_share: over(|round| share(round, round.served.iter().copied().min())),
        most_share: over(|round| share(round, round.served.iter().copied().max())),
        call_ns: calls(accepted, kept),
    }
}

fn share(round: &FanRound, served: Option<u64>) -> Option<f64> {
    let all: u64 = round.served.iter().sum();
    served.filter(|_| all > 0).map(|served| served as f64 / all as f64)
}
