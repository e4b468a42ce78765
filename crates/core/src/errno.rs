//! The text of a kernel error number, the way the C library words it.

// Error numbers that a loop acts on. They are equal on all supported architectures; a test in `mech` compares them with the C
// library.
pub(crate) const ESRCH: i32 = 3;
pub(crate) const E2BIG: i32 = 7;
pub(crate) const EAGAIN: i32 = 11;
pub(crate) const EPIPE: i32 = 32;
pub(crate) const EIDRM: i32 = 43;
pub(crate) const EMSGSIZE: i32 = 90;
pub(crate) const ECONNRESET: i32 = 104;
pub(crate) const ENOTCONN: i32 = 107;
pub(crate) const ECONNREFUSED: i32 = 111;
pub(crate) const EOWNERDEAD: i32 = 130;

/// Words for `code` (an `errno` value), for example `2` is "No such file or directory".
#[must_use]
pub fn text(code: i32) -> String {
    let full = std::io::Error::from_raw_os_error(code).to_string();
    // The standard library appends " (os error N)"; the number is of no use to a reader.
    match full.rfind(" (os error") {
        Some(end) => full[..end].to_owned(),
        None => full,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_is_left_out() {
        assert_eq!(super::text(2), "No such file or directory");
    }
}
