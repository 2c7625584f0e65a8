//! Pull requests opened and merged.

use crate::description::example;
use crate::documented::{pull, refusal};
use crate::scripted::Play;
use crate::stage::{Stage, answered, failed, repo};
use candor_fault::Effect;
use candor_forge::{
    Failure, Forge as _, MergeMethod, MergeOrder, Missing, NewPull, Step, Unmet, Why,
};
use serde_json::json;

const CREATE: &str = "POST /repos/octo/hello/pulls";
const MERGE: &str = "PUT /repos/octo/hello/pulls/7/merge";
const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

fn new(head_owner: Option<&str>) -> NewPull {
    NewPull {
        title: "Amazing".to_owned(),
        head_owner: head_owner.map(str::to_owned),
        head: "f/x".to_owned(),
        base: "main".to_owned(),
        body: Some(String::new()),
        draft: true,
    }
}

fn order() -> MergeOrder {
    MergeOrder {
        number: 7,
        method: MergeMethod::Rebase,
        title: Some("First line".to_owned()),
        message: Some("The rest".to_owned()),
        head_sha: HEAD.to_owned(),
    }
}

#[tokio::test]
async fn a_pull_request_is_opened() {
    for (owner, head) in [(None, "f/x"), (Some("fork"), "fork:f/x")] {
        let stage = Stage::writing().await;
        stage.play(CREATE, Play::json(201, &pull(json!({ "draft": true }))));
        let made = stage
            .forge
            .create_pull_request(&stage.turn, &repo(), &new(owner))
            .await;
        assert!(made.unwrap().draft);
        assert_eq!(stage.effect(), Effect::Done);
        let sent =
            json!({ "title": "Amazing", "head": head, "base": "main", "body": "", "draft": true });
        assert_eq!(stage.server.seen()[0].json(), sent);
        stage.ends();
    }
}

#[tokio::test]
async fn one_that_is_open_already_is_named() {
    let found =
        "GET /repos/octo/hello/pulls?state=open&head=octo%3Af%2Fx&base=main&per_page=1&page=1";
    let refused = json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "code": "custom", "message": "m" }] });
    let stage = Stage::writing().await;
    stage.play(CREATE, Play::json(422, &refused));
    stage.play(
        found,
        Play::json(200, &json!([pull(json!({ "number": 12 }))])),
    );
    let made = stage
        .forge
        .create_pull_request(&stage.turn, &repo(), &new(None))
        .await;
    assert_eq!(failed(made), Unmet::PullExists(12).into());
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();

    // None is open, or nobody can say: GitHub's refusal stands.
    for lookup in [Play::json(200, &json!([])), Play::json(403, &json!({}))] {
        let stage = Stage::writing().await;
        stage.play(CREATE, Play::json(422, &refused));
        stage.play(found, lookup);
        let made = stage
            .forge
            .create_pull_request(&stage.turn, &repo(), &new(None))
            .await;
        let refusal = answered(made);
        assert_eq!(
            (refusal.status, refusal.errors),
            (422, Some(Box::new(refused["errors"].clone())))
        );
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
}

#[tokio::test]
async fn a_pull_request_is_merged_at_its_head() {
    let stage = Stage::writing().await;
    let merged = example("PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/merge");
    stage.play(MERGE, Play::json(200, &merged));
    let made = stage
        .forge
        .merge(&stage.turn, &repo(), &order())
        .await
        .unwrap();
    assert_eq!(made.sha, "6dcb09b5b57875f334f61aebed695e2e4193db5e");
    assert_eq!(stage.effect(), Effect::Done);
    let sent = json!({ "sha": HEAD, "merge_method": "rebase", "commit_title": "First line", "commit_message": "The rest" });
    assert_eq!(stage.server.seen()[0].json(), sent);
    stage.ends();
}

#[tokio::test]
async fn a_405_is_not_mergeable() {
    let stage = Stage::writing().await;
    stage.play(
        MERGE,
        Play::new(
            405,
            &[],
            &refusal(
                "Pull Request is not mergeable",
                "pulls/pulls#merge-a-pull-request",
            ),
        ),
    );
    let made = stage.forge.merge(&stage.turn, &repo(), &order()).await;
    let Failure::Unmergeable(why) = failed(made) else {
        panic!("no")
    };
    assert_eq!((why.number, why.why, why.state), (7, Why::Refused, None));
    let refused = why.answered.unwrap();
    assert_eq!((refused.status, refused.step), (405, Step::Merge));
    assert_eq!(
        refused.message.as_deref(),
        Some("Pull Request is not mergeable")
    );
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn a_409_is_another_head() {
    let refused = || {
        Play::new(
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
            Play::json(200, &moved),
            Some("1111111111111111111111111111111111111111".to_owned()),
        ),
        (Play::json(410, &json!({})), None),
    ] {
        let stage = Stage::writing().await;
        stage.play(MERGE, refused());
        stage.play("GET /repos/octo/hello/pulls/7", again);
        let made = stage.forge.merge(&stage.turn, &repo(), &order()).await;
        let expected = HEAD.to_owned();
        assert_eq!(
            failed(made),
            Failure::HeadMoved {
                expected,
                actual,
                state: None
            }
        );
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
}

#[tokio::test]
async fn other_refusals_to_merge_stay_what_they_are() {
    for status in [403, 422] {
        let stage = Stage::writing().await;
        stage.play(
            MERGE,
            Play::new(
                status,
                &[],
                &refusal("No.", "pulls/pulls#merge-a-pull-request"),
            ),
        );
        let refusal = answered(stage.forge.merge(&stage.turn, &repo(), &order()).await);
        assert_eq!((refusal.status, refusal.step), (status, Step::Merge));
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
    let stage = Stage::writing().await;
    stage.play(MERGE, Play::json(404, &json!({})));
    stage.play("GET /repos/octo/hello", Play::json(200, &json!({})));
    let refusal = answered(stage.forge.merge(&stage.turn, &repo(), &order()).await);
    assert_eq!(refusal.missing, Missing::PullRequest(7));
    stage.ends();
}

#[tokio::test]
async fn a_call_that_was_declared_reading_sends_no_change() {
    let stage = Stage::reading().await;
    let made = stage.forge.merge(&stage.turn, &repo(), &order()).await;
    assert!(matches!(failed(made), Failure::CallStopped(_)));
    stage.ends();
}
