//! What the terminal is, if there is one.

use std::io::IsTerminal;

/// Width of the terminal on standard output in columns; `None` if it is not one.
#[must_use]
pub fn stdout_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(&stdout).ok()?.ws_col;
    (columns > 0).then_some(usize::from(columns))
}
