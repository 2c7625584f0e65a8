//! Broken and hostile messages: one table of cases, sent to both transports.

use crate::requests::{parse, request};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{http, stdio, wait_until_read};

/// One message and its expected answer.
struct Case {
    title: &'static str,
    sent: Vec<u8>,
    answer: ExpectedAnswer,
}

enum ExpectedAnswer {
    /// No answer on stdio, and 202 without a body over HTTP.
    Nothing,
    /// This line on stdio, this body with this status over HTTP.
    Line(u16, String),
}

fn case(title: &'static str, sent: impl Into<Vec<u8>>, status: u16, answer: String) -> Case {
    Case {
        title,
        sent: sent.into(),
        answer: ExpectedAnswer::Line(status, answer),
    }
}

fn unreadable(title: &'static str, sent: impl Into<Vec<u8>>) -> Case {
    case(title, sent, 400, error("null", -32700, "Parse error"))
}

fn refused(title: &'static str, sent: impl Into<Vec<u8>>, id: &str, reason: &str) -> Case {
    let message = format!("Invalid Request: {reason}");
    case(title, sent, 400, error(id, -32600, &message))
}

fn ignored(title: &'static str, sent: &str) -> Case {
    Case {
        title,
        sent: sent.into(),
        answer: ExpectedAnswer::Nothing,
    }
}

fn pinged(title: &'static str, sent: impl Into<Vec<u8>>, id: &str) -> Case {
    case(title, sent, 200, result(id, "{}"))
}

/// Sends every case to both transports.
fn check(cases: &[Case]) {
    let mut line = stdio(&["--conformance"]);
    let post = http(&["--conformance"]);
    for case in cases {
        assert!(!case.sent.contains(&b'\n'), "{}: one line", case.title);
        line.send_line(case.sent.clone());
        if let ExpectedAnswer::Line(_, answer) = &case.answer {
            assert_eq!(
                line.line().as_ref(),
                Some(answer),
                "{} on stdio",
                case.title
            );
        }
        // A line gets exactly one line in return, or none.
        wait_until_read(&mut line);
        let response = post.post(&case.sent, &[]);
        let (status, body, kind) = match &case.answer {
            ExpectedAnswer::Nothing => (202, "", None),
            ExpectedAnswer::Line(status, answer) => {
                (*status, answer.as_str(), Some("application/json"))
            }
        };
        let title = format!("{} over HTTP", case.title);
        assert_eq!(
            (response.status, response.text().as_str()),
            (status, body),
            "{title}"
        );
        assert_eq!(response.header("content-type"), kind, "{title}");
    }
    let (rest, exit) = line.end();
    assert_eq!((rest.len(), exit), (0, candor_testkit::Exit::Code(0)));
}

#[test]
fn invalid_json_is_a_parse_error() {
    let mut cases = vec![
        unreadable("a word", "nonsense"),
        unreadable("an open object", "{"),
        unreadable(
            "a cut message",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        ),
        unreadable("a cut string", r#"{"jsonrpc":"2.0","id":1,"method":"pi"#),
        unreadable(
            "a comma too much",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        ),
        unreadable(
            "two messages",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#,
        ),
        unreadable(
            "a message and a rest",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        ),
        unreadable("single quotes", "{'jsonrpc':'2.0','id':1,'method':'ping'}"),
        unreadable(
            "a comment",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"} // hi"#,
        ),
        unreadable("no number", r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#),
        unreadable(
            "a zero before a number",
            r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
        ),
        unreadable(
            "a plus before a number",
            r#"{"jsonrpc":"2.0","id":+1,"method":"ping"}"#,
        ),
        unreadable(
            "no such escape",
            r#"{"jsonrpc":"2.0","id":"\x41","method":"ping"}"#,
        ),
        unreadable(
            "a cut escape",
            r#"{"jsonrpc":"2.0","id":"\u12g4","method":"ping"}"#,
        ),
        unreadable("a NUL", b"\0".to_vec()),
        unreadable(
            "NULs around",
            b"\0{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0".to_vec(),
        ),
        unreadable(
            "a NUL in a string",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\0\",\"method\":\"ping\"}".to_vec(),
        ),
        unreadable(
            "a tab in a string",
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}",
        ),
        unreadable("not UTF-8", b"\xff\xfe".to_vec()),
        unreadable(
            "Latin-1",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xe9\",\"method\":\"ping\"}".to_vec(),
        ),
        unreadable(
            "a surrogate as UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\",\"method\":\"ping\"}".to_vec(),
        ),
        unreadable("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        unreadable("a no-break space", "\u{a0}{}"),
        unreadable("a form feed", "\u{c}{}"),
        unreadable("two byte order marks", "\u{feff}\u{feff}{}"),
    ];
    cases.push(unreadable("many open brackets", "[".repeat(100_000)));
    check(&cases);
}

#[test]
fn pathological_json_is_refused() {
    let deep = |levels: usize| {
        let inside = format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        request("7", "ping", &inside)
    };
    let values = |more: usize| {
        request(
            "7",
            "ping",
            format!(r#"{{"a":[{}1]}}"#, "1,".repeat(more - 1)),
        )
    };
    let surrogate = "a lone surrogate in a string";
    let range = "a number too large for a double";
    check(&[
        // The message and its parameters are two levels, and six values with the array.
        pinged("128 levels", deep(126), "7"),
        refused(
            "129 levels",
            deep(127),
            "7",
            "nested deeper than 128 levels",
        ),
        refused(
            "100,000 levels",
            "[".repeat(100_000) + &"]".repeat(100_000),
            "null",
            "nested deeper than 128 levels",
        ),
        pinged("100,000 values", values(99_994), "7"),
        case(
            "100,001 values",
            values(99_995),
            413,
            error("null", -32600, "Invalid Request: too many JSON values"),
        ),
        refused(
            "a high surrogate",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#,
            "1",
            surrogate,
        ),
        refused(
            "a low surrogate",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\udc00"}}"#,
            "1",
            surrogate,
        ),
        refused(
            "a surrogate and a letter",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800\u0041"}}"#,
            "1",
            surrogate,
        ),
        refused(
            "a surrogate in a name",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\ud800":1}}"#,
            "1",
            surrogate,
        ),
        refused(
            "a surrogate as the id",
            r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
            "null",
            surrogate,
        ),
        pinged(
            "both halves of a surrogate",
            r#"{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"ping"}"#,
            r#""\ud83d\ude00""#,
        ),
        refused(
            "1e400",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e400}}"#,
            "1",
            range,
        ),
        refused(
            "-1e400",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-1e400}}"#,
            "1",
            range,
        ),
        pinged(
            "1e-400",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e-400}}"#,
            "1",
        ),
    ]);
}

#[test]
fn invalid_requests_are_refused() {
    let object = "a request is an object";
    let version = r#"jsonrpc must be "2.0""#;
    let method = "method must be a string";
    let batch = "batches are not supported";
    check(&[
        refused("a number", "1", "null", object),
        refused("a string", r#""ping""#, "null", object),
        refused("null", "null", "null", object),
        refused("true", "true", "null", object),
        refused("an empty array", "[]", "null", batch),
        refused("an empty object", "{}", "null", version),
        refused("no jsonrpc", r#"{"id":1,"method":"ping"}"#, "1", version),
        refused(
            "jsonrpc 1.0",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            "1",
            version,
        ),
        refused(
            "jsonrpc as a number",
            r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#,
            r#""a""#,
            version,
        ),
        refused(
            "jsonrpc null",
            r#"{"jsonrpc":null,"id":1,"method":"ping"}"#,
            "1",
            version,
        ),
        refused("no method", r#"{"jsonrpc":"2.0","id":1}"#, "1", method),
        refused(
            "neither method nor id",
            r#"{"jsonrpc":"2.0"}"#,
            "null",
            method,
        ),
        refused(
            "method as a number",
            r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
            "1",
            method,
        ),
        refused(
            "method null",
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            "1",
            method,
        ),
        refused(
            "method as an object",
            r#"{"jsonrpc":"2.0","id":1,"method":{}}"#,
            "1",
            method,
        ),
        refused(
            "method as an array",
            r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#,
            "1",
            method,
        ),
        refused(
            "a notification without a version",
            r#"{"method":"notifications/initialized"}"#,
            "null",
            version,
        ),
        refused(
            "a response",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "1",
            method,
        ),
        refused(
            "a failing response",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            "1",
            method,
        ),
        refused(
            "a batch of one",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            "null",
            batch,
        ),
        refused(
            "a batch of two",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#,
            "null",
            batch,
        ),
        refused("a batch of nothing good", "[1,2]", "null", batch),
    ]);
}

#[test]
fn ids_come_back_as_written_or_are_refused() {
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let long = format!("\"{}\"", "x".repeat(100_000));
    let mut cases: Vec<Case> = [
        "0",
        "-0",
        "-5",
        "1",
        "\"\"",
        "\"1\"",
        "\"null\"",
        "12345678901234567890",
        "123456789012345678901234567890123456789012345678901234567890",
        "9007199254740993",
        r#""\u0041\n\/\"\\""#,
        "\"\u{e9}\u{1f600}\"",
        "\"\u{2028}\"",
        &long,
    ]
    .into_iter()
    .map(|id| pinged("an id", ping(id), id))
    .collect();
    for id in [
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "[1]",
        "1.0",
        "1e0",
        "1E2",
        "-1.5",
        "0.0",
        r#"{"a":1}"#,
    ] {
        cases.push(refused(
            "no id",
            ping(id),
            "null",
            "id must be a string or an integer",
        ));
    }
    cases.push(refused(
        "no id and no version",
        r#"{"id":1.5,"method":1}"#,
        "null",
        "id must be a string or an integer",
    ));
    cases.push(refused(
        "an id too large for a double",
        ping("1e400"),
        "null",
        "a number too large for a double",
    ));
    check(&cases);
}

#[test]
fn duplicate_member_is_refused_with_the_id() {
    let twice = "a member name twice in one object";
    check(&[
        refused(
            "method twice",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
            "1",
            twice,
        ),
        refused(
            "an unknown name twice",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":1}"#,
            "1",
            twice,
        ),
        refused(
            "id twice",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            "null",
            twice,
        ),
        refused(
            "the same id twice",
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            "null",
            twice,
        ),
        refused(
            "id twice in two spellings",
            r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ping"}"#,
            "null",
            twice,
        ),
        refused(
            "a name twice in params",
            r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1,"x":1}}"#,
            r#""a""#,
            twice,
        ),
        refused(
            "a name twice in arguments",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","text":"b"}}}"#,
            "1",
            twice,
        ),
        refused(
            "a name twice deep in arguments",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[{"b":{"c":1,"c":2}}]}}}"#,
            "1",
            twice,
        ),
        refused(
            "a name twice in two spellings",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"ab":1,"\u0061b":1}}"#,
            "1",
            twice,
        ),
        refused(
            "an escaped slash",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a/b":1,"a\/b":1}}"#,
            "1",
            twice,
        ),
        refused(
            "a name twice before the id",
            r#"{"x":1,"x":1,"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "1",
            twice,
        ),
        pinged(
            "one name in two objects",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"a":1},"b":{"a":1}}}"#,
            "1",
        ),
    ]);
}

#[test]
fn equivalent_json_gets_the_same_answer() {
    check(&[
        pinged(
            "white space",
            " {  \"jsonrpc\" :\t\"2.0\" , \"id\" : 1 , \"method\" : \"ping\" } ",
            "1",
        ),
        pinged(
            "another order",
            r#"{"method":"ping","params":{},"id":1,"jsonrpc":"2.0"}"#,
            "1",
        ),
        pinged(
            "unknown members",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":[null]},"result":1}"#,
            "1",
        ),
        pinged(
            "escapes in values",
            r#"{"jsonrpc":"2\u002e0","id":1,"method":"pi\u006eg"}"#,
            "1",
        ),
        pinged(
            "escapes in names",
            r#"{"\u006asonrpc":"2.0","\u0069d":1,"meth\u006fd":"ping"}"#,
            "1",
        ),
        case(
            "escapes in the names of parameters",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","param\u0073":{"n\u0061me":"echo","\u0061rguments":{"te\u0078t":"hi"}}}"#,
            200,
            result(
                "1",
                r#"{"content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"}}"#,
            ),
        ),
        pinged(
            "a byte order mark",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            "1",
        ),
        pinged(
            "a carriage return",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
            "1",
        ),
    ]);
}

#[test]
fn wrong_methods_and_parameters_are_named() {
    let unknown = |method: &'static str, escaped: &str| {
        case(
            "an unknown method",
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#),
            200,
            error("1", -32601, &format!("Method not found: {escaped}")),
        )
    };
    let wrong = |title, method: &str, params: &str, reason: &str| {
        let sent = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
        case(title, sent, 200, error("1", -32602, reason))
    };
    let call = "tools/call";
    let missing = "Invalid params: params is missing";
    let object = "Invalid params: params must be an object";
    let name = "Invalid params: params.name must be a string";
    check(&[
        unknown("prompts/list", "prompts/list"),
        unknown("server/discover", "server/discover"),
        unknown("tools/List", "tools/List"),
        unknown("", ""),
        unknown("a\\nb\\u202ec", "a\\u{a}b\\u{202e}c"),
        unknown("rpc.discover", "rpc.discover"),
        unknown(
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…",
        ),
        case(
            "an unknown method with wrong parameters",
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
            200,
            error("1", -32601, "Method not found: x"),
        ),
        wrong("no params", call, "", missing),
        wrong("params as an array", call, r#","params":["echo"]"#, object),
        wrong("params null", call, r#","params":null"#, object),
        wrong("params as a string", call, r#","params":"echo""#, object),
        wrong(
            "no name",
            call,
            r#","params":{}"#,
            "Invalid params: params.name is missing",
        ),
        wrong("name as a number", call, r#","params":{"name":1}"#, name),
        wrong("name null", call, r#","params":{"name":null}"#, name),
        wrong(
            "name as an array",
            call,
            r#","params":{"name":["echo"]}"#,
            name,
        ),
        wrong(
            "an unknown tool",
            call,
            r#","params":{"name":"nope"}"#,
            "Unknown tool: nope",
        ),
        wrong(
            "an empty name",
            call,
            r#","params":{"name":""}"#,
            "Unknown tool: ",
        ),
        case(
            "a name in capitals",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ECHO"}}"#,
            200,
            concat!(
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: ECHO","#,
                r#""data":{"tool":"ECHO","hint":"did you mean 'echo'?"}}}"#
            )
            .into(),
        ),
        wrong(
            "a hostile name",
            call,
            r#","params":{"name":"\u001b[31m\n"}"#,
            "Unknown tool: \\u{1b}[31m\\u{a}",
        ),
        wrong(
            "_meta as a string",
            call,
            r#","params":{"name":"echo","_meta":"x"}"#,
            "Invalid params: params._meta must be an object",
        ),
        wrong(
            "a cursor",
            "tools/list",
            r#","params":{"cursor":"x"}"#,
            "Invalid params: params.cursor is not one of this server's",
        ),
        wrong(
            "params as an array for a list",
            "tools/list",
            r#","params":[]"#,
            object,
        ),
        wrong(
            "params as an array for a ping",
            "ping",
            r#","params":[]"#,
            object,
        ),
        wrong("no params for initialize", "initialize", "", missing),
        wrong(
            "no revision for initialize",
            "initialize",
            r#","params":{}"#,
            "Invalid params: params.protocolVersion must be a string",
        ),
        wrong(
            "a revision as a number",
            "initialize",
            r#","params":{"protocolVersion":1}"#,
            "Invalid params: params.protocolVersion must be a string",
        ),
    ]);
}

#[test]
fn arguments_may_be_absent_or_null() {
    let text =
        r#"{"content":[{"type":"text","text":"This is a simple text response for testing."}]}"#;
    let with = |arguments: &str| {
        let params = format!(r#"{{"name":"test_simple_text"{arguments}}}"#);
        request("1", "tools/call", &params)
    };
    check(&[
        case("no arguments", with(""), 200, result("1", text)),
        case(
            "arguments null",
            with(r#","arguments":null"#),
            200,
            result("1", text),
        ),
        case(
            "empty arguments",
            with(r#","arguments":{}"#),
            200,
            result("1", text),
        ),
        case(
            "unknown members of params",
            with(r#","inputResponses":null,"requestState":[1],"task":{}"#),
            200,
            result("1", text),
        ),
    ]);
}

/// serde_json reads an object whose first member has this name as the text of that member.
#[test]
fn private_name_of_the_parser_is_an_ordinary_name() {
    let text = r#"{"content":[{"type":"text","text":"The arguments fit."}]}"#;
    let sent = |address: &str| {
        let arguments = format!(r#"{{"email":"a@b.c","address":{address}}}"#);
        crate::requests::call("1", "json_schema_2020_12_tool", &arguments)
    };
    let name = "$serde_json::private::RawValue";
    check(&[
        case(
            "any text",
            sent(&format!(r#"{{"{name}":"u"}}"#)),
            200,
            result("1", text),
        ),
        case(
            "JSON",
            sent(&format!(r#"{{"{name}":"[]","city":"x"}}"#)),
            200,
            result("1", text),
        ),
    ]);
}

/// Arguments that are not an object are answered in the dialect, like every wrong argument.
#[test]
fn arguments_of_another_type_violate_the_schema() {
    let mut line = stdio(&[]);
    let post = http(&[]);
    for arguments in ["[]", "1", "\"x\"", "true", "[{\"text\":\"a\"}]"] {
        let sent = crate::requests::call("1", "echo", arguments);
        let response = post.post(&sent, &[]);
        assert_eq!(response.status, 200);
        for answer in [line.ask(sent.clone()), response.text()] {
            let answer = parse(&answer);
            let error = &answer["result"]["structuredContent"]["error"];
            assert_eq!(error["code"], "invalid_arguments", "{answer}");
            assert_eq!(error["violations"][0]["keyword"], "type", "{answer}");
            assert_eq!(error["violations"][0]["path"], "root", "{answer}");
        }
    }
}

#[test]
fn notifications_are_never_answered() {
    check(&[
        ignored(
            "initialized",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ),
        ignored(
            "with parameters",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#,
        ),
        ignored(
            "with wrong parameters",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[1]}"#,
        ),
        ignored(
            "unknown",
            r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        ),
        ignored(
            "a request without an id",
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        ),
        ignored(
            "a ping without an id",
            r#"{"jsonrpc":"2.0","method":"ping"}"#,
        ),
        ignored(
            "an unknown method without an id",
            r#"{"jsonrpc":"2.0","method":"x"}"#,
        ),
        ignored(
            "a cancel of nothing",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        ),
        ignored(
            "a cancel of an unknown id",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        ),
        ignored(
            "a cancel of no id",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#,
        ),
        ignored(
            "a cancel with an array",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#,
        ),
    ]);
}

/// Input that only one of the transports can receive.
#[test]
fn line_breaks_separate_messages_on_stdio_only() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let pong = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let mut line = stdio(&[]);
    line.send("\n\r\n   \n\t\r\n\u{feff}\n");
    line.send(format!("{ping}\r\n\u{feff}{ping}\n{ping}"));
    let (lines, exit) = line.end();
    assert_eq!(lines, [pong, pong, pong]);
    assert_eq!(exit, candor_testkit::Exit::Code(0));

    let post = http(&[]);
    let pretty = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n";
    assert_eq!(post.post(pretty, &[]).text(), pong);
    for empty in ["", " ", "\n", "\u{feff}"] {
        let response = post.post(empty, &[]);
        let expected = error("null", -32700, "Parse error");
        assert_eq!(
            (response.status, response.text()),
            (400, expected),
            "{empty:?}"
        );
    }
}

/// A message that arrives byte by byte, and many that arrive at once.
#[test]
fn messages_may_arrive_in_any_pieces() {
    let mut line = stdio(&[]);
    let message = "{\"jsonrpc\":\"2.0\",\"id\":\"\u{e9}\u{1f600}\",\"method\":\"ping\"}\r\n";
    for byte in message.bytes() {
        line.send([byte]);
    }
    let pong = result("\"\u{e9}\u{1f600}\"", "{}");
    assert_eq!(line.line(), Some(pong.clone()));
    line.send(message.repeat(5_000));
    for _ in 0..5_000 {
        assert_eq!(line.line().as_ref(), Some(&pong));
    }
    assert_eq!(line.end().0.len(), 0);
}
