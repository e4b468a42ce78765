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
