//! Concurrent callers of one server: equal requests get equal bytes, and the next call sees a change.

use crate::fixture::{CacheFixture, copy, documents, file_of, oracle_response};
use crate::requests::TestServer;
use candor_context::ChangeDetection;
use serde_json::json;
use std::fs;
use std::thread;

const SOURCES: [(&str, &str); 4] = [
    ("a.md", "alpha beta"),
    ("b.md", "beta"),
    ("c.md", ""),
    ("d.md", "something else altogether"),
];

fn check_concurrent_calls(detection: ChangeDetection) {
    let fixture = CacheFixture::sealed(&SOURCES);
    let server = TestServer::new(&fixture, detection);
    let documents = documents(&SOURCES);
    thread::scope(|scope| {
        for caller in 0..64u64 {
            let budget = caller % 8;
            let expected =
                String::from_utf8(oracle_response(&documents, "beta beta", budget)).unwrap();
            let server = &server;
            scope.spawn(move || {
                let request = json!({ "cache": "cache", "query": "beta beta", "budget": budget });
                for _ in 0..20 {
                    assert_eq!(server.call("context.resolve", &request), expected);
                }
            });
        }
    });
}

#[test]
fn concurrent_callers_get_the_same_bytes_with_watching() {
    check_concurrent_calls(ChangeDetection::Watch);
}

#[test]
fn concurrent_callers_get_the_same_bytes_with_comparing() {
    check_concurrent_calls(ChangeDetection::Compare);
}

#[test]
fn next_call_sees_a_changed_byte() {
    let invalid =
        "{\"error\":{\"code\":\"cache_invalid\",\"message\":\"Cache exists but is invalid\"}}\n";
    for detection in [ChangeDetection::Watch, ChangeDetection::Compare] {
        let fixture = CacheFixture::sealed(&SOURCES);
        let server = TestServer::new(&fixture, detection);
        let expected = String::from_utf8(oracle_response(&documents(&SOURCES), "beta", 3)).unwrap();
        let request = json!({ "cache": "cache", "query": "beta", "budget": 3 });
        let resolve = || server.call("context.resolve", &request);
        let file = fixture.cache().join(file_of(SOURCES[3].1));
        let text = fs::read_to_string(&file).unwrap();
        for _ in 0..20 {
            assert_eq!(resolve(), expected);
            fs::write(&file, text.replace("else", "ELSE")).unwrap();
            assert_eq!(resolve(), invalid);
            fs::write(&file, &text).unwrap();
        }
        // The directory is exchanged for one without a document.
        let moved = fixture.path("moved");
        copy(&fixture.cache().join("documents"), &moved);
        fs::remove_file(moved.join(file.file_name().unwrap())).unwrap();
        assert_eq!(resolve(), expected);
        fs::rename(fixture.cache().join("documents"), fixture.path("kept")).unwrap();
        fs::rename(&moved, fixture.cache().join("documents")).unwrap();
        assert_eq!(resolve(), invalid);
    }
}
