//! Repositories found by words and qualifiers.

use crate::ground::{ALL, Ground, git, reading};
use candor_forge::{Forge as _, Paging};
use std::fs;

async fn found(ground: &Ground, query: &str) -> Vec<String> {
    let found = ground.forge.search(&reading(), query, ALL).await.unwrap();
    assert!(!found.incomplete);
    assert_eq!(found.total_count, found.repositories.len() as u64);
    found
        .repositories
        .iter()
        .map(|one| one.name.to_string())
        .collect()
}

async fn ground() -> Ground {
    let ground = Ground::new().await;
    for (owner, name, about) in [
        ("Zed", "tools", "Rate limit of a Rüssel"),
        ("acme", "Hello-World", "x"),
    ] {
        let dir = ground.dir.path().join(owner);
        fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "-q", "--bare", &format!("{name}.git")]);
        fs::write(dir.join(format!("{name}.git/description")), about).unwrap();
    }
    ground
}

#[tokio::test]
async fn every_word_must_be_there() {
    let ground = ground().await;
    let all = ["acme/Hello-World", "sample/hello", "Zed/tools"];
    assert_eq!(found(&ground, "").await, all);
    assert_eq!(found(&ground, "HELLO").await, all[..2]);
    assert_eq!(found(&ground, "hello acme").await, all[..1]);
    assert_eq!(found(&ground, "rate limit").await, all[2..]);
    assert_eq!(found(&ground, "RÜSSEL").await, all[2..]);
    assert!(found(&ground, "hello nothing").await.is_empty());
}

#[tokio::test]
async fn qualifiers_are_judged_or_met_by_nothing() {
    let ground = ground().await;
    let all = ["acme/Hello-World", "sample/hello", "Zed/tools"];
    assert_eq!(found(&ground, "user:ACME").await, all[..1]);
    assert_eq!(found(&ground, "org:zed in:name").await, all[2..]);
    assert_eq!(found(&ground, "repo:sample/HELLO").await, all[1..2]);
    assert_eq!(found(&ground, "stars:<1 hello").await, all[..2]);
    assert!(found(&ground, "stars:>100").await.is_empty());
    assert!(found(&ground, "language:rust").await.is_empty());
}

#[tokio::test]
async fn pages_and_what_is_no_repository() {
    let ground = ground().await;
    fs::create_dir(ground.dir.path().join("acme/broken.git")).unwrap();
    fs::create_dir(ground.dir.path().join("acme/plain")).unwrap();
    let paging = Paging {
        page: 2,
        per_page: 2,
    };
    let page = ground.forge.search(&reading(), "", paging).await.unwrap();
    assert_eq!((page.total_count, page.repositories.len()), (3, 1));
    assert_eq!(ground.forge.repositories().await.unwrap().len(), 3);
}
