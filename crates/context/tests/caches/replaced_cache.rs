//! A cache that is replaced during queries: every response comes from one complete cache, and none
//! fails.

use crate::fixture::{CacheFixture, documents, oracle_response, real, resolve_at};
use crate::requests::TestServer;
use candor_context::{ChangeDetection, Location, seal};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const ONE: [(&str, &str); 3] = [("a.md", "word one"), ("b.md", "word"), ("c.md", "kept")];
const OTHER: [(&str, &str); 2] = [("a.md", "word two"), ("c.md", "kept")];

fn query_while_replacing(replace: impl Fn(&CacheFixture)) {
    let mut fixture = CacheFixture::with(&ONE);
    fixture.clock = real;
    fixture.build().unwrap();
    let expected =
        [&ONE[..], &OTHER[..]].map(|sources| oracle_response(&documents(sources), "word", 100));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = || {
            let mut answers = 0;
            while !ended.load(Ordering::Relaxed) {
                let answer = resolve_at(&fixture.cache(), "word", 100).unwrap();
                assert!(
                    expected.contains(&answer),
                    "{}",
                    String::from_utf8_lossy(&answer)
                );
                answers += 1;
            }
            answers
        };
        let readers = [scope.spawn(asking), scope.spawn(asking)];
        for turn in 0..12 {
            let sources: &[_] = if turn % 2 == 0 { &OTHER } else { &ONE };
            let _ = std::fs::remove_file(fixture.sources().join("b.md"));
            sources
                .iter()
                .for_each(|(path, content)| fixture.put(path, content));
            replace(&fixture);
        }
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

#[test]
fn readers_succeed_during_forced_builds() {
    query_while_replacing(|fixture| {
        fixture.build_at("cache", true).unwrap();
    });
}

#[test]
fn readers_succeed_during_updates() {
    query_while_replacing(|fixture| {
        fixture.update().unwrap();
    });
}

/// The same with a server, which keeps caches open.
#[test]
fn calls_succeed_while_the_cache_is_replaced() {
    for detection in [ChangeDetection::Watch, ChangeDetection::Compare] {
        let mut fixture = CacheFixture::with(&ONE);
        fixture.clock = real;
        fixture.build().unwrap();
        let expected = [&ONE[..], &OTHER[..]].map(|sources| {
            String::from_utf8(oracle_response(&documents(sources), "word", 100)).unwrap()
        });
        let server = TestServer::new(&fixture, detection);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let asking = || {
                let request = json!({ "cache": "cache", "query": "word", "budget": 100 });
                while !ended.load(Ordering::Relaxed) {
                    let answer = server.call("context.resolve", &request);
                    assert!(expected.contains(&answer), "{answer}");
                }
            };
            let callers = [scope.spawn(asking), scope.spawn(asking)];
            for turn in 0..16 {
                let sources: &[_] = if turn % 2 == 0 { &OTHER } else { &ONE };
                let _ = std::fs::remove_file(fixture.sources().join("b.md"));
                for (path, content) in sources {
                    fixture.put(path, content);
                }
                match turn % 4 {
                    0 | 1 => fixture.build_at("cache", true).unwrap(),
                    _ => fixture.update().unwrap(),
                };
            }
            ended.store(true, Ordering::Relaxed);
            for caller in callers {
                caller.join().unwrap();
            }
        });
    }
}

/// The clock is read during a check: there the manifest is exchanged for a longer one.
#[test]
fn manifest_that_grows_during_seal_is_checked_again() {
    use std::sync::atomic::AtomicUsize;
    let fixture = CacheFixture::with(&ONE);
    fixture.build().unwrap();
    let longer = CacheFixture::with(&[
        ("a.md", "word one"),
        ("b.md", "word"),
        ("c.md", "kept"),
        ("d.md", "more"),
    ]);
    longer.build().unwrap();
    // A document with a fresh stamp is read twice.
    let fresh = fixture.cache().join(crate::fixture::file_of("kept"));
    let bytes = std::fs::read(&fresh).unwrap();
    std::fs::write(&fresh, bytes).unwrap();
    let request = AtomicUsize::new(0);
    let now = || {
        if request.fetch_add(1, Ordering::Relaxed) == 0 {
            for name in ["manifest.json", "index.json"] {
                std::fs::copy(longer.cache().join(name), fixture.cache().join(name)).unwrap();
            }
        }
        real()
    };
    let message =
        crate::fixture::outcome_of(seal(&Location::Anywhere, &fixture.cache(), false, &now));
    let file = crate::fixture::file_of("more");
    assert_eq!(
        message,
        format!("cache_invalid: the cache is invalid: {file}: missing")
    );
}
