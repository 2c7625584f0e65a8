//! `get_file_contents`: lines of text, directories, and what is refused.

use crate::fixture::server::fixture;
use candor_forge::{Failure, UnmetPrecondition};
use serde_json::{Value, json};

fn arguments(path: &str, members: Value) -> Value {
    let mut arguments = json!({ "repo": "octo/cat", "path": path });
    for (name, value) in members.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

#[tokio::test]
async fn lines_of_a_file_are_answered() {
    let fixture = fixture();
    fixture.stub.stub_state().file = b"one\ntwo\nthree".to_vec();
    let lines = arguments("a", json!({ "start_line": 2, "end_line": 2 }));
    let answer = fixture.call_tool("get_file_contents", lines).await;
    let expected = json!({
        "type": "file", "path": "a", "ref": "main",
        "sha": "fedcba9876543210fedcba9876543210fedcba98", "size": 13, "start_line": 2,
        "end_line": 2, "total_lines": 3, "content": "two\n", "truncated": false,
        "url": "https://forge.test/octo/cat/file"
    });
    assert_eq!(answer.value(), expected);
    assert_eq!(
        fixture.backend_calls(),
        ["file octo/cat \"a\" Default 20971520"]
    );
}

#[tokio::test]
async fn directory_is_listed_as_by_list_directory() {
    let fixture = fixture();
    let root = fixture
        .call_tool("get_file_contents", arguments("", json!({})))
        .await
        .value();
    let mut listed = fixture
        .call_tool("list_directory", arguments("", json!({})))
        .await
        .value();
    listed["type"] = json!("dir");
    assert_eq!(root, listed);
    let directory = UnmetPrecondition::IsDirectory(String::from("src"));
    let failing = Failure::from(directory);
    fixture.stub.stub_state().failing.insert("file", failing);
    let answer = fixture
        .call_tool("get_file_contents", arguments("src", json!({})))
        .await;
    assert_eq!(answer.value()["type"], "dir");
}

#[tokio::test]
async fn lines_that_do_not_exist_are_refused_with_their_number() {
    let fixture = fixture();
    for lines in [
        json!({ "start_line": 2 }),
        json!({ "start_line": 9_007_199_254_740_991_u64 }),
    ] {
        let answer = fixture
            .call_tool("get_file_contents", arguments("a", lines))
            .await;
        assert_eq!(answer.code(), -32003);
        assert_eq!(answer.error()["data"]["total_lines"], 1);
    }
    let reversed = arguments("a", json!({ "start_line": 3, "end_line": 2 }));
    let answer = fixture.call_tool("get_file_contents", reversed).await;
    assert_eq!(
        answer.message(),
        "Validation error: a does not have these lines; it has 1"
    );
}

#[tokio::test]
async fn binary_file_names_read_file() {
    let fixture = fixture();
    fixture.stub.stub_state().file = vec![b'a', 0xff];
    let answer = fixture
        .call_tool("get_file_contents", arguments("a", json!({})))
        .await;
    assert_eq!(answer.code(), -32003);
    assert_eq!(
        answer.message(),
        "Validation error: a is not UTF-8 text; use read_file"
    );
}
