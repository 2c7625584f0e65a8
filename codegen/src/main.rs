//! Writes the files that are generated from the code, or checks that the committed ones are up to
//! date: schemas, registries, pages of the documentation.
//!
//! `candor-codegen DIR` writes below DIR, the root of the repository; `candor-codegen DIR --check` only
//! compares. `cargo xtask codegen` runs it.
#![expect(clippy::print_stderr, reason = "a command that talks to a developer")]

mod cli_page;
mod error_pages;
mod github_reference;
mod limits;
mod lock;
mod registry_files;
#[cfg(test)]
mod tests;

use lock::{LOCK_PATH, lock_conflicts};
use registry_files::registry_files;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

type Error = Box<dyn std::error::Error>;

/// The directory that contains generated pages and nothing else.
const ERROR_PAGES: &str = "docs/errors";

/// A file that is generated.
struct GeneratedFile {
    /// The path in the repository.
    path: String,
    content: String,
}

impl GeneratedFile {
    fn new(path: impl Into<String>, content: String) -> Self {
        GeneratedFile {
            path: path.into(),
            content,
        }
    }
}

fn main() -> ExitCode {
    let (flags, roots): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|arg| arg == "--check");
    let [root] = roots.as_slice() else {
        eprintln!("usage: candor-codegen DIR [--check]");
        return ExitCode::from(2);
    };
    let root = Path::new(root);
    let problems = if flags.is_empty() {
        write(root)
    } else {
        check(root)
    };
    match problems {
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

/// Writes every file. Writes nothing and returns the conflicts if a locked row would change.
fn write(root: &Path) -> Result<Vec<String>, Error> {
    let conflicts = committed_lock_conflicts(root)?;
    if !conflicts.is_empty() {
        return Ok(conflicts);
    }
    for file in generated_files(root)? {
        let path = root.join(&file.path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, file.content)?;
    }
    Ok(Vec::new())
}

/// Compares every file, and returns one sentence for each problem.
fn check(root: &Path) -> Result<Vec<String>, Error> {
    let mut problems = committed_lock_conflicts(root)?;
    let files = generated_files(root)?;
    for file in &files {
        if fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.content) {
            problems.push(format!("{} is not up to date.", file.path));
        }
    }
    problems.extend(
        left_over_pages(root, &files)?
            .iter()
            .map(|path| format!("{path} is not generated any more.")),
    );
    Ok(problems)
}

/// Returns every generated file. The root is read for pages that are only partly generated.
fn generated_files(root: &Path) -> Result<Vec<GeneratedFile>, Error> {
    let mut files = registry_files();
    files.extend([
        GeneratedFile::new("docs/limits.md", limits::page()),
        GeneratedFile::new("docs/cli.md", cli_page::page()),
        GeneratedFile::new(
            "docs/adapter-protocol.openapi.json",
            candor_orders::http::openapi_text(),
        ),
        GeneratedFile::new("docs/github.md", github_reference::page(root)?),
        GeneratedFile::new(
            "schemas/workspace-audit-line.schema.json",
            pretty_json(&candor_workspace::line_schema()),
        ),
        GeneratedFile::new(
            "schemas/workspace-audit-line-2.schema.json",
            pretty_json(&candor_workspace::line_schema_v2()),
        ),
    ]);
    Ok(files)
}

/// Compares the registries with the lock in the repository, if there is one.
fn committed_lock_conflicts(root: &Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(root.join(LOCK_PATH)) {
        Ok(committed) => Ok(lock_conflicts(&committed)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the files among the generated pages that are not generated.
fn left_over_pages(root: &Path, files: &[GeneratedFile]) -> io::Result<Vec<String>> {
    let generated: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut left_over = BTreeSet::new();
    for entry in fs::read_dir(root.join(ERROR_PAGES))? {
        let path = format!("{ERROR_PAGES}/{}", entry?.file_name().to_string_lossy());
        if !generated.contains(path.as_str()) {
            left_over.insert(path);
        }
    }
    Ok(left_over.into_iter().collect())
}

/// Returns JSON with two spaces of indentation and a newline at the end.
fn pretty_json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
