//! Runs other programs. Each command line is printed first.

use crate::problem::{Problem, ProblemContext};
use crate::table;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A program with its arguments, and the command line that a person would type.
pub(crate) struct Program {
    command: Command,
    line: String,
}

impl Program {
    pub(crate) fn new(program: impl AsRef<OsStr>, directory: &Path) -> Program {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.current_dir(directory);
        let name = Path::new(program).file_name().unwrap_or(program);
        Program {
            command,
            line: name.to_string_lossy().into_owned(),
        }
    }

    pub(crate) fn args<I>(mut self, args: I) -> Program
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        for arg in args {
            self.line.push(' ');
            self.line.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.command.env(name, value);
        self
    }

    /// Runs it with its output on our terminal. Fails unless it succeeds.
    pub(crate) fn run(mut self) -> Result<(), Problem> {
        println!("{}", table::dim(&format!("$ {}", self.line)));
        let status = self
            .command
            .stdin(Stdio::null())
            .status()
            .context(|| format!("cannot start `{}`", self.line))?;
        if status.success() {
            Ok(())
        } else {
            Err(Problem::new(format!("`{}` failed ({status})", self.line)))
        }
    }

    /// Runs it with its output in a file. Returns true if it succeeded.
    pub(crate) fn logged(mut self, log: &Path) -> Result<bool, Problem> {
        println!("{}", table::dim(&format!("$ {}", self.line)));
        let create = |file: &Path| File::create(file).context(|| format!("cannot write {log:?}"));
        let out = create(log)?;
        let err = out
            .try_clone()
            .context(|| format!("cannot write {log:?}"))?;
        self.command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .status()
            .map(|status| status.success())
            .context(|| format!("cannot start `{}`", self.line))
    }

    /// Runs it quietly and returns its stdout. An error contains its stderr.
    pub(crate) fn captured(mut self) -> Result<String, Problem> {
        let output = self
            .command
            .stdin(Stdio::null())
            .output()
            .context(|| format!("cannot start `{}`", self.line))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(Problem::new(format!(
            "`{}` failed ({})\n{}",
            self.line,
            output.status,
            complaint.trim_end()
        )))
    }

    /// Writes `input`, closes stdin, and returns its output, if it ends within a limit.
    pub(crate) fn exchange(mut self, input: &str, limit: Duration) -> Result<String, Problem> {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context(|| format!("cannot start `{}`", self.line))?;
        let printed = child.stdout.take().map(read_to_end_aside);
        if let Some(mut stdin) = child.stdin.take() {
            // If the program closed its stdin early, the output shows the reason.
            let _closed_early = stdin.write_all(input.as_bytes());
        }
        let printed = printed.and_then(|printed| printed.recv_timeout(limit).ok());
        if printed.is_none() {
            let _already_gone = child.kill();
        }
        let status = child
            .wait()
            .context(|| format!("cannot wait for `{}`", self.line))?;
        match printed {
            Some(text) if status.success() => Ok(text),
            Some(_) => Err(Problem::new(format!("`{}` failed ({status})", self.line))),
            None => Err(Problem::new(format!(
                "`{}` did not end within {} s after the end of its input",
                self.line,
                limit.as_secs()
            ))),
        }
    }
}

fn read_to_end_aside(mut stdout: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (done, text) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if stdout.read_to_end(&mut bytes).is_ok() {
            let _nobody_waits = done.send(String::from_utf8_lossy(&bytes).into_owned());
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::new("sh", Path::new(".")).args(["-c", script])
    }

    #[test]
    fn command_line_can_be_pasted() {
        let program = Program::new("/opt/bin/cargo", Path::new(".")).args(["fmt", "--check"]);
        assert_eq!(program.line, "cargo fmt --check");
    }

    #[test]
    fn failing_program_is_reported_with_its_command_line() {
        let problem = shell("exit 3").run().unwrap_err();
        assert!(problem.message().contains("`sh -c exit 3` failed"));
    }

    #[test]
    fn exchange_returns_the_output() {
        let printed = shell("cat").exchange("one\ntwo\n", Duration::from_secs(20));
        assert_eq!(printed.as_deref(), Ok("one\ntwo\n"));
    }

    #[test]
    fn exchange_kills_a_program_that_does_not_exit() {
        let problem = shell("exec sleep 600")
            .exchange("", Duration::from_millis(50))
            .unwrap_err();
        assert!(
            problem.message().contains("did not end"),
            "{}",
            problem.message()
        );
    }

    #[test]
    fn stderr_is_part_of_the_problem() {
        assert_eq!(shell("echo yes").captured().as_deref(), Ok("yes\n"));
        let problem = shell("echo because >&2; exit 1").captured().unwrap_err();
        assert!(problem.message().ends_with("\nbecause"));
    }
}
