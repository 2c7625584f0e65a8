//! Pull requests opened and merged.

use crate::fixture::github::{GithubFixture, expect_error_response, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{pull, refusal};
use candor_fault::Effect;
use candor_forge::{
    Failure, Forge as _, MergeInstruction, MergeMethod, MissingItem, NewPullRequest, RequestKind,
    UnmergeableReason, UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;

const CREATE: &str = "POST /repos/octo/hello/pulls";
const MERGE: &str = "PUT /repos/octo/hello/pulls/7/merge";
const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

fn new(head_owner: Option<&str>) -> NewPullRequest {
    NewPullRequest {
        title: "Amazing".to_owned(),
        head_owner: head_owner.map(str::to_owned),
        head: "f/x".to_owned(),
        base: "main".to_owned(),
        body: Some(String::new()),
        draft: true,
    }
}

fn order() -> MergeInstruction {
    MergeInstruction {
        number: 7,
        method: MergeMethod::Rebase,
        title: Some("First line".to_owned()),
        message: Some("The rest".to_owned()),
        head_sha: HEAD.to_owned(),
    }
}

#[tokio::test]
async fn pull_request_is_opened() {
    for (owner, head) in [(None, "f/x"), (Some("fork"), "fork:f/x")] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            CREATE,
            ScriptedResponse::json(201, &pull(json!({ "draft": true }))),
        );
        let made = fixture
            .forge
            .create_pull_request(&fixture.context, &repo(), &new(owner))
            .await;
        assert!(made.unwrap().draft);
        assert_eq!(fixture.effect(), Effect::Done);
        let sent =
            json!({ "title": "Amazing", "head": head, "base": "main", "body": "", "draft": true });
        assert_eq!(fixture.server.seen()[0].json(), sent);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn existing_pull_request_is_named() {
    let found =
        "GET /repos/octo/hello/pulls?state=open&head=octo%3Af%2Fx&base=main&per_page=1&page=1";
    let refused = json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "code": "custom", "message": "m" }] });
    let fixture = GithubFixture::writing().await;
    fixture.respond(CREATE, ScriptedResponse::json(422, &refused));
    fixture.respond(
        found,
        ScriptedResponse::json(200, &json!([pull(json!({ "number": 12 }))])),
    );
    let made = fixture
        .forge
        .create_pull_request(&fixture.context, &repo(), &new(None))
        .await;
    assert_eq!(
        expect_failure(made),
        UnmetPrecondition::PullExists(12).into()
    );
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();

    // None is open, or nobody can say: GitHub's refusal stands.
    for lookup in [
        ScriptedResponse::json(200, &json!([])),
        ScriptedResponse::json(403, &json!({})),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(CREATE, ScriptedResponse::json(422, &refused));
        fixture.respond(found, lookup);
        let made = fixture
            .forge
            .create_pull_request(&fixture.context, &repo(), &new(None))
            .await;
        let refusal = expect_error_response(made);
        assert_eq!(
            (refusal.status, refusal.errors),
            (422, Some(Box::new(refused["errors"].clone())))
        );
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn pull_request_is_merged_at_its_head() {
    let fixture = GithubFixture::writing().await;
    let merged = example("PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/merge");
    fixture.respond(MERGE, ScriptedResponse::json(200, &merged));
    let made = fixture
        .forge
        .merge(&fixture.context, &repo(), &order())
        .await
        .unwrap();
    assert_eq!(made.sha, "6dcb09b5b57875f334f61aebed695e2e4193db5e");
    assert_eq!(fixture.effect(), Effect::Done);
    let sent = json!({ "sha": HEAD, "merge_method": "rebase", "commit_title": "First line", "commit_message": "The rest" });
    assert_eq!(fixture.server.seen()[0].json(), sent);
    fixture.assert_complete();
}

#[tokio::test]
async fn status_405_means_not_mergeable() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        MERGE,
        ScriptedResponse::new(
            405,
            &[],
            &refusal(
                "Pull Request is not mergeable",
                "pulls/pulls#merge-a-pull-request",
            ),
        ),
    );
    let made = fixture
        .forge
        .merge(&fixture.context, &repo(), &order())
        .await;
    let Failure::Unmergeable(why) = expect_failure(made) else {
        panic!("no")
    };
    assert_eq!(
        (why.number, why.reason, why.state),
        (7, UnmergeableReason::Refused, None)
    );
    let refused = why.response.unwrap();
    assert_eq!((refused.status, refused.step), (405, RequestKind::Merge));
    assert_eq!(
        refused.message.as_deref(),
        Some("Pull Request is not mergeable")
    );
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn status_409_means_another_head() {
    let refused = || {
        ScriptedResponse::new(
            409,
            &[],
            &refusal(
                "Head branch was modified.",
                "pulls/pulls#merge-a-pull-request",
            ),
        )
    };
    let mut moved = pull(json!({}));
    moved["head"]["sha"] = json!("1111111111111111111111111111111111111111");
    for (again, actual) in [
        (
            ScriptedResponse::json(200, &moved),
            Some("1111111111111111111111111111111111111111".to_owned()),
        ),
        (ScriptedResponse::json(410, &json!({})), None),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(MERGE, refused());
        fixture.respond("GET /repos/octo/hello/pulls/7", again);
        let made = fixture
            .forge
            .merge(&fixture.context, &repo(), &order())
            .await;
        let expected = HEAD.to_owned();
        assert_eq!(
            expect_failure(made),
            Failure::HeadMoved {
                expected,
                actual,
                state: None
            }
        );
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn other_error_responses_to_merge_are_unchanged() {
    for status in [403, 422] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            MERGE,
            ScriptedResponse::new(
                status,
                &[],
                &refusal("No.", "pulls/pulls#merge-a-pull-request"),
            ),
        );
        let refusal = expect_error_response(
            fixture
                .forge
                .merge(&fixture.context, &repo(), &order())
                .await,
        );
        assert_eq!((refusal.status, refusal.step), (status, RequestKind::Merge));
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
    let fixture = GithubFixture::writing().await;
    fixture.respond(MERGE, ScriptedResponse::json(404, &json!({})));
    fixture.respond(
        "GET /repos/octo/hello",
        ScriptedResponse::json(200, &json!({})),
    );
    let refusal = expect_error_response(
        fixture
            .forge
            .merge(&fixture.context, &repo(), &order())
            .await,
    );
    assert_eq!(refusal.missing, MissingItem::PullRequest(7));
    fixture.assert_complete();
}

#[tokio::test]
async fn reading_call_sends_no_change() {
    let fixture = GithubFixture::reading().await;
    let made = fixture
        .forge
        .merge(&fixture.context, &repo(), &order())
        .await;
    assert!(matches!(expect_failure(made), Failure::CallStopped(_)));
    fixture.assert_complete();
}
