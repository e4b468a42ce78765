//! The loops of one cell behind one table: whatever is done between timed segments is compiled once, and not once for
//! each port and pattern.
//!
//! The operations of a port are not behind a table, though a system call takes a hundred times as long as such a call.
//! The likely cause: where the kernel clears what the CPU has learned of branches, each indirect call after a system call
//! is mispredicted. Measured on an AMD EPYC (safe RET), same CPU, in place of loops of their own: pipe 1.12 [0.99,
//! 1.19] and posix-mq as a stream 1.60 [1.44, 1.80] times as long.

use crate::hot::{self, AnyWork, Choice, Pattern, Plan, Recorder, Tally, Work};
use crate::job::{Failure, Job, SideReport};
use ipcperf_core::result::CellKey;
use ipcperf_core::{DynPort, Fault, Port, Seat, SetupError, Touch};
use ipcperf_sys::clock::Clock;
use std::marker::PhantomData;

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// All bytes are compared, without pauses.
    Verify,
    /// The messages of the timed region, without pauses.
    Eager,
    /// The timed region.
    Timed,
}

/// What one pass moves and records beside its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// See [`Pattern::EXTRA`].
    pub(crate) extra: u64,
    /// See [`Pattern::LEAD_IN`].
    pub(crate) lead_in: u64,
    /// See [`Pattern::SLOTS`].
    pub(crate) slots: u64,
}

/// The loops of one cell over an attached port; one virtual call for a whole segment.
pub(crate) trait Runner {
    /// Runs one segment.
    fn run(
        &mut self,
        pass: Pass,
        seat: Seat,
        clock: Clock,
        plan: Plan<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault>;

    /// What a segment of this pass moves and records.
    fn form(&self, pass: Pass) -> Form;

    /// The port, for what is not timed.
    fn port(&mut self) -> &mut dyn DynPort;
}

/// The loops of pattern `A` over a port.
struct Loops<'a, A, P, W> {
    port: &'a mut P,
    /// For [`Pass::Verify`].
    proof: AnyWork<'a>,
    work: W,
    pattern: PhantomData<A>,
}

impl<A: Pattern, P: Port, W: Work> Runner for Loops<'_, A, P, W> {
    fn run(
        &mut self,
        pass: Pass,
        seat: Seat,
        clock: Clock,
        plan: Plan<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let (port, proof, work) = (&mut *self.port, self.proof, self.work);
        match (pass, seat) {
            (Pass::Verify, Seat::Lead) => A::Eager::lead(port, clock, plan, proof, recorder),
            (Pass::Verify, Seat::Follow) => A::Eager::follow(port, clock, plan, proof, recorder),
            (Pass::Eager, Seat::Lead) => A::Eager::lead(port, clock, plan, work, recorder),
            (Pass::Eager, Seat::Follow) => A::Eager::follow(port, clock, plan, work, recorder),
            (Pass::Timed, Seat::Lead) => A::lead(port, clock, plan, work, recorder),
            (Pass::Timed, Seat::Follow) => A::follow(port, clock, plan, work, recorder),
        }
    }

    fn form(&self, pass: Pass) -> Form {
        form_of::<A>(pass)
    }

    fn port(&mut self) -> &mut dyn DynPort {
        self.port
    }
}

fn form_of<A: Pattern>(pass: Pass) -> Form {
    const fn of<A: Pattern>() -> Form {
        Form { extra: A::EXTRA, lead_in: A::LEAD_IN, slots: A::SLOTS }
    }
    if pass == Pass::Timed { of::<A>() } else { of::<A::Eager>() }
}

/// What a segment of this pass moves and records in a cell, for an end that has no loops.
pub(crate) fn form(key: &CellKey, pass: Pass) -> Form {
    struct Of(Pass);
    impl Choice for Of {
        type Outcome = Form;
        fn take<A: Pattern>(self) -> Form {
            form_of::<A>(self.0)
        }
    }
    hot::loops(key, Of(pass)).unwrap_or(Form { extra: 0, lead_in: 0, slots: 1 })
}

/// Measures with the loops of a cell.
pub(crate) type Measure<'a> = &'a mut dyn FnMut(&mut dyn Runner) -> Result<SideReport, Failure>;

/// A port, payload work, and what measures with the loops over them.
struct LoopSite<'a, 'm, P, W> {
    port: &'a mut P,
    proof: AnyWork<'a>,
    work: W,
    measure: Measure<'m>,
}

impl<P: Port, W: Work> Choice for LoopSite<'_, '_, P, W> {
    type Outcome = Result<SideReport, Failure>;

    fn take<A: Pattern>(self) -> Self::Outcome {
        let Self { port, proof, work, measure } = self;
        measure(&mut Loops { port, proof, work, pattern: PhantomData::<A> })
    }
}

/// Measures with the loops of a job over a port.
pub(crate) fn over<P: Port, W: Work>(
    port: &mut P,
    job: &Job,
    work: W,
    measure: Measure<'_>,
) -> Result<SideReport, Failure> {
    let proof = match &job.program {
        Some(program) => AnyWork::flipping(job.shape.nonce, program.flip),
        None => AnyWork::touching(Touch::Full, job.shape.nonce),
    };
    hot::loops(&job.key, LoopSite { port, proof, work, measure }).unwrap_or_else(|| {
        let reason = format!("the pattern {} has workers of its own", job.key.pattern);
        Err(SetupError::Protocol(reason).into())
    })
}

/// The same over a port that moves most messages without a system call: there even a branch shows, so the usual
/// payload work is a type.
pub(crate) fn over_cheap<P: Port>(
    port: &mut P,
    job: &Job,
    work: AnyWork<'_>,
    measure: Measure<'_>,
) -> Result<SideReport, Failure> {
    match work {
        AnyWork::Lines(lines) => over(port, job, lines, measure),
        work => over(port, job, work, measure),
    }
}
