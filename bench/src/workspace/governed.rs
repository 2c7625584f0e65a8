//! A command with governed files, compared with one without, and with a pass of SHA-256 over the files.

use super::WorkspaceBench;
use super::commands::true_request;
use super::fixture::BenchWorkspace;
use crate::figures::SubjectFigures;
use crate::statistics::millis;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

const GOVERNED: (&str, f64) = (
    "a command with 2,000 governed files: more than one without, less two passes of SHA-256",
    60.0,
);

const DIRECTORIES: usize = 20;
const FILES_EACH: usize = 100;
const FILE_BYTES: usize = 8 * 1024;

/// Adds the bar without a figure.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(GOVERNED.0, GOVERNED.1, "ms", Err(reason));
}

/// Measures two plans of one workspace: one that makes the files writable, and one that does not.
pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    let workspace = BenchWorkspace::create()?;
    let files = write_files(&workspace)?;
    let mut phase = json!({ "allow": ["data/**"], "commands": [["true"]] });
    let without = workspace.allow(&phase)?;
    phase["writable"] = json!(["data"]);
    let with = workspace.allow(&phase)?;
    let requests = [&with, &without].map(|plan| true_request(Some(plan.as_str())));
    let client = RefCell::new(workspace.serve(bench.candor, &[])?);
    let mut governed = || client.borrow_mut().time(&requests[0]);
    let mut plain = || client.borrow_mut().time(&requests[1]);
    let mut pass = || hash_all(&files);
    let sides: [super::CallSide<'_>; 3] = [&mut governed, &mut plain, &mut pass];
    let times = bench.alternate("2,000 governed files", 1, sides)?;
    let rounds = times[0].iter().zip(&times[1]).zip(&times[2]);
    let beyond: Vec<_> = rounds
        .map(|((governed, plain), pass)| governed - plain - 2.0 * pass)
        .collect();
    bench
        .findings
        .at_most(GOVERNED.0, GOVERNED.1, "ms", Ok(&beyond));
    let [governed, plain, pass] = times;
    bench.note_times("a command with 2,000 governed files", &governed);
    bench.note_times("a command beside the same files, not writable", &plain);
    bench.note_times("one pass of SHA-256 over the files", &pass);
    Ok(())
}

fn write_files(workspace: &BenchWorkspace) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for number in 0..DIRECTORIES * FILES_EACH {
        let line = format!("line of file {number}\n");
        let text = line.repeat(FILE_BYTES / line.len());
        let path = format!("data/{}/{number}.txt", number % DIRECTORIES);
        files.push(workspace.write(&path, text)?);
    }
    Ok(files)
}

/// Reads and hashes every file.
fn hash_all(files: &[PathBuf]) -> io::Result<f64> {
    let started = Instant::now();
    for file in files {
        black_box(Sha256::digest(fs::read(file)?));
    }
    Ok(millis(started.elapsed()))
}
