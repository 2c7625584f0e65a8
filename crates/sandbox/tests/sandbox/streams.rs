//! Standard streams: pipes that the caller owns.

use crate::fixture::{at_both_levels, helper};
use candor_sandbox::start;
use std::io::{Read, Write};

#[test]
fn merged_streams_keep_their_order() {
    at_both_levels(|fixture| {
        let ran = fixture.run_shell("echo one; echo two >&2; printf three");
        assert_eq!(ran.output, "one\ntwo\nthree");
    });
}

#[test]
fn separate_streams_are_three_pipes() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["sh", "-c", "read line; echo got $line; echo bad >&2; cat"]);
        spec.merge_output = false;
        spec.limits.time = None;
        let mut process = start(&spec, &helper()).unwrap();
        let mut stdin = process.stdin().unwrap();
        let mut stdout = process.stdout().unwrap();
        let mut stderr = process.stderr().unwrap();
        assert!(process.stdin().is_none());
        stdin.write_all(b"first\n").unwrap();
        let mut buffer = [0; 10];
        stdout.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"got first\n");
        stdin.write_all(b"second\n").unwrap();
        drop(stdin);
        let (mut rest, mut errors) = (String::new(), String::new());
        stdout.read_to_string(&mut rest).unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        assert_eq!((rest.as_str(), errors.as_str()), ("second\n", "bad\n"));
        assert_eq!(process.wait().unwrap().exit_code, Some(0));
    });
}

#[test]
fn a_command_that_closes_its_streams_still_runs() {
    at_both_levels(|fixture| {
        let ran = fixture.run_shell("echo before; exec <&- >&- 2>&-; exit 3");
        assert_eq!(
            (ran.output.as_str(), ran.end.exit_code),
            ("before\n", Some(3))
        );
    });
}

/// Nobody but the command holds the other end, so a writer learns that nobody reads.
#[test]
fn a_closed_stdin_breaks_the_pipe() {
    at_both_levels(|fixture| {
        let script = "exec <&-; echo closed; while [ ! -e target/go ]; do :; done";
        let spec = fixture.spec(&["sh", "-c", script]);
        let mut process = start(&spec, &helper()).unwrap();
        let mut stdin = process.stdin().unwrap();
        let mut line = [0; 7];
        process.stdout().unwrap().read_exact(&mut line).unwrap();
        let error = stdin.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        std::fs::write(fixture.path("work/target/go"), "").unwrap();
        assert_eq!(process.wait().unwrap().exit_code, Some(0));
    });
}
