//! `read_file` on a server that limits the pace of calls, compared with one that does not.

use super::fixture::{BenchWorkspace, read_request};
use super::{RatioBar, WorkspaceBench};
use crate::record::source_text;
use std::io;

const READ: RatioBar = RatioBar {
    what: "read_file with a pace limit: times as long as with --max-rate 0",
    limit: 1.05,
    sides: ["read_file with a pace limit", "read_file with --max-rate 0"],
};

/// The limits, in calls a second: one that sequential calls never reach, and none.
const LIMITS: [&str; 2] = ["1000000", "0"];

/// The calls of one turn.
const CALLS: usize = 25;

const FILE: &str = "src/lib.rs";

pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    let workspaces = [BenchWorkspace::create()?, BenchWorkspace::create()?];
    for workspace in &workspaces {
        workspace.write(FILE, source_text(0))?;
    }
    let mut paced = workspaces[0].serve(bench.candor, &["--max-rate", LIMITS[0]])?;
    let mut unpaced = workspaces[1].serve(bench.candor, &["--max-rate", LIMITS[1]])?;
    let request = read_request(FILE);
    let mut own = || paced.time(&request);
    let mut other = || unpaced.time(&request);
    bench.ratio(&READ, CALLS, [&mut own, &mut other])
}
