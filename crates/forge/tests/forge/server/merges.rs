//! `merge_pull_request`: what keeps it from merging, in which order, and what exactly is merged.

use crate::fixture::server::{ServerFixture, fixture, fixture_with};
use crate::fixture::stub_state::{HEAD, MADE, PausePoint, StubState, check, pull};
use crate::fixture::valid_arguments::{changed, without};
use candor_forge::{
    CheckState, Failure, GithubErrorResponse, MissingItem, PullRequest, PullState, RequestKind,
    UnmergeablePull, UnmergeableReason, WRITE_DEADLINE,
};
use serde_json::{Value, json};
use std::time::Duration;

fn simply() -> Value {
    json!({ "repo": "octo/cat", "prNumber": 7 })
}

/// A pull request with everything in its way.
fn hopeless() -> PullRequest {
    PullRequest {
        merged: true,
        state: PullState::Closed,
        draft: true,
        mergeable: Some(false),
        mergeable_state: Some(String::from("dirty")),
        ..pull()
    }
}

fn set(fixture: &ServerFixture, pull: PullRequest) {
    fixture.events.clear();
    fixture.stub.stub_state().pulls = vec![pull].into();
}

#[tokio::test]
async fn stale_sha_is_reported_first() {
    let fixture = fixture();
    set(&fixture, hopeless());
    let stale = changed("merge_pull_request", "sha", json!("abcdef0"));
    let answer = fixture.call_tool("merge_pull_request", stale).await;
    let expected = format!(
        concat!(
            r#"{{"code":-32006,"message":"Head SHA does not match: the pull request has another head than expected","#,
            r#""data":{{"tool":"merge_pull_request","timestamp":"2025-10-12T15:49:21.049Z","#,
            r#""mergeable_state":"dirty","expected":"abcdef0","actual":"{}","#,
            r#""fault":{{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","#,
            r#""remedy":"Review the new head in `actual`, then merge with that `sha`."}}}}}}"#
        ),
        HEAD
    );
    assert_eq!(answer.text(), expected);
    assert_eq!(fixture.backend_calls(), ["pull_request octo/cat 7"]);
}

#[tokio::test]
async fn head_that_was_seen_is_pinned() {
    let fixture = fixture();
    let order = |title, message| {
        format!(
            "merge octo/cat MergeInstruction {{ number: 7, method: Merge, title: {title}, message: {message}, head_sha: \"{HEAD}\" }}"
        )
    };
    for sha in [None, Some(&HEAD[..7]), Some(&HEAD[..39]), Some(HEAD)] {
        let mut arguments = simply();
        if let Some(sha) = sha {
            arguments["sha"] = json!(sha);
        }
        set(&fixture, pull());
        let answer = fixture
            .call_tool("merge_pull_request", arguments)
            .await
            .value();
        assert_eq!(fixture.backend_calls()[1], order("None", "None"), "{sha:?}");
        assert_eq!(
            answer,
            json!({
                "number": 7, "merged": true, "sha": MADE, "merge_method": "merge",
                "head_sha": HEAD, "base": "main", "branch_deleted": false
            })
        );
    }
    let mut texts = simply();
    texts["commit_title"] = json!("");
    texts["commit_message"] = json!("");
    set(&fixture, pull());
    fixture.call_tool("merge_pull_request", texts).await.value();
    assert_eq!(fixture.backend_calls()[1], order("None", "Some(\"\")"));
}

/// A change of a pull request between two calls.
type Change = dyn Fn(&mut PullRequest);

#[tokio::test(start_paused = true)]
async fn merge_obstacles_are_reported_in_order() {
    let fixture = fixture();
    let blocked = |pull: &mut PullRequest| pull.mergeable_state = Some(String::from("blocked"));
    let undecided = |pull: &mut PullRequest| {
        pull.mergeable = None;
        pull.mergeable_state = Some(String::from("unknown"));
    };
    // Each step takes the first obstacle away.
    let steps: [(&Change, &str, &str); 6] = [
        (&|_| (), "it was merged already", "dirty"),
        (&|pull| pull.merged = false, "it is closed", "dirty"),
        (
            &|pull| pull.state = PullState::Open,
            "it is a draft",
            "dirty",
        ),
        (
            &|pull| pull.draft = false,
            "it conflicts with its base branch",
            "dirty",
        ),
        (&blocked, "rules of the base branch block it", "blocked"),
        (
            &undecided,
            "GitHub has not decided yet whether it can be merged",
            "unknown",
        ),
    ];
    let mut pull = hopeless();
    for (step, why, state) in steps {
        step(&mut pull);
        set(&fixture, pull.clone());
        let answer = fixture.call_tool("merge_pull_request", simply()).await;
        assert_eq!(answer.code(), -32005);
        assert_eq!(answer.effect(), "none");
        assert_eq!(
            answer.message(),
            format!("Pull request #7 is not mergeable: {why}")
        );
        assert_eq!(answer.error()["data"]["mergeable_state"], state);
        assert_eq!(fixture.events.of("ask merge"), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn merge_waits_until_it_is_decided() {
    let fixture = fixture();
    let undecided = PullRequest {
        mergeable: None,
        ..pull()
    };
    fixture.stub.stub_state().pulls = vec![undecided.clone(), undecided, pull()].into();
    let begun = tokio::time::Instant::now();
    fixture
        .call_tool("merge_pull_request", simply())
        .await
        .value();
    assert_eq!(begun.elapsed(), Duration::from_millis(750));
    assert_eq!(fixture.events.of("ask pull_request").len(), 3);
}

fn blocked(stub_state: &mut StubState) {
    stub_state.pulls[0].mergeable = Some(false);
    stub_state.pulls[0].mergeable_state = Some(String::from("blocked"));
}

#[tokio::test]
async fn failing_checks_are_named_if_they_can_be_read() {
    let fixture = fixture();
    blocked(&mut fixture.stub.stub_state());
    fixture
        .stub
        .stub_state()
        .checks
        .push(check("test", CheckState::Failed));
    let answer = fixture.call_tool("merge_pull_request", simply()).await;
    let expected = concat!(
        r#"{"code":-32005,"message":"Pull request #7 is not mergeable: rules of the base branch block it","#,
        r#""data":{"tool":"merge_pull_request","timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""mergeable_state":"blocked","failing_checks":["lint","test"],"#,
        r#""fault":{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","#,
        r#""remedy":"Look at `mergeable_state` and `failing_checks`, resolve them, then merge."}}}"#
    );
    assert_eq!(answer.text(), expected);

    let violations = Failure::Broken("the checks are gone", candor_fault::Cause::from("x"));
    fixture
        .stub
        .stub_state()
        .failing
        .insert("checks", violations);
    let answer = fixture.call_tool("merge_pull_request", simply()).await;
    assert_eq!(
        answer.text(),
        expected.replace(r#""failing_checks":["lint","test"],"#, "")
    );
}

/// A merge is refused for its own reason even if the checks never arrive.
#[tokio::test(start_paused = true)]
async fn slow_checks_do_not_change_the_code() {
    let fixture = fixture();
    blocked(&mut fixture.stub.stub_state());
    fixture
        .stub
        .stub_state()
        .pauses
        .insert("checks", PausePoint::Before);
    let begun = tokio::time::Instant::now();
    let answer = fixture.call_tool("merge_pull_request", simply()).await;
    assert_eq!(answer.code(), -32005);
    assert_eq!(answer.error()["data"].get("failing_checks"), None);
    assert!(begun.elapsed() < WRITE_DEADLINE, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn merge_refused_by_the_backend_is_reported_alike() {
    let fixture = fixture();
    let answered = GithubErrorResponse {
        status: 405,
        step: RequestKind::Merge,
        missing: MissingItem::PullRequest(7),
        message: Some(String::from("Required status check \"test\" is expected.")),
        errors: None,
        limited: false,
        retry_after: None,
        sso_url: None,
    };
    let refused = UnmergeablePull {
        number: 7,
        reason: UnmergeableReason::Refused,
        state: None,
        failing_checks: Vec::new(),
        conflicts: None,
        response: Some(Box::new(answered)),
    };
    fixture
        .stub
        .stub_state()
        .failing
        .insert("merge", Failure::Unmergeable(refused));
    let answer = fixture.call_tool("merge_pull_request", simply()).await;
    assert_eq!(answer.code(), -32005);
    assert_eq!(
        answer.message(),
        "Pull request #7 is not mergeable: GitHub refused to merge it: Required status check \"test\" is expected."
    );
    let data = &answer.error()["data"];
    assert_eq!(data["status"], 405);
    assert_eq!(data["mergeable_state"], "clean");
    assert_eq!(data["failing_checks"], json!(["lint"]));

    let moved = Failure::HeadMoved {
        expected: String::from(HEAD),
        actual: None,
        state: None,
    };
    fixture.stub.stub_state().failing.insert("merge", moved);
    let answer = fixture.call_tool("merge_pull_request", simply()).await;
    assert_eq!(answer.code(), -32006);
    assert_eq!(answer.error()["data"]["expected"], HEAD);
    assert_eq!(answer.error()["data"].get("actual"), None);
}

/// Returns `branch_deleted` of the answer, and whether the backend was called.
async fn deleted(fixture: &ServerFixture) -> (bool, Vec<String>) {
    let mut arguments = simply();
    arguments["delete_branch"] = json!(true);
    let answer = fixture
        .call_tool("merge_pull_request", arguments)
        .await
        .value();
    assert_eq!(answer["merged"], true);
    let backend_calls = fixture.events.of("ask delete_branch");
    (answer["branch_deleted"].as_bool().unwrap(), backend_calls)
}

#[tokio::test]
async fn head_branch_is_deleted_on_request() {
    let fixture = fixture();
    assert_eq!(
        deleted(&fixture).await,
        (true, vec![String::from("octo/cat topic")])
    );
    set(
        &fixture,
        PullRequest {
            head_repo: Some(crate::fixture::stub_state::repo("OCTO/Cat")),
            ..pull()
        },
    );
    assert!(deleted(&fixture).await.0);
    fixture.events.clear();
    fixture
        .call_tool("merge_pull_request", simply())
        .await
        .value();
    assert_eq!(fixture.events.of("ask delete_branch"), Vec::<String>::new());
}

#[tokio::test]
async fn default_branch_and_namesake_of_a_fork_are_not_deleted() {
    let fixture = fixture();
    for head_repo in [Some("fork/cat"), Some("octo/dog"), None] {
        set(
            &fixture,
            PullRequest {
                head_repo: head_repo.map(crate::fixture::stub_state::repo),
                ..pull()
            },
        );
        assert_eq!(deleted(&fixture).await, (false, vec![]), "{head_repo:?}");
    }
    set(&fixture, pull());
    fixture.stub.stub_state().repository.default_branch = String::from("topic");
    assert_eq!(deleted(&fixture).await, (false, vec![]));
    // Nor is the branch that was just merged into.
    fixture.stub.stub_state().repository.default_branch = String::from("trunk");
    let head = String::from("main");
    set(&fixture, PullRequest { head, ..pull() });
    assert_eq!(deleted(&fixture).await, (false, vec![]));
    set(&fixture, pull());
    // No branch is deleted if the default branch is not known.
    let unseen = Failure::Missing(MissingItem::Repository);
    fixture
        .stub
        .stub_state()
        .failing
        .insert("repository", unseen);
    assert_eq!(deleted(&fixture).await, (false, vec![]));
}

#[tokio::test]
async fn failed_deletion_does_not_fail_the_merge() {
    let fixture = fixture();
    let gone = Failure::Missing(MissingItem::Branch(String::from("topic")));
    fixture
        .stub
        .stub_state()
        .failing
        .insert("delete_branch", gone);
    assert!(!deleted(&fixture).await.0);
    let outcome: Value = serde_json::from_str(&fixture.logged()[1]).unwrap();
    assert_eq!(
        (&outcome["effect"], &outcome["code"]),
        (&json!("done"), &Value::Null)
    );
    assert_eq!(fixture.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn each_method_is_passed_on() {
    let fixture = fixture();
    for (word, backend_calls) in [
        ("merge", "Merge"),
        ("squash", "Squash"),
        ("rebase", "Rebase"),
    ] {
        set(&fixture, pull());
        let arguments = changed("merge_pull_request", "merge_method", json!(word));
        let arguments = without(arguments, "delete_branch");
        let answer = fixture
            .call_tool("merge_pull_request", arguments)
            .await
            .value();
        assert_eq!(answer["merge_method"], word);
        assert_eq!(
            fixture.backend_calls()[1],
            format!(
                "merge octo/cat MergeInstruction {{ number: 7, method: {backend_calls}, title: Some(\"Purr\"), message: Some(\"Why\"), head_sha: \"{HEAD}\" }}"
            )
        );
    }
}

/// The paths that conflict stand after the older members and before `fault`, bounded in number.
#[tokio::test]
async fn conflict_names_its_paths() {
    let fixture = fixture_with(|stub_state| {
        stub_state.pulls[0].mergeable = Some(false);
        stub_state.pulls[0].mergeable_state = Some(String::from("dirty"));
        stub_state.checks = vec![];
        stub_state.conflicts.conflicts = Some(vec![candor_forge::Conflict {
            path: String::from("README.md"),
            kind: candor_forge::ConflictKind::Content,
        }]);
    });
    let merge = json!({ "repo": "octo/cat", "prNumber": 7 });
    let answer = fixture.call_tool("merge_pull_request", merge.clone()).await;
    let expected = concat!(
        r#"{"code":-32005,"message":"Pull request #7 is not mergeable: it conflicts with its base branch","#,
        r#""data":{"tool":"merge_pull_request","timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""mergeable_state":"dirty","conflicts":[{"path":"README.md","kind":"content"}],"#,
        r#""fault":{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","#,
        r#""remedy":"Bring the head branch up to date with its base, resolve the conflicts, then merge."}}}"#
    );
    assert_eq!(answer.text(), expected);
    let many = (0..150).map(|n| candor_forge::Conflict {
        path: format!("{n:03}"),
        kind: candor_forge::ConflictKind::AddAdd,
    });
    fixture.stub.stub_state().conflicts = candor_forge::ConflictReport {
        conflicts: Some(many.collect()),
        changed_on_both: Some((0..150).map(|n| format!("{n:03}")).collect()),
    };
    let data = fixture
        .call_tool("merge_pull_request", merge.clone())
        .await
        .error()["data"]
        .clone();
    assert_eq!(data["conflicts"].as_array().unwrap().len(), 100);
    assert_eq!(data["conflicts_omitted"], 50);
    assert_eq!(data["changed_on_both"].as_array().unwrap().len(), 100);
    // A lookup that fails changes nothing else.
    let broken = Failure::Missing(candor_forge::MissingItem::Repository);
    fixture
        .stub
        .stub_state()
        .failing
        .insert("conflicts", broken);
    let data = fixture.call_tool("merge_pull_request", merge).await.error()["data"].clone();
    assert_eq!(data.get("conflicts"), None);
    assert_eq!(data["mergeable_state"], "dirty");
}

#[tokio::test]
async fn another_head_or_a_closed_pull_request_is_not_updated() {
    let fixture = fixture();
    let stale = json!({ "repo": "octo/cat", "prNumber": 7, "expected_head_sha": "abcdef0" });
    let answer = fixture.call_tool("update_pull_request_branch", stale).await;
    assert_eq!(answer.code(), -32006);
    assert_eq!(answer.error()["data"]["expected"], "abcdef0");
    fixture.stub.stub_state().pulls[0].state = PullState::Closed;
    let closed = json!({ "repo": "octo/cat", "prNumber": 7 });
    let answer = fixture
        .call_tool("update_pull_request_branch", closed)
        .await;
    assert_eq!(
        answer.message(),
        "Validation error: the pull request #7 is not open"
    );
    assert!(fixture.events.of("done").is_empty());
}

/// A query cannot leave the repository of the call.
#[tokio::test]
async fn code_query_cannot_name_another_repository() {
    let fixture = fixture();
    for query in [
        "a repo:b/c",
        "REPO:b/c",
        "-org:b",
        "(user:b)",
        "\"owner:b\"",
        "a\tuser:b",
    ] {
        let wrong = json!({ "repo": "octo/cat", "query": query });
        let answer = fixture.call_tool("search_code", wrong).await;
        let expected = [(String::from("not"), String::from("/query"))];
        assert_eq!(answer.violations(), expected, "{query}");
    }
    for query in ["std::io", "myrepo:x", "repository"] {
        let right = json!({ "repo": "octo/cat", "query": query });
        fixture.call_tool("search_code", right).await.value();
    }
}
