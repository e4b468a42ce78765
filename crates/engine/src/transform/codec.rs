//! The transforms themselves: public libraries with their contexts kept from message to message. Pure Rust, so that
//! nothing but a linker is needed to build them.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use ipcperf_core::Transform;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, FrameCompressor, MatchGeneratorDriver};
use std::fmt;
use std::io::Read;
use std::rc::Rc;

/// The head of a gzip file without a name and a time (RFC 1952), and the bytes of its check sum and length at the end.
const GZIP_HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255];
const GZIP_TAIL: usize = 8;

/// One transform with its contexts.
pub(super) enum Codec {
    /// DEFLATE level 6 with the frame of gzip around it.
    Gzip(Box<(Compress, Decompress)>),
    /// The block format; the library wants room for the worst case.
    Lz4(CompressTable, Vec<u8>),
    /// The fastest level: the only one this library compresses at.
    Zstd(Box<Zstd>),
    /// The record, and its check sum behind it.
    Crc32,
}

/// Its compressor takes a reader and a writer.
pub(super) struct Zstd {
    compressor: FrameCompressor<RecordReader, Vec<u8>, MatchGeneratorDriver>,
    decoder: FrameDecoder,
}

/// Reads a record.
struct RecordReader {
    record: Rc<[u8]>,
    at: usize,
}

impl Read for RecordReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let mut rest = self.record.get(self.at..).unwrap_or_default();
        let count = rest.read(out)?;
        self.at += count;
        Ok(count)
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Gzip(_) => "Gzip",
            Self::Lz4(..) => "Lz4",
            Self::Zstd(_) => "Zstd",
            Self::Crc32 => "Crc32",
        })
    }
}

impl Codec {
    pub(super) fn new(transform: Transform, size: usize) -> Self {
        match transform {
            Transform::Gzip => Self::Gzip(Box::new((
                Compress::new(Compression::new(6), false),
                Decompress::new(false),
            ))),
            Transform::Lz4 => {
                Self::Lz4(CompressTable::large(), vec![0; get_maximum_output_size(size)])
            }
            Transform::Zstd => Self::Zstd(Box::new(Zstd {
                compressor: FrameCompressor::new(CompressionLevel::Fastest),
                decoder: FrameDecoder::new(),
            })),
            Transform::Crc32 | Transform::None => Self::Crc32,
        }
    }

    /// What a record of `size` bytes can at most be changed into.
    pub(super) fn longest(&self, size: usize) -> usize {
        // Every format can store what it cannot compress, at some bytes for each block of it.
        size + size / 64 + 256
    }

    /// Writes the changed record and returns its length; `None` if it does not fit.
    pub(super) fn change(&mut self, record: &Rc<[u8]>, out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Gzip(contexts) => gzip(&mut contexts.0, record, out),
            Self::Lz4(table, room) => {
                let length = compress_into_with_table(record, room, table).ok()?;
                copy(room.get(..length)?, out)
            }
            Self::Zstd(zstd) => {
                let mut drain = zstd.compressor.take_drain().unwrap_or_default();
                drain.clear();
                zstd.compressor.set_drain(drain);
                zstd.compressor.set_source(RecordReader { record: Rc::clone(record), at: 0 });
                zstd.compressor.compress();
                copy(zstd.compressor.drain()?, out)
            }
            Self::Crc32 => {
                let length = copy(record, out)?;
                copy(&crc32fast::hash(record).to_le_bytes(), out.get_mut(length..)?)?;
                Some(length + 4)
            }
        }
    }

    /// Whether `changed` is what a record was changed into; the record is then in `out`.
    pub(super) fn change_back(&mut self, changed: &[u8], out: &mut [u8]) -> bool {
        match self {
            Self::Gzip(contexts) => gunzip(&mut contexts.1, changed, out).is_some(),
            Self::Lz4(..) => lz4_flex::block::decompress_into(changed, out)
                .is_ok_and(|length| length == out.len()),
            Self::Zstd(zstd) => {
                let length = zstd.decoder.decode_all(changed, out);
                let sums =
                    (zstd.decoder.get_checksum_from_data(), zstd.decoder.get_calculated_checksum());
                length.is_ok_and(|length| length == out.len()) && sums.0 == sums.1
            }
            Self::Crc32 => {
                let Some((record, sum)) = changed.split_last_chunk::<4>() else { return false };
                copy(record, out) == Some(out.len())
                    && crc32fast::hash(out) == u32::from_le_bytes(*sum)
            }
        }
    }
}

fn copy(from: &[u8], to: &mut [u8]) -> Option<usize> {
    to.get_mut(..from.len())?.copy_from_slice(from);
    Some(from.len())
}

fn gzip(context: &mut Compress, record: &[u8], out: &mut [u8]) -> Option<usize> {
    let body = copy(&GZIP_HEAD, out)?;
    context.reset();
    let status = context.compress(record, out.get_mut(body..)?, FlushCompress::Finish).ok()?;
    if status != Status::StreamEnd {
        return None;
    }
    let tail = body + usize::try_from(context.total_out()).ok()?;
    let length = u32::try_from(record.len()).ok()?;
    let rest = out.get_mut(tail..)?;
    copy(&crc32fast::hash(record).to_le_bytes(), rest)?;
    copy(&length.to_le_bytes(), rest.get_mut(4..)?)?;
    Some(tail + GZIP_TAIL)
}

fn gunzip(context: &mut Decompress, changed: &[u8], out: &mut [u8]) -> Option<()> {
    let body = changed.strip_prefix(&GZIP_HEAD)?;
    let (body, length) = body.split_last_chunk::<4>()?;
    let (body, sum) = body.split_last_chunk::<4>()?;
    context.reset(false);
    let status = context.decompress(body, out, FlushDecompress::Finish).ok()?;
    let is_whole = status == Status::StreamEnd
        && context.total_out() == out.len() as u64
        && context.total_in() == body.len() as u64
        && u32::from_le_bytes(*length) as usize == out.len()
        && crc32fast::hash(out) == u32::from_le_bytes(*sum);
    is_whole.then_some(())
}
