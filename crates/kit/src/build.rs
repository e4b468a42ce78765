//! The source and the tools that this program was built from.

use ipcperf_core::map_of;
use ipcperf_core::result::Tool;
use std::sync::LazyLock;

/// One line for `--version`. The timed code is optimised in another way than what surrounds it.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} ({}, {}, timed code at opt-level {})",
        env!("CARGO_PKG_VERSION"),
        env!("IPCPERF_BUILD_TARGET"),
        env!("IPCPERF_BUILD_RUSTC"),
        ipcperf_sys::process::OPT_LEVEL
    )
});

/// The same facts for the result document.
pub fn tool() -> Tool {
    let facts = [
        ("target", env!("IPCPERF_BUILD_TARGET").to_owned()),
        ("rustc", env!("IPCPERF_BUILD_RUSTC").to_owned()),
        ("opt_level", env!("IPCPERF_BUILD_OPT_LEVEL").to_owned()),
        ("target_features", env!("IPCPERF_BUILD_TARGET_FEATURES").to_owned()),
        ("debug_assertions", cfg!(debug_assertions).to_string()),
        ("libc", ipcperf_sys::process::libc_version()),
        ("syscall_route", ipcperf_sys::process::SYSCALL_ROUTE.to_owned()),
    ];
    Tool {
        name: "ipcperf".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        build: map_of(facts.into_iter().map(|(name, value)| (name.to_owned(), value))),
    }
}
