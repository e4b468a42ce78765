//! Finds the libraries in C and C++. One that is not installed is left out, and named.

use std::process::Stdio;

/// A library: what switches it on, its header, the name it is linked by, and the package of Debian that has it.
struct Library {
    cfg: &'static str,
    header: &'static str,
    linked: Option<&'static str>,
    package: &'static str,
}

const LIBRARIES: [Library; 3] = [
    Library {
        cfg: "has_nng",
        header: "nng/protocol/pair0/pair.h",
        linked: Some("nng"),
        package: "libnng-dev",
    },
    Library { cfg: "has_zeromq", header: "zmq.h", linked: Some("zmq"), package: "libzmq3-dev" },
    Library {
        cfg: "has_boost",
        header: "boost/interprocess/ipc/message_queue.hpp",
        linked: None,
        package: "libboost-dev",
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/boost_queue.cpp");
    for library in LIBRARIES {
        let Library { cfg, header, linked, package } = library;
        if !can_include(header) {
            let name = cfg.trim_start_matches("has_");
            println!(
                "cargo::warning={name} is left out: there is no {header}; Debian has it in {package}"
            );
            continue;
        }
        println!("cargo::rustc-cfg={cfg}");
        if let Some(linked) = linked {
            println!("cargo::rustc-link-lib={linked}");
        }
        if cfg == "has_boost" {
            cc::Build::new()
                .cpp(true)
                .std("c++17")
                .warnings(true)
                // Its own headers are not written to please.
                .flag_if_supported("-Wno-unused-parameter")
                .opt_level(2)
                .file("src/boost_queue.cpp")
                .compile("ipcperf_boost_queue");
        }
    }
}

/// Whether the compiler finds a header.
fn can_include(header: &str) -> bool {
    let compiler = cc::Build::new().cpp(true).cargo_warnings(false).try_get_compiler();
    let Ok(compiler) = compiler else { return false };
    let mut command = compiler.to_command();
    command.args(["-E", "-x", "c++", "-include", header, "/dev/null"]);
    let tried = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}
