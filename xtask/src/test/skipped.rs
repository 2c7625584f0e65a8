//! Tests that could not run, each with its reason.
//!
//! A test that lacks something it needs (a PostgreSQL server, a kernel feature) writes a line `test<TAB>reason` into
//! a separate file in the folder that `CANDOR_SKIPPED` names. The summary of a run lists those lines.

use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The variable that names the folder.
pub(crate) const FOLDER: &str = "CANDOR_SKIPPED";

/// Empties and returns the folder for the skipped tests of one step.
pub(crate) fn fresh(repo: &Repo, step: &str) -> Result<PathBuf, Problem> {
    let folder = repo.target.join("skipped").join(step);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context(|| format!("cannot empty {folder:?}"));
        }
        _ => {}
    }
    fs::create_dir_all(&folder).context(|| format!("cannot create {folder:?}"))?;
    Ok(folder)
}

/// Returns the tests that were skipped, sorted, as `test: reason`.
pub(crate) fn read(folder: &Path) -> Result<Vec<String>, Problem> {
    let mut tests = Vec::new();
    let files = fs::read_dir(folder).context(|| format!("cannot read {folder:?}"))?;
    for file in files {
        let path = file.context(|| format!("cannot read {folder:?}"))?.path();
        let text = fs::read_to_string(&path).context(|| format!("cannot read {path:?}"))?;
        let lines = text.lines().filter(|line| !line.is_empty());
        tests.extend(lines.map(|line| line.replacen('\t', ": ", 1)));
    }
    tests.sort();
    tests.dedup();
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_files_are_sorted_and_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("1"), "b\tno PostgreSQL\n").unwrap();
        fs::write(
            folder.path().join("2"),
            "a\tkernel too old\nb\tno PostgreSQL\n",
        )
        .unwrap();
        let tests = read(folder.path()).unwrap();
        assert_eq!(tests, ["a: kernel too old", "b: no PostgreSQL"]);
    }
}
