//! Every system call and every mapping of ipcperf. With `ring` the only crate that contains `unsafe`.
//!
//! Two routes, on purpose: the measured path goes through [`io`], which issues each system call itself, by a function that
//! returns, as in any program. The control plane (everything before and after a timed loop) uses `rustix` and `libc`.

pub mod affinity;
pub mod cache;
pub mod call_times;
pub mod clock;
pub mod control;
pub mod directory;
pub mod file;
pub mod gate;
pub mod io;
pub mod limits;
pub mod meter;
pub mod namespaces;
pub mod network;
pub mod pause;
pub mod process;
pub mod process_tree;
pub mod procfs;
pub mod program;
pub mod pulse;
pub mod qos;
pub mod random;
pub mod returns;
pub mod rundir;
pub mod scheduler;
pub mod seccomp;
pub mod shm;
pub mod signals;
pub mod skipped;
pub mod sysctl;
pub mod terminal;
pub mod topology;
pub mod trace;
