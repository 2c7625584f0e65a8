//! Workspaces with many drafts: the approved plan is found, lists have pages, and drafts are bounded.

use super::fixture::{WorkspaceFixture, plan, sha256};
use crate::fixture::{self, LIMIT};
use candor_testkit::{Exit, Process};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

/// Stores drafts by their names only; nothing reads them.
fn drafts(fixture: &WorkspaceFixture, count: usize) {
    fs::create_dir_all(fixture.path("docs/plans")).unwrap();
    for number in 0..count {
        let hash = sha256(number.to_string().as_bytes());
        fs::write(fixture.path(&format!("docs/plans/{hash}.toml")), "").unwrap();
    }
}

#[test]
fn p9_approved_plan_is_found_among_drafts() {
    let fixture = WorkspaceFixture::new();
    drafts(&fixture, 600);
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("write_file", json!({ "path": "src/b", "content": "x" }));
    assert_eq!(failed.code(), "PLAN_NOT_APPROVED");
    assert!(
        failed.message().contains("none of 600 plans"),
        "{}",
        failed.message()
    );
    let hash = fixture.allow(&["src/**"]);
    let written = client.call_ok("write_file", json!({ "path": "src/b", "content": "x" }));
    assert_eq!(written["plan"]["plan_hash"], json!(hash));
    for name in [hash.as_str(), &hash[..12]] {
        client.call_ok(
            "write_file",
            json!({ "path": "src/b", "content": "y", "plan_hash": name }),
        );
    }
    fixture.revoke(&hash);
    let failed = client.call_err("write_file", json!({ "path": "src/b", "content": "x" }));
    assert_eq!(failed.code(), "PLAN_NOT_APPROVED");
}

#[test]
fn p9_remembered_names_follow_the_directory() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    // The directory of plans must be old enough to be remembered.
    let plans = fixture.path("docs/plans");
    let write = json!({ "path": "src/b", "content": "x" });
    let changed = || fs::metadata(&plans).unwrap().modified().unwrap();
    while SystemTime::now().duration_since(changed()).unwrap() < Duration::from_secs(3) {
        client.call_ok("write_file", write.clone());
    }
    client.call_ok("write_file", write.clone());
    let other = fixture.allow(&["src/*"]);
    assert_eq!(
        client.call_code("write_file", write.clone()),
        "MISSING_REQUIRED_FIELD"
    );
    for entry in fs::read_dir(&plans).unwrap() {
        let name = entry.unwrap().path();
        if !name.to_str().unwrap().contains(&other) {
            fs::remove_file(name).unwrap();
        }
    }
    client.call_ok("write_file", write);
}

#[test]
fn p9_lists_have_pages() {
    let fixture = WorkspaceFixture::new();
    let mut saved = Vec::new();
    for number in 0..5 {
        let hash = fixture.save_plan(plan(json!({ "allow": [format!("src/{number}")] })));
        let path = fixture.path(&format!("docs/plans/{hash}.toml"));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(at)
            .unwrap();
        saved.push(hash);
    }
    fixture.approve(&saved[1]);
    let mut client = fixture.planner(&[]);
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let mut arguments = json!({ "limit": 2 });
        if let Some(after) = &after {
            arguments["after"] = json!(after);
        }
        let page = client.call_ok("list_plans", arguments);
        let plans = page["plans"].as_array().unwrap();
        seen.extend(
            plans
                .iter()
                .map(|plan| plan["plan_hash"].as_str().unwrap().to_owned()),
        );
        assert_eq!(page["omitted"], 5 - seen.len());
        match page["next_after"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    let order = [1, 4, 3, 2, 0].map(|index: usize| saved[index].clone());
    assert_eq!(seen, order, "the approved one, then the newest");
    let all = client.call_ok("list_plans", json!({}));
    assert_eq!(all["plans"].as_array().unwrap().len(), 5);
    assert_eq!(all["plans"][0]["approval"]["approved"], true);
    for (arguments, code) in [
        (json!({ "limit": 0 }), "INVALID_INPUT_VALUE"),
        (json!({ "limit": 257 }), "INVALID_INPUT_VALUE"),
        (json!({ "after": "xyz" }), "INVALID_INPUT_FORMAT"),
        (json!({ "after": "0".repeat(64) }), "PLAN_NOT_FOUND"),
    ] {
        assert_eq!(client.call_code("list_plans", arguments), code);
    }
}

#[test]
fn p9_drafts_are_bounded_and_old_ones_can_be_removed() {
    let fixture = WorkspaceFixture::new();
    drafts(&fixture, 4095);
    let approved = fixture.allow(&["src/**"]);
    let mut client = fixture.planner(&[]);
    let save = |globs: &str| json!({ "plan": plan(json!({ "allow": [globs] })) });
    client.call_ok("save_plan", save("a"));
    client.call_ok("save_plan", save("a"));
    let failed = client.call_err("save_plan", save("b"));
    assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS");
    assert!(
        failed
            .message()
            .contains("candor workspace clean --drafts 30d"),
        "{}",
        failed.message()
    );
    let old = SystemTime::now() - Duration::from_secs(31 * 24 * 3600);
    let drafts = (0..100).map(|number: u32| sha256(number.to_string().as_bytes()));
    for hash in drafts.chain([approved.clone()]) {
        let path = fixture.path(&format!("docs/plans/{hash}.toml"));
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    let mut command = fixture::candor(&["workspace", "clean", "--drafts", "30d", "--yes"]);
    command.arg("--root").arg(fixture.root());
    command
        .arg("--config-dir")
        .arg(fixture.path_beside("config"));
    command.arg("--state-dir").arg(fixture.path_beside("state"));
    let ended = Process::run(command, LIMIT);
    assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
    assert_eq!(
        String::from_utf8(ended.stdout).unwrap(),
        "100 drafts removed\n"
    );
    let line = fixture.log_lines().pop().unwrap();
    assert_eq!(
        (&line["tool_name"], &line["role"]),
        (&json!("clean"), &json!(null))
    );
    assert!(
        fixture
            .path(&format!("docs/plans/{approved}.toml"))
            .exists()
    );
    client.call_ok("save_plan", save("b"));
    let names: BTreeSet<_> = fs::read_dir(fixture.path("docs/plans"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4095 - 100 + 2 + 2);
}
