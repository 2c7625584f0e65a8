//! The transports, with servers that are slow, record slowly or answer at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A test fails by panicking.
#![allow(clippy::print_stdout)] // Drills print their counts.

mod held_values;
mod http;
mod resources;
mod stdio_progress;
mod stdio_refusals;

use candor_fault::Timestamp;
use candor_street::{CancellationToken, Dispatcher, MetricsHub, Server};
use candor_wire::stdio::serve;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Sends `input` to a server on stdio, ends the input, and returns every line that comes back.
/// `meanwhile` runs once the input is sent.
fn run_stdio<S: Server>(server: S, input: &str, meanwhile: impl FnOnce()) -> Vec<String> {
    let runtime = Runtime::new().unwrap();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let dispatcher = Dispatcher::new(server, clock, &MetricsHub::default()).unwrap();
    let (stdin, mut client) = std::io::pipe().unwrap();
    let (answers, stdout) = std::io::pipe().unwrap();
    let serving = runtime.spawn(serve(dispatcher, stdin, stdout, CancellationToken::new()));
    client.write_all(input.as_bytes()).unwrap();
    drop(client);
    meanwhile();
    let answers = BufReader::new(answers).lines();
    let answers = answers.collect::<Result<Vec<_>, _>>().unwrap();
    runtime.block_on(serving).unwrap().unwrap();
    answers
}
