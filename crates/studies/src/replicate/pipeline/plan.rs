//! One transfer: its parameters and its readings.

use serde::Deserialize;
use std::time::Duration;

/// How long socat goes on serving one direction after the other has ended, unless `-t` sets another time.
const CLOSING: Duration = Duration::from_millis(500);

/// What the bytes go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Method {
    AnonymousPipe,
    NamedPipe,
    UnixStream,
    Tcp,
}

impl Method {
    pub(super) fn is_pipe(self) -> bool {
        matches!(self, Self::AnonymousPipe | Self::NamedPipe)
    }

    /// The file name of the named pipe or socket.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NamedPipe => "namedpipe",
            Self::AnonymousPipe | Self::UnixStream | Self::Tcp => "socket",
        }
    }
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) method: Method,
    pub(super) block: usize,
    pub(super) bytes: u64,
    /// Bytes of the original transfer.
    pub(super) published_bytes: u64,
    pub(super) one_way: bool,
    pub(super) pipe_bytes: Option<u64>,
}

impl Plan {
    /// How long a relay goes on after one direction of a pipe has ended; `None` is socat's own choice. A shorter transfer
    /// has a shorter wait, so that the wait keeps its share.
    pub(super) fn closing(&self) -> Option<Duration> {
        let share = self.bytes as f64 / self.published_bytes.max(1) as f64;
        (self.bytes < self.published_bytes).then(|| CLOSING.mul_f64(share))
    }

    /// How long an end waits in all. Only pipes wait: a socket ends when its peer closes.
    pub(super) fn wait(&self) -> Duration {
        if self.one_way || !self.method.is_pipe() {
            Duration::ZERO
        } else {
            self.closing().unwrap_or(CLOSING)
        }
    }
}

/// What was measured of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransferRun {
    pub(super) wall_ns: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) races_lost: u64,
    /// The port of a TCP listener.
    pub(super) port: u16,
}
