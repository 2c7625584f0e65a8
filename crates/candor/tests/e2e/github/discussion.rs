//! Comments, reviews, approvals, auto-merge and issues on the local forge: commands, codes and crashes.

use crate::fixture::{CANDOR, LIMIT};
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{call, parse};
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

const FLAGS: [&str; 5] = [
    "--allow-writes",
    "--writes-per-minute",
    "10000",
    "--toolsets",
    "all",
];
const REPO: &str = "sample/hello";

fn pull(number: u64) -> Value {
    json!({ "repo": REPO, "prNumber": number })
}

/// Returns the arguments with further members.
fn with(mut arguments: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

#[test]
fn commands_speak_for_somebody_else() {
    let fixture = GithubFixture::new();
    let run_ok = |arguments: &[&str]| fixture.run_ok(arguments);
    assert_snapshot!(run_ok(&["comment", REPO, "1", "Nice.", "--as", "Ada"]), @"comment 1 on #1 of sample/hello");
    assert_snapshot!(run_ok(&["review", REPO, "1", "--comment", "src/main.rs:2=Whose?", "--comment", "src/main.rs:-2=Gone.", "--as", "Ada"]), @"review 1 of #1 of sample/hello: commented");
    assert_snapshot!(run_ok(&["review", REPO, "1", "--request-changes", "--body", "No.", "--as", "Bob"]), @"review 2 of #1 of sample/hello: changes requested");
    assert_snapshot!(run_ok(&["review", REPO, "1", "--approve", "--as", "Ada"]), @"review 3 of #1 of sample/hello: approved");
    assert_snapshot!(run_ok(&["label", REPO, "1", "bug", "ui"]), @"#1 of sample/hello: bug, ui");
    let mut server = fixture.stdio(&FLAGS);
    let read = server.call_ok("get_pull_request", pull(1));
    assert_eq!(read["labels"], json!(["bug", "ui"]));
    assert_eq!(read["review_decision"], "CHANGES_REQUESTED");
    assert_eq!(read["reviews"].as_array().unwrap().len(), 3);
    let comments = server.call_ok("get_pull_request_comments", pull(1));
    let shown: Vec<_> = comments["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}",
                one["kind"], one["line"], one["side"], one["body"]
            )
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
    "comment" null null "Nice."
    "review" 2 "RIGHT" "Whose?"
    "review" 2 "LEFT" "Gone."
    "#);
    assert_snapshot!(run_ok(&["label", REPO, "1"]), @"#1 of sample/hello: no labels");
}

#[test]
fn mistakes_of_commands_are_explained() {
    let fixture = GithubFixture::new();
    let run_err = |arguments: &[&str]| fixture.run_err(arguments);
    assert_snapshot!(run_err(&["review", REPO, "1", "--approve", "--as", "sample"]), @r"
    error: Validation error: the pull request #1 is your own: you can comment on it, not approve it or request changes
    hint: give another name with --as
    ");
    assert_snapshot!(run_err(&["review", REPO, "1", "--as", "Ada"]), @r"
    error: the review says nothing
    hint: give --approve, or --body TEXT or --comment PATH:LINE=TEXT
    ");
    assert_snapshot!(run_err(&["review", REPO, "1", "--comment", "src/main.rs:99=x", "--as", "Ada"]), @"error: Validation error: line 99 after the change of src/main.rs is not part of the difference");
    assert_snapshot!(run_err(&["review", REPO, "99", "--approve", "--as", "Ada"]), @"error: Not found: the pull request #99 does not exist, or the token cannot see it");
    assert_snapshot!(run_err(&["comment", REPO, "99", "x", "--as", "Ada"]), @"error: Not found: the issue or pull request #99 does not exist, or the token cannot see it");
    assert_snapshot!(run_err(&["comment", "sample/none", "1", "x", "--as", "Ada"]), @r"
    error: Not found: the repository does not exist, or the token cannot see it
    hint: to show all repositories, run:
      candor github status
    ");
}

#[test]
fn required_approvals_block_and_auto_merge_is_recorded() {
    let fixture = GithubFixture::new();
    let rules = [
        "protect",
        REPO,
        "main",
        "--require-approvals",
        "1",
        "--require-check",
        "ci/x",
    ];
    fixture.run_ok(&rules);
    let status = fixture.run_ok(&["status", REPO]);
    assert!(
        status.contains("pull requests only; needs ci/x; needs 1 approval"),
        "{status}"
    );
    let mut server = fixture.stdio(&FLAGS);
    let refused = server.call_err("merge_pull_request", pull(1));
    assert_eq!(refused["code"], -32005);
    assert_eq!(refused["data"]["mergeable_state"], "blocked");
    let enable = with(
        pull(1),
        json!({ "enabled": true, "merge_method": "squash" }),
    );
    let set = server.call_ok("set_auto_merge", enable);
    assert_eq!(set["auto_merge"]["merge_method"], "squash");
    fixture.run_ok(&[
        "status",
        REPO,
        "--set",
        "ci/x=success",
        "--at",
        "feature/greeting",
    ]);
    assert_eq!(server.call_ok("get_pull_request", pull(1))["merged"], false);
    fixture.run_ok(&["review", REPO, "1", "--approve", "--as", "Ada"]);
    let merged = server.call_ok("get_pull_request", pull(1));
    assert_eq!(
        (&merged["merged"], &merged["auto_merge"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    let log = fs::read_to_string(fixture.path("data/github-writes.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(parse).collect();
    let own = |line: &&Value| line["client"] == "auto-merge";
    let attempt = lines.iter().find(own).unwrap();
    assert_eq!(attempt["arguments"]["prNumber"], 1);
    let outcome = |line: &&Value| line["of"] == attempt["seq"];
    let outcome = lines.iter().find(outcome).unwrap();
    assert_eq!(
        (&outcome["effect"], &outcome["tool"]),
        (&json!("done"), &json!("merge_pull_request"))
    );
    verify_log(&fixture);
}

fn verify_log(fixture: &GithubFixture) {
    let log = fixture.text("data/github-writes.jsonl");
    let verified = Process::run(Process::command(CANDOR, &["audit", "verify", &log]), LIMIT);
    // The chain holds; a log without a checkpoint may have lost its end.
    assert_eq!(verified.exit, Exit::Code(4));
}

#[test]
fn codes_of_the_new_tools() {
    let fixture = GithubFixture::new();
    let issue = json!({ "repo": REPO, "title": "Hiss" });
    let mut server = fixture.stdio(&FLAGS);
    assert_eq!(server.call_ok("create_issue", issue)["number"], 4);
    let issue = |number: u64| json!({ "repo": REPO, "number": number });
    let line =
        |line: u64| json!([{ "path": "src/main.rs", "line": line, "body": "x", "side": "LEFT" }]);
    let review = |number: u64, event: &str| with(pull(number), json!({ "event": event }));
    let mut lines = Vec::new();
    for (tool, arguments) in [
        ("get_pull_request", pull(4)),
        ("get_pull_request_comments", pull(4)),
        ("add_issue_comment", with(issue(99), json!({ "body": "x" }))),
        ("create_pull_request_review", review(4, "APPROVE")),
        ("create_pull_request_review", review(1, "COMMENT")),
        ("create_pull_request_review", review(1, "REQUEST_CHANGES")),
        (
            "create_pull_request_review",
            with(review(1, "COMMENT"), json!({ "comments": line(4) })),
        ),
        (
            "create_pull_request_review",
            with(review(1, "APPROVE"), json!({ "sha": "0123456" })),
        ),
        (
            "add_reply_to_pull_request_comment",
            with(pull(1), json!({ "comment_id": 7, "body": "x" })),
        ),
        (
            "request_pull_request_reviewers",
            with(pull(4), json!({ "reviewers": ["ada"] })),
        ),
        (
            "request_pull_request_reviewers",
            with(pull(1), json!({ "reviewers": ["sample"] })),
        ),
        ("set_auto_merge", with(pull(1), json!({ "enabled": true }))),
        ("set_auto_merge", with(pull(3), json!({ "enabled": true }))),
        (
            "set_auto_merge",
            with(pull(99), json!({ "enabled": false })),
        ),
        ("find_pull_requests", json!({ "repo": "sample/none" })),
        ("list_issues", json!({ "repo": "sample/none" })),
        ("get_issue", issue(1)),
        ("get_issue", issue(99)),
        (
            "create_issue",
            json!({ "repo": "sample/none", "title": "x" }),
        ),
        ("update_issue", with(issue(1), json!({ "title": "x" }))),
        ("update_issue", with(issue(99), json!({ "title": "x" }))),
        (
            "search_issues",
            json!({ "repo": REPO, "query": "user:octo" }),
        ),
        (
            "search_issues",
            json!({ "repo": "sample/none", "query": "x" }),
        ),
    ] {
        let error = server.call_err(tool, arguments);
        let effect = error["data"]["fault"]["effect"].as_str().unwrap_or("-");
        let message = error["message"].as_str().unwrap();
        lines.push(format!("{tool} {} {effect}: {message}", error["code"]));
    }
    assert_snapshot!(lines.join("\n"));
}

/// Spins for some time without sleeping, so that the kill happens at any moment.
fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

const KILLS: u64 = 20;

/// Every acknowledged comment and review exists after a kill, with all its comments on lines.
#[test]
fn acknowledged_discussion_survives_a_kill() {
    let fixture = GithubFixture::new();
    let mut random = fastrand::Rng::with_seed(20_261_118);
    let (mut comments, mut reviews) = (Vec::new(), 0);
    for round in 0..KILLS {
        let mut server = fixture.stdio(&FLAGS);
        let line = |number: u64| json!({ "path": "src/main.rs", "line": number, "body": format!("{round}") });
        for id in 0..8_u32 {
            let body = format!("{round}-{id}");
            let comment = json!({ "repo": REPO, "number": 1, "body": body });
            server.send_line(call(id, "add_issue_comment", comment));
            let review = json!({ "event": "COMMENT", "comments": [line(1), line(2), line(3)] });
            server.send_line(call(
                100 + id,
                "create_pull_request_review",
                with(pull(1), review),
            ));
        }
        let mut add = |answer: &str| {
            let answer = parse(answer);
            let made = &answer["result"]["structuredContent"];
            match (made["body"].as_str(), made["id"].as_u64()) {
                (Some(_), Some(id)) => comments.push(id),
                (None, Some(_)) => reviews += 1,
                _ => panic!("{answer}"),
            }
        };
        for _ in 0..random.u64(0..16) {
            add(&server.line().unwrap());
        }
        spin_for(Duration::from_micros(random.u64(0..10_000)));
        server.process().signal("KILL");
        server.rest().iter().for_each(|answer| add(answer));
        assert_eq!(server.exit(), Exit::Signal(9));
    }
    let mut server = fixture.stdio(&FLAGS);
    let mut all = Vec::new();
    for page in 1.. {
        let arguments = with(pull(1), json!({ "page": page, "per_page": 100 }));
        let found = server.call_ok("get_pull_request_comments", arguments);
        all.extend(found["comments"].as_array().unwrap().clone());
        if found["more"] == false {
            break;
        }
    }
    let is_there = |id: &u64| all.iter().any(|one| one["id"] == *id);
    assert!(comments.iter().all(is_there));
    // A review is there with all of its comments or not at all.
    let on_lines = all.iter().filter(|one| one["kind"] == "review").count();
    let read = server.call_ok("get_pull_request", pull(1));
    let submitted = read["reviews"].as_array().unwrap().len();
    assert_eq!(on_lines, 3 * submitted);
    assert!(reviews <= submitted, "{reviews} {submitted}");
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    verify_log(&fixture);
}
