//! Files, directories, trees and READMEs: exact, and bounded.

use crate::house::{Plan, house};
use crate::world::{entry, item};
use candor_forge::{Answered, FILE_MAX, Failure, Missing, README_MAX, Step, TREE_ENTRIES, Unmet};
use serde_json::{Value, json};

#[tokio::test]
async fn a_file_is_text_where_it_is_utf_8_and_base64_where_not() {
    let house = house();
    for (bytes, content, encoding) in [
        (&b""[..], "", "utf8"),
        (b"{\"a\": 1}\n", "{\"a\": 1}\n", "utf8"),
        (b"\xef\xbb\xbfa\r\n\0", "\u{feff}a\r\n\0", "utf8"),
        ("é🐈".as_bytes(), "é🐈", "utf8"),
        (b"\xff", "/w==", "base64"),
        (b"abc\xc3", "YWJjww==", "base64"),
    ] {
        house.stub.world().file = bytes.to_vec();
        let said = house
            .ask("read_file", json!({ "repo": "octo/cat", "path": "a" }))
            .await;
        let wanted = json!({
            "path": "a", "ref": "main", "content": content, "encoding": encoding,
            "size": bytes.len(), "url": "https://forge.test/octo/cat/file"
        });
        assert_eq!(said.value(), wanted);
        assert_eq!(said.block(), wanted.to_string());
    }
    assert_eq!(
        house.asked()[0],
        format!("file octo/cat \"a\" Default {FILE_MAX}")
    );
}

#[tokio::test]
async fn branch_and_ref_are_told_apart() {
    let house = house();
    for (member, asked) in [("branch", "Branch"), ("ref", "Named")] {
        let mut arguments = json!({ "repo": "octo/cat", "path": "src" });
        arguments[member] = json!("v1");
        house.seen.clear();
        house.ask("list_directory", arguments.clone()).await.value();
        house.ask("read_file", arguments).await.value();
        let arguments = json!({ "repo": "octo/cat", member: "v1" });
        house.ask("get_tree", arguments).await.value();
        assert_eq!(
            house.asked(),
            [
                format!("directory octo/cat \"src\" {asked}(\"v1\")"),
                format!("file octo/cat \"src\" {asked}(\"v1\") {FILE_MAX}"),
                format!("tree octo/cat {asked}(\"v1\") {TREE_ENTRIES}"),
            ]
        );
    }
}

#[tokio::test]
async fn the_root_is_an_empty_path_and_no_file() {
    let house = house();
    let root = json!({ "repo": "octo/cat", "path": "" });
    let listing = house.ask("list_directory", root.clone()).await.value();
    assert_eq!(listing["path"], "");
    assert_eq!(house.ask("read_file", root).await.code(), -32602);
}

#[tokio::test]
async fn what_is_no_file_or_too_large_is_a_validation_error() {
    let house = house();
    for (unmet, message) in [
        (
            Unmet::IsDirectory(String::from("src")),
            "Validation error: src is a directory; use list_directory",
        ),
        (
            Unmet::TooLarge {
                path: String::from("src"),
                size: Some(5_242_881),
                most: FILE_MAX,
            },
            "Validation error: src is too large: 5242881 bytes, at most 5242880 are answered",
        ),
    ] {
        house
            .stub
            .world()
            .failing
            .insert("file", Failure::Unmet(unmet));
        let arguments = json!({ "repo": "octo/cat", "path": "src" });
        let said = house.ask("read_file", arguments).await;
        assert_eq!((said.code(), said.message().as_str()), (-32003, message));
    }
}

#[tokio::test]
async fn a_tree_has_a_largest_size() {
    let house = Plan::default()
        .with(|plan| {
            plan.config.max_entries = 3;
            plan.world.tree.entries = ["a", "b", "c", "d", "e"].map(entry).to_vec();
            plan.world.tree.total = 5;
            plan.world.items = ["a", "b", "c", "d", "e"].map(item).to_vec();
        })
        .house();
    let tree = house
        .ask("get_tree", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(tree["tree"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&tree["total"], &tree["truncated"]),
        (&json!(5), &json!(true))
    );
    let root = json!({ "repo": "octo/cat", "path": "" });
    let listing = house.ask("list_directory", root.clone()).await.value();
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
    house.stub.world().items.truncate(3);
    house.stub.world().tree.entries.truncate(3);
    let tree = house
        .ask("get_tree", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(tree["truncated"], false);
    let listing = house.ask("list_directory", root).await.value();
    assert_eq!(
        (&listing["total"], &listing["truncated"]),
        (&json!(3), &json!(false))
    );
}

#[tokio::test]
async fn a_long_readme_is_cut() {
    let house = house();
    // The last letter has two bytes, and only one of them fits.
    let mut bytes = vec![b'a'; README_MAX as usize - 1];
    bytes.push(0xc3);
    house.stub.world().readme = Some((bytes, true));
    let fetched = house
        .ask("fetch", json!({ "repo": "octo/cat" }))
        .await
        .value();
    assert_eq!(fetched["truncated"], true);
    let text = fetched["text"].as_str().unwrap();
    assert_eq!(
        text,
        format!("A cat.\n\n{}", "a".repeat(README_MAX as usize - 1))
    );
    assert_eq!(
        house.asked(),
        ["repository octo/cat", "readme octo/cat 102400"]
    );
}

#[tokio::test]
async fn a_repository_may_have_no_readme_and_no_description() {
    let house = house();
    for (readme, description, text) in [
        (Some(&b"# Cat"[..]), Some("A cat."), "A cat.\n\n# Cat"),
        (Some(b"# Cat"), None, "# Cat"),
        (None, Some("A cat."), "A cat."),
        (Some(b""), None, ""),
        (None, None, ""),
    ] {
        house.stub.world().readme = readme.map(|bytes| (bytes.to_vec(), false));
        house.stub.world().repository.description = description.map(String::from);
        let fetched = house
            .ask("fetch", json!({ "repo": "octo/cat" }))
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
async fn a_readme_that_cannot_be_had_is_a_failure() {
    let house = house();
    let answered = Answered {
        status: 500,
        step: Step::Read,
        missing: Missing::Repository,
        message: None,
        errors: None,
        limited: false,
        retry_after: None,
    };
    house
        .stub
        .world()
        .failing
        .insert("readme", Failure::Answered(answered));
    let said = house.ask("fetch", json!({ "repo": "octo/cat" })).await;
    assert_eq!((said.code(), said.effect()), (-32603, String::from("none")));
    assert_eq!(said.error()["data"]["status"], 500);
}
