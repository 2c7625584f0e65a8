//! The first page of a long history, beside `git log -30`.

use super::LocalForgeBench;
use super::fixture::{HISTORY, git};
use crate::figures::ratios;
use crate::statistics::{median, millis};
use crate::tool_client::ToolRequest;
use serde_json::json;
use std::io;
use std::time::Instant;

const FIRST_PAGE: (&str, f64) = (
    "first page of 300,000 commits: times as long as `git log -30`",
    3.0,
);
const MEMORY: (&str, f64) = ("first page of 300,000 commits: memory at most", 80.0);

/// The pages and the logs of one round.
const PAGES: usize = 20;

pub(super) fn measure(bench: &mut LocalForgeBench<'_>) -> io::Result<()> {
    let mut client = bench.serve()?;
    let arguments = json!({ "repo": HISTORY });
    let page = ToolRequest::new("get_commits", &arguments, &[r#"{\"commits\":["#]);
    let repository = bench.repositories.in_forge(HISTORY);
    client.time(&page)?;
    let (mut own, mut beside) = (Vec::new(), Vec::new());
    for round in 1..=bench.rounds {
        let progress = format!("local forge: history, round {round} of {}", bench.rounds);
        bench.progress.say(&progress);
        let (mut pages, mut logs) = (Vec::new(), Vec::new());
        for _ in 0..PAGES {
            pages.push(client.time(&page)?);
            let since = Instant::now();
            git(&repository, &["log", "-30"])?;
            logs.push(millis(since.elapsed()));
        }
        own.push(median(pages));
        beside.push(median(logs));
    }
    let peak = client.process().memory()?.peak_mb;
    let (what, limit) = FIRST_PAGE;
    let all = ratios(&own, &beside);
    bench.findings.at_most(what, limit, "×", Ok(&all));
    let (what, limit) = MEMORY;
    bench.findings.at_most(what, limit, "MB", Ok(&[peak]));
    bench
        .findings
        .note("first page of 300,000 commits", "ms", &own);
    bench.findings.note("`git log -30`", "ms", &beside);
    client.end()
}
