//! Stops a running command from elsewhere.

use std::io::{self, PipeReader, PipeWriter};

/// What a running command watches; see [`stop`].
#[derive(Debug)]
pub struct Stop(pub(super) PipeReader);

/// Stops the command when it is dropped.
#[derive(Debug)]
pub struct Stopper(#[allow(dead_code, reason = "closing it is the signal")] PipeWriter);

/// Both ends of one way to stop a command.
pub fn stop() -> io::Result<(Stopper, Stop)> {
    let (reader, writer) = io::pipe()?;
    Ok((Stopper(writer), Stop(reader)))
}
