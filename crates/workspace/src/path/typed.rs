//! A path as the caller typed it, checked name by name before anything is opened.
//!
//! `.` and repeated slashes are ignored. A slash at the end means a directory: with it, a file is
//! "not a directory", and a path that does not exist yet is a missing directory. Bytes are used as
//! they are: no Unicode normalisation, so that two spellings of one word stay two files as they are
//! on the disk, and control characters are permitted in names, since files may have them.

use super::error::{InvalidPath, PathError};
use super::root::Root;
use std::path::{Path, PathBuf};

/// The maximum length of a path: the system's PATH_MAX less its NUL.
pub const MAX_PATH_BYTES: usize = 4095;

/// The longest name that Linux file systems have.
pub const MAX_NAME_BYTES: usize = 255;

/// A path from the root, as it was typed: no `..`, nothing empty, every name of a possible length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedPath {
    path: PathBuf,
    directory: bool,
}

impl TypedPath {
    /// Reads the path of something in the root: relative, or absolute and in the root by its names.
    pub fn read(text: &str, root: &Root) -> Result<TypedPath, PathError> {
        match TypedPath::read_or_root(text, root)? {
            typed if typed.path.as_os_str().is_empty() => {
                Err(PathError::Invalid(InvalidPath::Root))
            }
            typed => Ok(typed),
        }
    }

    /// Parses a path like `read`, but accepts the root itself, typed as `.` or by its own path.
    pub fn read_or_root(text: &str, root: &Root) -> Result<TypedPath, PathError> {
        possible(text)?;
        let path = Path::new(text);
        let rest = match path.is_absolute() {
            true => root.strip(path).ok_or(PathError::Outside { typed: true })?,
            false => path,
        };
        Ok(TypedPath {
            // Collecting the components again drops `.` and repeated slashes.
            path: rest.components().filter(|part| is_name(*part)).collect(),
            directory: text.ends_with('/') || text.ends_with("/."),
        })
    }

    /// Returns the path of the root itself.
    pub fn root() -> TypedPath {
        TypedPath {
            path: PathBuf::new(),
            directory: true,
        }
    }

    /// Returns the typed names, relative to the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if only a directory is meant: the text ends with a slash.
    pub fn is_directory(&self) -> bool {
        self.directory
    }
}

fn is_name(part: std::path::Component<'_>) -> bool {
    matches!(part, std::path::Component::Normal(_))
}

fn possible(text: &str) -> Result<(), PathError> {
    let invalid = |reason| Err(PathError::Invalid(reason));
    if text.is_empty() {
        return invalid(InvalidPath::Empty);
    }
    if text.contains('\0') {
        return invalid(InvalidPath::Nul);
    }
    // Before the lengths, so that `..` is reported first.
    if text.split('/').any(|name| name == "..") {
        return Err(PathError::Traversal);
    }
    if text.len() > MAX_PATH_BYTES {
        return invalid(InvalidPath::PathTooLong);
    }
    if text.split('/').any(|name| name.len() > MAX_NAME_BYTES) {
        return invalid(InvalidPath::NameTooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn create_root() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        let root = Root::open(dir.path().join("ws")).unwrap();
        (dir, root)
    }

    fn parse(text: &str, root: &Root) -> String {
        match TypedPath::read(text, root) {
            Ok(typed) if typed.directory => format!("{}/", typed.path.display()),
            Ok(typed) => typed.path.display().to_string(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn redundant_parts_are_dropped() {
        let (_dir, root) = create_root();
        let name = "n".repeat(255);
        for (typed, path) in [
            ("a", "a"),
            ("./a//b", "a/b"),
            (".//./a/./b", "a/b"),
            ("a/b/", "a/b/"),
            ("a/b/.", "a/b/"),
            ("a/b//", "a/b/"),
            ("...", "..."),
            ("a..b/..c/d..", "a..b/..c/d.."),
            ("..\\x", "..\\x"),
            ("~", "~"),
            ("a\n\u{1b}", "a\n\u{1b}"),
            (" ", " "),
            (&name, &name),
        ] {
            assert_eq!(parse(typed, &root), path, "{typed:?}");
        }
    }

    #[test]
    fn invalid_paths_are_refused() {
        let (_dir, root) = create_root();
        let long = "n".repeat(256);
        let deep = "d/".repeat(2048);
        for (typed, error) in [
            ("", "Invalid(Empty)"),
            ("a\0b", "Invalid(Nul)"),
            (".", "Invalid(Root)"),
            ("./", "Invalid(Root)"),
            ("././/.", "Invalid(Root)"),
            (&long, "Invalid(NameTooLong)"),
            (&deep, "Invalid(PathTooLong)"),
            ("..", "Traversal"),
            ("../a", "Traversal"),
            ("a/../b", "Traversal"),
            ("a/..", "Traversal"),
            ("/..", "Traversal"),
            ("/", "Outside { typed: true }"),
            ("//", "Outside { typed: true }"),
            ("/etc/passwd", "Outside { typed: true }"),
            ("/proc/self/environ", "Outside { typed: true }"),
        ] {
            assert_eq!(parse(typed, &root), error, "{typed:?}");
        }
        let most = &deep[..MAX_PATH_BYTES];
        assert!(TypedPath::read(most, &root).is_ok());
        assert_eq!(parse(&format!("{long}/.."), &root), "Traversal");
    }

    #[test]
    fn absolute_path_is_inside_the_root_by_whole_names() {
        let (_dir, root) = create_root();
        let ws = root.path().display();
        assert_eq!(parse(&format!("{ws}/a"), &root), "a");
        assert_eq!(parse(&format!("/{ws}//./a/"), &root), "a/");
        let outside = "Outside { typed: true }";
        assert_eq!(parse(&format!("{ws}-evil/a"), &root), outside);
        assert_eq!(parse(&format!("{ws}-evil"), &root), outside);
        assert_eq!(parse(&format!("{ws}/../x"), &root), "Traversal");
        assert_eq!(parse(&format!("{ws}"), &root), "Invalid(Root)");
        assert_eq!(parse(&format!("{ws}/."), &root), "Invalid(Root)");
    }

    #[test]
    fn root_is_a_path_if_allowed() {
        let (_dir, root) = create_root();
        let ws = root.path().to_str().unwrap();
        for typed in [".", "./", ws] {
            let typed = TypedPath::read_or_root(typed, &root).unwrap();
            assert_eq!(typed.path(), Path::new(""));
        }
        assert!(TypedPath::read_or_root("", &root).is_err());
    }

    #[test]
    fn composed_and_decomposed_names_differ() {
        let (_dir, root) = create_root();
        let composed = TypedPath::read("\u{e9}", &root).unwrap();
        let decomposed = TypedPath::read("e\u{301}", &root).unwrap();
        assert_ne!(composed, decomposed);
    }

    proptest! {
        /// The result of any text is a list of the names in it.
        #[test]
        fn arbitrary_text_gives_only_names(text in "(/|\\.|a|-|\u{e9}|\0){0,12}") {
            let (_dir, root) = create_root();
            let names: Vec<&str> =
                text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
            match TypedPath::read(&text, &root) {
                Ok(typed) => {
                    let out: Vec<&str> = typed.path.to_str().unwrap().split('/').collect();
                    prop_assert_eq!(out, names);
                    prop_assert!(!text.starts_with('/'));
                    prop_assert!(!text.contains('\0'));
                }
                Err(PathError::Invalid(InvalidPath::Nul)) => prop_assert!(text.contains('\0')),
                Err(PathError::Traversal) => prop_assert!(names.contains(&"..")),
                Err(PathError::Outside { typed: true }) => prop_assert!(text.starts_with('/')),
                Err(PathError::Invalid(InvalidPath::Empty)) => prop_assert!(text.is_empty()),
                Err(PathError::Invalid(InvalidPath::Root)) => prop_assert!(names.is_empty()),
                Err(error) => prop_assert!(false, "{:?}", error),
            }
        }
    }
}
