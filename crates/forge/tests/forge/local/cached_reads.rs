//! Repositories that are kept open: what plain git and the owner of the disk change is seen at once.

use crate::fixture::local::{ALL, LocalFixture, branch, file, git, hello, reading_context, repo};
use candor_forge::local::import;
use candor_forge::{Failure, Forge as _, MissingItem, RepoName, Revision};
use std::fs;
use tempfile::TempDir;

/// Reads a file of the branch `main`.
async fn read(fixture: &LocalFixture, repo: &RepoName, path: &str) -> Result<String, Failure> {
    let (context, main) = (reading_context(), branch("main"));
    let read = fixture.forge.file(&context, repo, path, &main, 1 << 20);
    let file = read.await?;
    Ok(String::from_utf8(file.bytes).unwrap())
}

/// A clone with one file on `main`.
fn clone_with(text: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    fs::write(dir.path().join("file"), text).unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-q", "-m", text]);
    dir
}

#[tokio::test]
async fn branch_that_git_moves_is_read_anew() {
    let fixture = LocalFixture::new().await;
    for number in 0..10 {
        let text = format!("{number}\n");
        let head = fixture.push("main", "moved", &text);
        assert_eq!(read(&fixture, &hello(), "moved").await.unwrap(), text);
        if number % 3 == 1 {
            fixture.git(&["pack-refs", "--all", "--prune"]);
            assert_eq!(read(&fixture, &hello(), "moved").await.unwrap(), text);
        }
        let (context, hello, main) = (reading_context(), hello(), branch("main"));
        let page = fixture.forge.commits(&context, &hello, &main, ALL);
        assert_eq!(page.await.unwrap().commits[0].sha, head);
    }
    // Back to an older commit.
    fixture.git(&["update-ref", "refs/heads/main", "main~3"]);
    assert_eq!(read(&fixture, &hello(), "moved").await.unwrap(), "6\n");
    fixture.git(&["update-ref", "-d", "refs/heads/main"]);
    assert_eq!(
        read(&fixture, &hello(), "moved").await,
        Err(Failure::Missing(MissingItem::Branch("main".to_owned())))
    );
}

#[tokio::test]
async fn garbage_collection_beside_is_not_noticed() {
    let fixture = LocalFixture::new().await;
    for number in 0..4 {
        let path = format!("new-{number}");
        fixture.commit("main", &[file(&path, &path)]).await.unwrap();
        assert_eq!(read(&fixture, &hello(), &path).await.unwrap(), path);
        fixture.git(&["gc", "-q", "--prune=now"]);
        // The packs that the open handles know are gone, and these objects were not read before.
        assert_eq!(read(&fixture, &hello(), &path).await.unwrap(), path);
        let text = read(&fixture, &hello(), "docs/guide.md").await.unwrap();
        assert!(text.starts_with("# Guide"));
        let (context, hello, main) = (reading_context(), hello(), branch("main"));
        let all = fixture.forge.tree(&context, &hello, &main, 100);
        assert_eq!(all.await.unwrap().entries.len(), 6 + number);
    }
    // An old commit, which only the packs have.
    let oldest = fixture.git(&["rev-list", "--max-parents=0", "main"]);
    let at = Revision::Commit(oldest);
    let context = reading_context();
    let old = fixture
        .forge
        .directory(&context, &hello(), "src", &at)
        .await;
    assert_eq!(old.unwrap().items.len(), 1);
}

#[tokio::test]
async fn repository_replaced_by_another_is_read_anew() {
    let fixture = LocalFixture::new().await;
    let (one, two) = (clone_with("one"), clone_with("two"));
    for (clone, name) in [(&one, "a/one"), (&two, "a/two")] {
        let made = import(fixture.dir.path(), clone.path(), &repo(name)).await;
        made.unwrap();
    }
    let [one, two, aside] = ["a/one", "a/two", "a/aside"].map(|name| fixture.path(name));
    for turn in 0..6 {
        let expected = ["one", "two"][turn % 2];
        assert_eq!(
            read(&fixture, &repo("a/one"), "file").await.unwrap(),
            expected
        );
        fs::rename(&one, &aside).unwrap();
        let gone = read(&fixture, &repo("a/one"), "file").await;
        assert_eq!(gone, Err(Failure::Missing(MissingItem::Repository)));
        fs::rename(&two, &one).unwrap();
        fs::rename(&aside, &two).unwrap();
    }
}

#[tokio::test]
async fn repository_deleted_and_created_again_is_read_anew() {
    let fixture = LocalFixture::new().await;
    for turn in 0..5 {
        let text = format!("turn {turn}");
        let clone = clone_with(&text);
        let name = repo("a/again");
        import(fixture.dir.path(), clone.path(), &name)
            .await
            .unwrap();
        assert_eq!(read(&fixture, &name, "file").await.unwrap(), text);
        let old = git(clone.path(), &["rev-parse", "HEAD"]);
        fs::remove_dir_all(fixture.path("a/again")).unwrap();
        assert_eq!(
            read(&fixture, &name, "file").await,
            Err(Failure::Missing(MissingItem::Repository))
        );
        // Commits of the deleted repository are not found in the next one.
        let other = clone_with("other");
        import(fixture.dir.path(), other.path(), &name)
            .await
            .unwrap();
        let context = reading_context();
        let at = Revision::Commit(old.clone());
        let found = fixture.forge.file(&context, &name, "file", &at, 100).await;
        assert_eq!(found, Err(Failure::Missing(MissingItem::Revision(old))));
        fs::remove_dir_all(fixture.path("a/again")).unwrap();
    }
}

/// Of two directories that differ in case, the first in byte order is the repository, whenever it appears.
#[tokio::test]
async fn spelling_that_comes_first_wins_at_once() {
    let fixture = LocalFixture::new().await;
    let (one, two) = (clone_with("one"), clone_with("two"));
    import(fixture.dir.path(), one.path(), &repo("owner/name"))
        .await
        .unwrap();
    import(fixture.dir.path(), two.path(), &repo("other/name"))
        .await
        .unwrap();
    let name = repo("Owner/Name");
    assert_eq!(read(&fixture, &name, "file").await.unwrap(), "one");
    fs::rename(fixture.path("other/name"), fixture.path("owner/Name")).unwrap();
    assert_eq!(read(&fixture, &name, "file").await.unwrap(), "two");
    fs::rename(fixture.path("owner/Name"), fixture.path("other/name")).unwrap();
    assert_eq!(read(&fixture, &name, "file").await.unwrap(), "one");
    fs::rename(
        fixture.dir.path().join("other"),
        fixture.dir.path().join("Owner"),
    )
    .unwrap();
    assert_eq!(read(&fixture, &name, "file").await.unwrap(), "two");
}

/// A link in the place of the objects is not followed, even if the repository was open before.
#[tokio::test]
async fn objects_replaced_by_a_link_are_not_read() {
    let fixture = LocalFixture::new().await;
    assert!(read(&fixture, &hello(), "README.md").await.is_ok());
    let objects = fixture.path("sample/hello").join("objects");
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::rename(&objects, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &objects).unwrap();
    assert_eq!(
        read(&fixture, &hello(), "README.md").await,
        Err(Failure::Missing(MissingItem::Repository))
    );
}
