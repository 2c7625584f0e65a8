//! Stops a running command from elsewhere.

use std::io::{self, PipeReader, PipeWriter};

/// The end of a [`stop_channel`] that a running command watches.
#[derive(Debug)]
pub struct StopSignal(pub(crate) PipeReader);

/// Stops the command when it is dropped.
#[derive(Debug)]
pub struct StopHandle(#[allow(dead_code, reason = "closing it is the signal")] PipeWriter);

/// Returns both ends of a channel that stops a command.
pub fn stop_channel() -> io::Result<(StopHandle, StopSignal)> {
    let (reader, writer) = io::pipe()?;
    Ok((StopHandle(writer), StopSignal(reader)))
}
