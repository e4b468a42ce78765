//! Whether a message that is larger than the buffer of its socket is refused: as a datagram, and by a stream.

use super::work::{Turn, Work};
use crate::claims::Readings;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::io::{datagram, errno, pipe, socket, stream};
use serde::Deserialize;
use std::os::fd::AsFd;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageSizeKeys {}

pub(super) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let MessageSizeKeys {} =
        table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok(Box::new(TooLong))
}

/// What it finds out.
pub(super) const READINGS: &[&str] =
    &["refused", "stream_refused", "sndbuf_bytes", "largest_bytes"];

struct TooLong;

impl Work for TooLong {
    fn measure(&mut self, _: &Turn<'_>) -> Result<Readings, TaskError> {
        look().map_err(TaskError::Failed)
    }
}

fn look() -> Result<Readings, String> {
    let pair = || socket::pair(socket::Kind::Datagram);
    let words = |error: ipcperf_core::SetupError| error.to_string();
    let (one, _two) = pair().map_err(words)?;
    let buffer = socket::set_buffers(&one, None, None).map_err(words)?.send;
    let len = usize::try_from(buffer).map_err(|error| error.to_string())?.saturating_add(1);
    let step = datagram::send(one.as_fd(), &vec![0; len]);
    let largest = socket::largest_message(pair, None).map_err(words)?;
    let (stream, _peer) = socket::pair(socket::Kind::Stream).map_err(words)?;
    pipe::set_nonblocking(&stream).map_err(words)?;
    let taken = stream::write(stream.as_fd(), &vec![0; len]);
    let mut readings = Readings::default();
    readings.answer("refused", step == Err(errno::EMSGSIZE));
    readings.set_certain("sndbuf_bytes", buffer as f64);
    readings.set_certain("largest_bytes", largest as f64);
    let answer = step.map_or_else(ipcperf_core::errno::text, |sent| format!("{sent} bytes sent"));
    readings.facts.insert(format!("a datagram of {len} B"), answer);
    readings.answer("stream_refused", taken == Err(errno::EMSGSIZE));
    let taken = taken.map_or_else(ipcperf_core::errno::text, |sent| format!("{sent} bytes sent"));
    readings.facts.insert(format!("{len} B into a stream"), taken);
    readings.facts.insert("SO_SNDBUF".into(), format!("{buffer} B"));
    readings.facts.insert("largest datagram".into(), format!("{largest} B"));
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_larger_than_the_buffer_is_refused_and_a_stream_takes_what_it_can() {
        let readings = look().expect("a pair");
        assert!((readings.values["refused"] - 1.0).abs() < f64::EPSILON, "{readings:?}");
        assert!(readings.values["stream_refused"].abs() < f64::EPSILON, "{readings:?}");
        assert!(readings.values["largest_bytes"] < readings.values["sndbuf_bytes"]);
        assert!(make(&"x = 1".parse().expect("TOML")).is_err());
    }
}
