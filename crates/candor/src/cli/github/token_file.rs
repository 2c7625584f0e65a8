//! A file with the token for GitHub, which is read again when it changes.

use super::authentication::parse_token;
use crate::cli::CommandError;
use candor_forge::github::TokenSource;
use candor_http_client::BearerToken;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

pub(super) struct TokenFile {
    path: PathBuf,
    current: Mutex<ReadToken>,
}

/// A token and the modification time of the file that it was read from.
struct ReadToken {
    token: BearerToken,
    modified: Option<SystemTime>,
}

impl TokenFile {
    /// Reads the token for the first time.
    pub(super) fn open(path: &Path) -> Result<TokenFile, CommandError> {
        // Before the text, so that a change in between is noticed.
        let modified = modification_time(path);
        let text = std::fs::read_to_string(path).map_err(|error| {
            let shown = path.display();
            CommandError::new(format!("cannot read the token in {shown}: {error}"))
        })?;
        let current = ReadToken {
            token: parse_token(&text)?,
            modified,
        };
        Ok(TokenFile {
            path: path.to_owned(),
            current: Mutex::new(current),
        })
    }

    pub(super) fn source(self) -> TokenSource {
        Arc::new(move || self.token())
    }

    /// Returns the token of the file as it is now. While the file is missing or unusable, for example
    /// because it is being replaced, the token before it stays in use.
    fn token(&self) -> BearerToken {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let modified = modification_time(&self.path);
        if modified.is_some()
            && modified != current.modified
            && let Ok(text) = std::fs::read_to_string(&self.path)
            && let Some(token) = BearerToken::new(text.trim())
        {
            *current = ReadToken { token, modified };
        }
        current.token.clone()
    }
}

fn modification_time(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn changed_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let write = |text: &str, seconds: u64| {
            fs::write(&path, text).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(at).unwrap();
        };
        write("one\n", 1);
        let file = TokenFile::open(&path).unwrap();
        assert_eq!(file.token().secret(), "one");
        write("two", 2);
        assert_eq!(file.token().secret(), "two");
        // A file that is being written is empty for a moment.
        write("", 3);
        assert_eq!(file.token().secret(), "two");
        fs::remove_file(&path).unwrap();
        assert_eq!(file.token().secret(), "two");
        write("three", 4);
        assert_eq!(file.token().secret(), "three");
    }
}
