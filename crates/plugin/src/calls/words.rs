//! Texts of a plug-in.

use std::ffi::{CStr, c_char};

/// A text of a plug-in.
///
/// # Safety
/// It ends with a zero, or there is none.
pub(super) unsafe fn text(at: *const c_char) -> Option<String> {
    // SAFETY: the caller's word.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}
