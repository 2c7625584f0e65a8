//! Tests of reads: repositories, READMEs, directories, files, trees, commits, branches.

use crate::fixture::local::{
    ALL, LocalFixture, branch, file, git, hello, named, reading_context, repo, sha,
};
use candor_forge::{
    CommitPerson, DirectoryItem, Failure, Forge as _, ItemKind, MissingItem, Paging, Repository,
    Revision, TreeItem, UnmetPrecondition,
};
use std::fs;
use std::os::unix::fs::symlink;

#[tokio::test]
async fn repository_metadata_is_read() {
    let fixture = LocalFixture::new().await;
    let found = fixture
        .forge
        .repository(&reading_context(), &repo("SAMPLE/Hello"))
        .await
        .unwrap();
    let expected = Repository {
        name: hello(),
        description: Some("A small repository to try the tools on".to_owned()),
        default_branch: "main".to_owned(),
        stars: 0,
        language: None,
        url: "candor:///sample/hello".to_owned(),
    };
    assert_eq!(found, expected);
    assert_eq!(found.name.to_string(), "sample/hello");
    for missing in [
        "sample/nope",
        "nope/hello",
        "forge.db/x",
        "sample/hello.git",
    ] {
        let found = fixture
            .forge
            .repository(&reading_context(), &repo(missing))
            .await;
        assert_eq!(
            found,
            Err(Failure::Missing(MissingItem::Repository)),
            "{missing}"
        );
    }
}

#[tokio::test]
async fn readme_is_found_in_any_case_and_truncated() {
    let fixture = LocalFixture::new().await;
    let context = reading_context();
    let hello = hello();
    let readme = |most| fixture.forge.readme(&context, &hello, most);
    let whole = b"# hello\n\nSays hello, loudly.\n".to_vec();
    assert_eq!(readme(100).await, Ok(Some((whole.clone(), false))));
    assert_eq!(readme(whole.len() as u64).await, Ok(Some((whole, false))));
    assert_eq!(readme(7).await, Ok(Some((b"# hello".to_vec(), true))));
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    git(at, &["rm", "-q", "README.md"]);
    fs::write(at.join("readme.TXT"), "text").unwrap();
    fs::write(at.join("ReadMe"), "plain").unwrap();
    fs::create_dir(at.join("README.rst")).unwrap();
    fs::write(at.join("README.rst/x"), "no").unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "Readmes"]);
    git(at, &["push", "-q", "origin", "main"]);
    assert_eq!(readme(100).await, Ok(Some((b"plain".to_vec(), false))));
    git(
        at,
        &["rm", "-q", "-r", "readme.TXT", "ReadMe", "README.rst"],
    );
    git(at, &["commit", "-q", "-m", "None"]);
    git(at, &["push", "-q", "origin", "main"]);
    assert_eq!(readme(100).await, Ok(None));
}

/// A working tree with everything that a tree can have in it, pushed to the sample.
fn everything(fixture: &LocalFixture) {
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    fs::write(at.join("docs.md"), "x").unwrap();
    fs::write(at.join("run"), "#!/bin/sh\n").unwrap();
    symlink("docs/guide.md", at.join("link")).unwrap();
    git(at, &["add", "."]);
    git(at, &["update-index", "--chmod=+x", "run"]);
    let module = "160000,0123456789012345678901234567890123456789,module";
    git(at, &["update-index", "--add", "--cacheinfo", module]);
    git(at, &["commit", "-q", "-m", "Everything"]);
    git(at, &["push", "-q", "origin", "main"]);
}

#[tokio::test]
async fn directory_lists_its_items_in_byte_order() {
    let fixture = LocalFixture::new().await;
    everything(&fixture);
    let context = reading_context();
    let listed = fixture
        .forge
        .directory(&context, &hello(), "", &Revision::Default)
        .await
        .unwrap();
    assert_eq!(listed.at, "main");
    let item = |name: &str, kind, size, place: &str| DirectoryItem {
        name: name.to_owned(),
        kind,
        path: name.to_owned(),
        size,
        url: format!("candor:///sample/hello/{place}/main/{name}"),
    };
    let expected = [
        item("README.md", ItemKind::File, 29, "blob"),
        item("docs", ItemKind::Dir, 0, "tree"),
        item("docs.md", ItemKind::File, 1, "blob"),
        item("link", ItemKind::Symlink, 13, "blob"),
        item("module", ItemKind::Submodule, 0, "tree"),
        item("run", ItemKind::File, 10, "blob"),
        item("src", ItemKind::Dir, 0, "tree"),
    ];
    assert_eq!(listed.items, expected);
    let below = fixture
        .forge
        .directory(&context, &hello(), "docs", &branch("main"))
        .await
        .unwrap();
    assert_eq!(below.items.len(), 1);
    assert_eq!(below.items[0].path, "docs/guide.md");
    for (path, failure) in [
        ("nope", Failure::Missing(MissingItem::Path("nope".into()))),
        (
            "docs/guide.md/x",
            Failure::Missing(MissingItem::Path("docs/guide.md/x".into())),
        ),
        (
            "run",
            Failure::Unmet(UnmetPrecondition::NotADirectory("run".into())),
        ),
        (
            "link",
            Failure::Unmet(UnmetPrecondition::NotADirectory("link".into())),
        ),
        (
            "module",
            Failure::Unmet(UnmetPrecondition::NotADirectory("module".into())),
        ),
    ] {
        let listed = fixture
            .forge
            .directory(&context, &hello(), path, &Revision::Default)
            .await;
        assert_eq!(listed, Err(failure), "{path}");
    }
}

#[tokio::test]
async fn file_has_exactly_its_bytes() {
    let fixture = LocalFixture::new().await;
    everything(&fixture);
    let context = reading_context();
    let hello = hello();
    let at = named("main");
    let read = |path, most| fixture.forge.file(&context, &hello, path, &at, most);
    let guide = read("docs/guide.md", 100).await.unwrap();
    assert_eq!(guide.bytes, b"# Guide\n\nRun it, and it says hello.\n");
    assert_eq!(guide.at, "main");
    assert_eq!(guide.url, "candor:///sample/hello/blob/main/docs/guide.md");
    assert_eq!(read("link", 100).await.unwrap().bytes, b"docs/guide.md");
    assert_eq!(read("run", 10).await.unwrap().bytes, b"#!/bin/sh\n");
    let too_large = UnmetPrecondition::TooLarge {
        path: "run".into(),
        size: Some(10),
        most: 9,
    };
    for (path, most, failure) in [
        ("run", 9, Failure::Unmet(too_large)),
        (
            "docs",
            9,
            Failure::Unmet(UnmetPrecondition::IsDirectory("docs".into())),
        ),
        (
            "",
            9,
            Failure::Unmet(UnmetPrecondition::IsDirectory("".into())),
        ),
        (
            "module",
            9,
            Failure::Unmet(UnmetPrecondition::IsSubmodule("module".into())),
        ),
        (
            "rate limit",
            9,
            Failure::Missing(MissingItem::Path("rate limit".into())),
        ),
        (
            "link/x",
            9,
            Failure::Missing(MissingItem::Path("link/x".into())),
        ),
    ] {
        assert_eq!(read(path, most).await, Err(failure), "{path}");
    }
}

#[tokio::test]
async fn tree_has_parents_before_children_and_counts_what_it_leaves_out() {
    let fixture = LocalFixture::new().await;
    everything(&fixture);
    let context = reading_context();
    let tree = fixture
        .forge
        .tree(&context, &hello(), &Revision::Default, 100)
        .await
        .unwrap();
    assert_eq!(tree.sha, fixture.git(&["rev-parse", "main^{tree}"]));
    let entry = |path: &str, kind, size, mode: &str| TreeItem {
        path: path.to_owned(),
        kind,
        size,
        mode: mode.to_owned(),
    };
    let expected = [
        entry("README.md", "blob", Some(29), "100644"),
        entry("docs.md", "blob", Some(1), "100644"),
        entry("docs", "tree", None, "040000"),
        entry("docs/guide.md", "blob", Some(36), "100644"),
        entry("link", "blob", Some(13), "120000"),
        entry("module", "commit", None, "160000"),
        entry("run", "blob", Some(10), "100755"),
        entry("src", "tree", None, "040000"),
        entry("src/main.rs", "blob", Some(37), "100644"),
    ];
    assert_eq!(*tree.entries, expected);
    assert_eq!(
        (tree.total, tree.truncated, tree.at.as_str()),
        (9, false, "main")
    );
    let cut = fixture
        .forge
        .tree(&context, &hello(), &Revision::Default, 4)
        .await
        .unwrap();
    assert_eq!(*cut.entries, expected[..4]);
    assert_eq!((cut.total, cut.truncated), (9, true));
}

#[tokio::test]
async fn commits_are_paged_from_the_newest() {
    let fixture = LocalFixture::new().await;
    let context = reading_context();
    let hello = hello();
    let head = fixture.head("feature/greeting");
    let from = branch("feature/greeting");
    let all = fixture
        .forge
        .commits(&context, &hello, &from, ALL)
        .await
        .unwrap();
    assert!(!all.more);
    let messages: Vec<_> = all
        .commits
        .iter()
        .map(|commit| commit.message.as_str())
        .collect();
    assert_eq!(
        messages,
        ["Greet by name", "Say how hello is said", "Say hello"]
    );
    let first = &all.commits[0];
    assert_eq!(first.sha, head);
    assert_eq!(first.url, format!("candor:///sample/hello/commit/{head}"));
    assert_eq!(first.parents, [fixture.head("main")]);
    let by = CommitPerson {
        name: Some("Sample".into()),
        email: Some("sample@example.com".into()),
        date: Some("2025-01-01T03:00:00Z".into()),
    };
    assert_eq!(
        (&first.author, &first.committer),
        (&Some(by.clone()), &Some(by))
    );
    for (page, per_page, messages, more) in [
        (1, 1, &["Greet by name"][..], true),
        (2, 1, &["Say how hello is said"], true),
        (3, 1, &["Say hello"], false),
        (4, 1, &[], false),
        (2, 2, &["Say hello"], false),
        (u32::MAX, 100, &[], false),
    ] {
        let paging = Paging { page, per_page };
        let found = fixture
            .forge
            .commits(&context, &hello, &sha(&head[..9]), paging)
            .await
            .unwrap();
        let found_messages: Vec<_> = found.commits.iter().map(|commit| &commit.message).collect();
        assert_eq!(
            (found_messages, found.more),
            (
                messages
                    .iter()
                    .map(|&m| m.to_owned())
                    .collect::<Vec<_>>()
                    .iter()
                    .collect(),
                more
            )
        );
    }
    // Times are converted to UTC.
    let pushed = fixture.push("main", "new", "x");
    let found = fixture
        .forge
        .commits(&context, &hello, &sha(&pushed), ALL)
        .await
        .unwrap();
    let date = found.commits[0].author.as_ref().unwrap().date.as_deref();
    assert_eq!(date, Some("2025-10-09T08:53:20Z"));
}

#[tokio::test]
async fn branches_come_in_byte_order() {
    let fixture = LocalFixture::new().await;
    fixture.branch("Zed", "main").await;
    let context = reading_context();
    let found = fixture
        .forge
        .branches(&context, &hello(), ALL)
        .await
        .unwrap();
    let names: Vec<_> = found
        .branches
        .iter()
        .map(|branch| branch.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["Zed", "conflict", "draft/guide", "feature/greeting", "main"]
    );
    assert_eq!((found.default.as_str(), found.more), ("main", false));
    assert_eq!(found.branches[4].sha, fixture.head("main"));
    assert!(found.branches.iter().all(|branch| !branch.protected));
    let paging = Paging {
        page: 2,
        per_page: 2,
    };
    let page = fixture
        .forge
        .branches(&context, &hello(), paging)
        .await
        .unwrap();
    assert_eq!(page.branches, found.branches[2..4]);
    assert!(page.more);
}

#[tokio::test]
async fn empty_repository_has_no_commit_to_read() {
    let fixture = LocalFixture::new().await;
    let owner = fixture.dir.path().join("empty");
    fs::create_dir(&owner).unwrap();
    git(&owner, &["init", "-q", "--bare", "-b", "trunk", "none.git"]);
    let (context, none) = (reading_context(), repo("empty/none"));
    let found = fixture.forge.repository(&context, &none).await.unwrap();
    assert_eq!(
        (found.default_branch.as_str(), found.description),
        ("trunk", None)
    );
    assert_eq!(fixture.forge.readme(&context, &none, 9).await, Ok(None));
    let branches = fixture.forge.branches(&context, &none, ALL).await.unwrap();
    assert_eq!(
        (branches.branches.len(), branches.default.as_str()),
        (0, "trunk")
    );
    let default = Revision::Default;
    assert_eq!(
        fixture.forge.directory(&context, &none, "", &default).await,
        Err(Failure::Empty)
    );
    assert_eq!(
        fixture.forge.file(&context, &none, "a", &default, 9).await,
        Err(Failure::Empty)
    );
    assert_eq!(
        fixture.forge.tree(&context, &none, &default, 9).await,
        Err(Failure::Empty)
    );
    let commits = fixture
        .forge
        .commits(&context, &none, &branch("trunk"), ALL)
        .await;
    assert_eq!(commits, Err(Failure::Empty));
    let context = crate::fixture::local::writing_context();
    let files = [file("a", "a")];
    let made = fixture
        .forge
        .commit_files(&context, &none, "trunk", "m", &files)
        .await;
    assert_eq!(made, Err(Failure::Empty));
    let made = fixture
        .forge
        .create_branch(&context, &none, "b", &default)
        .await;
    assert_eq!(made, Err(Failure::Empty));
}

#[tokio::test]
async fn clone_has_the_content_that_the_forge_reads() {
    let fixture = LocalFixture::new().await;
    fixture
        .commit("main", &[file("new/file", "x\n")])
        .await
        .unwrap();
    let clone = fixture.clone_repository("sample/hello");
    let shown = fixture
        .forge
        .commits(&reading_context(), &hello(), &branch("main"), ALL)
        .await
        .unwrap();
    let shown: Vec<_> = shown
        .commits
        .iter()
        .map(|commit| commit.sha.clone())
        .collect();
    assert_eq!(
        git(clone.path(), &["log", "--format=%H", "main"]),
        shown.join("\n")
    );
    git(clone.path(), &["fsck", "--strict"]);
    assert_eq!(
        fs::read_to_string(clone.path().join("new/file")).unwrap(),
        "x\n"
    );
    fixture.git(&["fsck", "--strict"]);
}
