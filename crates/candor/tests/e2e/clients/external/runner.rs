//! Starts a runner with one order, sends it requests and reads its report.

use crate::clients::cases::Case;
use crate::clients::report::Era;
use crate::clients::target::Target;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// The language of a runner.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    JavaScript,
    Python,
}

impl Language {
    pub(crate) fn interpreter(self) -> String {
        required_variable(match self {
            Language::JavaScript => "CANDOR_NODE",
            Language::Python => "CANDOR_PYTHON",
        })
    }
}

/// Returns true if `cargo xtask test` has installed the clients.
#[allow(clippy::disallowed_methods)] // A test is a program, and owns its environment.
pub(crate) fn is_installed() -> bool {
    std::env::var_os("CANDOR_CLIENTS").is_some()
}

/// Returns a variable that `cargo xtask test` sets.
#[allow(clippy::disallowed_methods)] // A test is a program, and owns its environment.
pub(crate) fn required_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `cargo xtask test`, which installs the clients and says where they are"
        )
    })
}

/// A runner that carries out one order.
pub(crate) struct Runner {
    process: Child,
    /// Closed to end the session.
    stdin: Option<ChildStdin>,
    report: Lines<BufReader<ChildStdout>>,
    stderr: JoinHandle<String>,
}

impl Runner {
    pub(crate) fn start(language: Language, script: &str, target: &Target, era: Era) -> Self {
        let mut process = Command::new(language.interpreter())
            .arg(Path::new(&required_variable("CANDOR_CLIENTS")).join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{script} cannot be started: {error}"));
        let stdout = process.stdout.take().expect("stdout is a pipe");
        let mut stderr = process.stderr.take().expect("stderr is a pipe");
        let read_stderr = move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut runner = Runner {
            stdin: process.stdin.take(),
            process,
            report: BufReader::new(stdout).lines(),
            stderr: std::thread::spawn(read_stderr),
        };
        runner.send(&order(target, era));
        runner
    }

    /// Returns the next line of the report, or `None` at its end.
    pub(crate) fn next_step(&mut self) -> Option<String> {
        self.report.next().map(|line| line.expect("a step is text"))
    }

    /// Sends a request. Returns the line that reports it, or `None` if the runner has ended.
    pub(crate) fn ask(&mut self, request: &Value) -> Option<String> {
        self.send(request);
        self.next_step()
    }

    /// Writing fails if the runner has ended, which the missing report shows.
    fn send(&mut self, line: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Closes the session. Returns the rest of the report.
    ///
    /// # Panics
    ///
    /// Panics if not every step was reported.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.stdin = None;
        let rest: Vec<_> = std::iter::from_fn(|| self.next_step()).collect();
        let status = self
            .process
            .wait()
            .expect("a runner that was started can be waited for");
        let talk = self.stderr.join().expect("stderr can be read");
        assert!(
            status.success(),
            "the runner came no further:\n{}\n{talk}",
            rest.join("\n")
        );
        rest
    }
}

/// Runs one session of calls. The report has one value for each step.
pub(crate) fn run(
    language: Language,
    script: &str,
    target: &Target,
    era: Era,
    cases: &[Case],
) -> Vec<Value> {
    let mut runner = Runner::start(language, script, target, era);
    let mut report = Vec::new();
    // The connection and the list of the tools.
    report.extend(runner.next_step());
    report.extend(runner.next_step());
    for case in cases {
        let call = json!({ "name": case.name, "arguments": case.arguments });
        report.extend(runner.ask(&json!({ "call": call })));
    }
    report.extend(runner.finish());
    let steps = report.iter().map(|line| serde_json::from_str(line));
    steps.collect::<Result<_, _>>().expect("a step is JSON")
}

fn order(target: &Target, era: Era) -> Value {
    let target = match target {
        Target::Stdio { program, args } => {
            json!({ "kind": "stdio", "command": program, "args": args })
        }
        Target::Http { url, token: None } => json!({ "kind": "http", "url": url }),
        Target::Http {
            url,
            token: Some(token),
        } => json!({ "kind": "http", "url": url, "token": token }),
    };
    let mut order = json!({ "target": target });
    if let Some(era) = era.requested {
        order["era"] = json!(era);
    }
    order
}
