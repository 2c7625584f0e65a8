//! The program `context`: replaces itself by `candor`, which answers as `context` under that name.
//!
//! A program of its own, and not a second binary of `candor`, because linking that twice doubles the
//! build and the size of what is shipped.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The name that `candor` is started under: it then reads its arguments as `context` does.
const NAME: &str = "context";

fn main() -> ExitCode {
    let mut failed = None;
    for candor in candidates() {
        // Returns only if the program could not be started.
        let error = Command::new(&candor)
            .arg0(NAME)
            .args(std::env::args_os().skip(1))
            .exec();
        if error.kind() != io::ErrorKind::NotFound {
            failed = Some((candor, error));
            break;
        }
    }
    let message = match failed {
        Some((candor, error)) => format!("cannot start `{}`: {error}", candor.display()),
        None => {
            String::from("the program `candor`, which does the work of `context`, is not found")
        }
    };
    // If stderr is closed, nobody reads the message.
    let _ = writeln!(
        io::stderr(),
        "error: {message}\nhint: put `candor` into the directory of `context` or into a directory of PATH"
    );
    ExitCode::FAILURE
}

/// Returns the paths at which `candor` may be: beside this program, then in each directory of PATH.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join("candor")));
    #[allow(
        clippy::disallowed_methods,
        reason = "this is a program, and PATH is where programs are found"
    )]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let in_path = directories.into_iter().map(|one| one.join("candor"));
    beside.into_iter().chain(in_path)
}
