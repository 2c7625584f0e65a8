//! Files that commands replace as a whole.

use candor_disk::{Disk, DiskFile, Open};
use std::io;
use std::path::Path;

/// Writes a file of a directory: it has the new text or stays as it was.
pub(in crate::cli) fn write_file(
    directory: &impl Disk,
    file: &Path,
    text: &str,
    mode: u32,
    replace: bool,
) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default();
    let temporary = format!(".{}.{}.tmp", name.display(), std::process::id());
    let opened = directory.open(&temporary, Open::CreateNew(mode))?;
    let written = opened
        .write_all_at(text.as_bytes(), 0)
        .and_then(|()| opened.sync_all())
        .and_then(|()| match replace {
            true => directory.rename(&temporary, name),
            false => directory.rename_new(&temporary, name),
        });
    if written.is_err() {
        // Best effort: nothing reads a temporary file.
        directory.unlink(&temporary).ok();
    }
    written?;
    directory.sync_dir("")
}
