//! Progress is sent before its answer, even if the tool never waits.

use crate::run_stdio;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_street::{CallContext, Server, Tool, Tools, reply};
use serde_json::{Value, json};

struct FastServer(Tools<Self>);

impl Server for FastServer {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.0
    }
}

#[test]
fn progress_is_sent_before_its_answer() {
    let run = |_, _: Value, cx: CallContext| async move {
        cx.progress().report(1.0, None, None);
        cx.progress().report(2.0, None, None);
        reply(&json!({}))
    };
    let tool = Tool::read_only(
        "hasty",
        "Reports and returns at once.",
        json!({ "type": "object" }),
        run,
    );
    let server = FastServer(Tools::new("test", "1").with(tool));
    let call = r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"hasty","_meta":{"progressToken":ID}}}"#;
    let input: String = (0..50)
        .map(|id| call.replace("ID", &id.to_string()) + "\n")
        .collect();
    let lines = run_stdio(server, &input, || {});
    assert_eq!(lines.len(), 150);
    for id in 0..50 {
        let reported = format!(r#""progressToken":{id},"#);
        let last = lines.iter().rposition(|line| line.contains(&reported));
        let answered = format!(r#""id":{id},"#);
        let answer = lines.iter().position(|line| line.contains(&answered));
        assert!(last.unwrap() < answer.unwrap(), "{id}");
    }
}
