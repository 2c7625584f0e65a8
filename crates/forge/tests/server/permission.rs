//! Who may write is decided before anything of the arguments is looked at.

use crate::house::{House, Plan, Said, call, house};
use crate::valid::{self, WRITES};
use serde_json::{Value, json};

fn read_only() -> House {
    Plan::default()
        .with(|plan| plan.config.allow_writes = false)
        .house()
}

/// Arguments that nothing but the order of a call keeps from being refused themselves.
fn wrong() -> Vec<Value> {
    vec![Value::Null, json!({ "zzz": 1 }), json!([])]
}

async fn without_token(house: &House, tool: &str, arguments: &Value) -> Said {
    let mut call = call(tool, arguments);
    call.peer.may_write = false;
    house.hand(call).await
}

#[tokio::test]
async fn a_server_that_does_not_write_says_so_before_anything_else() {
    let house = read_only();
    let wanted = |tool: &str| {
        format!(
            concat!(
                r#"{{"code":-32001,"message":"Permission denied: this server does not change anything","#,
                r#""data":{{"tool":"{}","timestamp":"2025-10-12T15:49:21.049Z","#,
                r#""fault":{{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","#,
                r#""remedy":"Ask the owner of this server to start it with --allow-writes."}}}}}}"#
            ),
            tool
        )
    };
    for tool in WRITES {
        for arguments in wrong().into_iter().chain([valid::of(tool)]) {
            let said = house.ask(tool, arguments.clone()).await;
            assert_eq!(said.text(), wanted(tool), "{arguments}");
            // Whoever shows no token is told the same: it would not help.
            let said = without_token(&house, tool, &arguments).await;
            assert_eq!(said.text(), wanted(tool), "{arguments}");
        }
    }
    assert_eq!(house.asked(), Vec::<String>::new());
    assert_eq!(house.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn a_caller_without_the_token_for_writing_is_told_which_it_is() {
    let house = house();
    for tool in WRITES {
        for arguments in wrong().into_iter().chain([valid::of(tool)]) {
            let said = without_token(&house, tool, &arguments).await;
            assert_eq!(said.code(), -32001);
            assert_eq!(
                said.message(),
                "Permission denied: this tool asks for the token for writing"
            );
            let error = said.error();
            let remedy = error["data"]["fault"]["remedy"].as_str().unwrap();
            assert!(remedy.contains("--write-bearer-file"), "{remedy}");
        }
    }
    assert_eq!(house.asked(), Vec::<String>::new());
    assert_eq!(house.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn reading_needs_neither() {
    let house = read_only();
    for (tool, arguments) in valid::whole() {
        if !WRITES.contains(&tool) {
            let said = without_token(&house, tool, &arguments).await;
            said.value();
        }
    }
}

#[tokio::test]
async fn a_server_without_a_log_writes_nothing() {
    let house = Plan::default().with(|plan| plan.without_log = true).house();
    for tool in WRITES {
        let said = house.ask(tool, valid::of(tool)).await;
        assert_eq!((said.code(), said.effect()), (-32603, String::from("none")));
    }
    assert_eq!(house.asked(), Vec::<String>::new());
}
