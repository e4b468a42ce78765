//! The text of a kernel error number, the way the C library words it.

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
