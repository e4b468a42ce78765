//! What every mechanism starts from.

use ipcperf_core::PatternKind;
use ipcperf_core::prelude::*;
use ipcperf_sys::random;
use ipcperf_sys::rundir::RunDirectory;

/// The least that can be said: nothing is promised, and one plain variant blocks. Bases of families say more, and a
/// mechanism says the rest; what the conformance suite cannot try, each mechanism says itself.
pub(crate) const NOTHING: Spec = Spec {
    name: "",
    variant: None,
    family: Family::Floor,
    wait: Wait::Block,
    default: true,
    summary: "",
    manual: &[],
    pitfalls: &[],
    payload: Payload::Message { max: None },
    direction: Direction::OneWay,
    reach: Reach::Related,
    producers: Peers::One,
    consumers: Peers::One,
    back_pressure: BackPressure::None,
    on_close: OnClose::Undetected,
    on_death: OnClose::Undetected,
    on_restart: OnRestart::HandedOver,
    descriptors: false,
    memory: Memory::Reused,
    copies: 0,
    syscalls: Syscalls { send: None, recv: None },
    window: None,
    needs: &[],
};

/// A channel of the smallest size for a probe to try, in a directory like that of a run: if the process is killed
/// meanwhile, the next one finds what it had made, and nobody else could have guessed the names.
pub(crate) fn trial() -> Result<(RunDirectory, Shape), Missing> {
    let run = RunDirectory::create()
        .map_err(|error| Missing::new(error.to_string(), "a directory that may be written"))?;
    let shape = Shape {
        size: 0,
        pattern: PatternKind::PingPong,
        nonce: random::number(),
        buffer_offset: 0,
        directory: run.path().to_owned(),
    };
    Ok((run, shape))
}

/// What a failed trial means for availability.
pub(crate) fn missing(error: SetupError) -> Missing {
    match error {
        SetupError::Unavailable(missing) => missing,
        other => Missing::new(format!("refused here: {other}"), ""),
    }
}
