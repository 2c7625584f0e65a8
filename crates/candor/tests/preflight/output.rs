//! Output: bounded, in order, and harmless to whoever reads it.

use crate::place::Place;

#[test]
fn both_streams_come_together_in_order() {
    let ran = Place::new().shell("echo one; echo two >&2; printf three");
    assert_eq!(
        (ran.output_tail.as_str(), ran.output_bytes),
        ("one\ntwo\nthree", 13)
    );
    assert!(ran.passed());
}

#[test]
fn a_hundred_megabytes_leave_their_end() {
    let ran = Place::new().shell("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end");
    assert_eq!(ran.output_bytes, 100_000_009);
    assert_eq!(ran.output_tail.len(), 8 * 1024);
    assert!(ran.output_tail.ends_with("xxx\nthe end\n"));
}

#[test]
fn bytes_that_are_no_text_become_text() {
    let ran = Place::new().shell(r"printf '\033[2J\377\000\r\nok'");
    assert_eq!(ran.output_tail, "\\u{1b}[2J\u{fffd}\\u{0}\nok");
}

#[test]
fn closed_output_is_no_end() {
    let ran = Place::new().shell("echo before; exec >&- 2>&-; exit 3");
    assert_eq!(
        (ran.output_tail.as_str(), ran.exit_code),
        ("before\n", Some(3))
    );
}
