//! Moves nothing: the cost of the harness itself, the floor under every other number.

use ipcperf_core::prelude::*;

/// The floor.
#[derive(Debug)]
pub struct Null;

impl Mechanism for Null {
    const SPEC: &'static Spec = &Spec {
        name: "null",
        family: Family::Floor,
        summary: "Moves nothing and waits for nothing: the cost of the loop, the clock and the recorder.",
        manual: &["ipcperf(1)"],
        pitfalls: &[
            "It is not a mechanism: the two ends never meet, so there is nothing to prove.",
        ],
        payload: Payload::Wake { word: 0 },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        ..Spec::NOTHING
    };
    type Options = NoOptions;
    type Port = NullPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Ok(())
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        Ok(Link::default())
    }

    fn attach(_: Attach<'_, NoOptions>) -> Result<NullPort, SetupError> {
        Ok(NullPort)
    }
}

/// An end of nothing.
#[derive(Debug)]
pub struct NullPort;

impl Port for NullPort {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(&mut []);
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        take(&[])
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
