//! Repositories found by words and qualifiers.

use crate::fixture::local::{ALL, LocalFixture, git, reading_context};
use candor_forge::{Forge as _, Paging};
use std::fs;

async fn found(fixture: &LocalFixture, query: &str) -> Vec<String> {
    let found = fixture
        .forge
        .search(&reading_context(), query, ALL)
        .await
        .unwrap();
    assert!(!found.incomplete);
    assert_eq!(found.total_count, found.repositories.len() as u64);
    found
        .repositories
        .iter()
        .map(|one| one.name.to_string())
        .collect()
}

async fn fixture() -> LocalFixture {
    let fixture = LocalFixture::new().await;
    for (owner, name, about) in [
        ("Zed", "tools", "Rate limit of a Rüssel"),
        ("acme", "Hello-World", "x"),
    ] {
        let dir = fixture.dir.path().join(owner);
        fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "-q", "--bare", &format!("{name}.git")]);
        fs::write(dir.join(format!("{name}.git/description")), about).unwrap();
    }
    fixture
}

#[tokio::test]
async fn every_word_must_be_there() {
    let fixture = fixture().await;
    let all = ["acme/Hello-World", "sample/hello", "Zed/tools"];
    assert_eq!(found(&fixture, "").await, all);
    assert_eq!(found(&fixture, "HELLO").await, all[..2]);
    assert_eq!(found(&fixture, "hello acme").await, all[..1]);
    assert_eq!(found(&fixture, "rate limit").await, all[2..]);
    assert_eq!(found(&fixture, "RÜSSEL").await, all[2..]);
    assert!(found(&fixture, "hello nothing").await.is_empty());
}

#[tokio::test]
async fn unknown_qualifiers_match_nothing() {
    let fixture = fixture().await;
    let all = ["acme/Hello-World", "sample/hello", "Zed/tools"];
    assert_eq!(found(&fixture, "user:ACME").await, all[..1]);
    assert_eq!(found(&fixture, "org:zed in:name").await, all[2..]);
    assert_eq!(found(&fixture, "repo:sample/HELLO").await, all[1..2]);
    assert_eq!(found(&fixture, "stars:<1 hello").await, all[..2]);
    assert!(found(&fixture, "stars:>100").await.is_empty());
    assert!(found(&fixture, "language:rust").await.is_empty());
}

#[tokio::test]
async fn search_is_paged_and_skips_other_directories() {
    let fixture = fixture().await;
    fs::create_dir(fixture.dir.path().join("acme/broken.git")).unwrap();
    fs::create_dir(fixture.dir.path().join("acme/plain")).unwrap();
    let paging = Paging {
        page: 2,
        per_page: 2,
    };
    let page = fixture
        .forge
        .search(&reading_context(), "", paging)
        .await
        .unwrap();
    assert_eq!((page.total_count, page.repositories.len()), (3, 1));
    assert_eq!(fixture.forge.repositories().await.unwrap().len(), 3);
}
