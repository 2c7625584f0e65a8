//! The checks before a server starts: enough open files, a clock that works, and files that only their owner
//! can change.

use super::directories::Directories;
use candor_workspace::find_loose;
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The minimum number of files that a server may have open.
pub(crate) const MIN_OPEN_FILES: u64 = 64;

/// The first second of the year 2000.
const FIRST_SECOND: u64 = 946_684_800;

/// The last second that can be written in every time zone, at the end of the year 9999.
const LAST_SECOND: u64 = 253_402_207_200;

/// Returns why this process cannot serve, if it cannot.
pub(super) fn find_unusable_process() -> Option<String> {
    let limit = getrlimit(Resource::Nofile).current;
    if let Some(limit) = limit.filter(|limit| *limit < MIN_OPEN_FILES) {
        return Some(format!(
            "this process may have only {limit} files open, and needs {MIN_OPEN_FILES}; to allow more, run: ulimit -n 1024"
        ));
    }
    // The clock of the server is not used yet: it cannot represent every time of the system.
    #[allow(clippy::disallowed_methods)]
    let now = SystemTime::now();
    (!is_plausible(now)).then(|| {
        String::from("the clock of this machine is not between the years 2000 and 9999; set it")
    })
}

fn is_plausible(now: SystemTime) -> bool {
    let since = now.duration_since(UNIX_EPOCH).map(|since| since.as_secs());
    since.is_ok_and(|second| (FIRST_SECOND..LAST_SECOND).contains(&second))
}

/// Returns the first file of the owner that others could change or read.
pub(super) fn find_loose_file(
    directories: &Directories,
    approvers: &[PathBuf],
) -> Result<(), String> {
    let key = directories.key();
    let own = directories.approvers();
    let open = [directories.config.as_path(), &directories.state, &own];
    let open = open
        .into_iter()
        .chain(approvers.iter().map(PathBuf::as_path));
    let files = open
        .map(|path| (path, false))
        .chain([(key.as_path(), true)]);
    for (path, is_secret) in files {
        check(path, is_secret)?;
    }
    Ok(())
}

fn check(path: &Path, is_secret: bool) -> Result<(), String> {
    match find_loose(path, is_secret) {
        Ok(None) => Ok(()),
        Ok(Some(loose)) => Err(loose.to_string()),
        Err(error) => Err(format!("{} cannot be looked at: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_years_with_four_digits_after_2000_are_plausible() {
        let at = |second| is_plausible(UNIX_EPOCH + Duration::from_secs(second));
        assert!(!at(0) && !at(FIRST_SECOND - 1) && at(FIRST_SECOND));
        assert!(at(LAST_SECOND - 1) && !at(LAST_SECOND));
        assert!(!is_plausible(UNIX_EPOCH - Duration::from_secs(1)));
        let last = candor_fault::Timestamp::from_second(LAST_SECOND as i64 - 1);
        assert!(last.is_ok());
    }
}
