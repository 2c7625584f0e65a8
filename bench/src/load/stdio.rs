//! Load over stdio: one thread keeps a fixed number of requests in flight on one connection.

use super::{Load, check, mark, unexpected};
use crate::process::{BenchProgram, ServerProcess};
use crate::requests::{Case, FIRST_ID, RequestTemplate, answered_id};
use crate::statistics::Latencies;
use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

pub(crate) const IN_FLIGHT: usize = 32;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Load on one connection.
#[derive(Debug)]
pub(crate) struct StdioLoad {
    process: ServerProcess,
    input: ChildStdin,
    output: ChildStdout,
    bare: bool,
    next: u64,
}

impl StdioLoad {
    pub(crate) fn new(program: &BenchProgram) -> io::Result<Self> {
        let mut process = program.start()?;
        let (input, output) = process.pipes()?;
        Ok(StdioLoad {
            process,
            input,
            output,
            bare: program.bare,
            next: FIRST_ID,
        })
    }
}

impl Load for StdioLoad {
    fn process(&self) -> &ServerProcess {
        &self.process
    }

    fn ask(&mut self, case: Case, how_long: Duration) -> io::Result<Latencies> {
        let mut flights = InFlight::new(case, self.next);
        let mut lines = LineBuffer::default();
        let mark = mark(case, self.bare);
        let mut now = Instant::now();
        let until = now + how_long;
        for slot in 0..IN_FLIGHT {
            flights.depart(slot, now);
        }
        while flights.flying > 0 {
            if !flights.departures.is_empty() {
                self.input.write_all(&flights.departures)?;
                flights.departures.clear();
            }
            let arrived = lines.fill(&mut self.output)?;
            now = Instant::now();
            let mut rest = arrived;
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (line, more) = rest.split_at(end);
                if flights.latencies.len() < IN_FLIGHT {
                    check(line, mark)?;
                }
                let slot = flights.land(line, now)?;
                if now < until {
                    flights.depart(slot, now);
                }
                rest = &more[1..];
            }
            let left = rest.len();
            lines.keep(left);
        }
        self.next = flights.next;
        Ok(flights.latencies)
    }
}

/// The requests in flight: one in each slot, whose number is in the id.
struct InFlight {
    template: RequestTemplate,
    departures: Vec<u8>,
    slots: [(u64, Instant); IN_FLIGHT],
    next: u64,
    flying: usize,
    latencies: Latencies,
}

impl InFlight {
    fn new(case: Case, next: u64) -> Self {
        InFlight {
            template: RequestTemplate::new(case, |_| String::new(), "\n"),
            departures: Vec::new(),
            slots: [(0, Instant::now()); IN_FLIGHT],
            next,
            flying: 0,
            latencies: Latencies::default(),
        }
    }

    fn depart(&mut self, slot: usize, now: Instant) {
        let id = self.next + slot as u64;
        self.next += IN_FLIGHT as u64;
        self.slots[slot] = (id, now);
        self.flying += 1;
        self.departures.extend_from_slice(self.template.with_id(id));
    }

    /// Returns the slot that is free again. An unexpected answer is an error.
    fn land(&mut self, line: &[u8], now: Instant) -> io::Result<usize> {
        let id = answered_id(line).ok_or_else(|| unexpected(line))?;
        let slot = (id % IN_FLIGHT as u64) as usize;
        let (wanted, departed) = std::mem::replace(&mut self.slots[slot], (0, now));
        if wanted != id {
            return Err(unexpected(line));
        }
        self.flying -= 1;
        self.latencies.note(now - departed);
        Ok(slot)
    }
}

/// The received bytes that are not a complete line yet.
#[derive(Default)]
struct LineBuffer {
    buffer: Vec<u8>,
    end: usize,
}

impl LineBuffer {
    /// Returns everything received, after one more read.
    fn fill(&mut self, output: &mut impl Read) -> io::Result<&[u8]> {
        self.buffer.resize(self.end + CHUNK, 0);
        let read = output.read(&mut self.buffer[self.end..])?;
        if read == 0 {
            return Err(io::Error::other("the server ended"));
        }
        self.end += read;
        Ok(&self.buffer[..self.end])
    }

    /// Keeps only the last bytes.
    fn keep(&mut self, bytes: usize) {
        self.buffer.copy_within(self.end - bytes..self.end, 0);
        self.end = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_frees_its_slot_once() {
        let now = Instant::now();
        let mut flights = InFlight::new(Case::Success, FIRST_ID);
        for slot in 0..IN_FLIGHT {
            flights.depart(slot, now);
        }
        let (id, _) = flights.slots[3];
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(flights.land(answer.as_bytes(), now).unwrap(), 3);
        assert!(flights.land(answer.as_bytes(), now).is_err());
        assert_eq!(flights.flying, IN_FLIGHT - 1);
    }

    #[test]
    fn incomplete_line_is_kept() {
        let mut lines = LineBuffer::default();
        assert_eq!(lines.fill(&mut &b"one\ntw"[..]).unwrap(), b"one\ntw");
        lines.keep(2);
        assert_eq!(lines.fill(&mut &b"o\n"[..]).unwrap(), b"two\n");
    }
}
