//! Messages in one direction, counted where they arrive.

use super::metric::times;
use super::sliced::{SliceReading, per_second};
use crate::slice::{RawSlice, Window};
use ipcperf_core::result::{Cell, Metric};

pub(super) fn reading(window: Window, raw: &RawSlice, ns: f64) -> SliceReading {
    SliceReading {
        operations: raw.operations,
        rate: per_second(window.messages, window.ticks, ns),
        ..SliceReading::default()
    }
}

pub(super) fn measure(cell: &mut Cell, centre: Metric) {
    if cell.key.size_bytes > 0 {
        cell.bytes_per_second = Some(times(&centre, cell.key.size_bytes as f64));
    }
    cell.messages_per_second = Some(centre);
}
