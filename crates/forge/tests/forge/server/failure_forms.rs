//! The two forms of a failure, and which calls get which.

use crate::fixture::server::{FixtureOptions, ServerFixture, ToolAnswer, call, in_form};
use candor_forge::{Failure, MissingItem};
use candor_street::{Era, FailureForm};
use serde_json::{Value, json};

fn missing(failures: FailureForm) -> ServerFixture {
    in_form(failures)
        .with(|options: &mut FixtureOptions| {
            let path = MissingItem::Path(String::from("a\nb"));
            options
                .stub_state
                .failing
                .insert("file", Failure::Missing(path));
        })
        .fixture()
}

async fn call_tool(fixture: &ServerFixture, era: Era, arguments: &Value) -> ToolAnswer {
    let mut call = call("read_file", arguments);
    call.era = era;
    fixture.answer_call(call).await
}

const ERROR: &str = concat!(
    r#"{"code":-32002,"#,
    r#""message":"Not found: the path a\\u{a}b does not exist, or the token cannot see it","#,
    r#""data":{"tool":"read_file","timestamp":"2025-10-12T15:49:21.049Z","#,
    r#""fault":{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","#,
    r#""remedy":"Check owner, repository, ref and path."}}}"#
);

const SENTENCE: &str = concat!(
    "Not found: the path a\\u{a}b does not exist, or the token cannot see it; ",
    "nothing was changed; do not retry unchanged: Check owner, repository, ref and path."
);

fn as_result() -> String {
    let text = format!("{SENTENCE}\n{ERROR}");
    json!({ "content": [{ "type": "text", "text": text }], "isError": true }).to_string()
}

#[tokio::test]
async fn each_call_gets_the_form_of_its_era_unless_one_is_forced() {
    let arguments = json!({ "repo": "octo/cat", "path": "a\nb" });
    let (error, result) = (String::from(ERROR), as_result());
    for (failures, handshake, stateless) in [
        (FailureForm::Auto, &error, &result),
        (FailureForm::Jsonrpc, &error, &error),
        (FailureForm::Result, &result, &result),
    ] {
        let fixture = missing(failures);
        let answer = call_tool(&fixture, Era::Handshake, &arguments).await;
        assert_eq!(answer.text(), *handshake, "{failures:?}");
        let answer = call_tool(&fixture, Era::Stateless, &arguments).await;
        assert_eq!(answer.text(), *stateless, "{failures:?}");
    }
}

#[tokio::test]
async fn invalid_arguments_have_one_sentence_and_the_same_object() {
    let (auto, forced) = (missing(FailureForm::Auto), missing(FailureForm::Result));
    let wrong = json!({ "repo": "octo", "pth": "a" });
    let error = call_tool(&auto, Era::Handshake, &wrong).await.text();
    let answer = call_tool(&forced, Era::Handshake, &wrong).await;
    let block = answer.block();
    let (sentence, object) = block.split_once('\n').unwrap();
    assert_eq!(object, error);
    assert_eq!(
        sentence,
        concat!(
            "`path` is required ('pth' was given: did you mean 'path'?); ",
            "`pth` is not an argument of this tool (did you mean 'path' instead of 'pth'?); ",
            "`repo` must be text that matches ^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$, and was \"octo\" (give `repo` as 'owner/name'); ",
            "nothing was changed; do not retry unchanged: ",
            "Correct every field named in `validation_errors`; `tools/list` has the schema."
        )
    );
    assert!(!answer.text().contains("structuredContent"));
}

#[tokio::test]
async fn success_has_one_form() {
    let arguments = json!({ "repo": "octo/cat", "path": "a" });
    let mut all = Vec::new();
    for failures in [FailureForm::Auto, FailureForm::Jsonrpc, FailureForm::Result] {
        let fixture = in_form(failures).fixture();
        for era in [Era::Handshake, Era::Stateless] {
            all.push(call_tool(&fixture, era, &arguments).await.text());
        }
    }
    all.dedup();
    let object = concat!(
        r#"{"path":"a","ref":"main","content":"fn main() {}\n","encoding":"utf8","size":13,"#,
        r#""url":"https://forge.test/octo/cat/file"}"#
    );
    let text = json!(object);
    assert_eq!(
        all,
        [format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{object}}}"#
        )]
    );
}
