//! Starts a runner with one job and reads its report.

use crate::clients::cases::Case;
use crate::clients::report::Era;
use crate::clients::target::Target;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The language of a runner.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    JavaScript,
    Python,
}

impl Language {
    fn interpreter(self) -> String {
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
fn required_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `cargo xtask test`, which installs the clients and says where they are"
        )
    })
}

/// Runs one session. The report has one value for each step.
pub(crate) fn run(
    language: Language,
    script: &str,
    target: &Target,
    era: Era,
    cases: &[Case],
) -> Vec<Value> {
    let mut runner = Command::new(language.interpreter())
        .arg(Path::new(&required_variable("CANDOR_CLIENTS")).join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{script} cannot be started: {error}"));
    let mut stdin = runner.stdin.take().expect("stdin is a pipe");
    let job = job(target, era, cases).to_string();
    // Writing fails if the runner has ended; its output shows the reason.
    let _ = stdin.write_all(job.as_bytes());
    drop(stdin);
    let ended = runner
        .wait_with_output()
        .expect("a runner that was started ends");
    let report = String::from_utf8_lossy(&ended.stdout);
    let talk = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success(),
        "{script} came no further:\n{report}{talk}"
    );
    let steps = report.lines().map(serde_json::from_str);
    steps.collect::<Result<_, _>>().expect("a step is JSON")
}

fn job(target: &Target, era: Era, cases: &[Case]) -> Value {
    let call = |case: &Case| json!({ "name": case.name, "arguments": case.arguments });
    let calls: Vec<_> = cases.iter().map(call).collect();
    let target = match target {
        Target::Stdio { program, args } => {
            json!({ "kind": "stdio", "command": program, "args": args })
        }
        Target::Http { url } => json!({ "kind": "http", "url": url }),
    };
    let mut job = json!({ "target": target, "calls": calls });
    if let Some(era) = era.requested {
        job["era"] = json!(era);
    }
    job
}
