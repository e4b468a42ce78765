//! The object that is passed: its content, the proof in it, and its compressed form.

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use serde::{Deserialize, Serialize};

/// Least bytes of an object: number, nonce, and at its end both together.
pub(super) const LEAST: usize = 24;

/// What the object holds where no proof is. It matters only to those who compress it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Content {
    /// As the structures of a program hold: 64-byte records of a random word, a name out of 64, and 40 bytes unused.
    #[default]
    Records,
    /// All zero.
    Zeros,
    /// Nothing that can be compressed.
    Random,
}

/// The splitmix64 generator (Steele, Lea, Flood 2014).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Makes the object.
pub(super) fn make(size: usize, content: Content, seed: u64) -> Vec<u8> {
    let (mut object, mut state) = (vec![0; size], seed);
    match content {
        Content::Zeros => {}
        Content::Random => {
            for chunk in object.chunks_mut(8) {
                chunk.copy_from_slice(
                    draw(&mut state).to_le_bytes().get(..chunk.len()).unwrap_or_default(),
                );
            }
        }
        Content::Records => {
            for record in object.chunks_exact_mut(64) {
                let word = draw(&mut state);
                let name = format!("client-{:03}.local", word >> 58);
                let both = word.to_le_bytes().into_iter().chain(name.bytes());
                record.iter_mut().zip(both).for_each(|(byte, value)| *byte = value);
            }
        }
    }
    object
}

/// Writes the proof that this is object `number` of this run.
#[inline(always)]
pub(super) fn stamp(object: &mut [u8], nonce: u64, number: u64) {
    let Some((first, rest)) = object.split_first_chunk_mut::<8>() else { return };
    let Some((second, rest)) = rest.split_first_chunk_mut::<8>() else { return };
    let Some((_, last)) = rest.split_last_chunk_mut::<8>() else { return };
    *first = number.to_le_bytes();
    *second = nonce.to_le_bytes();
    *last = (nonce ^ number).to_le_bytes();
}

/// Whether this is object `number` of this run.
#[inline(always)]
pub(super) fn proves(object: &[u8], nonce: u64, number: u64) -> bool {
    object.first_chunk() == Some(&number.to_le_bytes())
        && object.get(8..16) == Some(&nonce.to_le_bytes()[..])
        && object.last_chunk() == Some(&(nonce ^ number).to_le_bytes())
}

/// Of a gzip member without name or time, made under Unix (RFC 1952).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
const TRAILER: usize = 8;
/// What `gzip` does unless told otherwise.
const LEVEL: u32 = 6;

/// Compresses objects into one buffer, with the state kept from one to the next.
#[derive(Debug)]
pub(super) struct Packer {
    state: Compress,
    crc: Crc,
    out: Vec<u8>,
}

impl Packer {
    pub(super) fn new(size: usize) -> Self {
        // What cannot be compressed grows by a few bytes for each block; this is more than that.
        let out = vec![0; size + size / 8 + 1024];
        Self { state: Compress::new(Compression::new(LEVEL), false), crc: Crc::new(), out }
    }

    /// The compressed form of an object; `None` if it has no room, which does not happen.
    pub(super) fn pack(&mut self, object: &[u8]) -> Option<&[u8]> {
        self.state.reset();
        self.crc.reset();
        self.crc.update(object);
        let (header, body) = self.out.split_first_chunk_mut()?;
        *header = HEADER;
        let step = self.state.compress(object, body, FlushCompress::Finish).ok()?;
        let len = usize::try_from(self.state.total_out()).ok()?;
        let (sum, amount) = body.get_mut(len..len + TRAILER)?.split_at_mut(4);
        sum.copy_from_slice(&self.crc.sum().to_le_bytes());
        amount.copy_from_slice(&self.crc.amount().to_le_bytes());
        (step == Status::StreamEnd).then(|| self.out.get(..HEADER.len() + len + TRAILER))?
    }
}

/// Takes compressed objects apart.
#[derive(Debug)]
pub(super) struct Unpacker {
    state: Decompress,
    crc: Crc,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self { state: Decompress::new(false), crc: Crc::new() }
    }

    /// Fills `object`; `false` if that is not what was packed.
    pub(super) fn unpack(&mut self, packed: &[u8], object: &mut [u8]) -> bool {
        let Some((header, rest)) = packed.split_first_chunk::<10>() else { return false };
        let Some((body, trailer)) = rest.split_last_chunk::<TRAILER>() else { return false };
        self.state.reset(false);
        self.crc.reset();
        let step = self.state.decompress(body, object, FlushDecompress::Finish);
        self.crc.update(object);
        let sums = (u64::from(self.crc.amount()) << 32) | u64::from(self.crc.sum());
        *header == HEADER
            && step.ok() == Some(Status::StreamEnd)
            && self.state.total_out() == object.len() as u64
            && u64::from_le_bytes(*trailer) == sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_stamp_proves_its_number_and_its_run_only() {
        let mut object = make(LEAST, Content::Random, 1);
        stamp(&mut object, 7, 3);
        assert!(proves(&object, 7, 3));
        assert!(!proves(&object, 7, 4) && !proves(&object, 8, 3) && !proves(&object[1..], 7, 3));
        object[LEAST - 1] ^= 1;
        assert!(!proves(&object, 7, 3));
    }

    #[test]
    fn what_was_packed_is_gzip_and_comes_out_again() {
        for content in [Content::Records, Content::Zeros, Content::Random] {
            let (mut packer, mut unpacker) = (Packer::new(112_192), Unpacker::new());
            for seed in 0..3 {
                let object = make(112_192, content, seed);
                let packed = packer.pack(&object).expect("room").to_vec();
                let mut out = vec![0; object.len()];
                assert!(unpacker.unpack(&packed, &mut out), "{content:?}");
                assert_eq!(out, object);
                let mut read = Vec::new();
                flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut read).expect("gzip");
                assert_eq!(read, object);
                let mut wrong = packed.clone();
                *wrong.last_mut().expect("a trailer") ^= 1;
                assert!(!unpacker.unpack(&wrong, &mut out));
                assert!(!unpacker.unpack(&packed, &mut vec![0; object.len() - 1]));
                assert!(!unpacker.unpack(&packed[..17], &mut out));
            }
        }
    }
}
