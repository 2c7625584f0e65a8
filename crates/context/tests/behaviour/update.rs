//! An update gives the bytes of a build, and reads only what changed.

use crate::corpora;
use crate::ground::{Ground, bytes_of, refusal, tick};
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
    let place = 0..30usize;
    prop_oneof![
        3 => (place.clone(), corpora::content()).prop_map(|(at, content)| Edit::Write(at, content)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), place.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (any::<Index>(), place).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => any::<Index>().prop_map(Edit::Recase),
        1 => any::<Index>().prop_map(Edit::Rewrite),
    ]
}

/// Sources by id, with the path that each has.
type Model = BTreeMap<String, (String, String)>;

fn put(ground: &Ground, model: &mut Model, path: String, content: String) {
    let id = path.to_lowercase();
    if let Some((before, _)) = model.remove(&id) {
        fs::remove_file(ground.sources().join(before)).unwrap();
    }
    ground.put(&path, &content);
    model.insert(id, (path, content));
}

fn apply(ground: &Ground, model: &mut Model, edit: &Edit) {
    let chosen = |index: &Index| match model.len() {
        0 => None,
        count => model
            .iter()
            .nth(index.index(count))
            .map(|(id, one)| (id.clone(), one.clone())),
    };
    match edit {
        Edit::Write(at, content) => put(ground, model, corpora::path(*at), content.clone()),
        Edit::Remove(index) => {
            if let Some((id, (path, _))) = chosen(index) {
                fs::remove_file(ground.sources().join(path)).unwrap();
                model.remove(&id);
            }
        }
        Edit::Rename(index, to) => {
            if let Some((id, (path, content))) = chosen(index) {
                fs::remove_file(ground.sources().join(path)).unwrap();
                model.remove(&id);
                put(ground, model, corpora::path(*to), content);
            }
        }
        Edit::Copy(index, to) => {
            if let Some((_, (_, content))) = chosen(index) {
                put(ground, model, corpora::path(*to), content);
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
                    ground,
                    model,
                    path.trim_start_matches('/').to_owned(),
                    content,
                );
            }
        }
        Edit::Rewrite(index) => {
            if let Some((_, (path, content))) = chosen(index) {
                put(ground, model, path, content);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rounds_of_updates_give_the_bytes_of_builds(
        sources in corpora::sources(30),
        rounds in proptest::collection::vec(proptest::collection::vec(edit(), 0..6), 1..5),
        passages in any::<bool>(),
    ) {
        let mut ground = Ground::new();
        ground.passages = passages;
        let mut model = Model::new();
        for (path, content) in sources {
            put(&ground, &mut model, path, content);
        }
        ground.build().unwrap();
        for (number, edits) in rounds.iter().enumerate() {
            tick();
            edits.iter().for_each(|edit| apply(&ground, &mut model, edit));
            let updated = ground.update().unwrap();
            let fresh = format!("fresh-{number}");
            let built = ground.build_at(&fresh, false).unwrap();
            prop_assert_eq!(updated.cache_version, built.cache_version);
            prop_assert_eq!(updated.document_count, model.len() as u64);
            // No edit writes more than one of them.
            prop_assert!(updated.read <= edits.len() as u64, "read {}", updated.read);
            prop_assert_eq!(bytes_of(&ground.cache()), bytes_of(&ground.path(fresh)));
            prop_assert!(!ground.reader().unwrap().by_hashing());
        }
    }
}

#[test]
fn what_was_too_fresh_to_prove_anything_is_read_again() {
    let mut ground = Ground::with(&[("a.md", "one"), ("b.md", "two")]);
    // For this clock everything is written in the future.
    ground.clock = || candor_fault::Timestamp::UNIX_EPOCH;
    ground.build().unwrap();
    ground.clock = crate::ground::ahead;
    assert_eq!(ground.update().unwrap().read, 2);
    assert_eq!(ground.update().unwrap().read, 0);
    ground.put("b.md", "TWO");
    assert_eq!(ground.update().unwrap().read, 1);
}

#[test]
fn directories_that_come_and_go_are_seen() {
    let ground = Ground::with(&[
        ("a.md", "one"),
        ("in/b.md", "two"),
        ("in/deep/c.md", "three"),
        ("other/d.md", "four"),
    ]);
    ground.build().unwrap();
    let sources = ground.sources();
    let steps: [&dyn Fn(); 8] = [
        &|| {},
        &|| ground.put("in/deep/new.md", "five"),
        &|| ground.put("in/deep/er/new.md", "six"),
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
        assert_eq!(ground.update().unwrap().document_count, count);
        ground.build_at(&fresh, false).unwrap();
        assert!(bytes_of(&ground.cache()) == bytes_of(&ground.path(fresh)));
    }
}

#[test]
fn an_update_needs_a_cache_that_is_right() {
    let ground = Ground::with(&[("a.md", "one")]);
    let path = ground.cache().display().to_string();
    assert_eq!(
        refusal(ground.update()),
        format!(
            "cache_missing: there is no cache at `{path}`: No such file or directory (os error 2)"
        )
    );
    fs::create_dir(ground.cache()).unwrap();
    assert_eq!(
        refusal(ground.update()),
        "cache_invalid: the cache is invalid: manifest.json: missing (and 2 more problems)"
    );
    fs::remove_dir(ground.cache()).unwrap();
    ground.build().unwrap();
    ground.put("b.md", b"\xff");
    let before = bytes_of(&ground.cache());
    assert_eq!(
        refusal(ground.update()),
        "cache_invalid: `b.md` is not UTF-8 from byte 0 on"
    );
    assert!(
        bytes_of(&ground.cache()) == before,
        "a failing update changes nothing"
    );
    assert_eq!(ground.names(), ["cache", "sources"]);
}

#[test]
fn what_a_build_would_not_have_written_is_not_taken_over() {
    let mut ground = Ground::with(&[("a.md", "one"), ("b.md", "two")]);
    ground.build().unwrap();
    let whole = bytes_of(&ground.cache());
    ground.clock = crate::ground::real;
    let file = ground.cache().join(crate::ground::file_of("one"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace(r#""metadata":{}"#, r#""metadata":{"n":1}"#),
    )
    .unwrap();
    assert!(ground.reader().is_ok(), "the format does not protect it");
    assert_eq!(ground.update().unwrap().read, 2);
    assert!(bytes_of(&ground.cache()) == whole);
}
