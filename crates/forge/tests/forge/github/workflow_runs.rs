//! Runs of workflows, and running failed jobs again.
//!
//! The scripted answers follow the page "REST API endpoints for workflow runs" of GitHub's documentation.

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use candor_fault::Effect;
use candor_forge::{
    Failure, JobForge as _, Paging, RepeatedRun, RerunTarget, RunFilter, UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn run(id: u64, conclusion: Value) -> Value {
    json!({
        "id": id, "name": "CI", "status": "completed", "conclusion": conclusion,
        "head_branch": "main", "head_sha": SHA, "event": "push", "run_attempt": 2,
        "created_at": "2025-10-12T15:49:21Z", "updated_at": "2025-10-12T15:49:21Z",
        "html_url": "https://github.com/octo/hello/actions/runs/1",
    })
}

fn page(total: u64, runs: &[Value]) -> ScriptedResponse {
    let page = json!({ "total_count": total, "workflow_runs": runs });
    ScriptedResponse::json(200, &page)
}

#[tokio::test]
async fn runs_are_filtered_by_github() {
    let fixture = GithubFixture::reading().await;
    let line = format!(
        "GET /repos/octo/hello/actions/runs?branch=main&status=failure&head_sha={SHA}&per_page=1&page=1"
    );
    fixture.respond(&line, page(2, &[run(7, json!("failure"))]));
    let wanted = RunFilter {
        branch: Some("main".to_owned()),
        sha: Some(SHA.to_owned()),
        status: Some("failure".to_owned()),
    };
    let paging = Paging {
        page: 1,
        per_page: 1,
    };
    let found = fixture
        .forge
        .workflow_runs(&fixture.context, &repo(), &wanted, paging)
        .await
        .unwrap();
    assert_eq!(
        (found.runs[0].id, found.runs[0].attempt, found.more),
        (7, 2, true)
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn failed_runs_of_a_commit_are_started_again() {
    let fixture = GithubFixture::writing().await;
    let list = format!("GET /repos/octo/hello/actions/runs?head_sha={SHA}&per_page=100&page=1");
    let runs = [
        run(7, json!("failure")),
        run(8, json!("success")),
        run(9, json!("timed_out")),
        run(10, json!(null)),
    ];
    let post = |id: u64| format!("POST /repos/octo/hello/actions/runs/{id}/rerun-failed-jobs");
    fixture
        .respond(&list, page(4, &runs))
        .respond(&post(7), ScriptedResponse::json(201, &json!({})))
        .respond(&post(9), ScriptedResponse::json(201, &json!({})));
    let target = RerunTarget::Commit(SHA.to_owned());
    let repeated = fixture
        .forge
        .rerun_failed_jobs(&fixture.context, &repo(), &target)
        .await;
    let expected = [7, 9].map(|id| RepeatedRun { id, attempt: 3 });
    assert_eq!(repeated.unwrap(), expected);
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}

#[tokio::test]
async fn nothing_is_started_if_nothing_has_failed() {
    let fixture = GithubFixture::writing().await;
    let line = "GET /repos/octo/hello/actions/runs/7";
    fixture.respond(line, ScriptedResponse::json(200, &run(7, json!("success"))));
    let rerun = fixture
        .forge
        .rerun_failed_jobs(&fixture.context, &repo(), &RerunTarget::Run(7))
        .await;
    assert_eq!(
        expect_failure(rerun),
        Failure::Unmet(UnmetPrecondition::NothingFailed)
    );
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn run_that_fails_after_another_is_reported_with_the_effect() {
    let fixture = GithubFixture::writing().await;
    let list = format!("GET /repos/octo/hello/actions/runs?head_sha={SHA}&per_page=100&page=1");
    let runs = [run(7, json!("failure")), run(8, json!("failure"))];
    let post = |id: u64| format!("POST /repos/octo/hello/actions/runs/{id}/rerun-failed-jobs");
    fixture
        .respond(&list, page(2, &runs))
        .respond(&post(7), ScriptedResponse::json(201, &json!({})))
        .respond(&post(8), ScriptedResponse::json(403, &json!({})));
    let target = RerunTarget::Commit(SHA.to_owned());
    let rerun = fixture
        .forge
        .rerun_failed_jobs(&fixture.context, &repo(), &target)
        .await;
    assert!(matches!(expect_failure(rerun), Failure::Partly { .. }));
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}
