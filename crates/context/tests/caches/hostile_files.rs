//! Hostile files are refused by their size or their shape, without reading them to the end.

use crate::fixture::CacheFixture;
use crate::tampered_cache::{SOURCES, TamperedCache, tampered};
use candor_context::{BudgetFlaw, Failure, MAX_LIST_FILE, Query, TokenBudget};
use std::fs::{self, File};
use std::io::Write;

#[test]
fn brackets_are_refused_at_the_first_byte() {
    let brackets = vec![b'['; 1 << 20];
    let fill = |cache: &TamperedCache, name: &str| {
        let mut file = File::create(cache.path(name)).unwrap();
        (0..100).for_each(|_| file.write_all(&brackets).unwrap());
    };
    let problems = tampered(|cache| fill(cache, "manifest.json"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].ends_with(" at line 1 column 1"), "{problems:?}");
    let problems = tampered(|cache| fill(cache, "index.json"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].ends_with(" at line 1 column 1"), "{problems:?}");
}

#[test]
fn oversized_files_are_refused() {
    for name in ["manifest.json", "index.json"] {
        let problems = tampered(|cache| {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(cache.path(name))
                .unwrap();
            file.set_len(MAX_LIST_FILE + 1).unwrap();
        });
        assert_eq!(problems, [format!("{name}: too large")]);
    }
    let name = crate::fixture::file_of(SOURCES[3].1);
    let problems = tampered(|cache| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(cache.path(&name))
            .unwrap();
        file.set_len(8 * candor_context::MAX_CONTENT + 1).unwrap();
    });
    assert_eq!(problems, [format!("{name}: too large")]);
}

#[test]
fn long_file_name_is_reported_shortened() {
    let (long, file) = ("x".repeat(1 << 20), crate::fixture::file_of(SOURCES[1].1));
    let problems = tampered(|cache| {
        for name in ["manifest.json", "index.json"] {
            cache.replace(name, &file, &format!("documents/{long}"));
        }
    });
    let shortened = format!("documents/{}…", &long[..290]);
    assert_eq!(
        problems[0],
        format!("manifest.json: `{shortened}` is not a name in documents/")
    );
    assert_eq!(problems.len(), 3);
}

#[test]
fn oversized_cache_version_is_not_reported() {
    let cache = TamperedCache::new();
    cache.edit("manifest.json", |all| {
        all["cache_version"] = serde_json::json!("x".repeat(1 << 20));
    });
    let off = "manifest.json: cache_version does not match what is listed";
    assert_eq!(cache.problems(), [off]);
    assert_eq!(cache.inspected()["cache_version"], "");
    assert_eq!(cache.inspected()["document_count"], 4);
    assert_eq!(cache.verified()["cache_version"], "");
}

#[test]
fn huge_index_files_are_ignored() {
    let cache = TamperedCache::new();
    for name in ["accelerator.idx", "accelerator.sig"] {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(cache.path(name))
            .unwrap();
        file.set_len(1 << 40).unwrap();
    }
    cache.still_answers();
}

#[test]
fn oversized_response_is_refused_before_documents_are_read() {
    let fixture = CacheFixture::new();
    for number in 0..2100 {
        fixture.put(&format!("{number}.md"), "");
    }
    fixture.build().unwrap();
    // Every document of the response repeats all of these terms.
    let query = Query::new(&"a ".repeat(32_768)).unwrap();
    let mut reader = fixture.reader().unwrap();
    let refused = reader
        .resolve(&query, TokenBudget::new(0).unwrap())
        .unwrap_err();
    assert!(
        matches!(refused, Failure::Budget(BudgetFlaw::ResponseTooLarge)),
        "{refused}"
    );
}
