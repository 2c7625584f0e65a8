//! A filter of files by a glob.

use super::ReadError;
use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;

/// Bytes that a glob may have.
pub const MAX_FILTER_GLOB_BYTES: usize = 512;

/// A glob over files: without a slash for their names, with one for their paths from the root.
pub(super) enum FileFilter {
    All,
    Names(GlobMatcher),
    Paths(GlobMatcher),
}

impl FileFilter {
    pub(super) fn new(glob: Option<&str>) -> Result<FileFilter, ReadError> {
        let Some(glob) = glob else {
            return Ok(FileFilter::All);
        };
        if glob.is_empty() {
            return Err(ReadError::Glob("it is empty".to_owned()));
        }
        if glob.len() > MAX_FILTER_GLOB_BYTES {
            let why = format!("it is longer than {MAX_FILTER_GLOB_BYTES} bytes");
            return Err(ReadError::Glob(why));
        }
        let is_path = glob.contains('/');
        let glob = ["./", "/"]
            .iter()
            .find_map(|start| glob.strip_prefix(start))
            .unwrap_or(glob);
        let matcher = GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map_err(|error| ReadError::Glob(error.kind().to_string()))?
            .compile_matcher();
        Ok(match is_path {
            true => FileFilter::Paths(matcher),
            false => FileFilter::Names(matcher),
        })
    }

    pub(super) fn takes(&self, path: &Path) -> bool {
        match self {
            FileFilter::All => true,
            FileFilter::Names(glob) => path.file_name().is_some_and(|name| glob.is_match(name)),
            FileFilter::Paths(glob) => glob.is_match(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        FileFilter::new(Some(glob)).unwrap().takes(Path::new(path))
    }

    #[test]
    fn glob_with_a_slash_matches_paths() {
        assert!(matches("*.rs", "a/b.rs"));
        assert!(!matches("*.rs", "b.rs/a"));
        assert!(matches("src/*.rs", "src/b.rs"));
        assert!(!matches("src/*.rs", "src/a/b.rs"));
        assert!(matches("src/**", "src/a/b.rs"));
        assert!(matches("/*.rs", "b.rs"));
        assert!(!matches("./*.rs", "a/b.rs"));
        assert!(matches("*.{rs,toml}", "x/Cargo.toml"));
        assert!(!matches("*.RS", "a.rs"));
    }

    #[test]
    fn invalid_glob_is_refused() {
        for glob in ["", "[", "{a", &"x".repeat(MAX_FILTER_GLOB_BYTES + 1)] {
            assert!(
                matches!(FileFilter::new(Some(glob)), Err(ReadError::Glob(_))),
                "{glob}"
            );
        }
        assert!(FileFilter::new(Some(&"x".repeat(MAX_FILTER_GLOB_BYTES))).is_ok());
    }
}
