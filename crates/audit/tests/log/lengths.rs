//! How long a line may be.

use crate::ground::{Ground, members};
use candor_audit::{AppendError, Log, MAX_LINE};
use serde_json::json;

#[test]
fn a_line_of_the_limit_is_written_and_one_more_byte_is_not() {
    let ground = Ground::new();
    let log = Log::open(ground.log.clone(), "log", ground.options()).unwrap();
    let line = |length: usize| members(json!({ "word": "x".repeat(length) }));
    log.append_blocking(line(0)).unwrap();
    let bare = ground.text().find('\n').unwrap() + 1;
    let most = MAX_LINE - bare;
    let refused = log.append_blocking(line(most + 1)).unwrap_err();
    assert!(matches!(refused, AppendError::TooLong), "{refused}");
    // What was refused leaves no gap.
    assert_eq!(log.append_blocking(line(most)).unwrap().seq, 2);
}
