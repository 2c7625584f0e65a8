//! Files, directories, trees and READMEs: exact, and bounded.

use crate::fixture::server::{FixtureOptions, fixture};
use crate::fixture::stub_state::{entry, item};
use candor_forge::{
    Failure, GithubErrorResponse, MAX_FILE_BYTES, MAX_README_BYTES, MissingItem, RequestKind,
    TREE_ENTRIES, UnmetPrecondition,
};
use serde_json::{Value, json};

#[tokio::test]
async fn utf8_file_is_text_and_other_file_is_base64() {
    let fixture = fixture();
    for (bytes, content, encoding) in [
        (&b""[..], "", "utf8"),
        (b"{\"a\": 1}\n", "{\"a\": 1}\n", "utf8"),
        (b"\xef\xbb\xbfa\r\n\0", "\u{feff}a\r\n\0", "utf8"),
        ("é🐈".as_bytes(), "é🐈", "utf8"),
        (b"\xff", "/w==", "base64"),
        (b"abc\xc3", "YWJjww==", "base64"),
    ] {
        fixture.stub.stub_state().file = bytes.to_vec();
        let answer = fixture
            .call_tool("read_file", json!({ "repo": "octo/cat", "path": "a" }))
            .await;
        let expected = json!({
            "path": "a", "ref": "main", "content": content, "encoding": encoding,
            "size": bytes.len(), "url": "https://forge.test/octo/cat/file"
        });
        assert_eq!(answer.value(), expected);
        assert_eq!(answer.block(), expected.to_string());
    }
    assert_eq!(
        fixture.backend_calls()[0],
        format!("file octo/cat \"a\" Default {MAX_FILE_BYTES}")
    );
}

#[tokio::test]
async fn branch_and_ref_are_distinguished() {
    let fixture = fixture();
    for (member, backend_calls) in [("branch", "Branch"), ("ref", "Named")] {
        let mut arguments = json!({ "repo": "octo/cat", "path": "src" });
        arguments[member] = json!("v1");
        fixture.events.clear();
        fixture
            .call_tool("list_directory", arguments.clone())
            .await
            .value();
        fixture.call_tool("read_file", arguments).await.value();
        let arguments = json!({ "repo": "octo/cat", member: "v1" });
        fixture.call_tool("get_tree", arguments).await.value();
        assert_eq!(
            fixture.backend_calls(),
            [
                format!("directory octo/cat \"src\" {backend_calls}(\"v1\")"),
                format!("file octo/cat \"src\" {backend_calls}(\"v1\") {MAX_FILE_BYTES}"),
                format!("tree octo/cat {backend_calls}(\"v1\") {TREE_ENTRIES}"),
            ]
        );
    }
}

#[tokio::test]
async fn root_is_an_empty_path_and_no_file() {
    let fixture = fixture();
    let root = json!({ "repo": "octo/cat", "path": "" });
    let listing = fixture
        .call_tool("list_directory", root.clone())
        .await
        .value();
    assert_eq!(listing["path"], "");
    assert_eq!(fixture.call_tool("read_file", root).await.code(), -32602);
}

#[tokio::test]
async fn directory_or_too_large_file_is_a_validation_error() {
    let fixture = fixture();
    for (unmet, message) in [
        (
            UnmetPrecondition::IsDirectory(String::from("src")),
            "Validation error: src is a directory; use list_directory",
        ),
        (
            UnmetPrecondition::TooLarge {
                path: String::from("src"),
                size: Some(5_242_881),
                most: MAX_FILE_BYTES,
            },
            "Validation error: src is too large: 5242881 bytes, at most 5242880 are answered",
        ),
    ] {
        fixture
            .stub
            .stub_state()
            .failing
            .insert("file", Failure::Unmet(unmet));
        let arguments = json!({ "repo": "octo/cat", "path": "src" });
        let answer = fixture.call_tool("read_file", arguments).await;
        assert_eq!(
            (answer.code(), answer.message().as_str()),
            (-32003, message)
        );
    }
}

#[tokio::test]
async fn tree_is_bounded() {
    let fixture = FixtureOptions::default()
        .with(|options| {
            options.config.max_entries = 3;
            options.stub_state.tree.entries = ["a", "b", "c", "d", "e"].map(entry).into();
            options.stub_state.tree.total = 5;
            options.stub_state.items = ["a", "b", "c", "d", "e"].map(item).to_vec();
        })
        .fixture();
    let tree = fixture
        .call_tool("get_tree", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(tree["tree"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&tree["total"], &tree["truncated"]),
        (&json!(5), &json!(true))
    );
    let root = json!({ "repo": "octo/cat", "path": "" });
    let listing = fixture
        .call_tool("list_directory", root.clone())
        .await
        .value();
    let names = |listing: &Value| -> Vec<String> {
        let items = listing["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&listing), ["a", "b", "c"]);
    assert_eq!(
        (&listing["total"], &listing["truncated"]),
        (&json!(5), &json!(true))
    );

    // Exactly as many as fit are not cut.
    fixture.stub.stub_state().items.truncate(3);
    {
        let entries = &mut fixture.stub.stub_state().tree.entries;
        *entries = entries[..3].into();
    }
    let tree = fixture
        .call_tool("get_tree", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(tree["truncated"], false);
    let listing = fixture.call_tool("list_directory", root).await.value();
    assert_eq!(
        (&listing["total"], &listing["truncated"]),
        (&json!(3), &json!(false))
    );
}

#[tokio::test]
async fn long_readme_is_truncated() {
    let fixture = fixture();
    // The last letter has two bytes, and only one of them fits.
    let mut bytes = vec![b'a'; MAX_README_BYTES as usize - 1];
    bytes.push(0xc3);
    fixture.stub.stub_state().readme = Some((bytes, true));
    let fetched = fixture
        .call_tool("fetch", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(fetched["truncated"], true);
    let text = fetched["text"].as_str().unwrap();
    assert_eq!(
        text,
        format!("A cat.\n\n{}", "a".repeat(MAX_README_BYTES as usize - 1))
    );
    assert_eq!(
        fixture.backend_calls(),
        ["repository octo/cat", "readme octo/cat 102400"]
    );
}

#[tokio::test]
async fn repository_may_have_no_readme_and_no_description() {
    let fixture = fixture();
    for (readme, description, text) in [
        (Some(&b"# Cat"[..]), Some("A cat."), "A cat.\n\n# Cat"),
        (Some(b"# Cat"), None, "# Cat"),
        (None, Some("A cat."), "A cat."),
        (Some(b""), None, ""),
        (None, None, ""),
    ] {
        fixture.stub.stub_state().readme = readme.map(|bytes| (bytes.to_vec(), false));
        fixture.stub.stub_state().repository.description = description.map(String::from);
        let fetched = fixture
            .call_tool("fetch", json!({ "repo": "octo/cat" }))
            .await
            .value();
        assert_eq!(
            fetched,
            json!({
                "id": "octo/cat", "title": "octo/cat", "text": text,
                "url": "https://forge.test/octo/cat",
                "metadata": { "stars": 7, "language": null, "owner": "octo", "default_branch": "main" },
                "truncated": false
            })
        );
    }
}

#[tokio::test]
async fn unreadable_readme_is_a_failure() {
    let fixture = fixture();
    let answered = GithubErrorResponse {
        status: 500,
        step: RequestKind::Read,
        missing: MissingItem::Repository,
        message: None,
        errors: None,
        limited: false,
        retry_after: None,
        sso_url: None,
    };
    fixture
        .stub
        .stub_state()
        .failing
        .insert("readme", Failure::GithubErrorResponse(answered));
    let answer = fixture
        .call_tool("fetch", json!({ "repo": "octo/cat" }))
        .await;
    assert_eq!(
        (answer.code(), answer.effect()),
        (-32603, String::from("none"))
    );
    assert_eq!(answer.error()["data"]["status"], 500);
}
