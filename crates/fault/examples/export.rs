//! Writes what is generated from the registries, or checks that what is there is up to date.
//!
//! `cargo run -p candor-fault --example export -- DIR` writes below DIR, the root of the repository;
//! `cargo run -p candor-fault --example export -- DIR --check` only compares.
#![expect(clippy::print_stderr, reason = "a command talks to a person")]

use candor_fault::export::{self, LOCK_PATH};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

/// The directory that holds generated pages and nothing else.
const PAGES: &str = "docs/errors";

fn main() -> ExitCode {
    let (flags, roots): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|arg| arg == "--check");
    let [root] = roots.as_slice() else {
        eprintln!("usage: export DIR [--check]");
        return ExitCode::from(2);
    };
    let root = Path::new(root);
    let done = if flags.is_empty() {
        write(root)
    } else {
        check(root)
    };
    match done {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes every file, unless a locked row would change.
fn write(root: &Path) -> io::Result<Vec<String>> {
    let conflicts = conflicts(root)?;
    if !conflicts.is_empty() {
        return Ok(conflicts);
    }
    for (path, content) in export::files() {
        let file = root.join(&path);
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&file, content)?;
    }
    Ok(Vec::new())
}

/// What is not as it would be written.
fn check(root: &Path) -> io::Result<Vec<String>> {
    let mut problems = conflicts(root)?;
    for (path, content) in export::files() {
        if fs::read_to_string(root.join(&path)).ok() != Some(content) {
            problems.push(format!("{path} differs from what the registries say."));
        }
    }
    let strangers = strangers(root)?;
    problems.extend(
        strangers
            .iter()
            .map(|path| format!("{path} is generated no more.")),
    );
    Ok(problems)
}

/// What the registries break of the lock that is there.
fn conflicts(root: &Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(root.join(LOCK_PATH)) {
        Ok(committed) => Ok(export::lock_conflicts(&committed)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Files among the generated pages that nothing generates.
fn strangers(root: &Path) -> io::Result<Vec<String>> {
    let known: BTreeSet<String> = export::files().into_iter().map(|(path, _)| path).collect();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root.join(PAGES))? {
        let name = entry?.file_name();
        found.insert(format!("{PAGES}/{}", name.to_string_lossy()));
    }
    Ok(found.difference(&known).cloned().collect())
}
