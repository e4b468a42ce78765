//! How the times of requests travel from a process of clients to the coordinator: as distributions, through a file
//! without a name, because they do not fit one message.

use ipcperf_stats::Histogram;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Samples that wait until the histograms take them, so that the cost comes rarely and between requests.
pub(super) const WAITING: usize = 4096;

/// Distributions of what is timed of a request, ticks.
#[derive(Clone, Debug)]
pub(super) struct Times<const PARTS: usize> {
    pub(super) parts: [Histogram; PARTS],
}

impl<const PARTS: usize> Default for Times<PARTS> {
    fn default() -> Self {
        Self { parts: std::array::from_fn(|_| Histogram::default()) }
    }
}

impl<const PARTS: usize> Times<PARTS> {
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.merge(theirs);
        }
    }

    /// Writes them for [`Times::read`].
    pub(super) fn write(&self, mut file: &File) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut put = |value: u64| bytes.extend_from_slice(&value.to_ne_bytes());
        for part in &self.parts {
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

    /// Reads what a process of clients wrote.
    pub(super) fn read(mut file: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
        let mut next = || words.next().ok_or(io::Error::from(io::ErrorKind::UnexpectedEof));
        let mut all = Self::default();
        for part in &mut all.parts {
            let [buckets, min, max, sum] = [next()?, next()?, next()?, next()?];
            let mut parts = Vec::new();
            for _ in 0..buckets {
                parts.push((next()?, next()?));
            }
            *part =
                Histogram::from_parts(min, max, sum.into(), &parts).map_err(io::Error::other)?;
        }
        Ok(all)
    }
}

/// Takes the samples of one client.
#[derive(Debug)]
pub(super) struct Taker<const PARTS: usize> {
    waiting: Vec<[u64; PARTS]>,
    times: Times<PARTS>,
}

impl<const PARTS: usize> Taker<PARTS> {
    pub(super) fn new() -> Self {
        // Touched before it is needed.
        let mut waiting = vec![[0; PARTS]; WAITING];
        waiting.clear();
        Self { waiting, times: Times::default() }
    }

    #[inline]
    pub(super) fn take(&mut self, sample: [u64; PARTS]) {
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

    pub(super) fn into_times(mut self) -> Times<PARTS> {
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
        let read = Times::<5>::read(&file).expect("what was written");
        for (one, two) in times.parts.iter().zip(&read.parts) {
            assert_eq!((one.count(), one.sum()), (10_000, two.sum()));
            assert!(one.buckets().eq(two.buckets()));
        }
        assert!(
            Times::<5>::read(&ipcperf_sys::file::unnamed("ipcperf-test").expect("a file")).is_err()
        );
    }
}
