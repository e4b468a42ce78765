//! What every mechanism starts from.

use ipcperf_core::prelude::*;

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
    descriptors: false,
    memory: Memory::Reused,
    copies: 0,
    syscalls: Syscalls { send: None, recv: None },
    window: None,
    needs: &[],
};

/// What a failed trial means for availability.
pub(crate) fn missing(error: SetupError) -> Missing {
    match error {
        SetupError::Unavailable(missing) => missing,
        other => Missing::new(format!("refused here: {other}"), ""),
    }
}
