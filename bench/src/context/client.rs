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

/// The capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// A call without its id.
#[derive(Debug, Clone)]
pub(crate) struct ContextRequest {
    tail: String,
    /// The starts of the texts of good answers.
    texts: &'static [&'static str],
}

impl ContextRequest {
    /// Returns a query of a cache below the root.
    pub(crate) fn resolve(cache: &str, query: &str) -> Self {
        ContextRequest::resolve_within(cache, query, BUDGET)
    }

    /// Returns a query with this budget.
    pub(crate) fn resolve_within(cache: &str, query: &str, budget: u64) -> Self {
        let arguments = json!({ "cache": cache, "query": query, "budget": budget });
        ContextRequest::new("context.resolve", &arguments, &[r#"{\"documents\":["#])
    }

    /// Returns a search in all served caches.
    pub(crate) fn search(query: &str) -> Self {
        let arguments = json!({ "query": query, "budget": BUDGET });
        let texts = &["### ", "No passage matches."];
        ContextRequest::new("context_search", &arguments, texts)
    }

    /// Returns a request for these lines of a document.
    pub(crate) fn lines(id: &str, from: usize, to: usize) -> Self {
        let arguments = json!({ "id": id, "lines": [from, to] });
        ContextRequest::new("context_get", &arguments, &["### "])
    }

    fn new(tool: &str, arguments: &Value, texts: &'static [&'static str]) -> Self {
        let params = json!({ "name": tool, "arguments": arguments });
        ContextRequest {
            tail: format!(r#","method":"tools/call","params":{params}}}"#),
            texts,
        }
    }

    /// Returns the id of a good answer. Figures about other answers would be worthless.
    fn check(&self, line: &[u8]) -> io::Result<u64> {
        const RESULT: &[u8] = br#","result":{"content":[{"type":"text","text":""#;
        let head = &line[..line.len().min(200)];
        let text = memchr::memmem::find(head, RESULT).map(|at| &head[at + RESULT.len()..]);
        let is_good = |text: &[u8]| {
            let mut texts = self.texts.iter();
            texts.any(|start| text.starts_with(start.as_bytes()))
        };
        text.filter(|text| is_good(text))
            .and_then(|_| answered_id(line))
            .ok_or_else(|| unexpected(line))
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
    /// Starts a server of version 0 for the caches below a root.
    pub(crate) fn start(context: &ContextProgram, root: &Path, more: &[&str]) -> io::Result<Self> {
        let arguments: [OsString; 3] = ["serve".into(), "--root".into(), root.into()];
        let more = more.iter().map(OsString::from);
        ContextClient::run(context, arguments.into_iter().chain(more).collect())
    }

    /// Starts a server of version 1 for a cache, or for the caches in a directory.
    pub(crate) fn start_reading(context: &ContextProgram, path: &Path) -> io::Result<Self> {
        ContextClient::run(context, vec!["serve".into(), path.into()])
    }

    fn run(context: &ContextProgram, arguments: Vec<OsString>) -> io::Result<Self> {
        let program = BenchProgram {
            name: "context",
            file: context.file.clone(),
            arguments,
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
        requests: &[ContextRequest],
        in_flight: usize,
    ) -> io::Result<Vec<f64>> {
        let mut waiting = requests.iter();
        let mut flying: Vec<(u64, Instant, &ContextRequest)> = Vec::new();
        let mut all = Vec::with_capacity(requests.len());
        for request in waiting.by_ref().take(in_flight) {
            let (id, sent) = self.send(request)?;
            flying.push((id, sent, request));
        }
        while !flying.is_empty() {
            let line = self.line()?;
            let now = Instant::now();
            let id = answered_id(line);
            let slot = flying.iter().position(|(wanted, ..)| Some(*wanted) == id);
            let slot = slot.ok_or_else(|| unexpected(line))?;
            let (_, sent, request) = flying.swap_remove(slot);
            request.check(line)?;
            all.push(millis(now - sent));
            if let Some(request) = waiting.next() {
                let (id, sent) = self.send(request)?;
                flying.push((id, sent, request));
            }
        }
        Ok(all)
    }

    /// Sends one request. Returns the answer.
    pub(crate) fn answer(&mut self, request: &ContextRequest) -> io::Result<Value> {
        self.send(request)?;
        Ok(serde_json::from_slice(self.line()?)?)
    }

    /// Sends one request. Returns the text of the answer.
    pub(crate) fn text(&mut self, request: &ContextRequest) -> io::Result<String> {
        let answer = self.answer(request)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map(str::to_owned)
            .ok_or_else(|| io::Error::other("an answer without a text"))
    }

    /// Sends requests without reading the answers.
    pub(crate) fn send_all(&mut self, requests: &[ContextRequest]) -> io::Result<()> {
        requests.iter().try_for_each(|one| self.send(one).map(drop))
    }

    /// Reads the answer to one of the requests that were sent.
    pub(crate) fn receive(&mut self, request: &ContextRequest) -> io::Result<u64> {
        request.check(self.line()?)
    }

    fn send(&mut self, request: &ContextRequest) -> io::Result<(u64, Instant)> {
        let id = self.next;
        self.next += 1;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id}{}"#, request.tail) + "\n";
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

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_without_documents_is_refused() {
        let good = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"documents\":[]}"}]}}"#;
        let request = ContextRequest::resolve("cache", "query");
        assert_eq!(request.check(good).unwrap(), 17);
        let failed = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"error\":{}}"}],"isError":true}}"#;
        assert!(request.check(failed).is_err());
        assert!(ContextRequest::search("query").check(failed).is_err());
    }
}
