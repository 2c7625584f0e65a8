//! The GitHub tools on a local forge: reads beside a bare handler that answers the same bytes, histories,
//! merges and imports beside git as a process.

pub(crate) mod fixture;
mod history;
mod importing;
pub(crate) mod large_tree;
mod merging;
pub(crate) mod reading;

use crate::arguments::BenchOptions;
use crate::figures::SubjectFigures;
use crate::process::BenchProgram;
use crate::report::terminal::ProgressLine;
use crate::tool_client::ToolClient;
use fixture::LocalRepositories;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Returns the arguments that serve the tools over HTTP on the forge in this directory.
pub(crate) fn serving(data: &Path) -> Vec<OsString> {
    let fixed = [
        "github",
        "serve",
        "--http",
        "--port",
        "0",
        "--max-entries",
        "100000",
        "--data-dir",
    ];
    with_data(&fixed, data)
}

fn with_data(fixed: &[&str], data: &Path) -> Vec<OsString> {
    let fixed = fixed.iter().map(OsString::from);
    fixed.chain([OsString::from(data)]).collect()
}

/// The inputs of every measurement beside git.
struct LocalForgeBench<'a> {
    candor: &'a Path,
    repositories: LocalRepositories,
    rounds: u32,
    findings: &'a mut SubjectFigures,
    progress: &'a mut ProgressLine,
}

impl LocalForgeBench<'_> {
    /// Starts a server on stdio that may write.
    fn serve(&self) -> io::Result<ToolClient> {
        let fixed = [
            "github",
            "serve",
            "--allow-writes",
            "--writes-per-minute",
            "100000",
            "--data-dir",
        ];
        let program = BenchProgram {
            name: "candor",
            file: self.candor.to_owned(),
            arguments: with_data(&fixed, &self.repositories.data()),
            bare: false,
        };
        ToolClient::connect(program.start_silently()?)
    }
}

/// Measures the local forge beside git.
pub(crate) fn measure(
    candor: &Path,
    options: &BenchOptions,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    progress.say("local forge: making repositories");
    let mut bench = LocalForgeBench {
        candor,
        repositories: LocalRepositories::create(candor)?,
        rounds: options.rounds(),
        findings,
        progress,
    };
    importing::measure(&mut bench)?;
    history::measure(&mut bench)?;
    merging::measure(&mut bench)
}
