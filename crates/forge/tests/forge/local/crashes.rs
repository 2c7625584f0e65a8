//! Merges that end in the middle, and what is on the disk by then.

use crate::fixture::local::{LocalFixture, file, hello, reopen, writing_context};
use candor_fault::Effect;
use candor_forge::local::ChangePoint;
use candor_forge::{Failure, Forge as _, MergeMethod, PullState};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// Ends a merge at a moment, and opens the forge again.
async fn ended_at(end: ChangePoint) -> (LocalFixture, String) {
    let fixture = LocalFixture::watched(Arc::new(move |moment| moment != end)).await;
    let before = fixture.head("main");
    let instruction = fixture.instruction(1, MergeMethod::Squash).await;
    let context = writing_context();
    let merged = fixture.forge.merge(&context, &hello(), &instruction).await;
    assert!(matches!(merged, Err(Failure::Broken(..))), "{merged:?}");
    assert_eq!(context.mark.effect(), Effect::Unknown);
    let LocalFixture { dir, forge } = fixture;
    drop(forge);
    let forge = reopen(dir.path()).await;
    (LocalFixture { dir, forge }, before)
}

#[tokio::test]
async fn moved_base_settles_as_merged() {
    let (fixture, before) = ended_at(ChangePoint::MergeMoved).await;
    assert_eq!(fixture.git(&["rev-parse", "main~1"]), before);
    let pull = fixture.pull(1).await;
    assert_eq!((pull.merged, pull.state), (true, PullState::Closed));
}

#[tokio::test]
async fn unmoved_base_settles_as_open() {
    let (fixture, before) = ended_at(ChangePoint::MergeRecorded).await;
    assert_eq!(fixture.head("main"), before);
    assert_eq!(fixture.state(1).await, (Some(true), "clean".to_owned()));
    assert!(fixture.merge(1, MergeMethod::Squash).await.is_ok());
    assert_eq!(fixture.git(&["rev-parse", "main~1"]), before);
}

/// An interrupted merge is read correctly before it is settled.
#[tokio::test]
async fn interrupted_merge_is_read_correctly_before_settling() {
    for (end, merged) in [
        (ChangePoint::MergeMoved, true),
        (ChangePoint::MergeRecorded, false),
    ] {
        let fixture = LocalFixture::watched(Arc::new(move |moment| moment != end)).await;
        assert!(matches!(
            fixture
                .forge
                .merge(
                    &writing_context(),
                    &hello(),
                    &fixture.instruction(1, MergeMethod::Merge).await
                )
                .await,
            Err(Failure::Broken(..))
        ));
        assert_eq!(fixture.pull(1).await.merged, merged);
    }
}

/// The base has moved, and the database does not take it.
#[tokio::test]
async fn unrecorded_merge_is_reported_as_made() {
    let here: Arc<OnceLock<PathBuf>> = Arc::default();
    let probe = {
        let here = Arc::clone(&here);
        move |moment| {
            if moment == ChangePoint::MergeMoved {
                let here = here.get().unwrap().clone();
                let rename = "ALTER TABLE pull_requests RENAME TO elsewhere";
                execute(&here, rename);
            }
            true
        }
    };
    let fixture = LocalFixture::watched(Arc::new(probe)).await;
    here.get_or_init(|| fixture.dir.path().to_path_buf());
    let instruction = fixture.instruction(1, MergeMethod::Squash).await;
    let (context, hello) = (writing_context(), hello());
    let merged = fixture.forge.merge(&context, &hello, &instruction).await;
    let done = "the base branch has the pull request's changes";
    assert!(
        matches!(&merged, Err(Failure::Partly { done: said, rest })
            if *said == done && matches!(**rest, Failure::Broken(..))),
        "{merged:?}"
    );
    assert_eq!(context.mark.effect(), Effect::Done);
    execute(
        fixture.dir.path(),
        "ALTER TABLE elsewhere RENAME TO pull_requests",
    );
    assert!(fixture.pull(1).await.merged);
}

/// Runs a statement on the database of a forge.
fn execute(dir: &Path, sql: &'static str) {
    let dir = dir.to_path_buf();
    let run = move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(crate::local::import_and_statuses::execute(&dir, sql));
    };
    std::thread::spawn(run).join().unwrap();
}

/// The program that makes one change.
const PROGRAM: &str = env!("CARGO_BIN_EXE_forge-test-program");

/// The number of the signal that ends a process which aborts.
const SIGABRT: i32 = 6;

/// A process that is killed in the middle of a merge, the locks with it.
#[test]
fn killed_process_leaves_nothing_to_repair() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(LocalFixture::new());
    let LocalFixture { dir, forge } = fixture;
    drop(forge);
    let ended = Command::new(PROGRAM)
        .arg("merge-and-abort")
        .arg(dir.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{ended:?}");
    runtime.block_on(async {
        let forge = reopen(dir.path()).await;
        let fixture = LocalFixture { dir, forge };
        assert!(fixture.pull(1).await.merged);
        fixture.commit("main", &[file("after", "x")]).await.unwrap();
        fixture.git(&["fsck", "--strict"]);
    });
}

/// Counts what is synced while a commit is made. This proves that git syncs each object and the ref,
/// and that the directories above them are synced; not that nothing else would have to be.
#[test]
fn objects_and_refs_are_synced() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(LocalFixture::new());
    // The repository's own configuration does not matter.
    fixture.git(&["config", "core.fsyncObjectFiles", "false"]);
    let trace = fixture.dir.path().join("~trace");
    let traced = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=fsync,fdatasync,rename", "-o"])
        .arg(&trace)
        .args([PROGRAM, "commit"])
        .arg(fixture.dir.path())
        .output();
    let Ok(traced) = traced else {
        return candor_testkit::skip("strace was not found");
    };
    if !traced.status.success() {
        let said = String::from_utf8_lossy(&traced.stderr);
        assert!(said.to_lowercase().contains("ptrace"), "{said}");
        return candor_testkit::skip_for_kernel("the kernel does not permit strace here");
    }
    let trace = std::fs::read_to_string(&trace).unwrap();
    let synced = |part: &str| {
        trace
            .lines()
            .filter(|line| line.contains("sync(") && line.contains(part))
            .count()
    };
    // A blob, two trees, a commit: each and its directory.
    assert!(synced("/objects/") >= 8, "{trace}");
    assert!(synced("hello.git/objects>") >= 1, "{trace}");
    assert!(synced("/refs/heads/main.lock>") == 1, "{trace}");
    assert!(synced("/refs/heads>") >= 1, "{trace}");
    // The ref is renamed into its place after every object was synced.
    let lines: Vec<&str> = trace.lines().collect();
    let last_object = lines
        .iter()
        .rposition(|line| line.contains("sync(") && line.contains("/objects"));
    let moved = lines
        .iter()
        .position(|line| line.contains("rename(") && line.contains("refs/heads/main.lock"));
    assert!(last_object.unwrap() < moved.unwrap(), "{trace}");
}
