//! One server, many callers at once: the same question has the same bytes for all of them, and a
//! change is seen by the next.

use crate::ground::{Ground, copy, documents, file_of, plainly};
use crate::served::Served;
use candor_context::Noticing;
use serde_json::json;
use std::fs;
use std::thread;

const SOURCES: [(&str, &str); 4] = [
    ("a.md", "alpha beta"),
    ("b.md", "beta"),
    ("c.md", ""),
    ("d.md", "something else altogether"),
];

fn many_at_once(noticing: Noticing) {
    let ground = Ground::sealed(&SOURCES);
    let served = Served::new(&ground, noticing);
    let documents = documents(&SOURCES);
    thread::scope(|scope| {
        for caller in 0..64u64 {
            let budget = caller % 8;
            let expected = String::from_utf8(plainly(&documents, "beta beta", budget)).unwrap();
            let served = &served;
            scope.spawn(move || {
                let asked = json!({ "cache": "cache", "query": "beta beta", "budget": budget });
                for _ in 0..20 {
                    assert_eq!(served.call("context.resolve", &asked), expected);
                }
            });
        }
    });
}

#[test]
fn sixty_four_callers_get_the_same_bytes_where_changes_are_watched() {
    many_at_once(Noticing::Watching);
}

#[test]
fn sixty_four_callers_get_the_same_bytes_where_changes_are_looked_for() {
    many_at_once(Noticing::Looking);
}

#[test]
fn a_changed_byte_is_seen_by_the_next_call() {
    let invalid =
        "{\"error\":{\"code\":\"cache_invalid\",\"message\":\"Cache exists but is invalid\"}}\n";
    for noticing in [Noticing::Watching, Noticing::Looking] {
        let ground = Ground::sealed(&SOURCES);
        let served = Served::new(&ground, noticing);
        let expected = String::from_utf8(plainly(&documents(&SOURCES), "beta", 3)).unwrap();
        let asked = json!({ "cache": "cache", "query": "beta", "budget": 3 });
        let resolve = || served.call("context.resolve", &asked);
        let file = ground.cache().join(file_of(SOURCES[3].1));
        let whole = fs::read_to_string(&file).unwrap();
        for _ in 0..20 {
            assert_eq!(resolve(), expected);
            fs::write(&file, whole.replace("else", "ELSE")).unwrap();
            assert_eq!(resolve(), invalid);
            fs::write(&file, &whole).unwrap();
        }
        // The whole folder is exchanged for one that lacks a document.
        let moved = ground.path("moved");
        copy(&ground.cache().join("documents"), &moved);
        fs::remove_file(moved.join(file.file_name().unwrap())).unwrap();
        assert_eq!(resolve(), expected);
        fs::rename(ground.cache().join("documents"), ground.path("kept")).unwrap();
        fs::rename(&moved, ground.cache().join("documents")).unwrap();
        assert_eq!(resolve(), invalid);
    }
}
