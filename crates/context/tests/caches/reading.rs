//! Documents in parts, lists, and the names of caches.

use crate::fixture::{CacheFixture, real};
use candor_context::{
    Catalogue, ChangeDetection, DocumentAnswer, DocumentPart, DocumentRequest, EmptyDirectory,
    LevelEntry, ListAnswer, ListRequest, Location, MAX_SERVED, PathFlaw, Query, ReadFailure,
    SearchRequest, TokenBudget,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn catalogue(paths: &[PathBuf]) -> Catalogue {
    Catalogue::new(
        Location::Anywhere,
        paths.to_vec(),
        EmptyDirectory::Served,
        Arc::new(real),
        ChangeDetection::Watch,
    )
}

pub(crate) fn search_request(query: &str, budget: u64, caches: Option<&[&str]>) -> SearchRequest {
    SearchRequest {
        query: Query::new(query).unwrap(),
        budget: TokenBudget::new(budget).unwrap(),
        caches: caches.map(|names| names.iter().map(ToString::to_string).collect()),
    }
}

fn get_request(cache: Option<&str>, id: &str, part: DocumentPart, budget: u64) -> DocumentRequest {
    DocumentRequest {
        id: id.to_owned(),
        cache: cache.map(str::to_owned),
        part,
        version: None,
        budget: TokenBudget::new(budget).unwrap(),
    }
}

fn list_request(cache: Option<&str>, under: &str) -> ListRequest {
    ListRequest {
        cache: cache.map(str::to_owned),
        under: under.to_owned(),
        after: None,
        limit: 1000,
    }
}

pub(crate) fn read_code(failure: &ReadFailure) -> String {
    failure.fault().row().code.to_string()
}

/// Searches the cache at a path, reads its first document and lists it.
pub(crate) fn read_every_way(cache: &Path) -> [Result<(), ReadFailure>; 4] {
    let catalogue = catalogue(&[cache.to_owned()]);
    let name = cache.file_name().unwrap().to_str().unwrap();
    let described = match catalogue.list(&list_request(None, "")).unwrap() {
        ListAnswer::Caches(all) => all.caches[0].problem,
        ListAnswer::Level(_) => panic!("the caches were asked for"),
    };
    let described = match described {
        None => Ok(()),
        // The list of caches names the code and goes on.
        Some("cache_invalid") => Err(ReadFailure::Cache {
            name: name.to_owned(),
            failure: candor_context::Failure::Invalid {
                problems: Vec::new(),
            },
        }),
        Some(other) => panic!("{other}"),
    };
    [
        catalogue
            .search(&search_request("beta", 100, None))
            .map(drop),
        catalogue
            .get(&get_request(None, "a.md", DocumentPart::Whole, 100))
            .map(drop),
        catalogue.list(&list_request(Some(name), "")).map(drop),
        described,
    ]
}

/// Returns a fixture with caches of these names, each with the same two documents.
fn caches(names: &[&str]) -> CacheFixture {
    let fixture = CacheFixture::with(&[
        ("A.md", "---\ntitle: Alpha\n---\n\nbeta\n"),
        ("d/E.md", "# Delta\n\none\ntwo\nthree\n"),
    ]);
    for name in names {
        fs::create_dir_all(fixture.path(name).parent().unwrap()).unwrap();
        fixture.build_at(name, false).unwrap();
    }
    fixture
}

fn get(catalogue: &Catalogue, request: &DocumentRequest) -> DocumentAnswer {
    catalogue.get(request).unwrap()
}

#[test]
fn document_has_its_members_in_order() {
    let fixture = caches(&["one"]);
    let catalogue = catalogue(&[fixture.path("one")]);
    let answer = get(
        &catalogue,
        &get_request(None, "d/e.md", DocumentPart::Lines(3, 9), 2),
    );
    insta::assert_snapshot!(serde_json::to_string(&answer).unwrap(), @r#"{"cache":"one","cache_version":"sha256:ac660bdbf74de23cb4ffab0cf470df02855b0ba036e8e2b2518c5536385269a8","id":"d/e.md","version":"sha256:9db55543d05e88a17f2ca84ce92c8a0dd6497b22f7ec6ec111ff4f2c862925ce","source":"d/E.md","title":"Delta","lines":[3,4],"range":[9,17],"total_lines":5,"total_bytes":23,"content":"one\ntwo\n","tokens":2,"tokenizer":"bytes4","next":[17,23]}"#);
    let rest = get(
        &catalogue,
        &get_request(None, "d/e.md", DocumentPart::Range(17, 23), 100),
    );
    assert_eq!((rest.content.as_str(), rest.next), ("three\n", None));
    assert_eq!(rest.lines, Some([5, 5]));
}

#[test]
fn empty_document_has_no_lines() {
    let fixture = CacheFixture::with(&[("empty.md", "")]);
    fixture.build().unwrap();
    let catalogue = catalogue(&[fixture.cache()]);
    for part in [DocumentPart::Whole, DocumentPart::Range(0, 0)] {
        let answer = get(&catalogue, &get_request(None, "empty.md", part, 1));
        assert_eq!(answer.lines, None);
        assert_eq!((answer.range, answer.next), ([0, 0], None));
        assert_eq!((answer.total_lines, answer.total_bytes), (0, 0));
        assert_eq!((answer.content.as_str(), answer.tokens), ("", 0));
    }
    let lines = get_request(None, "empty.md", DocumentPart::Lines(1, 1), 1);
    let failure = catalogue.get(&lines).unwrap_err();
    assert_eq!(read_code(&failure), "invalid_arguments");
}

/// Lines of an earlier text never apply to another one.
#[test]
fn replaced_document_is_another_version() {
    let mut fixture = CacheFixture::with(&[("a.md", "one\ntwo\n")]);
    fixture.clock = real;
    fixture.build().unwrap();
    let catalogue = catalogue(&[fixture.cache()]);
    let mut request = get_request(None, "a.md", DocumentPart::Lines(2, 2), 10);
    let first = get(&catalogue, &request);
    request.version = Some(first.version.clone());
    assert_eq!(get(&catalogue, &request).content, "two\n");
    fixture.put("a.md", "zero\none\ntwo\n");
    fixture.update().unwrap();
    let failure = catalogue.get(&request).unwrap_err();
    assert_eq!(read_code(&failure), "version_changed");
    request.version = None;
    let second = get(&catalogue, &request);
    assert_eq!(second.content, "one\n");
    let text = failure.fault().message().to_owned();
    assert!(
        text.contains(&first.version) && text.contains(&second.version),
        "{text}"
    );
}

#[test]
fn id_in_several_caches_needs_the_name_of_one() {
    let fixture = caches(&["one", "two"]);
    let both = catalogue(&[fixture.path("one"), fixture.path("two")]);
    let failure = both
        .get(&get_request(None, "a.md", DocumentPart::Whole, 10))
        .unwrap_err();
    let fault = failure.fault();
    assert_eq!(read_code(&failure), "invalid_arguments");
    let violation = &fault.violations().shown()[0];
    assert_eq!(violation.path.pointer(), "/cache");
    assert_eq!(
        violation.hint.as_deref(),
        Some("the id is in the caches `one`, `two`")
    );
    let named = get_request(Some("two"), "a.md", DocumentPart::Whole, 10);
    assert_eq!(get(&both, &named).cache, "two");
    // Only one of them has this id.
    fixture.put("more.md", "more");
    fixture.build_at("three", false).unwrap();
    let three = catalogue(&[fixture.path("one"), fixture.path("three")]);
    let more = get_request(None, "more.md", DocumentPart::Whole, 10);
    assert_eq!(get(&three, &more).cache, "three");
}

#[test]
fn unknown_names_are_reported_with_near_ones() {
    let fixture = caches(&["guide", "reference"]);
    let catalogue = catalogue(&[fixture.path("guide"), fixture.path("reference")]);
    let message =
        |failure: ReadFailure| format!("{} {}", failure.exit_code(), failure.fault().message());
    let fail = |cache: Option<&str>, id: &str| {
        let request = get_request(cache, id, DocumentPart::Whole, 10);
        message(catalogue.get(&request).unwrap_err())
    };
    insta::assert_snapshot!(fail(Some("giude"), "a.md"), @"4 There is no cache `giude`; the nearest is `guide`; the caches are `guide`, `reference`");
    insta::assert_snapshot!(fail(Some("nothing"), "a.md"), @"4 There is no cache `nothing`; the caches are `guide`, `reference`");
    insta::assert_snapshot!(fail(Some("guide"), "E.md"), @"8 The cache `guide` has no document `E.md`; near: `d/e.md`");
    insta::assert_snapshot!(fail(None, "x/e.md"), @"8 No cache has a document `x/e.md`; near: `d/e.md` in `guide`, `d/e.md` in `reference`");
    insta::assert_snapshot!(fail(None, "quite-other.txt"), @"8 No cache has a document `quite-other.txt`");
    let list = |under: &str| {
        let failure = catalogue.list(&list_request(Some("guide"), under));
        message(failure.unwrap_err())
    };
    insta::assert_snapshot!(list("e/"), @"8 The cache `guide` has no document under `e/`");
}

#[test]
fn levels_and_caches_are_listed() {
    let fixture = caches(&["one"]);
    let catalogue = catalogue(&[fixture.path("one")]);
    let list = |cache: Option<&str>, under: &str| {
        serde_json::to_string(&catalogue.list(&list_request(cache, under)).unwrap()).unwrap()
    };
    insta::assert_snapshot!(list(None, ""), @r#"{"caches":[{"cache":"one","cache_version":"sha256:ac660bdbf74de23cb4ffab0cf470df02855b0ba036e8e2b2518c5536385269a8","document_count":2,"tokens":13,"tokenizer":"bytes4","fresh":null,"updated_at":"2023-11-14T22:13:20Z"}]}"#);
    insta::assert_snapshot!(list(Some("one"), ""), @r#"{"cache":"one","under":"","entries":[{"kind":"document","id":"a.md","title":"Alpha","tokens":7,"version":"sha256:b58f34e13b5d535fe8d286ae6b65ff2c2450864e1ca603156ba2b6620bac8643"},{"kind":"folder","name":"d/","documents":1}],"next":null}"#);
    insta::assert_snapshot!(list(Some("one"), "d/"), @r#"{"cache":"one","under":"d/","entries":[{"kind":"document","id":"d/e.md","title":"Delta","tokens":6,"version":"sha256:9db55543d05e88a17f2ca84ce92c8a0dd6497b22f7ec6ec111ff4f2c862925ce"}],"next":null}"#);
}

#[test]
fn pages_of_a_list_give_every_entry_once() {
    let fixture = CacheFixture::new();
    for number in 0..25 {
        fixture.put(&format!("{number:02}.md"), "x");
        fixture.put(&format!("f{number:02}/x.md"), "x");
    }
    fixture.build().unwrap();
    let catalogue = catalogue(&[fixture.cache()]);
    let mut found = Vec::new();
    let mut request = list_request(Some("cache"), "");
    request.limit = 7;
    loop {
        let ListAnswer::Level(level) = catalogue.list(&request).unwrap() else {
            panic!("a level was asked for");
        };
        assert!(level.entries.len() <= 7);
        found.extend(level.entries.into_iter().map(|entry| match entry {
            LevelEntry::Folder { name, .. } => name,
            LevelEntry::Document { id, .. } => id,
        }));
        match level.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    assert_eq!(found.len(), 50);
    assert!(found.is_sorted());
    request.under = String::from("f00/");
    let failure = catalogue.list(&request).unwrap_err();
    assert_eq!(
        read_code(&failure),
        "invalid_arguments",
        "after is of another folder"
    );
}

#[test]
fn directories_of_caches_are_searched_for_caches() {
    let fixture = caches(&["caches/b", "caches/a", "caches/.hidden", "single"]);
    fs::create_dir(fixture.path("caches/not-a-cache")).unwrap();
    std::os::unix::fs::symlink("a", fixture.path("caches/link")).unwrap();
    let names = |paths: &[PathBuf]| -> Vec<String> {
        let caches = catalogue(paths).verify().unwrap();
        caches.into_iter().map(|cache| cache.name).collect()
    };
    let (caches, single) = (fixture.path("caches"), fixture.path("single"));
    assert_eq!(
        names(&[caches.clone(), single.clone()]),
        ["a", "b", "single"]
    );
    assert_eq!(names(&[caches.join("link")]), ["link"]);
    assert_eq!(names(&[single.join(".")]), ["single"]);
    // A cache whose manifest is gone is still one, and broken.
    fs::remove_file(single.join("manifest.json")).unwrap();
    assert_eq!(names(&[single]), ["single"]);
    // A directory without caches is served, and caches that appear in it are found.
    let empty = fixture.path("caches/not-a-cache");
    let later = catalogue(std::slice::from_ref(&empty));
    assert_eq!(later.verify().unwrap(), []);
    let answer = later.search(&search_request("beta", 10, None)).unwrap();
    assert_eq!(answer.selection.passages_considered, 0);
    fixture.build_at("caches/not-a-cache/new", false).unwrap();
    let answer = later.search(&search_request("beta", 10, None)).unwrap();
    assert_eq!(answer.selection.passages_considered, 1);
    fs::remove_dir_all(&empty).unwrap();
    let gone = later.search(&search_request("beta", 10, Some(&["new"])));
    assert_eq!(read_code(&gone.unwrap_err()), "cache_missing");
}

#[test]
fn two_caches_with_one_name_are_refused() {
    let fixture = caches(&["a/docs", "b/docs"]);
    let paths = [fixture.path("a"), fixture.path("b/docs")];
    let Err(PathFlaw::SameName { name, paths: found }) = catalogue(&paths).verify() else {
        panic!("both have one name");
    };
    assert_eq!(
        (name.as_str(), found),
        ("docs", [fixture.path("a/docs"), fixture.path("b/docs")])
    );
    let missing = catalogue(&[fixture.path("nowhere")]).verify();
    assert!(matches!(missing, Err(PathFlaw::Path(_))));
}

#[test]
fn more_caches_than_the_limit_are_refused() {
    let fixture = caches(&["all/c00"]);
    for number in 1..MAX_SERVED {
        let cache = fixture.path(format!("all/c{number:02}"));
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("manifest.json"), "{}").unwrap();
    }
    let all = catalogue(&[fixture.path("all")]);
    assert_eq!(all.verify().unwrap().len(), MAX_SERVED);
    fixture.build_at("one-more", false).unwrap();
    let paths = [fixture.path("all"), fixture.path("one-more")];
    assert!(matches!(
        catalogue(&paths).verify(),
        Err(PathFlaw::Many(65))
    ));
    // Without names a search of so many caches is refused, and the answer has the names.
    let failure = all.search(&search_request("beta", 10, None)).unwrap_err();
    let fault = failure.fault();
    let violation = &fault.violations().shown()[0];
    assert_eq!(
        (violation.field().as_ref(), violation.keyword),
        ("caches", "required")
    );
    let hint = violation.hint.as_deref().unwrap();
    assert!(hint.contains("`c00`") && hint.contains("`c63`"), "{hint}");
    // The others are broken, but only the named cache is asked.
    let named = all
        .search(&search_request("beta", 10, Some(&["c00"])))
        .unwrap();
    assert_eq!(named.selection.passages_selected, 1);
    let broken = all.search(&search_request("beta", 10, Some(&["c00", "c01"])));
    assert_eq!(read_code(&broken.unwrap_err()), "cache_invalid");
}
