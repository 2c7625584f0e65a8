//! The scan's index and serde_json agree on generated messages, well-formed and damaged.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use candor_fuzz_properties::{core, scanner};
use fastrand::Rng;
use std::num::NonZero;
use std::thread;

/// The number of messages; the long run of the tests checks a million.
fn count() -> usize {
    match candor_testkit::is_long() {
        true => 1_000_000,
        false => 4_000,
    }
}

/// Writes messages with all the liberties that JSON leaves.
struct Writer {
    random: Rng,
    text: String,
}

impl Writer {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.usize(..words.len())]
    }

    fn space(&mut self) {
        if self.random.u8(..8) == 0 {
            let space = self.pick(&[" ", "\n", "\t", "\r\n", "  "]);
            self.text.push_str(space);
        }
    }

    fn string(&mut self) {
        let parts = [
            "a",
            "n",
            "é",
            "𝒳",
            " ",
            "/",
            "\u{7f}",
            "\u{2028}",
            r#"\""#,
            r"\\",
            r"\/",
            r"\n",
            r"\u0061",
            r"\u00e9",
            r"\ud83d\ude00",
            "text",
            "arguments",
        ];
        self.text.push('"');
        for _ in 0..self.random.usize(..5) {
            let part = self.pick(&parts);
            self.text.push_str(part);
        }
        self.text.push('"');
    }

    fn number(&mut self) {
        let number = match self.random.u8(..6) {
            0 => self.random.i64(..).to_string(),
            1 => self.random.u64(..).to_string(),
            2 => self.random.i8(..).to_string(),
            3 => format!("{}.{}", self.random.i16(..), self.random.u16(..)),
            4 => format!("{}E{}", self.random.i16(..), self.random.i8(..)),
            _ => {
                let odd = [
                    "-0",
                    "0",
                    "1e308",
                    "1E+2",
                    "5e-324",
                    "18446744073709551616",
                    "0.1e1",
                ];
                self.pick(&odd).to_owned()
            }
        };
        self.text.push_str(&number);
    }

    fn value(&mut self, depth: u8) {
        self.space();
        match self.random.u8(..if depth == 0 { 6 } else { 10 }) {
            0 | 1 => self.string(),
            2 | 3 => self.number(),
            4 => {
                let word = self.pick(&["true", "false"]);
                self.text.push_str(word);
            }
            5 => self.text.push_str("null"),
            6 | 7 => self.list('[', ']', |writer, _| writer.value(depth - 1)),
            _ => self.list('{', '}', |writer, index| {
                writer.name(index);
                writer.value(depth - 1);
            }),
        }
        self.space();
    }

    /// Writes a name that no other member of the object has, or rarely one that another may have.
    fn name(&mut self, index: usize) {
        self.space();
        let name = self.pick(&["m", r"\u006d", "fail", "n", "é", ""]);
        match self.random.u8(..100) {
            0 => self.text.push_str(&format!("\"{name}\"")),
            _ => self.text.push_str(&format!("\"{name}{index}\"")),
        }
        self.space();
        self.text.push(':');
    }

    fn list(&mut self, open: char, close: char, mut write: impl FnMut(&mut Self, usize)) {
        self.text.push(open);
        for index in 0..self.random.usize(..5) {
            if index > 0 {
                self.text.push(',');
            }
            write(self, index);
        }
        self.space();
        self.text.push(close);
    }

    fn message(&mut self) {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"#;
        let method = match self.random.u8(..8) {
            0 => "resources/read",
            1 => "resources/list",
            _ => "tools/call",
        };
        let id = self.pick(&["1", "-0", "\"a\"", "\"\\u0061\"", "1.5", "null"]);
        self.text.clear();
        self.text.push_str(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"#
        ));
        if self.random.bool() {
            self.text.push_str(meta);
        }
        match method {
            "resources/read" => self.member(
                "uri",
                &[
                    "\"mirror://text\"",
                    "\"mirror\\u003a//text\"",
                    "\"mirror://large\"",
                ],
            ),
            "resources/list" => self.member("cursor", &["null", "\"2\"", "\"\""]),
            _ => self.arguments(),
        }
        self.text.push_str("}}");
    }

    /// Writes a member with one of these values, or with any other.
    fn member(&mut self, name: &str, usual: &[&str]) {
        self.text.push_str(&format!("\"{name}\":"));
        match self.random.u8(..4) {
            0 => self.value(2),
            _ => {
                let value = self.pick(usual);
                self.text.push_str(value);
            }
        }
    }

    fn arguments(&mut self) {
        self.text.push_str(r#""name":"mirror","arguments":"#);
        match self.random.u8(..8) {
            0 => self.value(5),
            _ => {
                self.text.push_str("{\"n\":");
                self.value(2);
                self.text.push_str(",\"more\":");
                self.value(5);
                self.text.push('}');
            }
        }
    }

    /// Replaces one character by another.
    fn damage(&mut self) {
        let at = self.random.usize(..self.text.len());
        if self.text.is_char_boundary(at) && self.text.is_char_boundary(at + 1) {
            let with = self.pick(&["", "\"", "\\", "}", "]", ",", "0", "-", "e", " "]);
            self.text.replace_range(at..at + 1, with);
        }
    }
}

#[test]
fn index_and_oracle_agree_on_generated_messages() {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let accepted: usize = thread::scope(|scope| {
        let numbers = (0..threads).map(|first| (first..count()).step_by(threads));
        let running: Vec<_> = numbers
            .map(|numbers| scope.spawn(|| numbers.filter(|number| agree_on(*number)).count()))
            .collect();
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert!(accepted * 10 > count() * 7, "only {accepted} are JSON");
}

/// Checks the message with this number. Returns true if it is JSON.
fn agree_on(number: usize) -> bool {
    let mut writer = Writer {
        random: Rng::with_seed(number as u64),
        text: String::new(),
    };
    writer.message();
    if number.is_multiple_of(4) {
        writer.damage();
    }
    scanner(writer.text.as_bytes());
    // Answering takes much longer than scanning.
    if number % 8 < 2 {
        core(writer.text.as_bytes());
    }
    serde_json::from_str::<serde_json::Value>(&writer.text).is_ok()
}
