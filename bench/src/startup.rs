//! Measures the time from the start of a server to its first answer.

use crate::process::{BenchProgram, MemoryUse};
use crate::statistics::{Spread, millis};
use std::io::{self, BufRead, BufReader, Write};
use std::time::Instant;

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
"#;

/// One start of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerStart {
    /// The time to the first answer.
    pub(crate) took_ms: f64,
    /// The memory after the first answer.
    pub(crate) memory: MemoryUse,
}

/// Starts the program `times` times. Returns the spread in milliseconds.
pub(crate) fn startup(program: &BenchProgram, times: u32) -> io::Result<Option<Spread>> {
    let all = starts(program, times)?;
    Ok(Spread::of(all.iter().map(|start| start.took_ms)))
}

/// Starts the program `times` times.
pub(crate) fn starts(program: &BenchProgram, times: u32) -> io::Result<Vec<ServerStart>> {
    (0..times).map(|_| once(program)).collect()
}

fn once(program: &BenchProgram) -> io::Result<ServerStart> {
    let started = Instant::now();
    let mut process = program.start()?;
    let (mut input, output) = process.pipes()?;
    input.write_all(INITIALIZE)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let took = started.elapsed();
    if !line.contains("\"serverInfo\"") {
        return Err(io::Error::other(format!("no first answer: {line}")));
    }
    Ok(ServerStart {
        took_ms: millis(took),
        memory: process.memory()?,
    })
}
