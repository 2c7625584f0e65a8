//! An update gives the bytes of a build, and reads only changed sources.

use crate::fixture::{CacheFixture, bytes_of, outcome_of, tick};
use crate::generated;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::fs;

/// One change of the sources.
#[derive(Debug, Clone)]
enum Edit {
    Write(usize, String),
    Remove(Index),
    Rename(Index, usize),
    Copy(Index, usize),
    /// The same name in capital letters: the id stays.
    Recase(Index),
    /// The same bytes in a new file.
    Rewrite(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let position = 0..30usize;
    prop_oneof![
        3 => (position.clone(), generated::content()).prop_map(|(at, content)| Edit::Write(at, content)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), position.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (any::<Index>(), position).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => any::<Index>().prop_map(Edit::Recase),
        1 => any::<Index>().prop_map(Edit::Rewrite),
    ]
}

/// Paths and contents of sources, by id.
type Model = BTreeMap<String, (String, String)>;

fn put(fixture: &CacheFixture, model: &mut Model, path: String, content: String) {
    let id = path.to_lowercase();
    if let Some((before, _)) = model.remove(&id) {
        fs::remove_file(fixture.sources().join(before)).unwrap();
    }
    fixture.put(&path, &content);
    model.insert(id, (path, content));
}

fn apply(fixture: &CacheFixture, model: &mut Model, edit: &Edit) {
    let chosen = |index: &Index| match model.len() {
        0 => None,
        count => model
            .iter()
            .nth(index.index(count))
            .map(|(id, one)| (id.clone(), one.clone())),
    };
    match edit {
        Edit::Write(at, content) => put(fixture, model, generated::path(*at), content.clone()),
        Edit::Remove(index) => {
            if let Some((id, (path, _))) = chosen(index) {
                fs::remove_file(fixture.sources().join(path)).unwrap();
                model.remove(&id);
            }
        }
        Edit::Rename(index, to) => {
            if let Some((id, (path, content))) = chosen(index) {
                fs::remove_file(fixture.sources().join(path)).unwrap();
                model.remove(&id);
                put(fixture, model, generated::path(*to), content);
            }
        }
        Edit::Copy(index, to) => {
            if let Some((_, (_, content))) = chosen(index) {
                put(fixture, model, generated::path(*to), content);
            }
        }
        Edit::Recase(index) => {
            if let Some((_, (path, content))) = chosen(index) {
                let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
                let name = name.strip_suffix(".md").unwrap();
                let name = match name.starts_with('X') {
                    true => name.to_ascii_lowercase(),
                    false => name.to_ascii_uppercase(),
                };
                let path = format!("{folder}/{name}.md");
                put(
                    fixture,
                    model,
                    path.trim_start_matches('/').to_owned(),
                    content,
                );
            }
        }
        Edit::Rewrite(index) => {
            if let Some((_, (path, content))) = chosen(index) {
                put(fixture, model, path, content);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn updates_give_the_bytes_of_builds(
        sources in generated::sources(30),
        rounds in proptest::collection::vec(proptest::collection::vec(edit(), 0..6), 1..5),
        passages in any::<bool>(),
    ) {
        let mut fixture = CacheFixture::new();
        fixture.passages = passages;
        let mut model = Model::new();
        for (path, content) in sources {
            put(&fixture, &mut model, path, content);
        }
        fixture.build().unwrap();
        for (number, edits) in rounds.iter().enumerate() {
            tick();
            edits.iter().for_each(|edit| apply(&fixture, &mut model, edit));
            let updated = fixture.update().unwrap();
            let fresh = format!("fresh-{number}");
            let built = fixture.build_at(&fresh, false).unwrap();
            prop_assert_eq!(updated.cache_version, built.cache_version);
            prop_assert_eq!(updated.document_count, model.len() as u64);
            // No edit writes more than one source.
            prop_assert!(updated.read <= edits.len() as u64, "read {}", updated.read);
            prop_assert_eq!(bytes_of(&fixture.cache()), bytes_of(&fixture.path(fresh)));
            prop_assert!(!fixture.reader().unwrap().was_hashed());
        }
    }
}

#[test]
fn source_with_a_fresh_stamp_is_read_again() {
    let mut fixture = CacheFixture::with(&[("a.md", "one"), ("b.md", "two")]);
    // By this clock everything is written in the future.
    fixture.clock = || candor_fault::Timestamp::UNIX_EPOCH;
    fixture.build().unwrap();
    fixture.clock = crate::fixture::ahead;
    assert_eq!(fixture.update().unwrap().read, 2);
    assert_eq!(fixture.update().unwrap().read, 0);
    fixture.put("b.md", "TWO");
    assert_eq!(fixture.update().unwrap().read, 1);
}

#[test]
fn added_and_removed_directories_are_noticed() {
    let fixture = CacheFixture::with(&[
        ("a.md", "one"),
        ("in/b.md", "two"),
        ("in/deep/c.md", "three"),
        ("other/d.md", "four"),
    ]);
    fixture.build().unwrap();
    let sources = fixture.sources();
    let steps: [&dyn Fn(); 8] = [
        &|| {},
        &|| fixture.put("in/deep/new.md", "five"),
        &|| fixture.put("in/deep/er/new.md", "six"),
        &|| fs::rename(sources.join("in"), sources.join("moved")).unwrap(),
        &|| fs::rename(sources.join("other"), sources.join("moved/deep/other")).unwrap(),
        &|| fs::remove_file(sources.join("moved/deep/c.md")).unwrap(),
        &|| std::os::unix::fs::symlink("moved", sources.join("in")).unwrap(),
        &|| fs::remove_dir_all(sources.join("moved")).unwrap(),
    ];
    let counts = [4, 5, 6, 6, 6, 5, 5, 1];
    for (number, (step, count)) in steps.into_iter().zip(counts).enumerate() {
        tick();
        step();
        let fresh = format!("fresh-{number}");
        assert_eq!(fixture.update().unwrap().document_count, count);
        fixture.build_at(&fresh, false).unwrap();
        assert!(bytes_of(&fixture.cache()) == bytes_of(&fixture.path(fresh)));
    }
}

#[test]
fn update_of_an_invalid_cache_is_refused() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    let path = fixture.cache().display().to_string();
    assert_eq!(
        outcome_of(fixture.update()),
        format!(
            "cache_missing: there is no cache at `{path}`: No such file or directory (os error 2)"
        )
    );
    fs::create_dir(fixture.cache()).unwrap();
    assert_eq!(
        outcome_of(fixture.update()),
        "cache_invalid: the cache is invalid: manifest.json: missing (and 2 more problems)"
    );
    fs::remove_dir(fixture.cache()).unwrap();
    fixture.build().unwrap();
    fixture.put("b.md", b"\xff");
    let before = bytes_of(&fixture.cache());
    assert_eq!(
        outcome_of(fixture.update()),
        "cache_invalid: `b.md` is not UTF-8 from byte 0 on"
    );
    assert!(
        bytes_of(&fixture.cache()) == before,
        "a failing update changes nothing"
    );
    assert_eq!(fixture.names(), ["cache", "sources"]);
}

/// Has this many sources and their cache.
fn many(count: usize) -> CacheFixture {
    let fixture = CacheFixture::new();
    for number in 0..count {
        fixture.put(&format!("{number}.md"), format!("document {number}"));
    }
    fixture.build().unwrap();
    fixture
}

fn remove(fixture: &CacheFixture, numbers: std::ops::Range<usize>) {
    for number in numbers {
        fs::remove_file(fixture.sources().join(format!("{number}.md"))).unwrap();
    }
}

#[test]
fn update_that_removes_most_documents_is_refused() {
    for (documents, removed, refused) in [
        (40, 20, false),
        (40, 21, true),
        (41, 20, false),
        (41, 21, true),
        (39, 20, true),
        (30, 19, false),
        (25, 24, true),
        (19, 18, false),
        (19, 19, true),
        (1, 1, true),
    ] {
        let fixture = many(documents);
        let before = bytes_of(&fixture.cache());
        remove(&fixture, 0..removed);
        let sources = fixture.sources().canonicalize().unwrap();
        let expected = format!(
            "io_error: the update would remove {removed} of {documents} documents, because their sources are not in `{}` any more",
            sources.display()
        );
        let outcome = outcome_of(fixture.update_carefully());
        match refused {
            true => {
                assert_eq!(outcome, expected);
                assert!(bytes_of(&fixture.cache()) == before);
                assert!(!fixture.reader().unwrap().was_hashed());
                // Without the list of sources, ids decide.
                fs::remove_file(fixture.cache().join("accelerator.src")).unwrap();
                assert_eq!(outcome_of(fixture.update_carefully()), expected);
                assert_eq!(outcome_of(fixture.update()), "done");
            }
            false => assert_eq!(outcome, "done", "{removed} of {documents}"),
        }
    }
}

#[test]
fn renamed_documents_count_as_removed_unless_their_ids_stay() {
    let fixture = many(25);
    for number in 0..25 {
        let rename = |from: String, to: String| {
            fs::rename(fixture.sources().join(from), fixture.sources().join(to)).unwrap();
        };
        rename(format!("{number}.md"), format!("x-{number}.md"));
    }
    assert!(outcome_of(fixture.update_carefully()).contains("would remove 25 of 25 documents"));
    fixture.update().unwrap();
    for number in 0..25 {
        let rename = |from: String, to: String| {
            fs::rename(fixture.sources().join(from), fixture.sources().join(to)).unwrap();
        };
        rename(format!("x-{number}.md"), format!("X-{number}.md"));
    }
    assert_eq!(outcome_of(fixture.update_carefully()), "done");
}

#[test]
fn empty_cache_can_be_updated() {
    let fixture = many(0);
    assert_eq!(outcome_of(fixture.update_carefully()), "done");
    fixture.put("a.md", "one");
    assert_eq!(fixture.update_carefully().unwrap().document_count, 1);
}

#[test]
fn edited_document_is_not_reused() {
    let mut fixture = CacheFixture::with(&[("a.md", "one"), ("b.md", "two")]);
    fixture.build().unwrap();
    let expected_bytes = bytes_of(&fixture.cache());
    fixture.clock = crate::fixture::real;
    let file = fixture.cache().join(crate::fixture::file_of("one"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace(r#""metadata":{}"#, r#""metadata":{"n":1}"#),
    )
    .unwrap();
    assert!(fixture.reader().is_ok(), "the format does not protect it");
    assert_eq!(fixture.update().unwrap().read, 2);
    assert!(bytes_of(&fixture.cache()) == expected_bytes);
}
