//! Runs tests a second time as an ordinary user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The file in the working directory that marks a test that runs as another user.
const MARK: &str = "candor-somebody-else";

const NOBODY: u32 = 65534;

/// Returns true if this process is the second run.
pub(crate) fn is_other_user() -> bool {
    Path::new(MARK).exists()
}

/// Runs the test of this name again in a directory, as another user if this process is root.
pub(crate) fn run_as_other_user(test: &str, dir: &Path) {
    let passable = Permissions::from_mode(0o755);
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), passable.clone()).unwrap();
    // A copy, because the other user may not reach the directory of this program.
    let program = temporary.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, passable).unwrap();
    fs::write(dir.join(MARK), "").unwrap();
    let mut child = Command::new(&program);
    child.args(["--exact", test]).current_dir(dir);
    if fs::metadata(&program).unwrap().uid() == 0 {
        child.uid(NOBODY).gid(NOBODY);
    }
    let output = child.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("1 passed"), "{stdout}");
}
