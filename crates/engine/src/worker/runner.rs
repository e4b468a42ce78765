//! The loops of one cell behind one table: whatever is done between timed segments is compiled once, and not once for
//! each port, pattern and payload work.

use crate::hot::{
    Burst, Content, Full, Lines, Paced, Pattern, PingPong, Plan, Recorder, Special, Stamp, Stream,
    Tally, Work,
};
use crate::job::{Failure, FailureKind, Job, SideReport};
use ipcperf_core::{DynPort, Erased, Fault, Part, PatternKind, Port, Seat, SetupError, Touch};
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

    /// See [`Port::expect`].
    fn expect(&mut self, part: Part);

    /// See [`Port::events`].
    fn events(&self, report: &mut dyn FnMut(&'static str, u64));
}

/// The loops of pattern `A` with payload work `W`.
struct Loops<'a, A, P, W> {
    port: &'a mut P,
    proof: Special<'a>,
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
        const fn of<A: Pattern>() -> Form {
            Form { extra: A::EXTRA, lead_in: A::LEAD_IN, slots: A::SLOTS }
        }
        if pass == Pass::Timed { of::<A>() } else { of::<A::Eager>() }
    }

    fn expect(&mut self, part: Part) {
        self.port.expect(part);
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.port.events(report);
    }
}

/// Measures with the loops of a cell.
pub(crate) type Measure<'a> = &'a mut dyn FnMut(&mut dyn Runner) -> Result<SideReport, Failure>;

/// The loops over a port whose messages need no system call: typed down to what is touched, where that is usual.
pub(crate) fn typed<P: Port>(
    port: &mut P,
    job: &Job,
    special: Special<'_>,
    measure: Measure<'_>,
) -> Result<SideReport, Failure> {
    let nonce = job.shape.nonce;
    match job.touch {
        _ if job.load.transform.is_some() || job.load.one_way => {
            of_pattern(port, job, special, measure)
        }
        Touch::None => of_pattern(port, job, Stamp::new(nonce), measure),
        Touch::CacheLine => of_pattern(port, job, Lines::new(nonce), measure),
        Touch::Header | Touch::Full => of_pattern(port, job, special, measure),
    }
}

/// The loops over any other port: what is done with a message is data, since a system call costs a hundred times more
/// than telling one kind from another.
pub(crate) fn erased(
    port: &mut dyn DynPort,
    is_lossy: bool,
    job: &Job,
    special: Special<'_>,
    measure: Measure<'_>,
) -> Result<SideReport, Failure> {
    if is_lossy {
        of_pattern(&mut Erased::<true>(port), job, special, measure)
    } else {
        of_pattern(&mut Erased::<false>(port), job, special, measure)
    }
}

/// The only place where a pattern becomes a type.
fn of_pattern<P: Port, W: Work>(
    port: &mut P,
    job: &Job,
    work: W,
    measure: Measure<'_>,
) -> Result<SideReport, Failure> {
    let proof = Special::new(Content::Full(Full::new(job.shape.nonce, usize::MAX)), None);
    match job.shape.pattern {
        PatternKind::PingPong if job.load.think_ns > 0 => {
            measure(&mut Loops { port, proof, work, pattern: PhantomData::<Paced> })
        }
        PatternKind::PingPong => {
            measure(&mut Loops { port, proof, work, pattern: PhantomData::<PingPong> })
        }
        PatternKind::Stream => {
            measure(&mut Loops { port, proof, work, pattern: PhantomData::<Stream> })
        }
        PatternKind::FanIn | PatternKind::FanOut => {
            Err(SetupError::Protocol("a fan takes more than two workers".into()).into())
        }
        PatternKind::Connect => Err(Failure {
            kind: FailureKind::Failed,
            reason: "connections for single requests have no port".into(),
        }),
        PatternKind::Rate => {
            measure(&mut Loops { port, proof, work, pattern: PhantomData::<Paced> })
        }
        PatternKind::Burst => {
            measure(&mut Loops { port, proof, work, pattern: PhantomData::<Burst> })
        }
    }
}
