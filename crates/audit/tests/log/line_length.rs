//! The longest line.

use crate::fixture::{LogFixture, members};
use candor_audit::{AppendError, Log, MAX_LINE};
use serde_json::json;

#[test]
fn longest_line_is_written_and_a_longer_one_is_refused() {
    let fixture = LogFixture::new();
    let log = Log::open(fixture.log.clone(), "log", fixture.options()).unwrap();
    let line = |length: usize| members(json!({ "word": "x".repeat(length) }));
    log.append_blocking(line(0)).unwrap();
    let bare = fixture.text().find('\n').unwrap() + 1;
    let most = MAX_LINE - bare;
    let refused = log.append_blocking(line(most + 1)).unwrap_err();
    assert!(matches!(refused, AppendError::TooLong), "{refused}");
    // The refused line leaves no gap.
    assert_eq!(log.append_blocking(line(most)).unwrap().seq, 2);
}
