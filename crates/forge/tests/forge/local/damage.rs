//! Damaged repositories: the damage is named at once, and the other repositories are not affected.

use crate::fixture::local::{ALL, LocalFixture, branch, git, hello, reading_context, repo};
use candor_forge::local::import;
use candor_forge::{DamagedItem, Failure, Forge as _, MergeMethod};
use std::fs;
use std::path::PathBuf;

/// Returns the file of a loose object.
fn object(fixture: &LocalFixture, name: &str) -> PathBuf {
    let id = fixture.git(&["rev-parse", name]);
    let (dir, rest) = id.split_at(2);
    fixture
        .path("sample/hello")
        .join("objects")
        .join(dir)
        .join(rest)
}

#[tokio::test]
async fn missing_tree_is_damage_and_not_undecided() {
    let fixture = LocalFixture::new().await;
    let instruction = fixture.instruction(1, MergeMethod::Merge).await;
    fs::remove_file(object(&fixture, "main^{tree}")).unwrap();
    let (context, hello) = (reading_context(), hello());
    let pull = fixture.forge.pull_request(&context, &hello, 1).await;
    let is_damage = |failure: &Failure| matches!(failure, Failure::Damaged(DamagedItem::Object, _));
    assert!(pull.as_ref().is_err_and(is_damage), "{pull:?}");
    let merged = fixture.merge_with(&instruction).await;
    assert!(merged.as_ref().is_err_and(is_damage), "{merged:?}");
    let listed = fixture
        .forge
        .directory(&context, &hello, "", &branch("main"))
        .await;
    assert!(listed.as_ref().is_err_and(is_damage), "{listed:?}");
}

#[tokio::test]
async fn missing_commit_and_broken_ref_are_damage() {
    let fixture = LocalFixture::new().await;
    fs::remove_file(object(&fixture, "main")).unwrap();
    let (context, hello) = (reading_context(), hello());
    let tree = fixture
        .forge
        .tree(&context, &hello, &branch("main"), 9)
        .await;
    assert!(
        matches!(tree, Err(Failure::Damaged(DamagedItem::Object, _))),
        "{tree:?}"
    );
    let file = fixture.path("sample/hello").join("refs/heads/conflict");
    fs::write(file, "junk").unwrap();
    let tree = fixture
        .forge
        .tree(&context, &hello, &branch("conflict"), 9)
        .await;
    assert!(
        matches!(tree, Err(Failure::Damaged(DamagedItem::Ref, _))),
        "{tree:?}"
    );
}

#[tokio::test]
async fn broken_head_hides_no_other_repository() {
    let fixture = LocalFixture::new().await;
    let other = fixture.clone_repository("sample/hello");
    import(fixture.dir.path(), other.path(), &repo("a/b"))
        .await
        .unwrap();
    git(&fixture.path("a/b"), &["fsck"]);
    fs::write(fixture.path("sample/hello").join("HEAD"), "junk").unwrap();
    let context = reading_context();
    let found = fixture.forge.search(&context, "", ALL).await.unwrap();
    let names: Vec<_> = found
        .repositories
        .iter()
        .map(|found| found.name.to_string())
        .collect();
    assert_eq!(
        (names, found.total_count, found.incomplete),
        (vec!["a/b".to_owned()], 1, true)
    );
    let head = fixture.forge.repository(&context, &hello()).await;
    assert!(
        matches!(head, Err(Failure::Damaged(DamagedItem::Head, _))),
        "{head:?}"
    );
    assert_eq!(fixture.forge.repositories().await.unwrap().len(), 2);
}
