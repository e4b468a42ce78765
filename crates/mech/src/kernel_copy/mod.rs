//! Pages moved or copied by the kernel from one process to the other, without a copy in between.

pub mod carried;
pub mod process_vm;
pub mod relay_port;
pub mod remote_port;
pub mod sendfile;
pub mod splice;
pub mod tcp_zerocopy;
pub mod tee;
pub mod vmsplice;
pub mod zerocopy_port;

use ipcperf_core::prelude::*;

/// Facts of streams whose pages the kernel moves.
pub(crate) const KERNEL_COPY: Spec = Spec {
    family: Family::KernelCopy,
    payload: Payload::Stream,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    ..Spec::NOTHING
};
