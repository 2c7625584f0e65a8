//! Pull requests edited, and made drafts or no drafts.

use crate::documented::{pull, refusal};
use crate::scripted::Play;
use crate::stage::{NOW, Stage, answered, failed, repo};
use candor_fault::Effect;
use candor_forge::{Failure, Forge as _, Missing, PullChange, PullState, Unreachable};
use serde_json::{Value, json};
use std::time::Duration;

const GET: &str = "GET /repos/octo/hello/pulls/7";
const PATCH: &str = "PATCH /repos/octo/hello/pulls/7";
const GRAPHQL: &str = "POST /graphql";

fn change(title: Option<&str>, state: Option<PullState>, draft: Option<bool>) -> PullChange {
    PullChange {
        title: title.map(str::to_owned),
        body: None,
        state,
        draft,
    }
}

fn toggled(draft: bool) -> Play {
    let pull = json!({ "isDraft": draft, "updatedAt": "2026-01-02T03:04:05Z" });
    Play::json(
        200,
        &json!({ "data": { "changed": { "pullRequest": pull } } }),
    )
}

fn errors(kind: Value) -> Play {
    let error = json!({ "type": kind, "path": ["changed"], "message": "rate limit not found" });
    Play::json(
        200,
        &json!({ "data": { "changed": null }, "errors": [error] }),
    )
}

#[tokio::test]
async fn fields_are_edited_in_one_step() {
    let stage = Stage::writing().await;
    stage.play(
        PATCH,
        Play::json(200, &pull(json!({ "title": "New", "body": null }))),
    );
    let change = PullChange {
        title: Some("New".to_owned()),
        body: Some(String::new()),
        state: Some(PullState::Open),
        draft: None,
    };
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    assert_eq!(made.unwrap().title, "New");
    assert_eq!(stage.effect(), Effect::Done);
    let sent = json!({ "title": "New", "body": "", "state": "open" });
    assert_eq!(stage.server.seen()[0].json(), sent);
    stage.ends();
}

#[tokio::test]
async fn a_draft_is_toggled_both_ways() {
    for (draft, mutation) in [
        (false, "markPullRequestReadyForReview"),
        (true, "convertPullRequestToDraft"),
    ] {
        let stage = Stage::writing().await;
        stage.play(
            GET,
            Play::json(200, &pull(json!({ "draft": !draft, "node_id": "PR_1" }))),
        );
        stage.play(GRAPHQL, toggled(draft));
        let change = change(None, None, Some(draft));
        let made = stage
            .forge
            .update_pull_request(&stage.turn, &repo(), 7, &change)
            .await
            .unwrap();
        assert_eq!(
            (made.draft, made.updated_at.as_str()),
            (draft, "2026-01-02T03:04:05Z")
        );
        assert_eq!(stage.effect(), Effect::Done);
        let sent = stage.server.seen()[1].json();
        assert!(sent["query"].as_str().unwrap().contains(mutation));
        assert_eq!(sent["variables"], json!({ "id": "PR_1" }));
        stage.ends();
    }
}

#[tokio::test]
async fn what_is_a_draft_already_is_left_alone() {
    let stage = Stage::writing().await;
    let draft = pull(json!({ "draft": true }));
    stage
        .play(GET, Play::json(200, &draft))
        .play(GET, Play::json(200, &draft));
    let change = change(None, None, Some(true));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    assert!(made.unwrap().draft);
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn errors_of_graphql_are_told_by_their_type() {
    for (kind, status, limited) in [
        ("NOT_FOUND", 404, false),
        ("FORBIDDEN", 403, false),
        ("INSUFFICIENT_SCOPES", 403, false),
        ("RATE_LIMITED", 403, true),
        ("UNPROCESSABLE", 422, false),
    ] {
        let stage = Stage::writing().await;
        stage.play(GET, Play::json(200, &pull(json!({ "draft": true }))));
        stage.play(GRAPHQL, errors(json!(kind)));
        let change = change(None, None, Some(false));
        let made = stage
            .forge
            .update_pull_request(&stage.turn, &repo(), 7, &change)
            .await;
        let refusal = answered(made);
        assert_eq!(
            (refusal.status, refusal.limited),
            (status, limited),
            "{kind}"
        );
        assert_eq!(refusal.missing, Missing::PullRequest(7));
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
}

#[tokio::test]
async fn an_error_of_no_known_type_leaves_the_effect_unknown() {
    for play in [
        errors(json!(null)),
        errors(json!("SOMETHING_NEW")),
        Play::json(200, &json!({})),
        Play::new(200, &[], b"<html>"),
    ] {
        let stage = Stage::writing().await;
        stage.play(GET, Play::json(200, &pull(json!({ "draft": true }))));
        stage.play(GRAPHQL, play);
        let change = change(None, None, Some(false));
        let made = stage
            .forge
            .update_pull_request(&stage.turn, &repo(), 7, &change)
            .await;
        assert!(matches!(
            failed(made),
            Failure::Unreachable(Unreachable::Garbled, _)
        ));
        assert_eq!(stage.effect(), Effect::Unknown);
        stage.ends();
    }
}

#[tokio::test]
async fn graphql_refuses_by_status_too() {
    let stage = Stage::writing().await;
    stage.play(GET, Play::json(200, &pull(json!({ "draft": true }))));
    stage.play(GRAPHQL, Play::new(403, &[("retry-after", "9")], b"{}"));
    let change = change(None, None, Some(false));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    assert!(answered(made).limited);
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn of_two_steps_the_first_stays_done() {
    let stage = Stage::writing().await;
    let draft = pull(json!({ "draft": true }));
    stage
        .play(GET, Play::json(200, &draft))
        .play(PATCH, Play::json(200, &draft));
    stage.play(GRAPHQL, errors(json!("FORBIDDEN")));
    let change = change(Some("New"), None, Some(false));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    let Failure::Partly { done, rest } = failed(made) else {
        panic!("not in part")
    };
    assert_eq!(done, "all but whether it is a draft was changed");
    assert!(matches!(*rest, Failure::Answered(refused) if refused.status == 403));
    assert_ne!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn of_two_steps_the_first_may_be_refused_with_nothing_done() {
    let stage = Stage::writing().await;
    stage.play(GET, Play::json(200, &pull(json!({ "draft": true }))));
    stage.play(
        PATCH,
        Play::new(
            422,
            &[],
            &refusal("No.", "pulls/pulls#update-a-pull-request"),
        ),
    );
    let change = change(Some("New"), None, Some(false));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    assert_eq!(answered(made).status, 422);
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn what_is_to_be_closed_is_closed_last() {
    let stage = Stage::writing().await;
    stage.play(GET, Play::json(200, &pull(json!({ "draft": false }))));
    stage.play(GRAPHQL, toggled(true));
    stage.play(
        PATCH,
        Play::json(200, &pull(json!({ "draft": true, "state": "closed" }))),
    );
    let change = change(None, Some(PullState::Closed), Some(true));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await
        .unwrap();
    assert_eq!((made.draft, made.state), (true, PullState::Closed));
    assert_eq!(stage.effect(), Effect::Done);
    assert_eq!(stage.server.lines(), [GET, GRAPHQL, PATCH]);
    stage.ends();
}

#[tokio::test]
async fn a_limit_of_graphql_lasts_as_its_headers_say() {
    let stage = Stage::writing().await;
    stage.play(GET, Play::json(200, &pull(json!({ "draft": true }))));
    let reset = (NOW + 42).to_string();
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let body = json!({ "errors": [{ "type": "RATE_LIMITED", "message": "m" }] });
    stage.play(
        GRAPHQL,
        Play::new(200, &headers, body.to_string().as_bytes()),
    );
    let change = change(None, None, Some(false));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    let refusal = answered(made);
    assert!(refusal.limited);
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(42)));
    stage.ends();
}
