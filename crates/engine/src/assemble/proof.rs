//! What the counts of both ends prove.

use crate::job::Segment;
use ipcperf_core::Exchange;

/// Whether what one end sent is what the other received or missed.
pub(super) fn counts_agree([forth, back]: &[Segment; 2], exchange: Exchange) -> bool {
    match exchange {
        Exchange::RoundTrip => {
            forth.sent == forth.received + forth.lost
                && back.received == back.sent
                && back.received + back.lost == forth.sent
                && back.received >= forth.received
        }
        Exchange::OneWay => back.received + back.lost == forth.sent,
        // Only a crowd has these, and knows itself.
        Exchange::Request => false,
    }
}
