//! One process writes into one end of a socket pair and reads its own byte from the other: two calls, and nobody else.
//! It is what a published program does by mistake; the proof that every measurement of this program must carry refuses
//! it.

use super::{BoundReport, Trips};
use crate::hot::{Closed, Pattern, Plan, Recorder, Stamp};
use crate::page::Page;
use ipcperf_core::{Erased, Fault, Port};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::stream;
use std::os::fd::{AsFd, OwnedFd};

/// Both ends of a socket pair in one process.
struct Both {
    writer: OwnedFd,
    reader: OwnedFd,
    byte: [u8; 1],
}

impl Both {
    #[inline(always)]
    fn write(&self) -> Result<(), Fault> {
        stream::write(self.writer.as_fd(), &self.byte).map(drop).map_err(Fault::Sys)
    }

    #[inline(always)]
    fn read(&mut self) -> Result<(), Fault> {
        match stream::read(self.reader.as_fd(), &mut self.byte) {
            Ok(0) => Err(Fault::Closed),
            Ok(_) => Ok(()),
            Err(code) => Err(Fault::Sys(code)),
        }
    }
}

impl Port for Both {
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(&mut self.byte);
        self.write()
    }

    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.read()?;
        take(&self.byte)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Tries the proof, then times single round trips into the slots.
pub(super) fn talk(trips: Trips, clock: Clock, page: &Page) -> Result<BoundReport, String> {
    let (writer, reader) = socket::pair(Kind::Stream).map_err(|error| error.to_string())?;
    let mut both = Both { writer, reader, byte: [0] };
    let mut recorder = Recorder::new(page.slots());
    let plan = Plan { len: 1, answer: 1, samples: 1, batch: 1, first: 1, ..Plan::default() };
    let mut port = Erased::<false>(&mut both);
    let proof = Closed::lead(&mut port, clock, plan, Stamp::new(1), &mut recorder);
    recorder.rewind();
    let told = |fault: Fault| fault.to_string();
    for _ in 0..trips.warmup {
        both.write().and_then(|()| both.read()).map_err(told)?;
    }
    for _ in 0..trips.samples {
        let start = clock.start();
        both.write().and_then(|()| both.read()).map_err(told)?;
        recorder.record(clock.stop() - start);
    }
    Ok(BoundReport {
        values: vec![("refused".into(), f64::from(u8::from(proof == Err(Fault::Corrupt))))],
        samples: recorder.len(),
        spills: recorder.spills().to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_refuses_a_process_that_reads_its_own_byte() {
        let page = Page::create(crate::page::CAPACITY).expect("memory");
        let trips = Trips { samples: 50, warmup: 3 };
        let report = talk(trips, Clock::monotonic(), &page).expect("a socket pair");
        assert_eq!((report.values, report.samples), (vec![("refused".to_owned(), 1.0)], 50));
    }
}
