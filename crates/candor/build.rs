//! Passes the commit to the program: `candor --version` prints it.
//!
//! Builds for tests do not contain it, or every commit would compile the crate again.

#![allow(clippy::disallowed_methods)] // Cargo passes the profile in the environment.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let released = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = match released {
        true => commit(),
        false => Some(String::from("debug build")),
    };
    let commit = commit.unwrap_or_else(|| String::from("unknown commit"));
    println!("cargo:rustc-env=CANDOR_COMMIT={commit}");
}

/// Returns the short hash of HEAD, and lets cargo run this again when HEAD moves.
fn commit() -> Option<String> {
    // A path that does not exist would count as changed at every build; in a linked work tree
    // `.git` is a file, so git is asked for the paths.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
