//! Paths of a disk: plain names below its root.

use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The longest name of a file on Linux, in bytes.
const NAME_MAX: usize = 255;

/// Returns the names along a path; none for the root.
///
/// `..`, an absolute path and NUL are EINVAL; a name that is too long is ENAMETOOLONG.
pub fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) if name.as_bytes().contains(&0) => {
                return Err(Errno::INVAL.into());
            }
            Component::Normal(name) if name.len() > NAME_MAX => {
                return Err(Errno::NAMETOOLONG.into());
            }
            Component::Normal(name) => names.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Errno::INVAL.into());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_accepted() {
        let said = |path: &str| {
            let names = names(Path::new(path)).map_err(|e| e.raw_os_error());
            names.map(|names| names.join(OsStr::new("|")).into_string().unwrap())
        };
        assert_eq!(said("a/b.c/..d").unwrap(), "a|b.c|..d");
        assert_eq!(said("./a//b/").unwrap(), "a|b");
        assert_eq!(said("").unwrap(), "");
        assert_eq!(said(".").unwrap(), "");
        for bad in ["/a", "..", "a/../b", "a\0b"] {
            assert_eq!(said(bad), Err(Some(22)), "{bad:?}");
        }
        assert_eq!(said(&"x".repeat(256)), Err(Some(36)));
    }
}
