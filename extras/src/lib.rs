//! Mechanisms that libraries build on what the kernel has. Each is one file, as in ipcperf itself, and names the bare
//! mechanism that it is built on (`Spec::over`), beside which a run measures it.

#[cfg(has_boost)]
pub mod boost_queue;
#[allow(
    unsafe_code,
    reason = "libraries in C and C++, and the environment: nothing else here is unsafe"
)]
mod ffi;
pub mod grpc;
pub mod iceoryx2;
pub mod ipc_channel;
mod library;
#[cfg(has_nng)]
pub mod nng;
#[cfg(any(has_nng, has_zeromq))]
pub mod pair;
pub mod tokio;
#[cfg(has_zeromq)]
pub mod zeromq;

use ipcperf::Visitor;

/// Shows every mechanism whose library was there when this was built to `visitor`.
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<tokio::Tokio>();
    visitor.visit::<ipc_channel::IpcChannel>();
    visitor.visit::<iceoryx2::Iceoryx2<false>>();
    visitor.visit::<iceoryx2::Iceoryx2<true>>();
    visitor.visit::<grpc::GrpcStream>();
    visitor.visit::<grpc::GrpcUnary>();
    #[cfg(has_nng)]
    visitor.visit::<nng::Nng>();
    #[cfg(has_zeromq)]
    visitor.visit::<zeromq::ZeroMq>();
    #[cfg(has_boost)]
    visitor.visit::<boost_queue::BoostQueue>();
}
