//! A program under another name: some programs read their arguments by the name that they are called.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns a hard link to `program` that is called `name`, in a directory beside it.
pub fn renamed(program: impl AsRef<Path>, name: &str) -> PathBuf {
    let program = program.as_ref();
    let directory = program.with_file_name("renamed");
    fs::create_dir_all(&directory).expect("a directory beside the program");
    let link = directory.join(name);
    let inode = |path: &Path| fs::metadata(path).ok().map(|one| one.ino());
    if inode(&link) != inode(program) {
        // Other tests do the same at the same time: the link is replaced in one step.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let draft = directory.join(format!("{name}-{process}-{thread:?}"));
        fs::hard_link(program, &draft).expect("a link to the program");
        fs::rename(&draft, &link).expect("a link to the program");
        // If another test was faster, both names are links to one file, and renaming does nothing.
        let _ = fs::remove_file(&draft);
    }
    link
}
