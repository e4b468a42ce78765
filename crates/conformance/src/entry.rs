//! A mechanism under test, as the engine has it, with what only the suite needs of it.

use crate::page::Page;
use crate::player;
use crate::script::{Scenario, StepOutcome, WorkerPart};
use ipcperf_core::{
    Attach, BackPressure, Erased, KnobKind, Missing, OptionSet, SetupError, Spec, Wiring,
};
use ipcperf_engine::registry::{self, Registry};
use ipcperf_engine::task::WorkerContext;

/// One mechanism without its types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) base: registry::Entry,
}

impl Entry {
    pub(crate) fn find(list: &Registry, name: &str) -> Option<Self> {
        list.find(name).map(|base| Self { base: *base })
    }

    pub(crate) fn spec(&self) -> &'static Spec {
        self.base.spec
    }

    /// In a worker: becomes one end, plays, and lets go of it.
    pub(crate) fn play(
        &self,
        wiring: Wiring,
        part: &WorkerPart,
        scenario: &Scenario,
        context: &mut WorkerContext<'_>,
        page: &Page,
    ) -> Result<Vec<StepOutcome>, SetupError> {
        let (shape, word) = (&scenario.shape, self.spec().wake_word());
        let WorkerPart { seat, options, .. } = part;
        let end = Attach { wiring, seat: *seat, shape, options, meet: &mut *context };
        let mut port = self.base.attach(end)?;
        Ok(if self.base.is_lossy {
            player::play(
                &mut Erased::<true>(&mut *port),
                part.seat,
                word,
                scenario,
                (context, page),
            )
        } else {
            player::play(
                &mut Erased::<false>(&mut *port),
                part.seat,
                word,
                scenario,
                (context, page),
            )
        })
    }

    /// Why it cannot run here with its defaults.
    pub(crate) fn missing(&self) -> Option<Missing> {
        match self.base.probe(&OptionSet::default()) {
            Ok(answer) => answer.err(),
            Err(error) => Some(Missing::new(error.to_string(), "")),
        }
    }

    /// The defaults, then each word of each knob that is a choice and can be had here: other words are other ways to
    /// set a channel up.
    pub(crate) fn setups(&self) -> Vec<OptionSet> {
        let mut setups = vec![OptionSet::default()];
        for knob in self.base.knobs {
            if let KnobKind::Choice { words } | KnobKind::Place { words } = knob.kind {
                setups.extend(words.iter().map(|word| self.with(knob.name, word)));
            }
        }
        setups.retain(|set| matches!(self.base.probe(set), Ok(Ok(()))));
        setups
    }

    /// Every knob that is a number at its minimum; `None` where there is none.
    pub(crate) fn smallest(&self) -> Option<OptionSet> {
        let mut set = OptionSet::default();
        for knob in self.base.knobs {
            if let KnobKind::Bytes { min, .. } | KnobKind::Count { min, .. } = knob.kind {
                set.0.extend(self.with(knob.name, &min.to_string()).0);
            }
        }
        (!set.0.is_empty()).then_some(set)
    }

    /// One knob set.
    pub(crate) fn with(&self, knob: &str, value: &str) -> OptionSet {
        let key = format!("{}.{knob}", self.spec().name);
        OptionSet([(key, value.to_owned())].into())
    }

    /// The largest message in bytes, where there is a limit.
    pub(crate) fn limit(&self, options: &OptionSet) -> Option<usize> {
        self.base.limit(options).ok().flatten().map(|limit| limit.bytes)
    }

    /// Messages under way before a credit; 0 where none is needed. Where a newer message replaces an older one that is
    /// not yet seen, all arrive if they come one at a time.
    pub(crate) fn window(&self, size: usize, options: &OptionSet) -> u64 {
        let overwrites = self.spec().back_pressure == BackPressure::Overwrites;
        let window = self.base.window(size, options).ok().flatten();
        window.map_or(u64::from(overwrites), u64::from)
    }
}
