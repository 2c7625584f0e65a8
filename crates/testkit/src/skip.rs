//! Tests that cannot run here, reported as skipped with the reason.
//!
//! `cargo xtask test` names a folder in `CANDOR_SKIPPED` and prints what it finds there.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;

/// The environment variable that names the folder for skipped tests.
const FOLDER: &str = "CANDOR_SKIPPED";

/// Records that the running test is skipped because something is not installed. The test returns
/// after this call.
///
/// # Panics
/// Panics under `CI=true`, where everything has to be installed.
pub fn skip(reason: impl Display) {
    let in_ci = variable("CI").is_some_and(|value| value.as_os_str() == "true");
    assert!(!in_ci, "{reason}");
    record(reason);
}

/// As [`skip`], for a reason that no installation removes: the kernel lacks or forbids something, or
/// the tests run as root. It does not fail under `CI=true`.
pub fn skip_for_kernel(reason: impl Display) {
    record(reason);
}

fn record(reason: impl Display) {
    let line = line(&test_name(), &reason.to_string());
    // A person who runs the test alone has to see it too.
    #[allow(clippy::print_stderr)]
    {
        eprint!("SKIPPED: {line}");
    }
    if let Some(folder) = variable(FOLDER) {
        append(&folder, &line);
    }
}

/// The line of one skipped test: name, tab, reason.
fn line(test: &str, reason: &str) -> String {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{test}\t{reason}\n")
}

/// Appends to a file of this process. The test would count as passed if this failed silently.
#[allow(clippy::expect_used)]
fn append(folder: &Path, line: &str) {
    let path = folder.join(format!("{}.skipped", process::id()));
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the folder for skipped tests can be written");
}

/// The name as nextest shows it, or the name of the thread, which is that of the test.
fn test_name() -> String {
    let own = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
    if let (Some(binary), Some(test)) = (own("NEXTEST_BINARY_ID"), own("NEXTEST_TEST_NAME")) {
        return format!("{binary} {test}");
    }
    thread::current().name().unwrap_or("?").to_owned()
}

fn variable(name: &str) -> Option<PathBuf> {
    // The environment is how the test runner talks to its tests.
    #[allow(clippy::disallowed_methods)]
    env::var_os(name).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_one_line() {
        assert_eq!(
            line("a::b", "no server:\n\tFATAL"),
            "a::b\tno server: FATAL\n"
        );
    }

    #[test]
    fn skipped_tests_are_appended_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), "a\tone\n");
        append(folder.path(), "b\ttwo\n");
        let file = folder.path().join(format!("{}.skipped", process::id()));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "a\tone\nb\ttwo\n");
    }

    #[test]
    fn name_of_this_test_is_known() {
        assert!(test_name().ends_with("skip::tests::name_of_this_test_is_known"));
    }
}
