//! The workspace server as a process on stdio: calls beside many plans, the pace of calls, the verification
//! of its log, commands in the sandbox, and memory.

mod building;
mod commands;
mod fixture;
mod governed;
mod pace;
mod plans;
mod turns;
mod verifying;

use crate::arguments::BenchOptions;
use crate::figures::{SubjectFigures, ratios};
use crate::report::terminal::ProgressLine;
use crate::statistics::median;
use candor_sandbox::{Helper, Level, probe};
use std::io;
use std::path::Path;
use std::time::Duration;
use turns::CallSide;

/// The inputs of every measurement of the server.
struct WorkspaceBench<'a> {
    candor: &'a Path,
    /// This program, which contains the bare ones.
    own: &'a Path,
    quick: bool,
    rounds: u32,
    round: Duration,
    findings: &'a mut SubjectFigures,
    progress: &'a mut ProgressLine,
}

/// A promised limit on the time of one side, as a multiple of that of another side.
struct RatioBar {
    what: &'static str,
    limit: f64,
    /// The names of both sides in the table of figures.
    sides: [&'static str; 2],
}

/// Measures the server of one program. The other program contains the bare ones.
pub(crate) fn measure(
    (candor, own): (&Path, &Path),
    options: &BenchOptions,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let candor = candor.canonicalize()?;
    let mut bench = WorkspaceBench {
        candor: &candor,
        own,
        quick: options.quick,
        rounds: options.rounds(),
        round: options.round(),
        findings,
        progress,
    };
    plans::measure(&mut bench)?;
    pace::measure(&mut bench)?;
    verifying::measure(&mut bench)?;
    match find_missing(&candor) {
        None => {
            commands::measure(&mut bench)?;
            governed::measure(&mut bench)?;
            building::measure(&mut bench)
        }
        Some(reason) => {
            commands::unmeasured(bench.findings, &reason);
            governed::unmeasured(bench.findings, &reason);
            building::unmeasured(bench.findings, &reason);
            Ok(())
        }
    }
}

/// Returns the reason why commands cannot have the whole sandbox here, or `None` if they can.
fn find_missing(candor: &Path) -> Option<String> {
    let offer = probe(&Helper {
        program: candor.to_owned(),
        first_args: vec![String::from("internal-sandbox")],
    });
    let missing: Vec<_> = offer.missing.iter().map(ToString::to_string).collect();
    let reason = || {
        let missing = missing.join("; ");
        format!("the sandbox is only {}; {missing}", offer.level)
    };
    (offer.level < Level::Full).then(reason)
}

impl WorkspaceBench<'_> {
    fn say(&mut self, what: &str) {
        self.progress.say(&format!("workspace: {what}"));
    }

    /// Compares two sides in turns of `calls` calls. Adds the bar and the figures of both.
    fn ratio(&mut self, bar: &RatioBar, calls: usize, sides: [CallSide<'_>; 2]) -> io::Result<()> {
        let times = self.alternate(bar.what, calls, sides)?;
        self.add_ratio(bar, &times, None);
        Ok(())
    }

    /// Adds a bar and the figures of both sides. With a reason, the bar has no figure.
    fn add_ratio(&mut self, bar: &RatioBar, times: &[Vec<f64>; 2], reason: Option<&str>) {
        let found = ratios(&times[0], &times[1]);
        let found = match reason {
            Some(reason) => Err(reason),
            None => Ok(found.as_slice()),
        };
        self.findings.at_most(bar.what, bar.limit, "×", found);
        for (name, times) in bar.sides.into_iter().zip(times) {
            self.note_times(name, times);
        }
    }

    /// Adds the figure of times in milliseconds. Short ones are shown in microseconds.
    fn note_times(&mut self, what: &str, times: &[f64]) {
        if median(times.to_vec()) < 10.0 {
            let micros: Vec<_> = times.iter().map(|millis| millis * 1e3).collect();
            self.findings.note(what, "µs", &micros);
        } else {
            self.findings.note(what, "ms", times);
        }
    }
}
