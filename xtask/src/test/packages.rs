//! Installs packages of Debian that the tests need.

use super::postgres::programs;
use crate::problem::Problem;
use crate::program::Program;
use crate::repo::Repo;
use crate::retry::retried;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Lets the package manager ask no questions and keep existing configuration files.
const UNATTENDED: [(&str, &str); 2] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("UCF_FORCE_CONFFOLD", "1"),
];

/// Returns true if a program is on the path.
pub(super) fn has_program(name: &str) -> bool {
    let mut folders = programs::path().into_iter();
    folders.any(|folder| folder.join(name).is_file())
}

/// Returns true if this machine has the package manager, and this user may use it.
pub(super) fn may_install() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|we| we.uid() == 0);
    is_root && has_program("apt-get")
}

pub(super) fn install(repo: &Repo, package: &'static str) -> Result<(), Problem> {
    let apt = |arguments: &[&str]| {
        let program = Program::new("apt-get", &repo.root).args(arguments);
        let unattended = UNATTENDED.into_iter();
        unattended
            .fold(program, |program, (name, value)| program.env(name, value))
            .run()
    };
    retried(package, || {
        apt(&["update", "--quiet"])?;
        apt(&[
            "install",
            "--quiet",
            "--yes",
            "--no-install-recommends",
            package,
        ])
    })
}
