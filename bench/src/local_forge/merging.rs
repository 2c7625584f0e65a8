//! Mergeability and merges in a wide tree, beside `git merge-tree`.

use super::LocalForgeBench;
use super::fixture::{HEADS, WIDE, git};
use crate::figures::ratios;
use crate::statistics::{median, millis};
use crate::tool_client::ToolRequest;
use serde_json::json;
use std::io;
use std::path::Path;
use std::time::Instant;

const MERGEABILITY: (&str, f64) = (
    "get_pr_mergeability, 66,000 files: times as long as `git merge-tree`",
    5.0,
);
const MERGE: (&str, f64) = (
    "merge_pull_request, 66,000 files, durable: times as long as `git merge-tree`, `commit-tree`, `update-ref`",
    5.0,
);

/// Opens a pull request for each branch. Each is looked at once and then merged.
pub(super) fn measure(bench: &mut LocalForgeBench<'_>) -> io::Result<()> {
    let beside = bench.repositories.wide();
    let mut client = bench.serve()?;
    bench.progress.say("local forge: opening pull requests");
    for head in 0..HEADS {
        let arguments = json!({
            "repo": WIDE, "title": "Bench", "head": format!("head-{head}"), "base": "main",
        });
        let opened = ToolRequest::new("create_pull_request", &arguments, &[r#"{\"number\""#]);
        client.time(&opened)?;
    }
    client.end()?;
    // Nothing about the heads is remembered from their creation.
    let mut client = bench.serve()?;
    let rounds = bench.rounds as usize;
    let each = (HEADS / rounds).max(1);
    let mut figures = [(); 4].map(|()| Vec::new());
    for round in 0..rounds.min(HEADS) {
        let progress = format!("local forge: merges, round {} of {rounds}", round + 1);
        bench.progress.say(&progress);
        let mut taken = [(); 4].map(|()| Vec::new());
        for head in (round * each..(round + 1) * each).take_while(|head| *head < HEADS) {
            let number = head + 1;
            let arguments = json!({ "repo": WIDE, "prNumber": number });
            let call = |tool| ToolRequest::new(tool, &arguments, &[r#"{\"number\""#]);
            taken[0].push(client.time(&call("get_pr_mergeability"))?);
            taken[1].push(merge_tree(&beside, head)?.0);
            taken[2].push(client.time(&call("merge_pull_request"))?);
            taken[3].push(merge(&beside, head)?);
        }
        for (all, taken) in figures.iter_mut().zip(taken) {
            all.push(median(taken));
        }
    }
    report(bench, &figures);
    client.end()
}

fn report(bench: &mut LocalForgeBench<'_>, figures: &[Vec<f64>; 4]) {
    let [mergeability, merge_tree, merged, processes] = figures;
    let (what, limit) = MERGEABILITY;
    let all = ratios(mergeability, merge_tree);
    bench.findings.at_most(what, limit, "×", Ok(&all));
    let (what, limit) = MERGE;
    let all = ratios(merged, processes);
    bench.findings.at_most(what, limit, "×", Ok(&all));
    let names = [
        "get_pr_mergeability, 66,000 files",
        "`git merge-tree --write-tree`",
        "merge_pull_request, 66,000 files",
        "`git merge-tree`, `commit-tree`, `update-ref` with core.fsync=all",
    ];
    for (name, all) in names.into_iter().zip(figures) {
        bench.findings.note(name, "ms", all);
    }
}

/// Returns how long a merge of trees took, and its tree.
fn merge_tree(folder: &Path, head: usize) -> io::Result<(f64, String)> {
    let head = format!("head-{head}");
    let since = Instant::now();
    let tree = git(
        folder,
        &[
            "-c",
            "core.fsync=all",
            "merge-tree",
            "--write-tree",
            "main",
            &head,
        ],
    )?;
    let took = millis(since.elapsed());
    Ok((took, String::from_utf8_lossy(&tree).trim().to_owned()))
}

/// Merges a branch as a script would, durably.
fn merge(folder: &Path, head: usize) -> io::Result<f64> {
    let (took, tree) = merge_tree(folder, head)?;
    let head = format!("head-{head}");
    let since = Instant::now();
    let fsync = ["-c", "core.fsync=all"];
    let parents = ["-p", "main", "-p", &head, "-m", "Merge"];
    let commit = [&fsync[..], &["commit-tree", &tree], &parents].concat();
    let commit = git(folder, &commit)?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let update = [&fsync[..], &["update-ref", "refs/heads/main", &commit]].concat();
    git(folder, &update)?;
    Ok(took + millis(since.elapsed()))
}
