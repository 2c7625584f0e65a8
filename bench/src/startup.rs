//! Measures the time from the start of a server to its first answer.

use crate::process::BenchProgram;
use crate::statistics::{Spread, millis};
use std::io::{self, BufRead, BufReader, Write};
use std::time::Instant;

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
"#;

/// Starts the program `times` times. Returns the spread in milliseconds.
pub(crate) fn startup(program: &BenchProgram, times: u32) -> io::Result<Option<Spread>> {
    let mut all = Vec::new();
    for _ in 0..times {
        all.push(once(program)?);
    }
    Ok(Spread::of(all))
}

fn once(program: &BenchProgram) -> io::Result<f64> {
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
    Ok(millis(took))
}
