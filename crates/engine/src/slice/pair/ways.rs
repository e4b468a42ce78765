//! The way from lead to follow by itself: when each message left and arrived, corrected for the difference of the two
//! counters.

use crate::hot::place;
use crate::job::Segment;
use crate::offset::Offset;
use crate::page::Page;
use crate::slice::Compact;
use ipcperf_stats::Histogram;
use std::sync::atomic::Ordering;

/// All ways of a slice.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Ticks.
    pub histogram: Compact,
    /// What they are corrected by.
    pub offset: Option<Offset>,
    /// Those that would have arrived before they left: more than the offset's uncertainty allows is no measurement.
    pub negative: u64,
    /// Those of segments in which a message was lost: nobody knows which times belong together.
    pub unknown: u64,
}

impl Ways {
    /// Adds one segment, whose times lie in the page.
    pub(super) fn fold(&mut self, page: &Page, lead: &Segment, follow: &Segment) {
        let Some(offset) = lead.offset else { return };
        self.offset = Some(offset);
        if lead.lost + follow.lost > 0 {
            self.unknown += lead.sent;
            return;
        }
        let [_, left, arrived] = page.ways();
        let mut histogram = Histogram::from(&self.histogram);
        for seq in lead.first + lead.lead_in * lead.batch..lead.first + lead.sent {
            let (Some(left), Some(arrived)) = (place(left, seq), place(arrived, seq)) else {
                break;
            };
            let [left, arrived] = [left, arrived].map(|place| place.load(Ordering::Acquire));
            match way(left, arrived, offset.ticks) {
                Ok(ticks) => histogram.record(ticks),
                Err(ticks) => {
                    self.negative += u64::from(ticks > offset.bound);
                    histogram.record(0);
                }
            }
        }
        self.histogram = Compact::from(&histogram);
    }
}

/// Ticks from departure to arrival, or by how many the arrival is before the departure. The low halves of two counters
/// tell a difference of up to half their range, whatever the counters differ by themselves.
fn way(left: u32, arrived: u32, offset: i64) -> Result<u64, u64> {
    let corrected = arrived.wrapping_sub(left).wrapping_sub(offset as u32).cast_signed();
    u64::try_from(corrected).map_err(|_| u64::from(corrected.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_the_difference_less_the_offset() {
        assert_eq!(way(1000, 1700, 0), Ok(700));
        assert_eq!(way(1000, 1700, 500), Ok(200));
        assert_eq!(way(1000, 1700, -500), Ok(1200));
        assert_eq!(way(1000, 1700, 800), Err(100));
        // Counters wrap around in their low half, and CPUs that were started apart differ by more than that.
        assert_eq!(way(u32::MAX - 10, 20, 0), Ok(31));
        let (left, offset) = (7_u64, (5_i64 << 32) + 90);
        let arrived = left + offset.unsigned_abs() + 300;
        assert_eq!(way(left as u32, arrived as u32, offset), Ok(300));
    }

    #[test]
    fn a_segment_gives_its_messages_without_those_that_led_in() {
        let page = Page::create(crate::page::CAPACITY).expect("memory");
        let [_, left, arrived] = page.ways();
        let first = left.len() as u64 - 3;
        for seq in first..first + 8 {
            let at = (seq * 1000) as u32;
            place(left, seq).expect("a place").store(at, Ordering::Relaxed);
            place(arrived, seq).expect("a place").store(at + 150, Ordering::Relaxed);
        }
        let known = Offset { ticks: 50, bound: 5, warps: 0, exchanges: 10_000 };
        let offset = Some(known);
        let lead = Segment {
            sent: 8,
            samples: 8,
            batch: 1,
            lead_in: 2,
            first,
            offset,
            ..Segment::default()
        };
        let mut ways = Ways::default();
        ways.fold(&page, &lead, &Segment::default());
        let histogram = Histogram::from(&ways.histogram);
        assert_eq!(
            (histogram.count(), histogram.min(), histogram.max()),
            (6, Some(100), Some(100))
        );
        // Loops with pauses feed the recorder several times for each message, and nothing leads in.
        let paced = Segment { samples: 24, lead_in: 0, ..lead.clone() };
        let mut all = Ways::default();
        all.fold(&page, &paced, &Segment::default());
        assert_eq!(Histogram::from(&all.histogram).count(), 8);
        let lossy = Segment { lost: 1, ..lead.clone() };
        ways.fold(&page, &lossy, &Segment::default());
        assert_eq!((Histogram::from(&ways.histogram).count(), ways.unknown), (6, 8));
        let far = Some(Offset { ticks: 400, ..known });
        ways.fold(&page, &Segment { offset: far, ..lead }, &Segment::default());
        assert_eq!(ways.negative, 6);
    }
}
