//! Reads the description, the default branch and the README of a repository.
//!
//! Stars are always 0 and the language is unknown.

use super::repository_root::OpenRepository;
use super::url;
use crate::{Failure, ItemKind, Repository, Revision};
use std::fs::{self, File};
use std::io::Read as _;

/// The description of a new git repository.
const NO_DESCRIPTION: &str =
    "Unnamed repository; edit this file 'description' to name the repository.";

/// The maximum number of bytes of a description.
const DESCRIPTION_BYTES: u64 = 4096;

/// Names of READMEs in the order of preference.
const READMES: [&str; 4] = ["README.md", "README", "README.rst", "README.txt"];

/// The maximum size of a README whose beginning is read.
const MAX_README_BYTES: u64 = 64 << 20;

impl OpenRepository {
    pub(super) fn summary(&self) -> Result<Repository, Failure> {
        Ok(Repository {
            name: self.location.name.clone(),
            description: self.description(),
            default_branch: self.default_branch()?,
            stars: 0,
            language: None,
            url: url::repository(&self.location.name),
        })
    }

    /// Returns `None` if the description is absent or cannot be read.
    pub(super) fn description(&self) -> Option<String> {
        let path = self.location.path.join("description");
        // Opening a named pipe would block.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let file = File::open(path).ok()?;
        let mut bytes = Vec::new();
        let mut file = file.take(DESCRIPTION_BYTES);
        file.read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty() && text != NO_DESCRIPTION).then_some(text)
    }

    /// Reads the README at the root of the default branch: a file, not a link, in any case.
    pub(super) fn readme(&self, most: u64) -> Result<Option<(Vec<u8>, bool)>, Failure> {
        let commit = match self.commit(&Revision::Default) {
            Ok((commit, _)) => commit,
            Err(Failure::Empty | Failure::Missing(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let odb = self.odb()?;
        let root = self.entries(&odb, commit.tree_id())?;
        let found = READMES.iter().find_map(|readme| {
            let is_it = |name: &[u8]| name.eq_ignore_ascii_case(readme.as_bytes());
            let mut files = root.iter().filter(|entry| entry.kind() == ItemKind::File);
            files.find(|entry| is_it(entry.name))
        });
        let Some(entry) = found else { return Ok(None) };
        let name = entry.shown_name();
        let mut bytes = self.blob(&odb, entry.id(), &name, MAX_README_BYTES.max(most))?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let cut = bytes.len() > most;
        bytes.truncate(most);
        Ok(Some((bytes, cut)))
    }
}
