//! Changes sources one after another.

use super::copy;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Sources from all over a tree, in the order in which they are changed.
#[derive(Debug)]
pub(crate) struct SourceChanges {
    sources: Vec<PathBuf>,
    next: usize,
}

impl SourceChanges {
    /// Chooses `many` sources; after that the first one follows again.
    pub(crate) fn new(tree: &Path, many: usize) -> io::Result<Self> {
        let all = copy::files(tree)?;
        let step = (all.len() / many.max(1)).max(1);
        Ok(SourceChanges {
            sources: all.into_iter().step_by(step).collect(),
            next: 0,
        })
    }

    /// Changes the next source.
    pub(crate) fn change(&mut self) -> io::Result<()> {
        let source = &self.sources[self.next % self.sources.len()];
        self.next += 1;
        let mut source = OpenOptions::new().append(true).open(source)?;
        source.write_all(b"\nOne more line.\n")
    }
}
