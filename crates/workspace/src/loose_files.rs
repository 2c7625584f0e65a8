//! Finds files of the owner that other users could change or read.

use crate::shell_word::quoted;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file or directory that other users could change or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseFile {
    path: PathBuf,
    mode: u32,
    problem: LooseProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LooseProblem {
    /// It belongs to this user.
    Owner { uid: u32, own: u32 },
    /// Its group or everybody can write it.
    Writable,
    /// Its group or everybody can read it, and it is a secret.
    Readable,
}

impl fmt::Display for LooseFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, mode) = (self.path.display(), self.mode);
        let word = quoted(&path.to_string());
        match self.problem {
            LooseProblem::Owner { uid, own } => write!(
                out,
                "{path} (mode {mode:04o}) belongs to the user {uid}, who could change it; to correct that, run: chown {own} {word}"
            ),
            LooseProblem::Writable => write!(
                out,
                "{path} has the mode {mode:04o}, so other users could change it; to correct that, run: chmod go-w {word}"
            ),
            LooseProblem::Readable => write!(
                out,
                "{path} has the mode {mode:04o}, so other users could read it; to correct that, run: chmod go= {word}"
            ),
        }
    }
}

/// Returns what is loose about a file, if it exists and something is. `is_secret` is true if nobody
/// else may read it.
pub fn find_loose(path: &Path, is_secret: bool) -> io::Result<Option<LooseFile>> {
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let mode = metadata.mode() & 0o7777;
    let (uid, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let problem = if uid != own && uid != 0 {
        LooseProblem::Owner { uid, own }
    } else if mode & 0o022 != 0 {
        LooseProblem::Writable
    } else if is_secret && mode & 0o077 != 0 {
        LooseProblem::Readable
    } else {
        return Ok(None);
    };
    Ok(Some(LooseFile {
        path: path.to_owned(),
        mode,
        problem,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn modes_of_other_users_are_loose() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it's");
        assert_eq!(find_loose(&file, true).unwrap(), None);
        fs::write(&file, "").unwrap();
        let found = |mode: u32, is_secret: bool| {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let loose = find_loose(&file, is_secret).unwrap()?;
            Some(
                loose
                    .to_string()
                    .replace(dir.path().to_str().unwrap(), "DIR"),
            )
        };
        assert_eq!(found(0o600, true), None);
        assert_eq!(found(0o644, false), None);
        assert_eq!(
            found(0o664, false).unwrap(),
            r"DIR/it's has the mode 0664, so other users could change it; to correct that, run: chmod go-w 'DIR/it'\''s'"
        );
        assert_eq!(
            found(0o640, true).unwrap(),
            r"DIR/it's has the mode 0640, so other users could read it; to correct that, run: chmod go= 'DIR/it'\''s'"
        );
    }
}
