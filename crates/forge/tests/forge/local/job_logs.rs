//! Logs of checks on the local forge, and running failed checks again.

use crate::fixture::local::{LocalFixture, hello, named, reading_context, repo, writing_context};
use candor_fault::Effect;
use candor_forge::local::StoredLog;
use candor_forge::{
    CheckState, Failure, Forge as _, JobForge as _, JobLogs, JobSelector, MAX_LOG_TAIL_BYTES,
    MissingItem, Paging, RepeatedRun, RerunTarget, RunFilter, UnmetPrecondition,
};

const FIRST: Paging = Paging {
    page: 1,
    per_page: 2,
};

async fn set(fixture: &LocalFixture, name: &str, state: CheckState, log: Option<&[u8]>) -> String {
    let log = log.map(|log| StoredLog::read(log).unwrap());
    let at = named("feature/greeting");
    fixture
        .forge
        .set_status_with_log(&hello(), &at, name, state, log.as_ref())
        .await
        .unwrap()
}

async fn logs(fixture: &LocalFixture, wanted: &JobSelector) -> Result<JobLogs, Failure> {
    fixture
        .forge
        .job_logs(&reading_context(), &hello(), wanted)
        .await
}

#[tokio::test]
async fn failing_checks_have_their_logs() {
    let fixture = LocalFixture::new().await;
    let log = [&vec![b'x'; 2 * MAX_LOG_TAIL_BYTES][..], b"\0\xffend\n"].concat();
    let sha = set(&fixture, "build", CheckState::Failed, Some(&log)).await;
    set(&fixture, "lint", CheckState::Failed, None).await;
    set(&fixture, "test", CheckState::Passed, Some(b"fine\n")).await;
    let found = logs(&fixture, &JobSelector::Commit(sha[..7].to_owned())).await;
    let found = found.unwrap();
    assert_eq!((found.sha.as_str(), found.more), (sha.as_str(), false));
    let names: Vec<_> = found.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["build", "lint"]);
    let build = found.jobs[0].log.as_ref().unwrap();
    assert!(build.is_cut && build.bytes.len() == MAX_LOG_TAIL_BYTES);
    assert!(build.bytes.ends_with(b"x\0\xffend\n"));
    assert_eq!(found.jobs[1].log, None);
    // One job is answered whatever its result.
    let runs = fixture
        .forge
        .workflow_runs(
            &reading_context(),
            &hello(),
            &RunFilter {
                branch: None,
                sha: None,
                status: None,
            },
            FIRST,
        )
        .await
        .unwrap();
    assert_eq!(runs.runs[0].name.as_deref(), Some("test"));
    let one = logs(&fixture, &JobSelector::Job(runs.runs[0].id))
        .await
        .unwrap();
    assert_eq!(one.jobs[0].log.as_ref().unwrap().bytes, b"fine\n");
    // A result that comes without a log has none.
    set(&fixture, "build", CheckState::Failed, None).await;
    let found = logs(&fixture, &JobSelector::Commit(sha)).await.unwrap();
    assert_eq!(found.jobs[0].log, None);
}

#[tokio::test]
async fn missing_jobs_runs_and_repositories_are_named() {
    let fixture = LocalFixture::new().await;
    let job = logs(&fixture, &JobSelector::Job(999)).await;
    assert_eq!(job, Err(Failure::Missing(MissingItem::Job(999))));
    let commit = logs(&fixture, &JobSelector::Commit("0123456".to_owned())).await;
    assert!(matches!(
        commit,
        Err(Failure::Missing(MissingItem::Revision(_)))
    ));
    let other = fixture
        .forge
        .job_logs(
            &reading_context(),
            &repo("sample/none"),
            &JobSelector::Job(1),
        )
        .await;
    assert_eq!(other, Err(Failure::Missing(MissingItem::Repository)));
    let rerun = fixture
        .forge
        .rerun_failed_jobs(&writing_context(), &hello(), &RerunTarget::Run(999))
        .await;
    assert_eq!(rerun, Err(Failure::Missing(MissingItem::Run(999))));
}

#[tokio::test]
async fn failed_checks_become_pending_with_another_attempt() {
    let fixture = LocalFixture::new().await;
    let sha = set(&fixture, "build", CheckState::Failed, Some(b"why\n")).await;
    set(&fixture, "test", CheckState::Passed, None).await;
    let context = writing_context();
    let target = RerunTarget::Commit(sha.clone());
    let repeated = fixture
        .forge
        .rerun_failed_jobs(&context, &hello(), &target)
        .await
        .unwrap();
    assert_eq!(context.mark.effect(), Effect::Done);
    let [RepeatedRun { id, attempt: 2 }] = repeated[..] else {
        panic!("{repeated:?}");
    };
    let checks = fixture
        .forge
        .checks(&reading_context(), &hello(), &sha)
        .await
        .unwrap();
    let build = checks.checks.iter().find(|check| check.name == "build");
    assert_eq!(build.unwrap().state, CheckState::Pending);
    // The log belongs to the attempt before.
    let one = logs(&fixture, &JobSelector::Job(id)).await.unwrap();
    assert_eq!(one.jobs[0].log, None);
    let context = writing_context();
    let again = fixture
        .forge
        .rerun_failed_jobs(&context, &hello(), &target)
        .await;
    assert_eq!(again, Err(Failure::Unmet(UnmetPrecondition::NothingFailed)));
    assert_eq!(context.mark.effect(), Effect::None);
}

#[tokio::test]
async fn runs_are_filtered_and_paged() {
    let fixture = LocalFixture::new().await;
    let sha = set(&fixture, "build", CheckState::Failed, None).await;
    set(&fixture, "test", CheckState::Pending, None).await;
    let list = async |branch: Option<&str>, sha: Option<&str>, status: Option<&str>| {
        let wanted = RunFilter {
            branch: branch.map(String::from),
            sha: sha.map(String::from),
            status: status.map(String::from),
        };
        let found = fixture
            .forge
            .workflow_runs(&reading_context(), &hello(), &wanted, FIRST)
            .await
            .unwrap();
        let names: Vec<_> = found.runs.into_iter().filter_map(|run| run.name).collect();
        (names.join(" "), found.more)
    };
    assert_eq!(list(None, None, None).await, ("test build".into(), true));
    assert_eq!(list(None, None, Some("failure")).await.0, "build");
    assert_eq!(list(None, None, Some("pending")).await.0, "test");
    assert_eq!(
        list(None, Some(&sha), Some("completed")).await,
        ("build ci/test".into(), false)
    );
    assert_eq!(
        list(Some("feature/greeting"), None, None).await,
        ("test build".into(), false)
    );
    assert_eq!(list(Some("main"), None, None).await, (String::new(), false));
}
