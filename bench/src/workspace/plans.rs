//! Writes and lists beside many plans, compared with few.

use super::fixture::BenchWorkspace;
use super::{RatioBar, WorkspaceBench};
use crate::figures::ratios;
use crate::record::source_text;
use crate::tool_client::{ToolClient, ToolRequest};
use candor_workspace::plan::PlanHash;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

const NAMED: RatioBar = RatioBar {
    what: "write_file that names its plan, 3,000 plans: times as long as with 10",
    limit: 1.3,
    sides: [
        "write_file that names its plan, 3,000 plans",
        "write_file that names its plan, 10 plans",
    ],
};
const UNNAMED: RatioBar = RatioBar {
    what: "write_file that names no plan, 3,000 plans: times as long as with 10",
    limit: 1.3,
    sides: [
        "write_file that names no plan, 3,000 plans",
        "write_file that names no plan, 10 plans",
    ],
};
const PAGE: RatioBar = RatioBar {
    what: "first page of list_plans, 3,000 plans: times as long as with 300",
    limit: 1.5,
    sides: [
        "first page of list_plans, 3,000 plans",
        "first page of list_plans, 300 plans",
    ],
};
const MEMORY: (&str, f64) = (
    "all pages of list_plans, 3,000 plans: times the memory with 10",
    1.5,
);

const MANY: usize = 3_000;
const SOME: usize = 300;
const FEW: usize = 10;

/// The writes and lists of one turn.
const WRITES: usize = 5;
const LISTS: usize = 2;

/// A server remembers the names of plans when their directory has not changed for two seconds.
const UNCHANGED: Duration = Duration::from_secs(3);

/// No call waits for its turn.
const UNPACED: [&str; 2] = ["--max-rate", "0"];

pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    bench.say("making plans");
    let (many, of_many) = workspace_with(MANY)?;
    let (some, _) = workspace_with(SOME)?;
    let (few, of_few) = workspace_with(FEW)?;
    std::thread::sleep(UNCHANGED);
    let mut in_many = many.serve(bench.candor, &UNPACED)?;
    let mut in_few = few.serve(bench.candor, &UNPACED)?;
    for (bar, plans) in [
        (NAMED, [Some(&of_many), Some(&of_few)]),
        (UNNAMED, [None, None]),
    ] {
        let mut own = writer(&mut in_many, plans[0]);
        let mut other = writer(&mut in_few, plans[1]);
        bench.ratio(&bar, WRITES, [&mut own, &mut other])?;
    }
    drop(in_few);
    let mut in_some = some.serve(bench.candor, &UNPACED)?;
    let first = list_request(&json!({}));
    let mut own = || in_many.time(&first);
    let mut other = || in_some.time(&first);
    bench.ratio(&PAGE, LISTS, [&mut own, &mut other])?;
    drop((in_many, in_some));
    memory(bench, [&many, &few])
}

/// Creates a workspace with this many plans, one of them approved.
fn workspace_with(plans: usize) -> io::Result<(BenchWorkspace, PlanHash)> {
    let workspace = BenchWorkspace::create()?;
    workspace.add_drafts(plans - 1)?;
    let approved = workspace.allow(&json!({ "allow": ["src/**"] }))?;
    Ok((workspace, approved))
}

/// Returns a side that writes a file, with another text each time.
fn writer<'a>(
    client: &'a mut ToolClient,
    plan: Option<&'a PlanHash>,
) -> impl FnMut() -> io::Result<f64> + 'a {
    let mut number = 0;
    move || {
        number += 1;
        let mut arguments = json!({ "path": "src/lib.rs", "content": source_text(number) });
        if let Some(plan) = plan {
            arguments["plan_hash"] = json!(plan.as_str());
        }
        client.time(&ToolRequest::new(
            "write_file",
            &arguments,
            &[r#"{\"path\":\""#],
        ))
    }
}

fn list_request(arguments: &Value) -> ToolRequest {
    ToolRequest::new("list_plans", arguments, &[r#"{\"plans\":[{"#])
}

/// Measures new servers in each round.
fn memory(bench: &mut WorkspaceBench<'_>, sides: [&BenchWorkspace; 2]) -> io::Result<()> {
    let mut resident = [const { Vec::new() }; 2];
    for round in 1..=bench.rounds {
        let rounds = bench.rounds;
        bench.say(&format!("memory of list_plans: round {round} of {rounds}"));
        for (workspace, resident) in sides.iter().zip(&mut resident) {
            let mut client = workspace.serve(bench.candor, &[])?;
            list_all(&mut client)?;
            resident.push(client.process().memory()?.resident_mb);
        }
    }
    let [many, few] = resident;
    let found = ratios(&many, &few);
    bench.findings.at_most(MEMORY.0, MEMORY.1, "×", Ok(&found));
    let what = |plans| format!("all pages of list_plans, {plans} plans: resident");
    bench.findings.note(what("3,000"), "MB", &many);
    bench.findings.note(what("10"), "MB", &few);
    Ok(())
}

/// Lists all plans, page by page.
fn list_all(client: &mut ToolClient) -> io::Result<()> {
    let mut arguments = json!({});
    loop {
        let answer = client.answer(&list_request(&arguments))?;
        let page = &answer["result"]["structuredContent"];
        match &page["next_after"] {
            Value::Null if page["plans"].is_array() => return Ok(()),
            Value::String(after) => arguments = json!({ "after": after }),
            _ => return Err(io::Error::other(format!("list_plans: {answer}"))),
        }
    }
}
