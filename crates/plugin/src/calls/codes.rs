//! What calls return.

use super::abi;
use ipcperf_core::Fault;
use std::ffi::c_int;

/// A code in words.
pub(super) fn text(code: c_int) -> String {
    match fault(code) {
        _ if code == abi::UNAVAILABLE => "UNAVAILABLE without a reason".into(),
        _ if code == abi::BACK_PRESSURE => {
            "BACK_PRESSURE, which probe, open and attach may not return".into()
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
        // The least number has no positive one.
        _ => return code.checked_neg().filter(|errno| *errno > 0).map(Fault::Sys),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_no_negated_errno_is_no_fault() {
        assert_eq!(fault(-libc::EAGAIN), Some(Fault::Sys(libc::EAGAIN)));
        assert_eq!([fault(c_int::MIN), fault(c_int::MAX), fault(abi::OK)], [None; 3]);
        assert!(text(c_int::MIN).contains("which the header does not define"));
    }
}
