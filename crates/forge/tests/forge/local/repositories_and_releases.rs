//! Filtered histories, new repositories, deleted branches, tags and releases on the local forge.

use crate::fixture::local::{
    LocalFixture, git, hello, named, reading_context, repo, writing_context,
};
use candor_fault::Effect;
use candor_forge::{
    CommitFilter, CreatedTag, Failure, Forge as _, MissingItem, NewRelease, NewRepository, NewTag,
    Paging, ReleaseForge as _, RepositoryForge as _, Revision, UnmetPrecondition,
};
use std::path::Path;

const ALL: Paging = Paging {
    page: 1,
    per_page: 100,
};

async fn filtered(fixture: &LocalFixture, filter: &CommitFilter) -> Vec<String> {
    let mut shas = Vec::new();
    for page in 1.. {
        let paging = Paging { page, per_page: 2 };
        let found = fixture
            .forge
            .filtered_commits(
                &reading_context(),
                &hello(),
                &Revision::Default,
                filter,
                paging,
            )
            .await
            .unwrap();
        shas.extend(found.commits.into_iter().map(|commit| commit.sha));
        if !found.more {
            break;
        }
    }
    shas
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}

/// Makes commits on branches that are merged into each other; each touches one of three files.
fn knot(dir: &Path) {
    let work = dir.join("work");
    let bare = dir.join("bare");
    git(dir, &["clone", "-q", &bare.to_string_lossy(), "work"]);
    let commit = |file: &str, number: usize| {
        std::fs::create_dir_all(work.join("d")).unwrap();
        std::fs::write(work.join(file), format!("{number}\n")).unwrap();
        git(&work, &["add", "--all"]);
        git(&work, &["commit", "-q", "-m", &format!("{number}")]);
    };
    for round in 0..6 {
        let branch = format!("b{round}");
        git(&work, &["checkout", "-q", "-b", &branch]);
        commit(["a", "d/b", "d/c"][round % 3], round * 10);
        git(&work, &["checkout", "-q", "main"]);
        commit(["d/c", "a", "d/b"][round % 3], round * 10 + 1);
        let how = ["ours", "theirs"][round % 2];
        git(&work, &["merge", "-q", "--no-edit", "-X", how, &branch]);
    }
    git(&work, &["push", "-q", "origin", "main"]);
}

#[tokio::test]
async fn commits_of_a_path_are_those_of_git_log() {
    let fixture = LocalFixture::new().await;
    let dir = tempfile::TempDir::new().unwrap();
    std::os::unix::fs::symlink(fixture.path("sample/hello"), dir.path().join("bare")).unwrap();
    knot(dir.path());
    for path in ["a", "d", "d/b", "d/c", "README.md", "none"] {
        let filter = CommitFilter {
            path: Some(path.to_owned()),
            ..CommitFilter::default()
        };
        let expected = fixture.git(&["log", "--format=%H", "main", "--", path]);
        assert_eq!(
            filtered(&fixture, &filter).await,
            lines(&expected),
            "{path}"
        );
    }
    let all = fixture.git(&["log", "--format=%H", "main"]);
    assert_eq!(
        filtered(&fixture, &CommitFilter::default()).await,
        lines(&all)
    );
}

#[tokio::test]
async fn commits_are_filtered_by_author_and_time() {
    let fixture = LocalFixture::new().await;
    let with = |author: Option<&str>, since: Option<&str>, until: Option<&str>| CommitFilter {
        path: None,
        author: author.map(String::from),
        since: since.map(String::from),
        until: until.map(String::from),
    };
    let all = lines(&fixture.git(&["log", "--format=%H", "main"]));
    assert_eq!(
        filtered(&fixture, &with(Some("SAMPLE"), None, None)).await,
        all
    );
    assert_eq!(
        filtered(&fixture, &with(Some("sample@example.com"), None, None)).await,
        all
    );
    assert!(
        filtered(&fixture, &with(Some("sam"), None, None))
            .await
            .is_empty()
    );
    let since = with(None, Some("2025-01-01T03:00:00+01:00"), None);
    assert_eq!(filtered(&fixture, &since).await, all[..1]);
    let until = with(None, None, Some("2025-01-01T00:00:00Z"));
    assert_eq!(filtered(&fixture, &until).await, all[1..]);
    let june = with(None, Some("2025-06-31T00:00:00Z"), None);
    let found = fixture
        .forge
        .filtered_commits(&reading_context(), &hello(), &Revision::Default, &june, ALL)
        .await;
    let wrong = UnmetPrecondition::NotATime("2025-06-31T00:00:00Z".to_owned());
    assert_eq!(found, Err(Failure::Unmet(wrong)));
}

#[tokio::test]
async fn branch_is_deleted_at_its_expected_head_only() {
    let fixture = LocalFixture::new().await;
    let head = fixture.head("conflict");
    let delete = async |branch: &str, expected: Option<&str>| {
        let context = writing_context();
        let deleted = fixture
            .forge
            .delete_branch_at(&context, &hello(), branch, expected)
            .await;
        (deleted, context.mark.effect())
    };
    let moved = Failure::BranchHeadMoved {
        expected: "0123456".to_owned(),
        actual: Some(head.clone()),
    };
    assert_eq!(
        delete("conflict", Some("0123456")).await,
        (Err(moved), Effect::None)
    );
    let default = UnmetPrecondition::DefaultBranch("main".to_owned());
    assert_eq!(
        delete("main", None).await,
        (Err(default.into()), Effect::None)
    );
    let missing = MissingItem::Branch("nowhere".to_owned());
    assert_eq!(
        delete("nowhere", None).await,
        (Err(missing.into()), Effect::None)
    );
    assert_eq!(
        delete("conflict", Some(&head[..7])).await,
        (Ok(head), Effect::Done)
    );
}

#[tokio::test]
async fn repository_is_made_once() {
    let fixture = LocalFixture::new().await;
    let new = |init| NewRepository {
        description: Some("A cat".to_owned()),
        private: true,
        init,
    };
    let make = async |name: &str, init| {
        let context = writing_context();
        let made = fixture
            .forge
            .create_repository(&context, &repo(name), &new(init))
            .await;
        (made, context.mark.effect())
    };
    let (made, effect) = make("octo/cat", true).await;
    assert_eq!(effect, Effect::Done);
    assert_eq!(made.unwrap().description.as_deref(), Some("A cat"));
    let readme = fixture
        .forge
        .readme(&reading_context(), &repo("octo/cat"), 100)
        .await;
    assert_eq!(readme, Ok(Some((b"# cat\n".to_vec(), false))));
    git(&fixture.path("octo/cat"), &["fsck", "--strict"]);
    let exists = UnmetPrecondition::RepositoryExists(repo("octo/cat"));
    assert_eq!(
        make("OCTO/Cat", false).await,
        (Err(exists.into()), Effect::None)
    );
    assert!(make("octo/empty", false).await.0.is_ok());
    let empty = fixture
        .forge
        .commits(
            &reading_context(),
            &repo("octo/empty"),
            &Revision::Default,
            ALL,
        )
        .await;
    assert_eq!(empty, Err(Failure::Empty));
}

#[tokio::test]
async fn tags_and_releases_are_made_and_listed() {
    let fixture = LocalFixture::new().await;
    let tag = async |name: &str, at: &str, message: Option<&str>| {
        let context = writing_context();
        let new = NewTag {
            name: name.to_owned(),
            at: named(at),
            message: message.map(String::from),
        };
        let made = fixture.forge.create_tag(&context, &hello(), &new).await;
        (made, context.mark.effect())
    };
    let sha = fixture.head("main");
    let made = |created| CreatedTag {
        sha: sha.clone(),
        created,
    };
    assert_eq!(
        tag("v2", "main", Some("Two")).await,
        (Ok(made(true)), Effect::Done)
    );
    assert_eq!(fixture.git(&["cat-file", "-t", "v2"]), "tag");
    assert_eq!(
        tag("v1", "main", None).await,
        (Ok(made(true)), Effect::Done)
    );
    assert_eq!(
        tag("v2", "main", None).await,
        (Ok(made(false)), Effect::None)
    );
    let elsewhere = |name: &str| Err(UnmetPrecondition::TagExists(name.to_owned()).into());
    assert_eq!(
        tag("v2", "conflict", None).await,
        (elsewhere("v2"), Effect::None)
    );
    assert_eq!(
        tag("v2/x", "main", None).await,
        (elsewhere("v2"), Effect::None)
    );
    let tags = fixture
        .forge
        .tags(&reading_context(), &hello(), ALL)
        .await
        .unwrap();
    let names: Vec<_> = tags
        .tags
        .iter()
        .map(|tag| (tag.name.as_str(), &tag.sha))
        .collect();
    assert_eq!(names, [("v1", &sha), ("v2", &sha)]);
    let release = async |tag: &str| {
        let context = writing_context();
        let new = NewRelease {
            tag: tag.to_owned(),
            title: Some("Two".to_owned()),
            body: None,
            draft: false,
            prerelease: true,
        };
        let made = fixture.forge.create_release(&context, &hello(), &new).await;
        (made, context.mark.effect())
    };
    let (made, effect) = release("v2").await;
    let made = made.unwrap();
    assert_eq!(
        (effect, made.tag.as_str(), made.author.as_deref()),
        (Effect::Done, "v2", Some("Ada"))
    );
    let again = UnmetPrecondition::ReleaseExists("v2".to_owned());
    assert_eq!(release("v2").await, (Err(again.into()), Effect::None));
    let missing = MissingItem::Tag("v9".to_owned());
    assert_eq!(release("v9").await, (Err(missing.into()), Effect::None));
    let releases = fixture
        .forge
        .releases(&reading_context(), &hello(), ALL)
        .await
        .unwrap();
    assert_eq!((releases.releases, releases.more), (vec![made], false));
}
