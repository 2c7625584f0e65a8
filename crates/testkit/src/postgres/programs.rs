//! Finds the programs of PostgreSQL: on the path, or in the folders of packages.
//!
//! `xtask` includes this file, so that it checks for the same programs that the tests use.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of packages with one folder for each major version: `(parent, before the version,
/// after it)`.
const VERSIONED: [(&str, &str, &str); 2] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
];

/// The folder of programs that the owner of the machine has built.
const LOCAL: &str = "/usr/local/bin";

/// Returns the folder that contains both programs of a server.
pub(crate) fn folder() -> Option<PathBuf> {
    let versioned = VERSIONED
        .iter()
        .flat_map(|(parent, before, after)| versions(Path::new(parent), before, after));
    path()
        .into_iter()
        .chain(versioned)
        .chain([PathBuf::from(LOCAL)])
        .find(|folder| {
            ["initdb", "postgres"]
                .iter()
                .all(|name| folder.join(name).is_file())
        })
}

/// Returns the folders of the variable `PATH`.
pub(crate) fn path() -> Vec<PathBuf> {
    // Only the environment names the folders of programs.
    #[allow(clippy::disallowed_methods)]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// Returns `parent/beforeVERSION/after` for every version, the highest first.
fn versions(parent: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let mut found: Vec<(Vec<u32>, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let numbers = name.strip_prefix(before)?.split('.').map(str::parse);
            let version = numbers.collect::<Result<_, _>>().ok()?;
            Some((version, entry.path().join(after)))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_as_numbers_highest_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "pgsql-9.6",
            "pgsql-17",
            "pgsql-10",
            "pgsql-next",
            "other-18",
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = versions(folder.path(), "pgsql-", "bin");
        let wanted = ["pgsql-17/bin", "pgsql-10/bin", "pgsql-9.6/bin"];
        assert_eq!(found, wanted.map(|name| folder.path().join(name)));
    }

    #[test]
    fn missing_folder_has_no_versions() {
        assert!(versions(Path::new("/nonexistent"), "", "bin").is_empty());
    }
}
