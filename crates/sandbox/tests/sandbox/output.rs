//! Output: bounded, in order, and harmless to a terminal.

use crate::fixture::Fixture;

#[test]
fn both_streams_are_merged_in_order() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome = fixture.run_shell("echo one; echo two >&2; printf three");
    assert_eq!(
        (outcome.output_tail.as_str(), outcome.output_bytes),
        ("one\ntwo\nthree", 13)
    );
    assert!(outcome.is_success());
}

#[test]
fn the_end_of_a_hundred_megabytes_is_kept() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome = fixture.run_shell("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end");
    assert_eq!(outcome.output_bytes, 100_000_009);
    assert_eq!(outcome.output_tail.len(), 8 * 1024);
    assert!(outcome.output_tail.ends_with("xxx\nthe end\n"));
}

#[test]
fn bytes_that_are_not_text_become_text() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome = fixture.run_shell(r"printf '\033[2J\377\000\r\nok'");
    assert_eq!(outcome.output_tail, "\\u{1b}[2J\u{fffd}\\u{0}\nok");
}

#[test]
fn a_command_that_closes_its_output_still_runs() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome = fixture.run_shell("echo before; exec >&- 2>&-; exit 3");
    assert_eq!(
        (outcome.output_tail.as_str(), outcome.exit_code),
        ("before\n", Some(3))
    );
}
