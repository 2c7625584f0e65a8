//! Updated branches, reverts, conflicts and code search on GitHub's documented answers.
//! <https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch>

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{pull, refusal, with};
use candor_fault::Effect;
use candor_forge::{
    ChangeForge as _, CodeQuery, Failure, Forge as _, HistoryForge as _, Paging, PullRequest,
    RevertInstruction, UnmergeablePull, UnmergeableReason, UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const PULL: &str = "GET /repos/octo/hello/pulls/7";
const UPDATE: &str = "PUT /repos/octo/hello/pulls/7/update-branch";

fn sha(digit: char) -> String {
    digit.to_string().repeat(40)
}

fn answer(head: char, state: &str, merged: bool) -> ScriptedResponse {
    let members = json!({
        "number": 7, "mergeable_state": state, "merged": merged, "node_id": "PR_7",
        "head": { "ref": "f/x", "sha": sha(head), "repo": { "full_name": "octo/hello" } },
        "base": { "ref": "main", "sha": sha('b'), "repo": { "full_name": "octo/hello" } },
    });
    ScriptedResponse::json(200, &pull(members))
}

async fn read(fixture: &GithubFixture, merged: bool) -> PullRequest {
    fixture.respond(PULL, answer('1', "behind", merged));
    let repo = repo();
    let found = fixture.forge.pull_request(&fixture.context, &repo, 7).await;
    found.unwrap()
}

fn comparison(behind: u64, files: &[&str]) -> ScriptedResponse {
    let files = files.iter().map(|name| {
        json!({ "filename": name, "status": "modified", "additions": 1, "deletions": 1, "patch": "@@" })
    });
    let whole = with(
        example("GET", "/repos/{owner}/{repo}/compare/{basehead}"),
        json!({ "behind_by": behind, "ahead_by": 0, "commits": [], "files": files.collect::<Vec<Value>>() }),
    );
    ScriptedResponse::json(200, &whole)
}

fn compare_line(base: &str, head: &str) -> String {
    format!("GET /repos/octo/hello/compare/{base}...{head}?per_page=1&page=1")
}

#[tokio::test(start_paused = true)]
async fn update_waits_for_the_new_head() {
    let fixture = GithubFixture::writing().await;
    let before = read(&fixture, false).await;
    fixture.respond(&compare_line("main", &sha('1')), comparison(2, &[]));
    let accepted =
        json!({ "message": "Updating pull request branch.", "url": "https://github.com/x" });
    fixture.respond(UPDATE, ScriptedResponse::json(202, &accepted));
    fixture.respond(PULL, answer('1', "unknown", false));
    fixture.respond(PULL, answer('2', "clean", false));
    let repo = repo();
    let made = fixture
        .forge
        .update_pull_branch(&fixture.context, &repo, &before)
        .await;
    let made = made.unwrap();
    assert!(made.updated && !made.pending);
    assert_eq!(
        (made.previous_head_sha, made.head_sha),
        (sha('1'), sha('2'))
    );
    assert_eq!(fixture.effect(), Effect::Done);
    let seen = fixture.server.seen();
    let sent = seen
        .iter()
        .find(|request| request.line() == UPDATE)
        .unwrap();
    assert_eq!(sent.json(), json!({ "expected_head_sha": sha('1') }));
    fixture.assert_complete();
}

#[tokio::test(start_paused = true)]
async fn update_that_takes_longer_is_pending() {
    let fixture = GithubFixture::writing().await;
    let before = read(&fixture, false).await;
    fixture.respond(&compare_line("main", &sha('1')), comparison(2, &[]));
    fixture.respond(UPDATE, ScriptedResponse::json(202, &json!({})));
    for _ in 0..5 {
        fixture.respond(PULL, answer('1', "unknown", false));
    }
    let repo = repo();
    let made = fixture
        .forge
        .update_pull_branch(&fixture.context, &repo, &before)
        .await;
    let made = made.unwrap();
    assert!(made.updated && made.pending);
    assert_eq!(made.head_sha, sha('1'));
    fixture.assert_complete();
}

#[tokio::test]
async fn head_that_has_its_base_is_left_alone() {
    let fixture = GithubFixture::writing().await;
    let before = read(&fixture, false).await;
    fixture.respond(&compare_line("main", &sha('1')), comparison(0, &[]));
    let repo = repo();
    let made = fixture
        .forge
        .update_pull_branch(&fixture.context, &repo, &before)
        .await;
    assert!(!made.unwrap().updated);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn refusal_is_decided_by_reading_again() {
    for (head, state) in [('2', "behind"), ('1', "dirty"), ('1', "blocked")] {
        let fixture = GithubFixture::writing().await;
        let before = read(&fixture, false).await;
        fixture.respond(&compare_line("main", &sha('1')), comparison(2, &[]));
        let refused = refusal("merge conflict", "pulls/pulls#update-a-pull-request-branch");
        fixture.respond(UPDATE, ScriptedResponse::new(422, &[], &refused));
        fixture.respond(PULL, answer(head, state, false));
        if state == "dirty" {
            let ours = comparison(2, &["README.md", "a"]);
            fixture.respond(&compare_line(&sha('1'), "main"), ours);
            let theirs = comparison(2, &["b", "README.md"]);
            fixture.respond(&compare_line("main", &sha('1')), theirs);
        }
        let repo = repo();
        let made = fixture
            .forge
            .update_pull_branch(&fixture.context, &repo, &before)
            .await;
        match (expect_failure(made), state) {
            (Failure::BranchHeadMoved { expected, actual }, "behind") => {
                assert_eq!((expected, actual), (sha('1'), Some(sha('2'))));
            }
            (
                Failure::Unmergeable(UnmergeablePull {
                    reason, conflicts, ..
                }),
                "dirty",
            ) => {
                assert_eq!(reason, UnmergeableReason::Conflict);
                let both = conflicts.unwrap().changed_on_both;
                assert_eq!(both, Some(vec![String::from("README.md")]));
            }
            (Failure::GithubErrorResponse(response), "blocked") => assert_eq!(response.status, 422),
            (other, _) => panic!("{other:?}"),
        }
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

fn order(pull: PullRequest) -> RevertInstruction {
    RevertInstruction {
        pull,
        title: Some(String::from("Undo")),
        body: None,
        draft: true,
    }
}

const STANDING: &str =
    "GET /repos/octo/hello/pulls?state=open&head=octo%3Arevert-7-f%2Fx&base=main&per_page=1&page=1";

#[tokio::test]
async fn merged_pull_request_is_reverted_by_graphql() {
    let fixture = GithubFixture::writing().await;
    let order = order(read(&fixture, true).await);
    fixture.respond(STANDING, ScriptedResponse::json(200, &json!([])));
    let made = json!({ "data": { "changed": { "pullRequest": { "number": 9 } } } });
    fixture.respond("POST /graphql", ScriptedResponse::json(200, &made));
    let opened = pull(json!({ "number": 9 }));
    fixture.respond(
        "GET /repos/octo/hello/pulls/9",
        ScriptedResponse::json(200, &opened),
    );
    let repo = repo();
    let made = fixture
        .forge
        .revert_pull(&fixture.context, &repo, &order)
        .await;
    assert_eq!(made.unwrap().number, 9);
    assert_eq!(fixture.effect(), Effect::Done);
    let seen = fixture.server.seen();
    let sent = seen
        .iter()
        .find(|request| request.line() == "POST /graphql")
        .unwrap();
    let input = json!({ "pullRequestId": "PR_7", "draft": true, "title": "Undo" });
    assert_eq!(sent.json()["variables"]["input"], input);
    fixture.assert_complete();
}

#[tokio::test]
async fn revert_is_refused_before_anything_is_sent() {
    let fixture = GithubFixture::writing().await;
    let open = order(read(&fixture, false).await);
    let repo = repo();
    let made = fixture
        .forge
        .revert_pull(&fixture.context, &repo, &open)
        .await;
    let expected = Failure::Unmet(UnmetPrecondition::NotMerged(7));
    assert_eq!(expect_failure(made), expected);
    let merged = order(read(&fixture, true).await);
    let standing = json!([pull(json!({ "number": 8 }))]);
    fixture.respond(STANDING, ScriptedResponse::json(200, &standing));
    let made = fixture
        .forge
        .revert_pull(&fixture.context, &repo, &merged)
        .await;
    let expected = Failure::Unmet(UnmetPrecondition::RevertExists(8));
    assert_eq!(expect_failure(made), expected);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn code_of_other_repositories_is_dropped() {
    let fixture = GithubFixture::reading().await;
    let repository = example("GET", "/repos/{owner}/{repo}");
    fixture.respond(
        "GET /repos/octo/hello",
        ScriptedResponse::json(200, &repository),
    );
    let item = |name: &str, path: &str| {
        json!({
            "path": path, "html_url": "https://github.com/x", "repository": { "full_name": name },
            "text_matches": [{ "fragment": "one\nlet word = 1;\n", "matches": [{ "text": "word", "indices": [8, 12] }] }],
        })
    };
    let found = json!({ "total_count": 3, "incomplete_results": false, "items": [
        item("Octo/Hello", "src/a.rs"), item("octo/other", "src/b.rs"), item("octo/hello", "c.rs"),
    ] });
    let line =
        "GET /search/code?q=word%20repo%3Aocto%2Fhello%20path%3A%22src%22&per_page=30&page=1";
    fixture.respond(line, ScriptedResponse::json(200, &found));
    let query = CodeQuery {
        text: String::from("word"),
        path: Some(String::from("src")),
    };
    let paging = Paging {
        page: 1,
        per_page: 30,
    };
    let repo = repo();
    let page = fixture
        .forge
        .search_code(&fixture.context, &repo, &query, paging)
        .await;
    let page = page.unwrap();
    assert_eq!(
        (page.total_count, page.results.len(), page.more),
        (3, 1, false)
    );
    assert_eq!(page.results[0].path, "src/a.rs");
    let first = &page.results[0].matches[0];
    assert_eq!((first.line, first.text.as_str()), (None, "let word = 1;"));
    let seen = fixture.server.seen();
    let sent = seen.iter().find(|request| request.line() == line).unwrap();
    let accept = Some("application/vnd.github.text-match+json");
    assert_eq!(sent.header("accept"), accept);
    fixture.assert_complete();
}
