//! Tells the program its commit, where there is one.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/refs/heads");
    let told = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let commit = match told {
        Ok(told) if told.status.success() => {
            String::from_utf8_lossy(&told.stdout).trim().to_owned()
        }
        _ => String::from("unknown commit"),
    };
    println!("cargo:rustc-env=CANDOR_COMMIT={commit}");
}
