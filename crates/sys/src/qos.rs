//! The PM QoS request that keeps idle CPUs polling.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const DEVICE: &str = "/dev/cpu_dma_latency";

/// While it lives, idle CPUs poll instead of halting. No machine setting is changed: the request ends when the
/// descriptor is closed, also if the process is killed.
#[derive(Debug)]
pub struct PollIdle(#[expect(dead_code, reason = "held for its close")] File);

impl PollIdle {
    /// Asks for a wake-up latency of 0 us.
    ///
    /// # Errors
    /// No such device, or not permitted: it takes root or write permission on the device.
    pub fn hold() -> io::Result<Self> {
        let mut device = OpenOptions::new().write(true).open(DEVICE)?;
        device.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self(device))
    }

    /// Why it cannot be held here; `None` if it can. Leaves nothing behind.
    #[must_use]
    pub fn objection() -> Option<String> {
        OpenOptions::new().write(true).open(DEVICE).err().map(|error| {
            format!("{DEVICE}: {}", ipcperf_core::errno::text(error.raw_os_error().unwrap_or(0)))
        })
    }
}
