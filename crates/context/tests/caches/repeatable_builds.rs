//! Equal sources give equal bytes.

use crate::fixture::{CacheFixture, bytes_of};
use crate::generated;
use proptest::prelude::*;

fn fixture(sources: &[(String, String)]) -> CacheFixture {
    let fixture = CacheFixture::new();
    for (path, content) in sources {
        fixture.put(path, content);
    }
    fixture
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_sources_give_equal_bytes(
        sources in generated::sources(200), passages in any::<bool>(),
    ) {
        let mut one = fixture(&sources);
        // The other is written in reverse order: the order of the file system must not matter.
        let backwards: Vec<_> = sources.iter().rev().cloned().collect();
        let mut other = fixture(&backwards);
        (one.passages, other.passages) = (passages, passages);
        prop_assert_eq!(one.build().unwrap(), other.build().unwrap());
        prop_assert_eq!(bytes_of(&one.cache()), bytes_of(&other.cache()));
    }
}

#[test]
fn forced_build_leaves_nothing_of_the_old_cache() {
    let mut fixture = CacheFixture::with(&[("a.md", "one"), ("b.md", "two")]);
    fixture.build().unwrap();
    std::fs::remove_file(fixture.sources().join("a.md")).unwrap();
    fixture.put("c.md", "three");
    fixture.force = true;
    fixture.build().unwrap();
    let fresh = CacheFixture::with(&[("b.md", "two"), ("c.md", "three")]);
    fresh.build().unwrap();
    assert_eq!(bytes_of(&fixture.cache()), bytes_of(&fresh.cache()));
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

#[test]
fn equal_contents_are_numbered_by_id() {
    // Enough documents for several workers.
    let sources: Vec<_> = (0..300)
        .map(|n| (format!("{n:03}.md"), String::from("same")))
        .collect();
    let fixture = fixture(&sources);
    fixture.build().unwrap();
    let index = std::fs::read_to_string(fixture.cache().join("index.json")).unwrap();
    let name = crate::fixture::file_of("same");
    let name = name.strip_suffix(".json").unwrap();
    let line = |n: usize| match n {
        0 => format!("  \"000.md\": \"{name}.json\""),
        n => format!("  \"{n:03}.md\": \"{name}-{}.json\"", n + 1),
    };
    let lines: Vec<_> = (0..300).map(line).collect();
    assert_eq!(index, format!("{{\n{}\n}}", lines.join(",\n")));
}
