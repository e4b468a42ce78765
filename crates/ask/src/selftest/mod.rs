//! `selftest`: whether this program finds on this machine what it claims to find, and measures what there is.

mod cells;
mod check;
mod clock;
mod detectors;
mod document;
mod injectors;
mod recovery;
mod screen;
mod sign;
mod stage;

use crate::documents::schema;
use check::{Found, cannot_tell, failed, told};
use detectors::DETECTORS;
use document::{About, SELFTEST_SCHEMA, SelfTest, Trial, TrialOutcome, Trust};
use injectors::{CALL, DELAY, Injector, LATE, SLOWER};
use ipcperf_engine::host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::Progress;
use ipcperf_kit::args::{LabelArgs, LookArgs, ProgressArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Code, Stop, note, unknown};
use ipcperf_kit::output;
use ipcperf_kit::progress::ProgressLine;
use ipcperf_render::Format;
use stage::{Halt, Stage};
use std::cell::OnceCell;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    /// Run only the checks whose names start with one of these: timer,clock
    #[arg(long, value_name = "CHECKS")]
    pub(crate) only: Option<String>,
    /// Inject this fault into every check, so that one of them fails
    #[arg(long, value_name = "FAULT", hide = true)]
    pub(crate) inject: Option<String>,
    /// Ignore what detectors report, so that each of their checks fails
    #[arg(long, hide = true)]
    pub(crate) blind: bool,
    #[command(flatten)]
    pub(crate) label: LabelArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// One check.
struct Check {
    name: String,
    about: About,
    /// About how long it takes, s.
    takes: f64,
    run: Box<Run>,
}

type Run = dyn Fn(&Stage<'_>) -> Result<Found, Halt>;
type Own = fn(&Stage<'_>) -> Result<Found, Halt>;

/// The checks that are not of one detector, with what each is about and about how many seconds it takes.
const OWN: [(&str, About, f64, Own); 12] = [
    ("sound", About::All, 1.5, cells::sound),
    ("timer-empty", About::All, 0.2, clock::empty),
    ("timer-linear", About::All, 0.2, clock::linear),
    ("timer-batch", About::All, 0.3, clock::batch),
    ("clock", About::All, 0.8, clock::agrees),
    ("calls", About::All, 0.4, cells::calls),
    ("cpu-time", About::All, 0.8, cells::cpu),
    ("planted", About::Fault, 2.0, cells::planted),
    ("recover-p50", About::All, 4.0, recovery::medians),
    ("recover-p99", About::Tail, 0.0, recovery::tails),
    ("omission", About::Tail, 6.5, cells::omission),
    ("feed", About::Tail, 0.3, cells::feed),
];

/// The noise of the machine now.
const NOISE: (&str, About, f64, Own) = ("noise", About::All, 1.5, cells::quiet_machine);

fn checks() -> Vec<Check> {
    let own = |(name, about, takes, run): &(&str, About, f64, Own)| Check {
        name: (*name).to_owned(),
        about: *about,
        takes: *takes,
        run: Box::new(*run),
    };
    let detectors = DETECTORS.iter().map(|detector| Check {
        name: detector.name(),
        about: About::Fault,
        takes: detector.takes(),
        run: Box::new(move |stage: &Stage<'_>| {
            detector.check(stage).map(|(is_told, what)| told(is_told, what))
        }),
    });
    // The noise last: what was told before it was told on such a machine.
    OWN.iter().map(own).chain(detectors).chain([own(&NOISE)]).collect()
}

/// The checks whose names begin with one of these words; all if there is none.
fn chosen(only: Option<&str>) -> Result<Vec<Check>, Stop> {
    let all = checks();
    let Some(only) = only else { return Ok(all) };
    let words: Vec<&str> = only.split(',').map(str::trim).collect();
    for word in &words {
        if word.is_empty() || !all.iter().any(|check| check.name.starts_with(word)) {
            let names = all.iter().map(|check| check.name.as_str());
            return Err(unknown("check", word, names, "ipcperf selftest names them all"));
        }
    }
    let is_asked = |check: &Check| words.iter().any(|word| check.name.starts_with(word));
    Ok(all.into_iter().filter(is_asked).collect())
}

/// What is to go wrong in every check: what a detector finds, or what only figures show.
fn sabotage(name: Option<&str>) -> Result<Vec<Injector>, Stop> {
    let Some(name) = name else { return Ok(Vec::new()) };
    let mut all = DETECTORS.iter().map(|one| one.injector).chain([CALL, DELAY, LATE, SLOWER]);
    let names = all.clone().map(|injector| injector.name);
    let known = all.find(|injector| injector.name == name);
    known.map(|one| vec![one]).ok_or_else(|| unknown("fault", name, names, "no such fault"))
}

impl CommandArgs for SelftestArgs {
    const NAME: &'static str = "selftest";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str = "Verify ipcperf on this machine in under a minute: known delays are measured, injected faults are detected";
    const EXAMPLES: &'static str = "Examples:
  ipcperf selftest
  ipcperf selftest --only clock,timer";
    const DOCUMENTS: &'static [DocumentKind] =
        &[DocumentKind::printed::<SelfTest>("selftest", || SELFTEST_SCHEMA, || schema("selftest"))];

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.registry, self)
    }
}

fn run(registry: &Registry, args: &SelftestArgs) -> Result<ExitCode, Stop> {
    let format = output::format(&args.look)?;
    let checks = chosen(args.only.as_deref())?;
    let origin = args.label.origin_if(format == Format::Json)?;
    let interrupts = ipcperf_kit::measure::interrupts()?;
    let stage = Stage {
        registry,
        host: ipcperf_kit::request::host()?,
        interrupts: &interrupts,
        sabotage: sabotage(args.inject.as_deref())?,
        is_blind: args.blind,
        recovered: OnceCell::new(),
    };
    if !args.progress.quiet {
        let seconds: f64 = checks.iter().map(|check| check.takes).sum();
        note(&format!("{} checks, about {:.0} s", checks.len(), seconds.max(1.0)));
    }
    let (began, total) = (Instant::now(), checks.len() as u64);
    let line = ProgressLine::counting("checks", args.progress.is_silent());
    let mut done = Vec::new();
    for check in &checks {
        line.show(Progress::Slice {
            done: done.len() as u64,
            total,
            id: &check.name,
            so_far: None,
        });
        let (outcome, found) = match (check.run)(&stage) {
            Ok(found) => found,
            Err(Halt::Interrupted) => {
                let text = format!("interrupted after {} of {total} checks", done.len());
                return Err(Stop::interrupted(text));
            }
            Err(Halt::Missing(what)) => cannot_tell(what),
            Err(Halt::Failed(what)) => failed(what),
        };
        done.push(Trial { name: check.name.clone(), about: check.about, outcome, found });
    }
    line.show(Progress::Done);
    let [centre, tail] = if args.only.is_some() { in_part(&done) } else { trust(&done) };
    let test = SelfTest {
        schema: SELFTEST_SCHEMA,
        origin,
        tool: ipcperf_kit::build::tool(),
        host: host::host(),
        kernel: host::kernel(),
        duration_s: began.elapsed().as_secs_f64(),
        conclusion: conclusion(&done, centre, tail),
        checks: done,
        centre,
        tail,
    };
    let style = output::style(&args.look, false);
    let code = output::put(None, |out| screen::selftest(&test, format, &style, out))?;
    Ok(if centre == Trust::Refuted { Code::Invalid.into() } else { code })
}

/// What can be believed: medians and rates, and tails.
fn trust(checks: &[Trial]) -> [Trust; 2] {
    let worst = |about: &[About]| {
        let outcomes = checks.iter().filter(|check| about.contains(&check.about));
        match outcomes.map(|check| check.outcome).max() {
            None | Some(TrialOutcome::Passed) => Trust::Believed,
            Some(TrialOutcome::CannotTell) => Trust::Undecided,
            Some(TrialOutcome::Failed) => Trust::Refuted,
        }
    };
    if checks.iter().any(|check| check.outcome == TrialOutcome::Failed) {
        return [Trust::Refuted; 2];
    }
    [worst(&[About::All]), worst(&[About::All, About::Tail])]
}

/// The same where not all checks ran: nothing is believed that was not looked at.
fn in_part(checks: &[Trial]) -> [Trust; 2] {
    trust(checks).map(|trust| if trust == Trust::Believed { Trust::Undecided } else { trust })
}

fn conclusion(checks: &[Trial], centre: Trust, tail: Trust) -> String {
    let names = |outcome| {
        let of = checks.iter().filter(|check| check.outcome == outcome);
        of.map(|check| check.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let open = names(TrialOutcome::CannotTell);
    let left = if open.is_empty() { String::new() } else { format!(" (not decided: {open})") };
    match [centre, tail] {
        [Trust::Refuted, _] | [_, Trust::Refuted] => {
            let failed = names(TrialOutcome::Failed);
            format!("Do not believe the numbers of this machine: failed: {failed}{left}.")
        }
        [Trust::Believed, Trust::Believed] => {
            format!("The numbers of this machine can be believed: medians, rates and tails{left}.")
        }
        [Trust::Believed, Trust::Undecided] => format!(
            "The medians and rates of this machine can be believed; its tails are not decided{left}."
        ),
        [Trust::Undecided, _] => format!(
            "No check failed, but whether the numbers of this machine can be believed is not decided{left}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(about: About, outcome: TrialOutcome) -> Trial {
        Trial { name: format!("{about:?}"), about, outcome, found: String::new() }
    }

    #[test]
    fn every_check_has_a_name_of_its_own_and_all_take_less_than_a_minute() {
        let all = checks();
        let mut names: Vec<&str> = all.iter().map(|check| check.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        let takes: f64 = all.iter().map(|check| check.takes).sum();
        assert!(takes <= 60.0, "{takes} s");
    }

    #[test]
    fn what_was_left_open_is_believed_of_nothing_that_depends_on_it() {
        use TrialOutcome::{CannotTell, Failed, Passed};
        let passed = trial(About::All, Passed);
        let of = |about, outcome| trust(&[passed.clone(), trial(about, outcome)]);
        assert_eq!(of(About::Tail, Passed), [Trust::Believed; 2]);
        assert_eq!(of(About::Tail, CannotTell), [Trust::Believed, Trust::Undecided]);
        assert_eq!(of(About::All, CannotTell), [Trust::Undecided; 2]);
        assert_eq!(of(About::Fault, CannotTell), [Trust::Believed; 2]);
        assert_eq!(in_part(std::slice::from_ref(&passed)), [Trust::Undecided; 2]);
        for about in [About::All, About::Tail, About::Fault] {
            assert_eq!(of(about, Failed), [Trust::Refuted; 2]);
        }
        let trials = [passed, trial(About::Tail, Failed)];
        let told = conclusion(&trials, Trust::Refuted, Trust::Refuted);
        assert_eq!(told, "Do not believe the numbers of this machine: failed: Tail.");
    }
}
