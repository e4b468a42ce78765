//! A program in C that ipcperf is compared with on one CPU, compiled by the machine's own compiler. Like a user's program it
//! calls the kernel through the C library.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::case::{self, Case};
use super::product::complaint;

/// The range of the ratio of a bare end in C to our own follow.
pub(super) const OF_OURS: [f64; 2] = [0.97, 1.03];

/// The programs, in a folder that goes with this.
pub(super) struct Compiled {
    folder: PathBuf,
    /// `examples/ends/echo.c`.
    pub(super) echo: PathBuf,
}

impl Compiled {
    /// Compiles them by `cc -O2`.
    ///
    /// # Errors
    /// There is no compiler, or it refuses them.
    pub(super) fn here() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("ipcperf-floor-{}", std::process::id()));
        // Taken away again if a step fails.
        let compiled = Self { echo: folder.join("echo"), folder };
        std::fs::create_dir_all(&compiled.folder)?;
        let source = compiled.folder.join("plain.c");
        std::fs::write(&source, include_str!("plain.c"))?;
        compile(&source, &compiled.folder.join("plain"))?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no folder above")?;
        compile(&root.join("examples/ends/echo.c"), &compiled.echo)?;
        Ok(compiled)
    }

    /// Nanoseconds of a round trip, the median of a slice.
    pub(super) fn measure(&self, case: &Case, (slice_ms, offset): (u64, usize)) -> Result<f64> {
        let numbers = [case.bytes, case.place.cpus[0], slice_ms as usize, offset];
        let output = Command::new(self.folder.join("plain"))
            .arg(case::name(case.carrier))
            .args(numbers.map(|number| number.to_string()))
            .output()?;
        ensure!(output.status.success(), "plain C: {}", complaint(&output));
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn compile(source: &Path, to: &Path) -> Result<()> {
    let output = Command::new("cc")
        .args(["-O2", "-o"])
        .args([to, source])
        .output()
        .context("cannot start cc")?;
    ensure!(output.status.success(), "cc: {}", complaint(&output));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_in_c_delivers_where_there_is_a_compiler() {
        let compiled = match Compiled::here() {
            Ok(compiled) => compiled,
            Err(why) => return ipcperf_sys::skipped::skipped("cc", format!("{why:#}")),
        };
        let cpu = ipcperf_sys::affinity::current_cpu();
        let cases = case::beside_c(&case::Place { name: "same-cpu", cpus: [cpu, cpu] });
        for case in cases {
            let figure = compiled.measure(&case, (2, 64)).unwrap();
            assert!(figure > 0.0 && figure.is_finite(), "{case}: {figure}");
        }
    }
}
