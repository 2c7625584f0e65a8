//! Counts the `stat` calls of a command with strace.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// All variants of the call. The marked ones do not exist on every processor.
const VARIANTS: &str = "?stat,?lstat,?fstat,?newfstatat,?statx";

const NO_STRACE: &str = "no strace";

/// Returns the number of calls of a command and its threads, or the reason why they cannot be counted
/// here. The summary is written to a new file.
pub(crate) fn count(
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    summary: &Path,
) -> io::Result<Result<f64, &'static str>> {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-c", "-e", &format!("trace={VARIANTS}"), "-o"])
        .args([summary, program])
        .args(arguments)
        .stdout(Stdio::null());
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Err(NO_STRACE)),
        Err(error) => Err(error),
        Ok(output) if output.status.success() => Ok(Ok(calls(&std::fs::read_to_string(summary)?))),
        // Many containers forbid it.
        Ok(_) => Ok(Err("strace fails")),
    }
}

/// Returns the total of a summary: share, seconds, time of a call, calls, errors, name.
fn calls(summary: &str) -> f64 {
    let of_line = |line: &str| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let is_call = columns.last().is_some_and(|name| name.contains("stat"));
        let calls = columns.get(3).filter(|_| is_call);
        calls.and_then(|calls| calls.parse::<f64>().ok())
    };
    summary.lines().filter_map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_added_up() {
        let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.000900           1      2000         7 statx
 10.00    0.000100           1        12           fstat
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           0      2012         7 total
";
        assert_eq!(calls(summary), 2012.0);
    }
}
