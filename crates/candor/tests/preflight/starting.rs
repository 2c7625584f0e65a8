//! Starting: what is not there is told from what fails, and real programs run.

use crate::place::Place;
use candor_workspace::preflight::{RunError, Sandbox, probe};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

fn script(place: &Place, name: &str, text: &str, mode: u32) {
    let path = place.at("work").join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn this_kernel_has_a_sandbox() {
    assert!(matches!(probe(), Sandbox::Landlock(3..)));
}

#[test]
fn a_missing_program_is_told_from_one_that_exits_with_127() {
    let place = Place::new();
    for name in ["no-such-program", "./missing.sh", "src/lib.rs", "src", ""] {
        let error = place.try_run(&place.order(&[name])).unwrap_err();
        assert!(
            matches!(&error, RunError::NotFound { program } if program == name),
            "{error:?}"
        );
    }
    assert_eq!(place.shell("exit 127").exit_code, Some(127));

    script(&place, "broken", "#!/no/such/interpreter\n", 0o755);
    let error = place.try_run(&place.order(&["./broken"])).unwrap_err();
    assert!(
        matches!(&error, RunError::NotStarted { source, .. } if source.kind() == ErrorKind::NotFound),
        "{error:?}"
    );
    let mut order = place.order(&["denied"]);
    script(&place, "../own/denied", "#!/bin/sh\n", 0o755);
    order.path = place.at("own").to_str().unwrap().to_owned();
    let error = place.try_run(&order).unwrap_err();
    assert!(
        matches!(&error, RunError::NotStarted { source, .. } if source.kind() == ErrorKind::PermissionDenied),
        "{error:?}"
    );
}

#[test]
fn a_program_of_the_workspace_runs_in_the_root_with_its_arguments_as_they_are() {
    let place = Place::new();
    script(
        &place,
        "check",
        "#!/bin/sh\npwd; for a; do echo \"<$a>\"; done\n",
        0o755,
    );
    let ran = place.run(&place.order(&["./check", "a b", "$HOME", ";", "*", ""]));
    let root = place.at("work");
    assert_eq!(
        ran.output_tail,
        format!("{}\n<a b>\n<$HOME>\n<;>\n<*>\n<>\n", root.display())
    );
}

#[test]
fn an_order_that_cannot_be_is_refused() {
    let place = Place::new();
    for argv in [&[][..], &["a\0b"], &["x"; 257], &[&"x".repeat(70_000)]] {
        assert!(matches!(
            place.try_run(&place.order(argv)),
            Err(RunError::Malformed(_))
        ));
    }
    let mut order = place.order(&["true"]);
    order.env = vec![("A=B".into(), "c".into())];
    assert!(matches!(place.try_run(&order), Err(RunError::Malformed(_))));
}

#[test]
fn a_toolchain_builds_and_runs_a_program() {
    let place = Place::new();
    script(
        &place,
        "hello.rs",
        "fn main() { println!(\"hello from {}\", std::env::args().count()); }",
        0o644,
    );
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let sysroot = sysroot.trim();
    let mut order = place.order(&["rustc", "-o", "target/hello", "hello.rs"]);
    order.readable.push(sysroot.into());
    order.path = format!("{sysroot}/bin:{}", order.path);
    let ran = place.run(&order);
    assert!(ran.passed(), "{}", ran.output_tail);
    let ran = place.run(&place.order(&["target/hello", "x"]));
    assert_eq!(ran.output_tail, "hello from 2\n");
}
