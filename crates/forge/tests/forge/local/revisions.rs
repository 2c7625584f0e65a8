//! Tests of revisions: branches, tags, first digits of commits.

use crate::fixture::local::{ALL, LocalFixture, branch, hello, named, reading_context, sha};
use candor_forge::{Failure, Forge as _, MissingItem, Revision, UnmetPrecondition};
use std::collections::BTreeMap;
use std::fs;

async fn first(fixture: &LocalFixture, at: &Revision) -> Result<String, Failure> {
    let found = fixture
        .forge
        .commits(&reading_context(), &hello(), at, ALL)
        .await;
    found.map(|found| found.commits[0].sha.clone())
}

fn missing(name: &str) -> Result<String, Failure> {
    Err(Failure::Missing(MissingItem::Revision(name.to_owned())))
}

#[tokio::test]
async fn branch_comes_before_a_tag_and_a_tag_before_digits() {
    let fixture = LocalFixture::new().await;
    let (main, greeting) = (fixture.head("main"), fixture.head("feature/greeting"));
    fixture.git(&["tag", "main", &greeting]);
    fixture.git(&["tag", "light", &greeting]);
    fixture.git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "tag",
        "-a",
        "-m",
        "x",
        "heavy",
        &greeting,
    ]);
    fixture.git(&["tag", &main[..8], &greeting]);
    assert_eq!(first(&fixture, &branch("main")).await, Ok(main.clone()));
    assert_eq!(first(&fixture, &named("main")).await, Ok(main.clone()));
    assert_eq!(first(&fixture, &named("light")).await, Ok(greeting.clone()));
    assert_eq!(first(&fixture, &named("heavy")).await, Ok(greeting.clone()));
    assert_eq!(first(&fixture, &named(&main[..8])).await, Ok(greeting));
    assert_eq!(first(&fixture, &sha(&main[..8])).await, Ok(main.clone()));
    assert_eq!(first(&fixture, &named(&main[..7])).await, Ok(main.clone()));
    assert_eq!(first(&fixture, &named(&main)).await, Ok(main.clone()));
    assert_eq!(
        first(&fixture, &sha(&main.to_uppercase())).await,
        Ok(main.clone())
    );
    let no_branch = Err(Failure::Missing(MissingItem::Branch("light".into())));
    assert_eq!(first(&fixture, &branch("light")).await, no_branch);
}

#[tokio::test]
async fn unknown_revision_is_missing() {
    let fixture = LocalFixture::new().await;
    let main = fixture.head("main");
    let tree = fixture.git(&["rev-parse", "main^{tree}"]);
    fixture.git(&["tag", "a-tree", &tree]);
    let not_there = [
        "nope",
        &main[..6],
        "deadbeefdeadbeef",
        &tree,
        "a-tree",
        "HEAD",
        "main~1",
    ];
    for name in
        not_there
            .iter()
            .chain(&["", "..", "a b", "refs/heads/main", "x.lock", "-x", "@{0}"])
    {
        assert_eq!(first(&fixture, &named(name)).await, missing(name), "{name}");
        assert_eq!(first(&fixture, &sha(name)).await, missing(name), "{name}");
    }
    let gone = Failure::Missing(MissingItem::Branch("not found".into()));
    assert_eq!(first(&fixture, &branch("not found")).await, Err(gone));
}

#[tokio::test]
async fn digits_of_two_objects_are_ambiguous_only_if_both_are_commits() {
    let fixture = LocalFixture::new().await;
    let tree = fixture.git(&["rev-parse", "main^{tree}"]);
    let text = |number: u32| {
        format!("tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n{number}\n")
    };
    let id = |kind, text: &str| {
        git2::Oid::hash_object(kind, text.as_bytes())
            .unwrap()
            .to_string()
    };
    let mut seen = BTreeMap::new();
    let (one, other) = (0..)
        .find_map(|number| {
            let prefix = id(git2::ObjectType::Commit, &text(number))[..7].to_owned();
            seen.insert(prefix, number).map(|before| (before, number))
        })
        .unwrap();
    let repository = git2::Repository::open_bare(fixture.path("sample/hello")).unwrap();
    let odb = repository.odb().unwrap();
    let write = |kind, text: &str| odb.write(kind, text.as_bytes()).unwrap().to_string();
    let first_commit = write(git2::ObjectType::Commit, &text(one));
    assert_eq!(
        first(&fixture, &sha(&first_commit[..7])).await,
        Ok(first_commit.clone())
    );
    let second = write(git2::ObjectType::Commit, &text(other));
    let ambiguous = Err(Failure::Unmet(UnmetPrecondition::AmbiguousSha(
        first_commit[..7].to_owned(),
    )));
    assert_eq!(first(&fixture, &sha(&first_commit[..7])).await, ambiguous);
    assert_eq!(first(&fixture, &named(&first_commit[..7])).await, ambiguous);
    assert_eq!(first(&fixture, &sha(&first_commit)).await, Ok(first_commit));
    // A blob that begins like a commit is not in its way.
    let blob = (0u32..)
        .map(|number| number.to_string())
        .find(|text| seen.contains_key(&id(git2::ObjectType::Blob, text)[..7]))
        .unwrap();
    let alike = id(git2::ObjectType::Blob, &blob)[..7].to_owned();
    let commit = text(seen[&alike]);
    write(git2::ObjectType::Blob, &blob);
    let commit = write(git2::ObjectType::Commit, &commit);
    if alike != second[..7] {
        assert_eq!(first(&fixture, &sha(&alike)).await, Ok(commit));
    }
}

#[tokio::test]
async fn detached_head_falls_back_to_usual_default_branches() {
    let fixture = LocalFixture::new().await;
    let head = fixture.path("sample/hello").join("HEAD");
    fs::write(&head, format!("{}\n", fixture.head("conflict"))).unwrap();
    assert_eq!(
        first(&fixture, &Revision::Default).await,
        Ok(fixture.head("main"))
    );
    fs::write(&head, "ref: refs/heads/gone\n").unwrap();
    let gone = Failure::Missing(MissingItem::Branch("gone".into()));
    assert_eq!(first(&fixture, &Revision::Default).await, Err(gone));
}
