//! Repositories and names that mean harm.

use crate::fixture::local::{ALL, LocalFixture, branch, git, hello, named, reading_context, repo};
use candor_forge::local::{MAX_DEPTH, import};
use candor_forge::{
    DamagedItem, Failure, Forge as _, MergeMethod, MissingItem, Revision, UnmetPrecondition,
};
use git2::{ObjectType, Oid, Repository};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn raw(fixture: &LocalFixture) -> Repository {
    Repository::open_bare(fixture.path("sample/hello")).unwrap()
}

/// Writes a tree as it stands, whatever git thinks of it.
fn tree(repository: &Repository, entries: &[(&str, &[u8], Oid)]) -> Oid {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        write!(bytes, "{mode} ").unwrap();
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    repository
        .odb()
        .unwrap()
        .write(ObjectType::Tree, &bytes)
        .unwrap()
}

fn commit(repository: &Repository, branch: &str, tree: Oid) {
    let text = format!("tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n");
    let id = repository
        .odb()
        .unwrap()
        .write(ObjectType::Commit, text.as_bytes())
        .unwrap();
    repository
        .reference(&format!("refs/heads/{branch}"), id, true, "")
        .unwrap();
}

#[tokio::test]
async fn tree_that_is_too_deep_is_refused() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    for (levels, fine) in [(MAX_DEPTH - 1, true), (MAX_DEPTH + 1, false), (5000, false)] {
        let blob = repository.blob(b"x").unwrap();
        let mut below = tree(&repository, &[("100644", b"f", blob)]);
        for _ in 0..levels {
            below = tree(&repository, &[("40000", b"d", below)]);
        }
        commit(&repository, "deep", below);
        let found = fixture
            .forge
            .tree(&reading_context(), &hello(), &branch("deep"), 10_000)
            .await;
        match fine {
            true => assert_eq!(found.unwrap().total, levels as u64 + 1),
            false => assert!(matches!(found, Err(Failure::Broken(..)))),
        }
    }
}

/// Libgit2 would overflow the stack on deeper ones.
#[tokio::test]
async fn too_deep_tree_is_not_merged_but_read() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    let mut below = tree(
        &repository,
        &[("100644", b"f", repository.blob(b"x").unwrap())],
    );
    for _ in 0..MAX_DEPTH {
        below = tree(&repository, &[("40000", b"d", below)]);
    }
    let main = fixture.head("main");
    let text = format!(
        "tree {below}\nparent {main}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n"
    );
    let odb = repository.odb().unwrap();
    let head = odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
    repository
        .reference("refs/heads/deep", head, true, "")
        .unwrap();
    repository
        .reference("refs/heads/feature/greeting", head, true, "")
        .unwrap();
    let proposed = fixture.open_pull("deep", "main").await;
    assert!(matches!(proposed, Err(Failure::Broken(..))), "{proposed:?}");
    assert_eq!(fixture.state(1).await, (None, "unknown".to_owned()));
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let merged = fixture.merge(1, method).await;
        assert!(matches!(merged, Err(Failure::Broken(..))), "{merged:?}");
    }
    let pull = fixture.pull(1).await;
    let details = fixture
        .forge
        .details(&reading_context(), &hello(), &pull, 100)
        .await;
    assert!(matches!(details, Err(Failure::Broken(..))), "{details:?}");
    // It is copied all the same: that needs no recursion.
    let copied = import(
        fixture.dir.path(),
        &fixture.path("sample/hello"),
        &repo("a/b"),
    )
    .await;
    copied.unwrap();
    git(&fixture.path("a/b"), &["fsck", "--strict"]);
}

/// Ten directories in ten levels, each the same: 10^10 entries in eleven objects.
#[tokio::test]
async fn tree_bomb_is_counted_without_unfolding() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    let names: Vec<[u8; 1]> = (b'0'..=b'9').map(|name| [name]).collect();
    let blob = repository.blob(b"x").unwrap();
    let mut below = tree(&repository, &[("100644", b"f", blob)]);
    let mut total: u64 = 1;
    for _ in 0..10 {
        let entries: Vec<_> = names
            .iter()
            .map(|name| ("40000", &name[..], below))
            .collect();
        below = tree(&repository, &entries);
        total = 10 * (total + 1);
    }
    commit(&repository, "bomb", below);
    let found = fixture
        .forge
        .tree(&reading_context(), &hello(), &branch("bomb"), 50)
        .await
        .unwrap();
    assert_eq!(
        (found.total, found.entries.len(), found.truncated),
        (total, 50, true)
    );
}

#[tokio::test]
async fn non_utf8_names_are_listed_but_not_readable() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    let blob = repository.blob(b"x").unwrap();
    let root = tree(
        &repository,
        &[("100644", b"a\xff", blob), ("100644", b"b\nc", blob)],
    );
    commit(&repository, "odd", root);
    let (context, hello) = (reading_context(), hello());
    let listed = fixture
        .forge
        .directory(&context, &hello, "", &branch("odd"))
        .await
        .unwrap();
    let names: Vec<_> = listed.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["a\u{fffd}", "b\nc"]);
    let odd = fixture
        .forge
        .file(&context, &hello, "a\u{fffd}", &branch("odd"), 9)
        .await;
    assert_eq!(
        odd,
        Err(Failure::Missing(MissingItem::Path("a\u{fffd}".into())))
    );
    let odd = fixture
        .forge
        .file(&context, &hello, "b\nc", &branch("odd"), 9)
        .await
        .unwrap();
    assert_eq!(odd.url, "candor:///sample/hello/blob/odd/b%0Ac");
    let whole = fixture
        .forge
        .tree(&context, &hello, &branch("odd"), 9)
        .await
        .unwrap();
    assert_eq!(whole.entries[0].path, "a\u{fffd}");
}

#[tokio::test]
async fn entries_of_a_wrong_type_fail_cleanly() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    let blob = repository.blob(b"x").unwrap();
    let inner = tree(&repository, &[("100644", b"f", blob)]);
    let gone = Oid::from_str("1234567890123456789012345678901234567890").unwrap();
    for (name, root) in [
        (
            "tree-as-file",
            tree(&repository, &[("100644", b"x", inner)]),
        ),
        ("file-as-tree", tree(&repository, &[("40000", b"x", blob)])),
        ("gone", tree(&repository, &[("100644", b"x", gone)])),
        ("gone-tree", tree(&repository, &[("40000", b"x", gone)])),
    ] {
        commit(&repository, name, root);
        let (context, hello) = (reading_context(), hello());
        let whole = fixture
            .forge
            .tree(&context, &hello, &branch(name), 99)
            .await;
        assert!(
            matches!(whole, Err(Failure::Damaged(DamagedItem::Object, _))),
            "{name}"
        );
        let read = fixture
            .forge
            .file(&context, &hello, "x", &branch(name), 99)
            .await;
        assert!(read.is_err(), "{name}");
    }
}

/// Writes an object whose header claims so many bytes, and that has none: loading it fails.
fn lying_blob(fixture: &LocalFixture, size: u64) -> Oid {
    let header = format!("blob {size}\0");
    let (mut low, mut high) = (1u32, 0u32);
    for byte in header.bytes() {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    let length = u16::try_from(header.len()).unwrap();
    // A zlib stream of one stored block.
    let mut bytes = vec![0x78, 0x01, 0x01];
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&(!length).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&((high << 16) | low).to_be_bytes());
    let dir = fixture.path("sample/hello").join("objects/ab");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("c".repeat(38)), bytes).unwrap();
    Oid::from_str(&format!("ab{}", "c".repeat(38))).unwrap()
}

#[tokio::test]
async fn huge_file_is_too_large_by_its_header() {
    let fixture = LocalFixture::new().await;
    let repository = raw(&fixture);
    let size: u64 = 300 << 20;
    let blob = lying_blob(&fixture, size);
    let root = tree(&repository, &[("100644", b"README.md", blob)]);
    commit(&repository, "main", root);
    let (context, hello) = (reading_context(), hello());
    let too_large = |most| {
        Failure::Unmet(UnmetPrecondition::TooLarge {
            path: "README.md".into(),
            size: Some(size),
            most,
        })
    };
    let at = Revision::Default;
    let read = fixture
        .forge
        .file(&context, &hello, "README.md", &at, 5 << 20)
        .await;
    assert_eq!(read, Err(too_large(5 << 20)));
    let readme = fixture.forge.readme(&context, &hello, 100).await;
    assert_eq!(readme, Err(too_large(64 << 20)));
    let listed = fixture
        .forge
        .directory(&context, &hello, "", &at)
        .await
        .unwrap();
    assert_eq!(listed.items[0].size, size);
    let whole = fixture.forge.tree(&context, &hello, &at, 9).await.unwrap();
    assert_eq!(whole.entries[0].size, Some(size));
    // To load such an object is to fail.
    lying_blob(&fixture, 1000);
    let loaded = fixture
        .forge
        .file(&context, &hello, "README.md", &at, 1000)
        .await;
    assert!(matches!(
        loaded,
        Err(Failure::Damaged(DamagedItem::Object, _))
    ));
}

#[tokio::test]
async fn links_out_of_the_directory_are_ignored() {
    let fixture = LocalFixture::new().await;
    let outside = TempDir::new().unwrap();
    git(outside.path(), &["init", "-q", "--bare", "secret.git"]);
    let root = fixture.dir.path();
    symlink(outside.path(), root.join("linked")).unwrap();
    symlink(
        outside.path().join("secret.git"),
        root.join("sample/secret.git"),
    )
    .unwrap();
    fs::write(
        root.join("sample/file.git"),
        format!("gitdir: {}\n", outside.path().join("secret.git").display()),
    )
    .unwrap();
    for name in ["objects", "refs"] {
        git(
            &root.join("sample"),
            &["init", "-q", "--bare", &format!("{name}.git")],
        );
        let part = root.join(format!("sample/{name}.git/{name}"));
        fs::remove_dir_all(&part).unwrap();
        symlink(outside.path().join("secret.git").join(name), part).unwrap();
    }
    git(
        &root.join("sample"),
        &["init", "-q", "--bare", "common.git"],
    );
    let common = outside.path().join("secret.git").display().to_string();
    fs::write(root.join("sample/common.git/commondir"), common).unwrap();
    for name in [
        "linked/secret",
        "sample/secret",
        "sample/file",
        "sample/objects",
        "sample/refs",
        "sample/common",
    ] {
        let found = fixture
            .forge
            .repository(&reading_context(), &repo(name))
            .await;
        assert_eq!(
            found,
            Err(Failure::Missing(MissingItem::Repository)),
            "{name}"
        );
    }
    assert_eq!(
        fixture
            .forge
            .search(&reading_context(), "", ALL)
            .await
            .unwrap()
            .total_count,
        1
    );
}

#[tokio::test]
async fn paths_never_leave_their_tree() {
    let fixture = LocalFixture::new().await;
    for path in [
        "../x",
        "docs/../README.md",
        "/etc/passwd",
        "docs//guide.md",
        "./README.md",
        "docs/",
        "\0",
    ] {
        let (context, hello) = (reading_context(), hello());
        let read = fixture
            .forge
            .file(&context, &hello, path, &named("main"), 99)
            .await;
        assert_eq!(
            read,
            Err(Failure::Missing(MissingItem::Path(path.into()))),
            "{path:?}"
        );
        let listed = fixture
            .forge
            .directory(&context, &hello, path, &named("main"))
            .await;
        assert_eq!(
            listed,
            Err(Failure::Missing(MissingItem::Path(path.into()))),
            "{path:?}"
        );
    }
    for path in ["../x", ".git/config", "a/../b", "", "a//b", "/a"] {
        let made = fixture
            .commit("main", &[crate::fixture::local::file(path, "x")])
            .await;
        assert!(
            matches!(made, Err(Failure::Unmet(UnmetPrecondition::PathRefused(_)))),
            "{path:?}: {made:?}"
        );
    }
}

/// The forge ignores a repository's own configuration.
#[tokio::test]
async fn repository_cannot_configure_the_forge() {
    let fixture = LocalFixture::new().await;
    fixture.git(&["config", "core.logAllRefUpdates", "always"]);
    fixture.git(&["config", "user.name", "Mallory"]);
    fixture.git(&["config", "core.worktree", "/nowhere"]);
    let made = fixture
        .commit("main", &[crate::fixture::local::file("a", "a")])
        .await;
    assert!(made.is_ok());
    assert!(!fixture.path("sample/hello").join("logs").exists());
}

/// A description that is a pipe would keep its reader waiting.
#[tokio::test]
async fn description_must_be_a_regular_file() {
    let fixture = LocalFixture::new().await;
    let path = fixture.path("sample/hello").join("description");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let found = fixture.forge.repository(&reading_context(), &hello()).await;
    assert_eq!(found.unwrap().description, None);
}

/// A stale lock on a branch is reported as such, and changes nothing.
#[tokio::test]
async fn locked_branch_differs_from_moved_branch() {
    let fixture = LocalFixture::new().await;
    let lock = fixture.path("sample/hello").join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let locked = |failure: &Failure| {
        matches!(
            failure,
            Failure::Broken("another program keeps the branch locked", _)
        )
    };
    let made = fixture
        .commit("main", &[crate::fixture::local::file("a", "a")])
        .await;
    assert!(made.is_err_and(|failure| locked(&failure)));
    let merged = fixture.merge(1, MergeMethod::Merge).await;
    assert!(merged.is_err_and(|failure| locked(&failure)));
    fs::remove_file(lock).unwrap();
    assert!(fixture.merge(1, MergeMethod::Merge).await.is_ok());
}

/// Two directories that differ in case only are one name: always the same of the two.
#[tokio::test]
async fn one_of_two_spellings_is_the_repository() {
    let fixture = LocalFixture::new().await;
    git(
        &fixture.dir.path().join("sample"),
        &["init", "-q", "--bare", "-b", "upper", "HELLO.git"],
    );
    for name in ["sample/hello", "sample/HELLO"] {
        let found = fixture
            .forge
            .repository(&reading_context(), &repo(name))
            .await
            .unwrap();
        assert_eq!(
            (
                found.name.to_string().as_str(),
                found.default_branch.as_str()
            ),
            ("sample/HELLO", "upper")
        );
    }
    assert_eq!(fixture.forge.repositories().await.unwrap().len(), 1);
}
