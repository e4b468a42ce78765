//! What calls return.

use super::abi;
use ipcperf_core::Fault;
use std::ffi::c_int;

/// A code in words.
pub(super) fn text(code: c_int) -> String {
    match fault(code) {
        _ if code == abi::UNAVAILABLE => "UNAVAILABLE without a reason".into(),
        _ if code == abi::BACK_PRESSURE => {
            "BACK_PRESSURE, which only send and recv may return".into()
        }
        Some(fault) => fault.to_string(),
        None => format!("it returned {code}, which the header does not define"),
    }
}

/// The fault that a code is.
pub(super) fn fault(code: c_int) -> Option<Fault> {
    Some(match code {
        abi::CLOSED => Fault::Closed,
        abi::PEER_DIED => Fault::PeerDied,
        abi::TOO_LONG => Fault::TooLong,
        abi::TRUNCATED => Fault::Truncated,
        abi::CORRUPT => Fault::Corrupt,
        abi::TIMEOUT => Fault::Timeout,
        _ if code < 0 => Fault::Sys(-code),
        _ => return None,
    })
}
