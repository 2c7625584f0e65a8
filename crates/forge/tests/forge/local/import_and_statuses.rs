//! Forges that are made, and repositories that are brought in.

use crate::fixture::local::{
    ALL, LocalFixture, branch, clock, git, hello, identity, reading_context, reopen, repo,
};
use candor_forge::local::{Identity, LocalForgeError, import, init};
use candor_forge::{CheckState, Failure, Forge as _, LocalForge, MissingItem, PullFilter};
use std::fs;
use tempfile::TempDir;

#[tokio::test]
async fn sample_commits_are_deterministic() {
    let fixture = LocalFixture::new().await;
    let heads = fixture.git(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    assert_eq!(heads, HEADS);
    let checks = fixture
        .forge
        .checks(
            &reading_context(),
            &hello(),
            &fixture.head("feature/greeting"),
        )
        .await
        .unwrap();
    assert_eq!(
        (checks.checks[0].name.as_str(), checks.checks[0].state),
        ("ci/test", CheckState::Passed)
    );
    fixture.git(&["fsck", "--strict"]);
    assert_eq!(
        git(&fixture.path("sample/hello"), &["symbolic-ref", "HEAD"]),
        "refs/heads/main"
    );
}

const HEADS: &str = "\
e8795e7cf1fa2fe4bbbf76a2ba746d179920bf91 refs/heads/conflict
6ae6afc4af13896becc6b9fd180fc17bc6b16104 refs/heads/draft/guide
4d6303b4a2679d249c1fe07dc6d8b505c3250ebb refs/heads/feature/greeting
486c21e38571393fe30fc82bb0bc33ccbce9f5d4 refs/heads/main
4d6303b4a2679d249c1fe07dc6d8b505c3250ebb refs/pull/1/head
e8795e7cf1fa2fe4bbbf76a2ba746d179920bf91 refs/pull/2/head
6ae6afc4af13896becc6b9fd180fc17bc6b16104 refs/pull/3/head";

#[tokio::test]
async fn forge_is_created_once_and_in_empty_directories_only() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("deep/forge");
    assert!(init(&place).await.unwrap());
    assert!(!init(&place).await.unwrap());
    let forge = reopen(&place).await;
    assert_eq!(forge.repositories().await.unwrap().len(), 1);
    assert_eq!(forge.root(), place);
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/file"), "x").unwrap();
    let full = init(&dir.path().join("full")).await;
    assert!(
        matches!(full, Err(LocalForgeError::NotEmpty(_))),
        "{full:?}"
    );
    let nothing = LocalForge::open(dir.path().join("full"), clock(), identity()).await;
    assert!(matches!(nothing, Err(LocalForgeError::NotAForge(_))));
    fs::write(
        dir.path().join("full/forge.db"),
        "this is no database, and long enough to be seen as none",
    )
    .unwrap();
    let broken = LocalForge::open(dir.path().join("full"), clock(), identity()).await;
    assert!(matches!(broken, Err(LocalForgeError::Failed(_))));
}

/// Making a forge was interrupted before its sample was on record.
#[tokio::test]
async fn interrupted_creation_is_completed() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("forge.db"), "").unwrap();
    let nothing = LocalForge::open(dir.path(), clock(), identity()).await;
    assert!(matches!(nothing, Err(LocalForgeError::NotAForge(_))));
    assert!(init(dir.path()).await.unwrap());
    execute(dir.path(), "DELETE FROM meta WHERE key = 'sample'").await;
    execute(dir.path(), "DELETE FROM pull_requests").await;
    assert!(init(dir.path()).await.unwrap());
    let forge = reopen(dir.path()).await;
    let pulls = forge
        .pull_requests(&reading_context(), &hello(), PullFilter::All, ALL)
        .await
        .unwrap();
    assert_eq!(pulls.pulls.len(), 3);
}

pub(crate) async fn execute(dir: &std::path::Path, sql: &'static str) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join("forge.db"));
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    sqlx::query(sql).execute(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test]
async fn newer_format_is_refused() {
    let fixture = LocalFixture::new().await;
    for (sql, format) in [
        ("UPDATE meta SET value = '3' WHERE key = 'format'", 3),
        ("UPDATE meta SET value = 'x' WHERE key = 'format'", u64::MAX),
    ] {
        execute(fixture.dir.path(), sql).await;
        let newer = LocalForge::open(fixture.dir.path(), clock(), identity()).await;
        assert!(
            matches!(newer, Err(LocalForgeError::Newer { found, known: 2 }) if found == format)
        );
        let newer = init(fixture.dir.path()).await;
        assert!(
            matches!(newer, Err(LocalForgeError::Newer { found, known: 2 }) if found == format)
        );
    }
}

#[tokio::test]
async fn invalid_committer_name_is_refused() {
    let fixture = LocalFixture::new().await;
    let nameless = Identity {
        name: "<>".into(),
        email: String::new(),
    };
    let refused = LocalForge::open(fixture.dir.path(), clock(), nameless).await;
    assert!(
        matches!(refused, Err(LocalForgeError::Failed(failure)) if matches!(*failure, Failure::Broken(..)))
    );
}

/// A clone with everything that is brought in and something that is not.
fn origin() -> TempDir {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    git(at, &["init", "-q", "-b", "trunk"]);
    fs::write(at.join("a"), "a").unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "One"]);
    git(at, &["branch", "side/one"]);
    git(at, &["tag", "light"]);
    git(at, &["tag", "-a", "-m", "x", "heavy"]);
    git(at, &["tag", "tree", "HEAD^{tree}"]);
    git(at, &["update-ref", "refs/other/x", "HEAD"]);
    git(at, &["commit", "-q", "--allow-empty", "-m", "Two"]);
    dir
}

#[tokio::test]
async fn import_keeps_branches_tags_and_head() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let made = import(fixture.dir.path(), origin.path(), &repo("New/Thing"))
        .await
        .unwrap();
    assert_eq!(
        (made.name.to_string().as_str(), made.default_branch.as_str()),
        ("New/Thing", "trunk")
    );
    assert_eq!(made.url, "candor:///New/Thing");
    let there = fixture.path("New/Thing");
    let refs = |at: &std::path::Path| {
        git(
            at,
            &[
                "for-each-ref",
                "--format=%(objectname) %(refname)",
                "refs/heads",
                "refs/tags",
            ],
        )
    };
    assert_eq!(refs(&there), refs(origin.path()));
    assert_eq!(git(&there, &["for-each-ref", "refs/other"]), "");
    git(&there, &["fsck", "--strict"]);
    let commits = fixture
        .forge
        .commits(
            &reading_context(),
            &repo("new/thing"),
            &branch("trunk"),
            ALL,
        )
        .await
        .unwrap();
    assert_eq!(commits.commits.len(), 2);
    for name in ["New/Thing", "new/THING"] {
        let again = import(fixture.dir.path(), origin.path(), &repo(name)).await;
        assert!(
            matches!(again, Err(LocalForgeError::Exists(_))),
            "{again:?}"
        );
    }
    // The temporary directory is empty.
    assert_eq!(
        fs::read_dir(fixture.dir.path().join("~import"))
            .unwrap()
            .count(),
        1
    );
    // The other owner's directory is used whatever its case.
    import(fixture.dir.path(), origin.path(), &repo("NEW/other"))
        .await
        .unwrap();
    assert!(fixture.path("New/other").is_dir());
}

#[tokio::test]
async fn import_that_fails_leaves_nothing() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let nowhere = import(
        fixture.dir.path(),
        &origin.path().join("nope"),
        &repo("a/b"),
    )
    .await;
    assert!(
        matches!(nowhere, Err(LocalForgeError::NotARepository(_))),
        "{nowhere:?}"
    );
    // A file takes the place of the owner's directory.
    let database = import(fixture.dir.path(), origin.path(), &repo("forge.db/x")).await;
    assert!(
        matches!(database, Err(LocalForgeError::Failed(_))),
        "{database:?}"
    );
    let object = git(origin.path(), &["rev-parse", "HEAD"]);
    fs::remove_file(
        origin
            .path()
            .join(format!(".git/objects/{}/{}", &object[..2], &object[2..])),
    )
    .unwrap();
    let broken = import(fixture.dir.path(), origin.path(), &repo("a/b")).await;
    assert!(
        matches!(broken, Err(LocalForgeError::Failed(_))),
        "{broken:?}"
    );
    assert!(!fixture.path("a/b").exists());
    assert_eq!(
        fs::read_dir(fixture.dir.path().join("~import"))
            .unwrap()
            .count(),
        1
    );
    // The next import removes what a killed one has left.
    fs::create_dir_all(fixture.dir.path().join("~import/repository.git/objects")).unwrap();
    import(
        fixture.dir.path(),
        &fixture.path("sample/hello"),
        &repo("a/b"),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn empty_and_detached_clones_are_imported() {
    let fixture = LocalFixture::new().await;
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "first"]);
    let made = import(fixture.dir.path(), dir.path(), &repo("a/empty"))
        .await
        .unwrap();
    assert_eq!(made.default_branch, "first");
    let origin = origin();
    git(origin.path(), &["checkout", "-q", "--detach"]);
    git(
        origin.path(),
        &["commit", "-q", "--allow-empty", "-m", "Three"],
    );
    let made = import(fixture.dir.path(), origin.path(), &repo("a/detached"))
        .await
        .unwrap();
    assert_eq!(made.default_branch, "side/one");
    git(&fixture.path("a/detached"), &["fsck", "--strict"]);
}

/// A new repository has nothing of an old one that had its name.
#[tokio::test]
async fn reused_repository_name_starts_without_old_rows() {
    let fixture = LocalFixture::new().await;
    fs::remove_dir_all(fixture.path("sample/hello")).unwrap();
    let missing = fixture
        .forge
        .pull_request(&reading_context(), &hello(), 1)
        .await;
    assert_eq!(missing, Err(Failure::Missing(MissingItem::Repository)));
    import(fixture.dir.path(), origin().path(), &hello())
        .await
        .unwrap();
    let missing = fixture
        .forge
        .pull_request(&reading_context(), &hello(), 1)
        .await;
    assert_eq!(missing, Err(Failure::Missing(MissingItem::PullRequest(1))));
}
