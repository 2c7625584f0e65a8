//! A cache that changes while something is done with it.

use crate::ground::{Ground, real};
use candor_context::{Location, seal};
use std::sync::atomic::Ordering;

const ONE: [(&str, &str); 3] = [("a.md", "word one"), ("b.md", "word"), ("c.md", "kept")];

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
