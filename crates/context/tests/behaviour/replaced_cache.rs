//! A cache that is replaced while it is asked: every answer comes from one whole cache, and none is
//! a failure.

use crate::ground::{Ground, ask_at, documents, plainly, real};
use crate::served::Served;
use candor_context::{Location, Noticing, seal};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const ONE: [(&str, &str); 3] = [("a.md", "word one"), ("b.md", "word"), ("c.md", "kept")];
const OTHER: [(&str, &str); 2] = [("a.md", "word two"), ("c.md", "kept")];

fn replacing(replace: impl Fn(&Ground)) {
    let mut ground = Ground::with(&ONE);
    ground.clock = real;
    ground.build().unwrap();
    let expected = [&ONE[..], &OTHER[..]].map(|sources| plainly(&documents(sources), "word", 100));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = || {
            let mut answers = 0;
            while !ended.load(Ordering::Relaxed) {
                let answer = ask_at(&ground.cache(), "word", 100).unwrap();
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
            let _ = std::fs::remove_file(ground.sources().join("b.md"));
            sources
                .iter()
                .for_each(|(path, content)| ground.put(path, content));
            replace(&ground);
        }
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

#[test]
fn a_forced_build_disturbs_no_reader() {
    replacing(|ground| {
        ground.build_at("cache", true).unwrap();
    });
}

#[test]
fn an_update_disturbs_no_reader() {
    replacing(|ground| {
        ground.update().unwrap();
    });
}

/// The same through a server, which keeps caches open.
#[test]
fn a_replaced_cache_disturbs_no_call() {
    for noticing in [Noticing::Watching, Noticing::Looking] {
        let mut ground = Ground::with(&ONE);
        ground.clock = real;
        ground.build().unwrap();
        let expected = [&ONE[..], &OTHER[..]]
            .map(|sources| String::from_utf8(plainly(&documents(sources), "word", 100)).unwrap());
        let served = Served::new(&ground, noticing);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let asking = || {
                let asked = json!({ "cache": "cache", "query": "word", "budget": 100 });
                while !ended.load(Ordering::Relaxed) {
                    let answer = served.call("context.resolve", &asked);
                    assert!(expected.contains(&answer), "{answer}");
                }
            };
            let callers = [scope.spawn(asking), scope.spawn(asking)];
            for turn in 0..16 {
                let sources: &[_] = if turn % 2 == 0 { &OTHER } else { &ONE };
                let _ = std::fs::remove_file(ground.sources().join("b.md"));
                for (path, content) in sources {
                    ground.put(path, content);
                }
                match turn % 4 {
                    0 | 1 => ground.build_at("cache", true).unwrap(),
                    _ => ground.update().unwrap(),
                };
            }
            ended.store(true, Ordering::Relaxed);
            for caller in callers {
                caller.join().unwrap();
            }
        });
    }
}

/// The clock is asked in the middle of a check: there the manifest is exchanged for a longer one.
#[test]
fn a_manifest_that_grows_while_it_is_sealed_is_judged_anew() {
    use std::sync::atomic::AtomicUsize;
    let ground = Ground::with(&ONE);
    ground.build().unwrap();
    let longer = Ground::with(&[
        ("a.md", "word one"),
        ("b.md", "word"),
        ("c.md", "kept"),
        ("d.md", "more"),
    ]);
    longer.build().unwrap();
    // A document that was written a moment ago has to be looked at twice.
    let fresh = ground.cache().join(crate::ground::file_of("kept"));
    let bytes = std::fs::read(&fresh).unwrap();
    std::fs::write(&fresh, bytes).unwrap();
    let asked = AtomicUsize::new(0);
    let now = || {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            for name in ["manifest.json", "index.json"] {
                std::fs::copy(longer.cache().join(name), ground.cache().join(name)).unwrap();
            }
        }
        real()
    };
    let told = crate::ground::refusal(seal(&Location::Anywhere, &ground.cache(), false, &now));
    let file = crate::ground::file_of("more");
    assert_eq!(
        told,
        format!("cache_invalid: the cache is invalid: {file}: missing")
    );
}
