//! A client of `context serve`: requests over stdio, a fixed number in flight, each answer matched
//! with its request.

use super::command::{BUDGET, ContextProgram};
use crate::load::unexpected;
use crate::process::{BenchProgram, ServerProcess};
use crate::requests::{FIRST_ID, answered_id};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

/// The start of every answer to `resolve`, after its id.
const ANSWER: &[u8] = br#","result":{"content":[{"type":"text","text":"{\"documents\":["#;

/// The capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// A call without its id.
#[derive(Debug, Clone)]
pub(crate) struct ResolveRequest(String);

impl ResolveRequest {
    /// Returns a query of a cache below the root.
    pub(crate) fn new(cache: &str, query: &str) -> Self {
        let arguments = json!({ "cache": cache, "query": query, "budget": BUDGET });
        let params = json!({ "name": "context.resolve", "arguments": arguments });
        ResolveRequest(format!(r#","method":"tools/call","params":{params}}}"#))
    }
}

/// A running server and the pipes to it.
#[derive(Debug)]
pub(crate) struct ContextClient {
    process: ServerProcess,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next: u64,
}

impl ContextClient {
    /// Starts a server of the caches below a root.
    pub(crate) fn start(context: &ContextProgram, root: &Path, more: &[&str]) -> io::Result<Self> {
        let arguments: [OsString; 3] = ["serve".into(), "--root".into(), root.into()];
        let more = more.iter().map(OsString::from);
        let program = BenchProgram {
            name: "context",
            file: context.file.clone(),
            arguments: arguments.into_iter().chain(more).collect(),
            bare: false,
        };
        let mut process = program.start()?;
        let (input, output) = process.pipes()?;
        Ok(ContextClient {
            process,
            input,
            output: BufReader::with_capacity(CHUNK, output),
            line: Vec::new(),
            next: FIRST_ID,
        })
    }

    pub(crate) fn process(&self) -> &ServerProcess {
        &self.process
    }

    /// Sends all requests, with `in_flight` at once. Returns how long each took, in milliseconds.
    pub(crate) fn query(
        &mut self,
        requests: &[ResolveRequest],
        in_flight: usize,
    ) -> io::Result<Vec<f64>> {
        let mut waiting = requests.iter();
        let mut flying: Vec<(u64, Instant)> = Vec::new();
        let mut all = Vec::with_capacity(requests.len());
        for request in waiting.by_ref().take(in_flight) {
            flying.push(self.send(request)?);
        }
        while !flying.is_empty() {
            let line = self.line()?;
            let now = Instant::now();
            let id = checked(line)?;
            let slot = flying.iter().position(|(wanted, _)| *wanted == id);
            let slot = slot.ok_or_else(|| unexpected(line))?;
            let (_, sent) = flying.swap_remove(slot);
            all.push(millis(now - sent));
            if let Some(request) = waiting.next() {
                flying.push(self.send(request)?);
            }
        }
        Ok(all)
    }

    /// Sends one request. Returns the text of the answer.
    pub(crate) fn text(&mut self, request: &ResolveRequest) -> io::Result<String> {
        self.send(request)?;
        let answer: Value = serde_json::from_slice(self.line()?)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map(str::to_owned)
            .ok_or_else(|| io::Error::other("an answer without a text"))
    }

    fn send(&mut self, request: &ResolveRequest) -> io::Result<(u64, Instant)> {
        let id = self.next;
        self.next += 1;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id}{}"#, request.0) + "\n";
        let sent = Instant::now();
        self.input.write_all(message.as_bytes())?;
        Ok((id, sent))
    }

    fn line(&mut self) -> io::Result<&[u8]> {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line)? {
            0 => Err(io::Error::other("the server ended")),
            _ => Ok(&self.line),
        }
    }
}

/// Returns the id of an answer with documents. Figures about other answers would be worthless.
fn checked(line: &[u8]) -> io::Result<u64> {
    let head = &line[..line.len().min(200)];
    let found = memchr::memmem::find(head, ANSWER);
    found
        .and_then(|_| answered_id(line))
        .ok_or_else(|| unexpected(line))
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_without_documents_is_refused() {
        let good = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"documents\":[]}"}]}}"#;
        assert_eq!(checked(good).unwrap(), 17);
        let failed = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"error\":{}}"}],"isError":true}}"#;
        assert!(checked(failed).is_err());
    }
}
