//! Builds and starts the playground, the server under test, on a free port.

use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use crate::test::rust::features;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

const PACKAGE: &str = "candor";
const COMMAND: [&str; 5] = ["playground", "--http", "--port", "0", "--conformance"];
const START_LIMIT: Duration = Duration::from_secs(30);

/// A running server, killed on drop.
#[derive(Debug)]
pub(crate) struct PlaygroundProcess {
    child: Child,
    pub(crate) url: String,
}

impl PlaygroundProcess {
    pub(crate) fn build(repo: &Repo) -> Result<PathBuf, Problem> {
        // With the profile and the features of the tests: nothing is compiled a second time.
        let arguments = ["build", "--workspace", "--bin", PACKAGE];
        let program = repo.cargo(arguments).args(features(&repo.features()));
        program.run()?;
        Ok(repo.target.join("debug").join(PACKAGE))
    }

    pub(crate) fn start(program: &Path, log: &Path) -> Result<PlaygroundProcess, Problem> {
        PlaygroundProcess::started(Command::new(program).args(COMMAND), log, START_LIMIT)
    }

    fn started(
        command: &mut Command,
        log: &Path,
        limit: Duration,
    ) -> Result<PlaygroundProcess, Problem> {
        let log_file = File::create(log).context(|| format!("cannot write {log:?}"))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context(|| format!("cannot start {:?}", command.get_program()))?;
        let stderr = child.stderr.take();
        // From here on the child ends when this value is dropped.
        let mut playground = PlaygroundProcess {
            child,
            url: String::new(),
        };
        let (send, urls) = mpsc::channel();
        if let Some(stderr) = stderr {
            thread::spawn(move || drain(BufReader::new(stderr), log_file, &send));
        }
        playground.url = urls.recv_timeout(limit).map_err(|why| no_url(why, log))?;
        Ok(playground)
    }
}

impl Drop for PlaygroundProcess {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

fn no_url(why: RecvTimeoutError, log: &Path) -> Problem {
    let message = match why {
        RecvTimeoutError::Timeout => "the playground did not print its address",
        RecvTimeoutError::Disconnected => "the playground ended before it printed its address",
    };
    let printed = std::fs::read_to_string(log).unwrap_or_default();
    Problem::new(format!("{message}\n{}", printed.trim_end())).hint(format!(
        "`{PACKAGE} {}` prints a line with its URL on stderr",
        COMMAND.join(" ")
    ))
}

/// Copies all lines to the log and reports the first URL. Reads to the end, so that the pipe never fills up.
fn drain(stderr: impl BufRead, mut log: impl Write, urls: &mpsc::Sender<String>) {
    let mut reported = false;
    for line in stderr.lines().map_while(Result::ok) {
        let _log_is_a_courtesy = writeln!(log, "{line}");
        if let (false, Some(url)) = (reported, url_in(&line)) {
            reported = true;
            let _nobody_waits = urls.send(url.to_owned());
        }
    }
}

/// Returns the URL in a line such as `playground listening on http://127.0.0.1:40123/mcp`.
fn url_in(line: &str) -> Option<&str> {
    let start = line.find("http://")?;
    line.get(start..)?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str, limit: Duration) -> Result<PlaygroundProcess, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        PlaygroundProcess::started(&mut command, &folder.path().join("log"), limit)
    }

    #[test]
    fn url_is_found_in_the_line() {
        let line = "playground listening on http://127.0.0.1:40123/mcp (Ctrl-C ends it)";
        assert_eq!(url_in(line), Some("http://127.0.0.1:40123/mcp"));
        assert_eq!(url_in("starting"), None);
    }

    #[test]
    fn server_url_is_read_and_server_is_killed_on_drop() {
        let script = "echo starting >&2; echo on http://127.0.0.1:1/mcp >&2; exec sleep 600";
        let playground = start(script, Duration::from_secs(20)).unwrap();
        assert_eq!(playground.url, "http://127.0.0.1:1/mcp");
        let process = PathBuf::from(format!("/proc/{}", playground.child.id()));
        assert!(process.exists());
        drop(playground);
        assert!(!process.exists());
    }

    #[test]
    fn server_that_exits_early_is_reported_with_its_output() {
        let problem = start("echo port taken >&2; exit 1", Duration::from_secs(20)).unwrap_err();
        assert!(problem.message().ends_with("\nport taken"), "{problem}");
        assert!(problem.message().contains("ended before"), "{problem}");
    }

    #[test]
    fn silent_server_times_out() {
        let problem = start("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(
            problem.message().contains("did not print its address"),
            "{problem}"
        );
    }
}
