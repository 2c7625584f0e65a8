//! The program that the tests of the sandbox start: its helper, a server that the tests kill, and attacks
//! from inside a sandbox.

// The program fails like a test and prints its findings.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod attacks;

use candor_sandbox::{
    Helper, Limits, PathRules, SYSTEM_PATHS, Spec, helper_main, run, stop_channel,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["helper", stage] => ExitCode::from(helper_main(stage.parse().unwrap())),
        ["serve", base, script] => {
            serve(Path::new(base), script);
            ExitCode::SUCCESS
        }
        ["attack", name] => {
            attacks::run(name);
            ExitCode::SUCCESS
        }
        _ => panic!("unknown arguments: {arguments:?}"),
    }
}

/// Runs a shell script in the fixture's root, as a server does.
fn serve(base: &Path, script: &str) {
    let spec = Spec {
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        root: base.join("work"),
        write: vec!["target".into()],
        env: Vec::new(),
        network: false,
        limits: Limits::default(),
        read: SYSTEM_PATHS.iter().map(PathBuf::from).collect(),
        hide: Vec::new(),
        path: "/usr/local/bin:/usr/bin:/bin".into(),
        lang: "C.UTF-8".into(),
        scratch: base.join("scratch"),
        allow_unsandboxed: false,
    };
    let rules = PathRules {
        is_hidden: &|_| false,
        can_be_writable: &|_| true,
    };
    let helper = Helper {
        program: std::env::current_exe().unwrap(),
        first_args: vec!["helper".into()],
    };
    let (_handle, stop) = stop_channel().unwrap();
    let _ = run(&spec, &rules, &helper, &stop);
}
