//! `run_command`: compared with a bare program that makes the same namespaces, and the memory of a long
//! output.

use super::fixture::BenchWorkspace;
use super::{RatioBar, WorkspaceBench};
use crate::figures::SubjectFigures;
use crate::process::timed;
use crate::statistics::millis;
use crate::tool_client::ToolRequest;
use serde_json::json;
use std::io;

const TRUE: RatioBar = RatioBar {
    what: "run_command [\"true\"]: times as long as a bare program with the same namespaces",
    limit: 2.5,
    sides: [
        "run_command [\"true\"]",
        "bare program: six namespaces, /proc, true",
    ],
};
const OUTPUT: (&str, f64) = ("a command that prints 1 GiB: memory beyond rest", 2.0);

const OUTPUT_BYTES: &str = "1073741824";

/// The commands of one turn.
const CALLS: usize = 2;

const MIB: f64 = 1024.0 * 1024.0;

/// Adds the bars without figures.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(TRUE.what, TRUE.limit, "×", Err(reason));
    findings.at_most(OUTPUT.0, OUTPUT.1, "MiB", Err(reason));
}

pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    let workspace = BenchWorkspace::create()?;
    let commands = json!([["true"], ["head", "**"]]);
    workspace.allow(&json!({ "allow": ["src/**"], "commands": commands }))?;
    let request = true_request(None);
    let mut client = workspace.serve(bench.candor, &[])?;
    let bare = bench.own;
    let mut own = || client.time(&request);
    let mut other = || Ok(millis(timed(bare, &["bare-namespaces"])?.0));
    bench.ratio(&TRUE, CALLS, [&mut own, &mut other])?;
    drop(client);
    output(bench, &workspace)
}

/// Returns a call that runs `true`, by a plan or by the only one.
pub(super) fn true_request(plan: Option<&str>) -> ToolRequest {
    let mut arguments = json!({ "argv": ["true"] });
    if let Some(plan) = plan {
        arguments["plan_hash"] = json!(plan);
    }
    let texts = &[r#"{\"argv\":[\"true\"],\"exit_code\":0,"#];
    ToolRequest::new("run_command", &arguments, texts)
}

/// Measures a new server in each round.
fn output(bench: &mut WorkspaceBench<'_>, workspace: &BenchWorkspace) -> io::Result<()> {
    let arguments = json!({ "argv": ["head", "-c", OUTPUT_BYTES, "/dev/zero"], "timeout_s": 600 });
    let texts = &[r#"{\"argv\":[\"head\",\"-c\",\"1073741824\",\"/dev/zero\"],\"exit_code\":0,"#];
    let request = ToolRequest::new("run_command", &arguments, texts);
    let (mut beyond, mut rest) = (Vec::new(), Vec::new());
    for round in 1..=bench.rounds {
        let rounds = bench.rounds;
        bench.say(&format!("output of 1 GiB: round {round} of {rounds}"));
        let mut client = workspace.serve(bench.candor, &[])?;
        // The first command starts what every later one uses.
        client.time(&true_request(None))?;
        let before = client.process().memory()?.resident_mb;
        client.time(&request)?;
        let peak = client.process().memory()?.peak_mb;
        beyond.push((peak - before) * 1e6 / MIB);
        rest.push(before);
    }
    bench
        .findings
        .at_most(OUTPUT.0, OUTPUT.1, "MiB", Ok(&beyond));
    let what = "a server that has run a command: resident";
    bench.findings.note(what, "MB", &rest);
    Ok(())
}
