//! Equal sources give equal bytes, whenever and wherever they are built.

use crate::corpora;
use crate::ground::{Ground, bytes_of};
use proptest::prelude::*;

fn ground(sources: &[(String, String)]) -> Ground {
    let ground = Ground::new();
    for (path, content) in sources {
        ground.put(path, content);
    }
    ground
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_builds_of_equal_sources_are_equal(
        sources in corpora::sources(200), passages in any::<bool>(),
    ) {
        let mut one = ground(&sources);
        // The other is written in another order: no order of the file system may show.
        let backwards: Vec<_> = sources.iter().rev().cloned().collect();
        let mut other = ground(&backwards);
        (one.passages, other.passages) = (passages, passages);
        prop_assert_eq!(one.build().unwrap(), other.build().unwrap());
        prop_assert_eq!(bytes_of(&one.cache()), bytes_of(&other.cache()));
    }
}

#[test]
fn a_forced_build_over_a_cache_leaves_nothing_of_it() {
    let mut ground = Ground::with(&[("a.md", "one"), ("b.md", "two")]);
    ground.build().unwrap();
    std::fs::remove_file(ground.sources().join("a.md")).unwrap();
    ground.put("c.md", "three");
    ground.force = true;
    ground.build().unwrap();
    let fresh = Ground::with(&[("b.md", "two"), ("c.md", "three")]);
    fresh.build().unwrap();
    assert_eq!(bytes_of(&ground.cache()), bytes_of(&fresh.cache()));
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn equal_contents_are_named_in_the_order_of_ids() {
    // Enough of them that several workers meet.
    let sources: Vec<_> = (0..300)
        .map(|n| (format!("{n:03}.md"), String::from("same")))
        .collect();
    let ground = ground(&sources);
    ground.build().unwrap();
    let index = std::fs::read_to_string(ground.cache().join("index.json")).unwrap();
    let name = crate::ground::file_of("same");
    let name = name.strip_suffix(".json").unwrap();
    let line = |n: usize| match n {
        0 => format!("  \"000.md\": \"{name}.json\""),
        n => format!("  \"{n:03}.md\": \"{name}-{}.json\"", n + 1),
    };
    let lines: Vec<_> = (0..300).map(line).collect();
    assert_eq!(index, format!("{{\n{}\n}}", lines.join(",\n")));
}
