//! A client of a server on stdio: calls of tools, a fixed number in flight, each answer matched with its
//! request.

use crate::figures::mean;
use crate::load::unexpected;
use crate::process::ServerProcess;
use crate::requests::{FIRST_ID, answered_id};
use crate::statistics::millis;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

/// The capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// The part of an answer in which its text begins.
const HEAD: usize = 300;

/// A call without its id.
#[derive(Debug, Clone)]
pub(crate) struct ToolRequest {
    tail: String,
    /// The starts of the texts of good answers.
    texts: &'static [&'static str],
}

impl ToolRequest {
    /// Returns a call of a tool. The text of a good answer starts with one of `texts`, as JSON escapes
    /// them.
    pub(crate) fn new(tool: &str, arguments: &Value, texts: &'static [&'static str]) -> Self {
        let params = json!({ "name": tool, "arguments": arguments });
        ToolRequest {
            tail: format!(r#","method":"tools/call","params":{params}}}"#),
            texts,
        }
    }

    /// Returns the id of a good answer. Figures about other answers would be worthless.
    fn check(&self, line: &[u8]) -> io::Result<u64> {
        const RESULT: &[u8] = br#","result":{"content":[{"type":"text","text":""#;
        let head = &line[..line.len().min(HEAD)];
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
pub(crate) struct ToolClient {
    process: ServerProcess,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next: u64,
}

impl ToolClient {
    /// Takes the pipes of a server.
    pub(crate) fn connect(mut process: ServerProcess) -> io::Result<Self> {
        let (input, output) = process.pipes()?;
        Ok(ToolClient {
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
        requests: &[ToolRequest],
        in_flight: usize,
    ) -> io::Result<Vec<f64>> {
        let mut waiting = requests.iter();
        let mut flying: Vec<(u64, Instant, &ToolRequest)> = Vec::new();
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

    /// Sends one request. Returns how long its good answer took, in milliseconds.
    pub(crate) fn time(&mut self, request: &ToolRequest) -> io::Result<f64> {
        Ok(mean(&self.query(std::slice::from_ref(request), 1)?))
    }

    /// Sends one request. Returns the answer.
    pub(crate) fn answer(&mut self, request: &ToolRequest) -> io::Result<Value> {
        self.send(request)?;
        Ok(serde_json::from_slice(self.line()?)?)
    }

    /// Sends one request. Returns the bytes of the answer.
    pub(crate) fn raw_answer(&mut self, request: &ToolRequest) -> io::Result<Vec<u8>> {
        self.send(request)?;
        Ok(self.line()?.to_vec())
    }

    /// Sends one request. Returns the text of the answer.
    pub(crate) fn text(&mut self, request: &ToolRequest) -> io::Result<String> {
        let answer = self.answer(request)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map(str::to_owned)
            .ok_or_else(|| io::Error::other("an answer without a text"))
    }

    /// Sends requests without reading the answers.
    pub(crate) fn send_all(&mut self, requests: &[ToolRequest]) -> io::Result<()> {
        requests.iter().try_for_each(|one| self.send(one).map(drop))
    }

    /// Reads the answer to one of the requests that were sent.
    pub(crate) fn receive(&mut self, request: &ToolRequest) -> io::Result<u64> {
        request.check(self.line()?)
    }

    fn send(&mut self, request: &ToolRequest) -> io::Result<(u64, Instant)> {
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
    /// Closes the server's stdin and waits until it has ended.
    pub(crate) fn end(self) -> io::Result<()> {
        let ToolClient {
            mut process, input, ..
        } = self;
        drop(input);
        process.wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_answer_is_refused() {
        let good = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"documents\":[]}"}]}}"#;
        let request = |texts| ToolRequest::new("tool", &json!({}), texts);
        let documents = request(&[r#"{\"documents\":["#]);
        assert_eq!(documents.check(good).unwrap(), 17);
        let failed = br#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"error\":{}}"}],"isError":true}}"#;
        assert!(documents.check(failed).is_err());
        assert!(request(&["### ", "No passage"]).check(failed).is_err());
    }
}
