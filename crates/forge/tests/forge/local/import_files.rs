//! Imports of clones with unusual files of objects: packs and their companions, alternates, damage, and a
//! clone that is written to meanwhile.

use crate::fixture::local::{LocalFixture, git, repo};
use candor_forge::local::{
    ImportProgress, LocalForgeError, MAX_ALTERNATES, import, import_observed,
};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A clone with a few commits and an annotated tag.
fn origin() -> TempDir {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    for number in 0..3 {
        fs::write(dir.path().join("file"), format!("{number}\n").repeat(50)).unwrap();
        git(dir.path(), &["add", "."]);
        git(
            dir.path(),
            &["commit", "-q", "-m", &format!("Commit {number}")],
        );
    }
    git(dir.path(), &["tag", "-a", "v1", "-m", "One"]);
    dir
}

fn objects(clone: &Path) -> PathBuf {
    clone.join(".git/objects")
}

/// Returns the pack files of a clone with an ending.
fn packs(objects: &Path, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(objects.join("pack")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect()
}

async fn imported(fixture: &LocalFixture, from: &Path, name: &str) -> Result<PathBuf, String> {
    match import(fixture.dir.path(), from, &repo(name)).await {
        Ok(_) => Ok(fixture.path(name)),
        Err(error @ LocalForgeError::Failed(_)) => {
            // Nothing of it is visible.
            assert!(!fixture.path(name).exists());
            let workshop = fs::read_dir(fixture.dir.path().join("~import")).unwrap();
            assert_eq!(workshop.count(), 1);
            Err(error.to_string())
        }
        Err(other) => panic!("{other}"),
    }
}

/// Fails unless both repositories have the same refs and the copy is complete.
fn assert_same(from: &Path, copy: &Path) {
    let refs = |at: &Path| {
        let format = "--format=%(objectname) %(*objectname) %(refname)";
        git(at, &["for-each-ref", format, "refs/heads", "refs/tags"])
    };
    assert_eq!(refs(copy), refs(from));
    git(copy, &["fsck", "--strict"]);
}

#[tokio::test]
async fn packs_are_copied_as_they_are_without_keep_files() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    git(origin.path(), &["repack", "-a", "-d", "-q"]);
    let objects_of = objects(origin.path());
    let pack = packs(&objects_of, "pack").remove(0);
    fs::write(pack.with_extension("keep"), "").unwrap();
    fs::write(origin.path().join("file"), "loose").unwrap();
    git(origin.path(), &["commit", "-qam", "Loose"]);
    git(origin.path(), &["gc", "-q"]);
    git(origin.path(), &["hash-object", "-w", "file"]);
    let copy = imported(&fixture, origin.path(), "a/packs").await.unwrap();
    assert_same(origin.path(), &copy);
    let copied = copy.join("objects");
    assert_eq!(
        packs(&copied, "pack").len(),
        packs(&objects_of, "pack").len()
    );
    assert!(packs(&copied, "keep").is_empty());
    let name = pack.file_name().unwrap();
    let same = fs::read(copied.join("pack").join(name)).unwrap();
    assert_eq!(same, fs::read(&pack).unwrap());
    // A later collection packs everything together.
    git(&copy, &["gc", "-q"]);
    assert_eq!(packs(&copied, "pack").len(), 1);
}

#[tokio::test]
async fn objects_of_alternates_are_copied() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    git(origin.path(), &["repack", "-a", "-d", "-q"]);
    let dir = TempDir::new().unwrap();
    let from = origin.path().to_str().unwrap();
    git(dir.path(), &["clone", "-q", "--shared", from, "one"]);
    git(dir.path(), &["clone", "-q", "--shared", "one", "two"]);
    let two = dir.path().join("two");
    git(&two, &["commit", "-q", "--allow-empty", "-m", "Own"]);
    let copy = imported(&fixture, &two, "a/borrowed").await.unwrap();
    assert_same(&two, &copy);
    assert!(!copy.join("objects/info/alternates").exists());
    // The copy needs nobody.
    drop((origin, dir));
    git(&copy, &["fsck", "--strict"]);
    git(&copy, &["log", "-p", "main"]);
}

#[tokio::test]
async fn alternate_that_is_gone_is_named() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let info = objects(origin.path()).join("info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("alternates"), "/nowhere/objects\n").unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    assert!(
        refused.ends_with("its alternate /nowhere/objects cannot be read"),
        "{refused}"
    );
}

#[tokio::test]
async fn too_many_alternates_are_refused() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let info = objects(origin.path()).join("info");
    fs::create_dir_all(&info).unwrap();
    let dir = TempDir::new().unwrap();
    let mut lines = String::new();
    for number in 0..=MAX_ALTERNATES {
        let alternate = dir.path().join(number.to_string());
        fs::create_dir(&alternate).unwrap();
        lines += &format!("{}\n", alternate.display());
    }
    fs::write(info.join("alternates"), lines).unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    assert!(refused.ends_with("it has too many alternates"), "{refused}");
}

#[tokio::test]
async fn damaged_or_foreign_index_is_refused() {
    let fixture = LocalFixture::new().await;
    for (damage, why) in [
        (0, "is damaged"),
        (1, "is too short"),
        (2, "belongs to another pack"),
    ] {
        let clone = origin();
        git(clone.path(), &["repack", "-a", "-d", "-q"]);
        let index = packs(&objects(clone.path()), "idx").remove(0);
        let mut bytes = fs::read(&index).unwrap();
        fs::remove_file(&index).unwrap();
        match damage {
            // A checksum of an object, which only the checksum of the index covers.
            0 => {
                let at = bytes.len() - 44;
                bytes[at] ^= 1;
            }
            1 => bytes.truncate(30),
            _ => {
                let other = origin();
                fs::write(other.path().join("file"), "other").unwrap();
                git(other.path(), &["commit", "-qam", "Other"]);
                git(other.path(), &["repack", "-a", "-d", "-q"]);
                bytes = fs::read(packs(&objects(other.path()), "idx").remove(0)).unwrap();
            }
        }
        fs::write(&index, bytes).unwrap();
        let refused = imported(&fixture, clone.path(), "a/b").await.unwrap_err();
        let is_named = refused.contains(why) || refused.contains("cannot be read");
        assert!(is_named, "{damage}: {refused}");
    }
}

#[tokio::test]
async fn pack_without_index_is_refused() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    git(origin.path(), &["repack", "-a", "-d", "-q"]);
    fs::remove_file(packs(&objects(origin.path()), "idx").remove(0)).unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    assert!(refused.contains(".pack has no index; "), "{refused}");
}

#[tokio::test]
async fn unreadable_head_is_named() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let head = git(origin.path(), &["rev-parse", "HEAD"]);
    let object = objects(origin.path()).join(&head[..2]).join(&head[2..]);
    fs::remove_file(object).unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    let named =
        "refs/heads/main leads to an object that cannot be read; run `git fsck` in the clone";
    assert!(refused.contains(named), "{refused}");
}

#[tokio::test]
async fn links_and_partial_clones_are_refused() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    git(origin.path(), &["repack", "-a", "-d", "-q"]);
    let pack = packs(&objects(origin.path()), "pack").remove(0);
    fs::write(pack.with_extension("promisor"), "").unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    assert!(refused.contains("it is a partial clone"), "{refused}");
    fs::remove_file(pack.with_extension("promisor")).unwrap();
    let loose = objects(origin.path()).join("aa");
    fs::create_dir_all(&loose).unwrap();
    symlink("/etc/passwd", loose.join("a".repeat(38))).unwrap();
    let refused = imported(&fixture, origin.path(), "a/b").await.unwrap_err();
    assert!(refused.ends_with("is a symbolic link"), "{refused}");
}

/// Commits, packs and collections of garbage go on while a clone is imported.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clone_that_is_written_to_is_imported_whole() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, at) = (Arc::clone(&stop), origin.path().to_path_buf());
        std::thread::spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                fs::write(at.join("file"), format!("{number}")).unwrap();
                git(&at, &["commit", "-qam", "Meanwhile"]);
                git(&at, &["gc", "-q", "--prune=now"]);
            }
        })
    };
    let mut copies = Vec::new();
    for number in 0..8 {
        let name = format!("a/copy-{number}");
        match import(fixture.dir.path(), origin.path(), &repo(&name)).await {
            Ok(_) => copies.push(fixture.path(&name)),
            // Bad luck is reported, and nothing is half done.
            Err(error) => {
                let said = error.to_string();
                assert!(
                    said.contains("import it again") || said.contains("has no index"),
                    "{said}"
                );
                assert!(!fixture.path(&name).exists());
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(!copies.is_empty());
    for copy in copies {
        git(&copy, &["fsck", "--strict", "--connectivity-only"]);
        git(&copy, &["rev-list", "--objects", "--all"]);
    }
}

#[tokio::test]
async fn progress_ends_with_all_bytes() {
    let fixture = LocalFixture::new().await;
    let origin = origin();
    let seen: Arc<Mutex<Vec<ImportProgress>>> = Arc::default();
    let observer = {
        let seen = Arc::clone(&seen);
        move |progress| seen.lock().unwrap().push(progress)
    };
    let name = repo("a/b");
    let made = import_observed(fixture.dir.path(), origin.path(), &name, Arc::new(observer));
    made.await.unwrap();
    let seen = seen.lock().unwrap();
    let last = seen.last().unwrap();
    assert_eq!(last.copied, last.total);
    assert!(last.total > 0 && seen.is_sorted_by_key(|progress| progress.copied));
}
