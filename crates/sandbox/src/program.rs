//! Finds the program of a command as the system does, so that a missing program differs from one that
//! exits with 127.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the executable file of this name: below the working directory if the name has a slash, else in `PATH`,
/// whose relative entries are skipped.
pub(crate) fn find(name: &str, cwd: &Path, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|file| is_executable(file));
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_executable_files_are_found() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let plain = file("bin/plain", 0o644);
        let tool = file("bin/tool", 0o755);
        let later = file("later/plain", 0o700);
        fs::create_dir(root.path().join("bin/folder")).unwrap();
        let path = format!(
            "bin::{}:{}",
            tool.parent().unwrap().display(),
            later.parent().unwrap().display()
        );

        assert_eq!(
            find("tool", root.path(), OsStr::new(&path)),
            Some(tool.clone())
        );
        assert_eq!(find("plain", root.path(), OsStr::new(&path)), Some(later));
        assert_eq!(find("folder", root.path(), OsStr::new(&path)), None);
        assert_eq!(find("tool", root.path(), OsStr::new("bin:")), None);
        assert_eq!(find("", root.path(), OsStr::new(&path)), None);
        assert_eq!(find("bin/tool", root.path(), OsStr::new("")), Some(tool));
        assert_eq!(
            find(plain.to_str().unwrap(), root.path(), OsStr::new(&path)),
            None
        );
    }
}
