//! How long requests and their parts took, and how that travels from a client to the coordinator: through a file
//! without a name, because the distributions of a client do not fit one message.

use ipcperf_stats::Histogram;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// What is timed of a request, in this order: all of it, making the socket, connecting, waiting for the first byte,
/// closing.
pub const PARTS: [&str; 5] = ["request", "socket", "connect", "first_byte", "close"];

/// One sample: ticks of each part.
pub(super) type Sample = [u64; PARTS.len()];

/// Samples that wait until the histograms take them, so that the cost comes rarely and between requests.
const WAITING: usize = 4096;

/// Distributions of all parts, in ticks.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// In the order of [`PARTS`].
    pub parts: [Histogram; PARTS.len()],
}

impl Times {
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.merge(theirs);
        }
    }

    /// Writes them for [`Times::read`].
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        write(&self.parts, file)
    }

    /// Reads what a client wrote.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        Ok(Self { parts: read(file)? })
    }
}

/// Writes distributions for [`read`].
pub(crate) fn write(parts: &[Histogram], mut file: &File) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut put = |value: u64| bytes.extend_from_slice(&value.to_ne_bytes());
    for part in parts {
        put(part.buckets().count() as u64);
        put(part.min().unwrap_or(0));
        put(part.max().unwrap_or(0));
        put(u64::try_from(part.sum()).unwrap_or(u64::MAX));
        for (low, _, count) in part.buckets() {
            put(low);
            put(count);
        }
    }
    file.write_all(&bytes)
}

/// Reads what a worker wrote.
pub(crate) fn read<const COUNT: usize>(mut file: &File) -> io::Result<[Histogram; COUNT]> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
    let mut next = || words.next().ok_or(io::Error::from(io::ErrorKind::UnexpectedEof));
    let mut all = std::array::from_fn(|_| Histogram::default());
    for part in &mut all {
        let [buckets, min, max, sum] = [next()?, next()?, next()?, next()?];
        let mut parts = Vec::new();
        for _ in 0..buckets {
            parts.push((next()?, next()?));
        }
        *part = Histogram::from_parts(min, max, sum.into(), &parts).map_err(io::Error::other)?;
    }
    Ok(all)
}

/// Takes the samples of one client.
#[derive(Debug)]
pub(super) struct Taker {
    waiting: Vec<Sample>,
    times: Times,
}

impl Taker {
    pub(super) fn new() -> Self {
        // Touched before it is needed.
        let mut waiting = vec![Sample::default(); WAITING];
        waiting.clear();
        Self { waiting, times: Times::default() }
    }

    #[inline]
    pub(super) fn take(&mut self, sample: Sample) {
        if self.waiting.len() == WAITING {
            self.fold();
        }
        self.waiting.push(sample);
    }

    #[cold]
    fn fold(&mut self) {
        for sample in &self.waiting {
            for (part, ticks) in self.times.parts.iter_mut().zip(sample) {
                part.record(*ticks);
            }
        }
        self.waiting.clear();
    }

    pub(super) fn into_times(mut self) -> Times {
        self.fold();
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_arrives() {
        let mut taker = Taker::new();
        for ticks in 0..10_000 {
            taker.take([5 * ticks, ticks, 2 * ticks, 3 * ticks, 7]);
        }
        let times = taker.into_times();
        let file = ipcperf_sys::file::unnamed("ipcperf-test").expect("a file");
        times.write(&file).expect("room");
        let read = Times::read(&file).expect("what was written");
        for (one, two) in times.parts.iter().zip(&read.parts) {
            assert_eq!((one.count(), one.sum()), (10_000, two.sum()));
            assert!(one.buckets().eq(two.buckets()));
        }
        assert!(Times::read(&ipcperf_sys::file::unnamed("ipcperf-test").expect("a file")).is_err());
    }
}
