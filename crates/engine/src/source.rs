//! The bytes of a file that messages are cut from.
//!
//! Messages are cut in turn: each begins where the one before it ended. One that reaches the end of the file goes on with
//! its beginning, as often as it is long, and the next one is the first again. A turn is over before that, too, after 1
//! MiB or 4,096 messages, since what a transform makes of each must be known before the first one moves.

use ipcperf_core::digest::{hex, sha256};
use ipcperf_core::{PayloadFile, errno};
use ipcperf_sys::file;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a file that are used, and of a message that a transform changes: compressing them takes a tenth of a
/// second.
pub(crate) const MOST: usize = 4 << 20;

/// The most bytes and messages of a turn.
const TURN: usize = 1 << 20;
const MESSAGES: usize = 4096;

/// What is used of a file.
#[derive(Debug)]
pub struct PayloadSource(Vec<u8>);

impl PayloadSource {
    /// Reads what is used of a file, and says what that is.
    ///
    /// # Errors
    /// It is no regular file, cannot be read, or is empty; or something else is in it than was asked for.
    pub fn read(asked: &PayloadFile) -> Result<(Self, PayloadFile), String> {
        let told =
            |error: io::Error| error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
        let (file, length) = file::regular(Path::new(&asked.file)).map_err(told)?;
        let mut bytes = Vec::new();
        file.take(MOST as u64).read_to_end(&mut bytes).map_err(told)?;
        if bytes.is_empty() {
            return Err("it is empty".to_owned());
        }
        let sha256 = hex(&sha256(&bytes));
        let used = bytes.len() as u64;
        let found = PayloadFile {
            file: asked.file.clone(),
            bytes: used,
            of_bytes: (length > used).then_some(length),
            sha256,
        };
        if !found.sha256.starts_with(&asked.sha256) {
            let (is, was) = (found.short_digest(), asked.short_digest());
            return Err(format!(
                "its digest is {is}, and {was} was asked for: the content differs"
            ));
        }
        Ok((Self(bytes), found))
    }

    /// Cut into messages of `len` bytes, with answers of up to `longest`.
    pub(crate) fn cut(&self, len: usize, longest: usize) -> Cut {
        let (len, all) = (len.max(1), self.0.len());
        let turn = all.min(TURN).div_ceil(len).clamp(1, MESSAGES);
        // Each begins within the file and lies in one piece.
        let bytes = self.0.iter().copied().cycle().take(all + len.max(longest)).collect();
        Cut { bytes, len, turn: turn as u64 }
    }
}

/// A file cut into messages.
#[derive(Debug)]
pub struct Cut {
    bytes: Vec<u8>,
    len: usize,
    turn: u64,
}

impl Cut {
    /// How many messages differ.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// The first bytes of message `seq`.
    pub(crate) fn message(&self, seq: u64, bytes: usize) -> &[u8] {
        let begin = usize::try_from(seq % self.turn).unwrap_or(0) * self.len;
        self.bytes.get(begin..begin + bytes).unwrap_or_default()
    }
}

#[cfg(test)]
impl PayloadSource {
    /// These bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cut: &Cut, seq: u64) -> String {
        String::from_utf8_lossy(cut.message(seq, cut.len)).into_owned()
    }

    #[test]
    fn messages_are_cut_in_turn_and_go_on_with_the_beginning() {
        let source = PayloadSource(b"abcdefghij".to_vec());
        let first = |len: usize| -> Vec<String> {
            let cut = source.cut(len, 0);
            (0..4).map(|seq| text(&cut, seq)).collect()
        };
        assert_eq!(first(4), ["abcd", "efgh", "ijab", "abcd"]);
        assert_eq!(first(5), ["abcde", "fghij", "abcde", "fghij"]);
        assert_eq!(first(10), ["abcdefghij"; 4]);
        assert_eq!(first(23), ["abcdefghijabcdefghijabc"; 4]);
        assert_eq!(first(1), ["a", "b", "c", "d"]);
        // An answer that is longer than its question.
        assert_eq!(source.cut(4, 12).message(2, 12), b"ijabcdefghij");
    }

    #[test]
    fn a_turn_is_bounded() {
        let source = PayloadSource((0..MOST).map(|at| (at % 251) as u8).collect());
        for (len, turn) in
            [(1, 4096), (64, 4096), (4096, 256), (1 << 20, 1), (MOST, 1), (2 * MOST, 1)]
        {
            let cut = source.cut(len, len);
            assert_eq!(cut.turn(), turn, "{len}");
            for seq in [0, 1, turn - 1, turn, u64::MAX] {
                assert_eq!(cut.message(seq, len).len(), len, "{len} {seq}");
            }
        }
        // What differs beyond the first MiB is in a message that is as long.
        assert_eq!(source.cut(MOST, 0).message(9, MOST), source.0);
    }

    #[test]
    fn a_file_is_what_was_asked_for_or_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let asked = |name: &str| place(name).parse::<PayloadFile>().expect("a name");
        let told = |asked: &PayloadFile| match PayloadSource::read(asked) {
            Ok((_, found)) => {
                format!("{} {:?} {}", found.bytes, found.of_bytes, found.short_digest())
            }
            Err(error) => error,
        };
        std::fs::write(place("abc"), "abc").expect("written");
        std::fs::write(place("empty"), "").expect("written");
        // FIPS 180-2, appendix B.1.
        assert_eq!(told(&asked("abc")), "3 None ba7816bf8f01");
        assert_eq!(told(&asked("abc#ba7816bf8f01")), "3 None ba7816bf8f01");
        let other = told(&asked("abc#0123456789ab"));
        assert_eq!(
            other,
            "its digest is ba7816bf8f01, and 0123456789ab was asked for: the content differs"
        );
        assert_eq!(told(&asked("empty")), "it is empty");
        assert!(told(&asked("none")).contains("No such file"));
        let huge = std::fs::File::create(place("huge")).expect("made");
        huge.set_len(1 << 40).expect("a sparse file");
        assert!(told(&asked("huge")).starts_with("4194304 Some(1099511627776) "));
    }
}
