//! The server's answer: a number between 0 and 1 as decimal text. It looks random, but it is the sequence number of
//! the request under a key that only the parties of this connect slice have, so that the client can tell that it was
//! answered, and by whom.

/// Bytes of the number as text: `0.` and sixteen digits.
pub const SHORTEST: usize = 18;

const MODULUS: u64 = 10_000_000_000_000_000;
/// Without a common factor with the modulus, and its inverse.
const FACTOR: u64 = 6_364_136_223_846_793;
const INVERSE: u64 = 552_643_148_649_657;
/// What no connect slice reaches; a foreign text decodes to less than this once in ten thousand times.
const MOST: u64 = 1 << 40;

/// The answers of one connect slice.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    key: u64,
    text: Vec<u8>,
}

impl Answers {
    /// Answers of `len` bytes: the number, and beyond it filler.
    pub(super) fn new(nonce: u64, len: usize) -> Self {
        Self { key: nonce % MODULUS, text: vec![b'.'; len.max(SHORTEST)] }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The answer to a request.
    pub(super) fn write(&mut self, sequence: u64) -> &[u8] {
        let mixed = u128::from(sequence) * u128::from(FACTOR) + u128::from(self.key);
        // Below the modulus, so that it fits.
        let mut rest = (mixed % u128::from(MODULUS)) as u64;
        let (number, _) = self.text.split_at_mut(SHORTEST);
        for (at, byte) in number.iter_mut().enumerate().rev() {
            if at >= 2 {
                *byte = b'0' + (rest % 10) as u8;
                rest /= 10;
            } else {
                *byte = if at == 0 { b'0' } else { b'.' };
            }
        }
        &self.text
    }

    /// The sequence number of an answer of this connect slice; `None` for anything else.
    pub(super) fn read(&self, text: &[u8]) -> Option<u64> {
        let digits = text.strip_prefix(b"0.").filter(|_| text.len() == self.text.len())?;
        let (digits, filler) = digits.split_at_checked(SHORTEST - 2)?;
        let mut number = 0;
        for digit in digits {
            let value = digit.checked_sub(b'0').filter(|value| *value < 10)?;
            number = number * 10 + u64::from(value);
        }
        let shifted = u128::from(number + MODULUS - self.key) * u128::from(INVERSE);
        let sequence = (shifted % u128::from(MODULUS)) as u64;
        (sequence < MOST && filler.iter().all(|byte| *byte == b'.')).then_some(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_its_sequence_number_to_who_has_the_key() {
        let mut answers = Answers::new(0xfeed_beef_1234_5678, 64);
        let mut others = Answers::new(0xfeed_beef_1234_5679, 64);
        for sequence in [0, 1, 2, 99_999, MOST - 1] {
            let text = answers.write(sequence).to_vec();
            assert_eq!(text.len(), 64);
            assert!(text.starts_with(b"0."));
            assert_eq!(answers.read(&text), Some(sequence));
            assert_eq!(others.read(&text), None);
            let foreign = others.write(sequence).to_vec();
            assert_eq!(answers.read(&foreign), None);
        }
    }

    #[test]
    fn a_broken_answer_is_none() {
        let mut answers = Answers::new(7, 0);
        let text = answers.write(3).to_vec();
        assert_eq!(text.len(), SHORTEST);
        for cut in 0..SHORTEST {
            assert_eq!(answers.read(&text[..cut]), None);
        }
        let mut wrong = text.clone();
        wrong[5] = b'x';
        assert_eq!(answers.read(&wrong), None);
    }
}
