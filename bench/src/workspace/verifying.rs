//! `audit verify` that finds the checkpoints of a log, compared with one that is given them.

use super::fixture::{BenchWorkspace, read_request};
use super::{RatioBar, WorkspaceBench};
use crate::load::stdio::IN_FLIGHT;
use crate::process::timed;
use crate::record::source_text;
use crate::statistics::millis;
use candor_workspace::log_checkpoints::CHECKPOINT;
use candor_workspace::state::LOG;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

const VERIFY: RatioBar = RatioBar {
    what: "audit verify that finds the checkpoint: times as long as one that is given it",
    limit: 1.05,
    sides: [
        "audit verify that finds the checkpoint",
        "audit verify that is given the checkpoint",
    ],
};

/// The lines of the log.
const LINES: usize = 20_000;
const QUICK_LINES: usize = 5_000;

const FILE: &str = "src/lib.rs";

pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    let workspace = BenchWorkspace::create()?;
    workspace.write(FILE, source_text(0))?;
    let lines = if bench.quick { QUICK_LINES } else { LINES };
    bench.say(&format!("a log of {lines} lines"));
    let mut client = workspace.serve(bench.candor, &["--max-rate", "0"])?;
    client.query(&vec![read_request(FILE); lines], IN_FLIGHT)?;
    client.end()?;
    // Elsewhere, so that it cannot be found.
    let given = workspace.path_beside("given-checkpoint.json");
    fs::copy(workspace.own_state().join(CHECKPOINT), &given)?;
    let verify = |options: &[(&str, &Path)]| {
        let mut arguments = ["audit", "verify"].map(OsString::from).to_vec();
        arguments.push(workspace.root().join(LOG).into());
        for (name, value) in options {
            arguments.extend([OsString::from(name), OsString::from(value)]);
        }
        arguments
    };
    let finding = verify(&[("--state-dir", &workspace.state_dir())]);
    let no_state = workspace.path_beside("no-state");
    let finding_none = verify(&[("--state-dir", &no_state), ("--checkpoint", &given)]);
    let candor = bench.candor;
    let mut own = || Ok(millis(timed(candor, &finding)?.0));
    let mut other = || Ok(millis(timed(candor, &finding_none)?.0));
    bench.ratio(&VERIFY, 1, [&mut own, &mut other])
}
