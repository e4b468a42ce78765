//! Everything that the file of a mechanism imports.

pub use crate::names::ListenerKind;
pub use crate::options::{KnobValue, NoOptions};
pub use crate::{
    Attach, BackPressure, Direction, Family, Fault, Guard, Lends, Limit, Link, Mechanism, Meet,
    Memory, Missing, Namespaces, OnClose, OnRestart, Payload, Peers, Port, Reach, Seat, SetupError,
    Shape, Spec, Syscalls, ToEach, Transfers, Usual, Wait, Wiring,
};
