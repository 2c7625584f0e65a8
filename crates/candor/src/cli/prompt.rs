//! Questions to the person at the terminal, and passphrases.

use crate::cli::CommandError;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

/// The number of bytes of an answer that are read.
const MAX_ANSWER: u64 = 256;

/// The longest passphrase, in bytes.
const MAX_PASSPHRASE: u64 = 4096;

/// Returns true if there is a person to ask.
pub(in crate::cli) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question. Every answer but yes counts as no.
pub(in crate::cli) fn confirm(question: &str) -> Result<bool, CommandError> {
    let mut err = io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().take(MAX_ANSWER).read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}

/// Asks for a secret, which is not shown.
pub(in crate::cli) fn secret(question: &str) -> Result<String, CommandError> {
    let asked = || {
        // Before the question: text that is typed at once must not be shown either.
        let _silent = EchoOff::new()?;
        let mut err = io::stderr().lock();
        write!(err, "{question}: ")?;
        err.flush()?;
        let mut answer = String::new();
        let stdin = io::stdin().lock();
        stdin.take(MAX_PASSPHRASE + 1).read_line(&mut answer)?;
        Ok(answer.trim_end_matches(['\r', '\n']).to_owned())
    };
    asked().map_err(|error: io::Error| {
        CommandError::new(format!("cannot read the passphrase: {error}")).with_hint(
            "without a terminal, name a file that contains it with --passphrase-file FILE",
        )
    })
}

/// Turns the echo of the terminal off until it is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn new() -> io::Result<EchoOff> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(EchoOff(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // A terminal that is closed shows nothing any more.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Reads a passphrase from a file, without the line break at its end.
pub(in crate::cli) fn read_passphrase(file: &Path) -> Result<String, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| {
        let wrong = format!("cannot read the passphrase in {}: {why}", file.display());
        CommandError::new(wrong)
    };
    let opened = std::fs::File::open(file).map_err(|error| wrong(&error))?;
    let mut text = String::new();
    let read = opened.take(MAX_PASSPHRASE + 1).read_to_string(&mut text);
    let read = read.map_err(|error| wrong(&error))?;
    if read as u64 > MAX_PASSPHRASE {
        return Err(wrong(&format!("it has more than {MAX_PASSPHRASE} bytes")));
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
