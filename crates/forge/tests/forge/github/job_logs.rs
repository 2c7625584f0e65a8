//! Logs of jobs: where they are downloaded from, who gets the token, and what is not downloaded.
//!
//! The scripted answers follow the page "REST API endpoints for workflow jobs" of GitHub's documentation.

use crate::fixture::github::{CANARY, GithubFixture, expect_failure, repo};
use crate::fixture::scripted_server::ScriptedServer;
use crate::github::openapi::assert_described;
use candor_forge::{
    Failure, JobForge as _, JobLogs, JobSelector, LogGap, MAX_LOG_TAIL_BYTES, MissingItem,
    UnreachableReason,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const JOB: &str = "GET /repos/octo/hello/actions/jobs/3";
const LOG: &str = "GET /repos/octo/hello/actions/jobs/3/logs";

fn job() -> ScriptedResponse {
    let job = json!({
        "id": 3, "name": "build", "head_sha": SHA, "status": "completed", "conclusion": "failure",
        "html_url": "https://github.com/octo/hello/actions/runs/1/job/3",
    });
    ScriptedResponse::json(200, &job)
}

fn redirect(status: u16, location: &str) -> ScriptedResponse {
    ScriptedResponse::new(status, &[("location", location)], b"")
}

async fn read(fixture: &GithubFixture) -> Result<JobLogs, Failure> {
    let wanted = JobSelector::Job(3);
    fixture
        .forge
        .job_logs(&fixture.context, &repo(), &wanted)
        .await
}

fn log_of(found: Result<JobLogs, Failure>) -> (String, bool) {
    let mut found = found.unwrap();
    let log = found.jobs.remove(0).log.unwrap();
    (String::from_utf8(log.bytes).unwrap(), log.is_cut)
}

#[tokio::test]
async fn log_is_downloaded_without_the_token() {
    let fixture = GithubFixture::reading().await;
    let storage = ScriptedServer::start().await;
    let text = format!("one\ntwo {CANARY}\n");
    storage.respond(
        "GET /log?sig=a%2Bb",
        ScriptedResponse::new(200, &[], text.as_bytes()),
    );
    let target = format!("{}/log?sig=a%2Bb", storage.url());
    fixture
        .respond(JOB, job())
        .respond(LOG, redirect(302, &target));
    let found = read(&fixture).await;
    assert_eq!(log_of(found), ("one\ntwo [redacted]\n".to_owned(), false));
    fixture.assert_complete();
    storage.assert_complete();
    for request in storage.seen() {
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("x-github-api-version"), None);
    }
}

/// The test's API is on this machine, so another port of it is another host.
#[tokio::test]
async fn dangerous_redirects_are_refused() {
    let fixture = GithubFixture::reading().await;
    let own = format!("{}/repos/octo/hello", fixture.server.url());
    for target in [
        own.as_str(),
        "https://10.0.0.1/log",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/log",
        "https://user@storage.example/log",
        "/log",
        "file:///etc/passwd",
    ] {
        fixture
            .respond(JOB, job())
            .respond(LOG, redirect(302, target));
        let failure = expect_failure(read(&fixture).await);
        assert!(
            matches!(
                failure,
                Failure::Unreachable(UnreachableReason::Redirect, _)
            ),
            "{target}: {failure:?}"
        );
    }
    fixture.respond(JOB, job()).respond(
        LOG,
        ScriptedResponse::new(302, &[("x-nothing", "here")], b""),
    );
    expect_failure(read(&fixture).await);
    fixture.assert_complete();
}

#[tokio::test]
async fn circle_of_redirects_ends() {
    let fixture = GithubFixture::reading().await;
    let storage = ScriptedServer::start().await;
    let target = format!("{}/log", storage.url());
    for _ in 0..6 {
        storage.respond("GET /log", redirect(302, &target));
    }
    fixture
        .respond(JOB, job())
        .respond(LOG, redirect(302, &target));
    let failure = expect_failure(read(&fixture).await);
    assert!(matches!(
        failure,
        Failure::Unreachable(UnreachableReason::Redirect, _)
    ));
    // A storage that leads back to the API is refused too.
    storage.respond(
        "GET /log",
        redirect(302, &format!("{}/user", fixture.server.url())),
    );
    fixture
        .respond(JOB, job())
        .respond(LOG, redirect(302, &target));
    expect_failure(read(&fixture).await);
    fixture.assert_complete();
    storage.assert_complete();
}

#[tokio::test]
async fn log_that_is_gone_says_so() {
    let fixture = GithubFixture::reading().await;
    let storage = ScriptedServer::start().await;
    let target = format!("{}/log", storage.url());
    for (answer, gap) in [
        (ScriptedResponse::json(410, &json!({})), LogGap::Expired),
        (ScriptedResponse::json(404, &json!({})), LogGap::Missing),
        (ScriptedResponse::json(403, &json!({})), LogGap::Forbidden),
        (redirect(302, &target), LogGap::Expired),
    ] {
        storage.respond("GET /log", ScriptedResponse::new(404, &[], b"<Error/>"));
        fixture.respond(JOB, job()).respond(LOG, answer);
        let found = read(&fixture).await.unwrap();
        assert_eq!(
            (found.jobs[0].log.as_ref(), found.jobs[0].unavailable),
            (None, Some(gap))
        );
    }
    fixture.respond(JOB, ScriptedResponse::json(404, &json!({})));
    fixture.respond(
        "GET /repos/octo/hello",
        ScriptedResponse::json(200, &json!({ "full_name": "octo/hello" })),
    );
    let missing = expect_failure(read(&fixture).await);
    match missing {
        Failure::GithubErrorResponse(response) => {
            assert_eq!(response.missing, MissingItem::Job(3));
        }
        other => panic!("{other:?}"),
    }
    let limited = ScriptedResponse::new(403, &[("retry-after", "3600")], b"{}");
    fixture.respond(JOB, job()).respond(LOG, limited);
    expect_failure(read(&fixture).await);
    fixture.assert_complete();
}

/// A hundred megabytes on one line are read to their end, and only their end is kept.
#[tokio::test]
async fn end_of_a_huge_log_is_kept() {
    let fixture = GithubFixture::reading().await;
    let storage = ScriptedServer::start().await;
    let mut log = vec![b'x'; 100_000_000];
    // A token that the cut would divide.
    let cut = log.len() - MAX_LOG_TAIL_BYTES - 5;
    log[cut..cut + CANARY.len()].copy_from_slice(CANARY.as_bytes());
    log.extend_from_slice(b"the end");
    storage.respond("GET /log", ScriptedResponse::new(200, &[], &log));
    let target = format!("{}/log", storage.url());
    fixture
        .respond(JOB, job())
        .respond(LOG, redirect(302, &target));
    let (text, is_cut) = log_of(read(&fixture).await);
    assert!(is_cut && text.ends_with("xthe end") && text.len() <= MAX_LOG_TAIL_BYTES);
    assert!(!text.contains("canary"));
    fixture.assert_complete();
}

fn runs(runs: Value) -> ScriptedResponse {
    ScriptedResponse::json(200, &json!({ "total_count": 3, "check_runs": runs }))
}

#[tokio::test]
async fn failing_checks_of_a_commit_have_their_logs() {
    let fixture = GithubFixture::reading().await;
    let status = format!("GET /repos/octo/hello/commits/{SHA}/status?per_page=100&page=1");
    let checks =
        format!("GET /repos/octo/hello/commits/{SHA}/check-runs?filter=latest&per_page=100&page=1");
    let run = |id: u64, name: &str, conclusion: &str, app: &str| {
        json!({
            "id": id, "name": name, "status": "completed", "conclusion": conclusion,
            "html_url": "https://github.com/x", "app": { "slug": app },
        })
    };
    let statuses = json!({
        "sha": SHA, "total_count": 1,
        "statuses": [{ "context": "ci", "state": "failure", "target_url": "https://ci.example/1" }],
    });
    fixture
        .respond(&status, ScriptedResponse::json(200, &statuses))
        .respond(
            &checks,
            runs(json!([
                run(3, "build", "failure", "github-actions"),
                run(4, "lint", "success", "github-actions"),
                run(5, "scan", "failure", "another-app"),
            ])),
        )
        .respond(LOG, ScriptedResponse::new(200, &[], b"why\n"));
    let wanted = JobSelector::Commit(SHA.to_owned());
    let found = fixture
        .forge
        .job_logs(&fixture.context, &repo(), &wanted)
        .await
        .unwrap();
    let shown: Vec<_> = found
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.id, job.log.is_some()))
        .collect();
    assert_eq!(
        shown,
        [
            ("build", Some(3), true),
            ("ci", None, false),
            ("scan", None, false)
        ]
    );
    fixture.assert_complete();
    fixture.server.seen().iter().for_each(assert_described);
}
