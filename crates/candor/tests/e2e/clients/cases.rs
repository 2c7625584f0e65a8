//! The calls that every client makes, and the outcome that a client reports if it drops nothing.
//!
//! An outcome is written as the runners report it (`tests/clients/README.md`); points in time are `TIME`,
//! ids of orders `ord_ID`.

use crate::context::fixture::{ContextFixture, error_object};
use serde_json::{Value, json};

/// The tools of the playground, as listed.
pub(crate) const PLAYGROUND: &[&str] = &["echo", "fail", "flaky", "flood", "hang", "panic"];

/// The tools of the example server.
pub(crate) const WEATHER: &[&str] = &["forecast"];

/// The order tools, as listed.
pub(crate) const ORDERS: &[&str] = &[
    "cancel-order",
    "create-return",
    "create-sales-order",
    "fulfill-order",
    "get-customers",
    "get-fulfillments",
    "get-inventory",
    "get-orders",
    "get-product-variants",
    "get-products",
    "get-returns",
    "update-order",
];

/// The tools of version 0 of the context server, as listed.
pub(crate) const CONTEXT_V0: &[&str] = &[
    "context.inspect_cache",
    "context.list_caches",
    "context.resolve",
];

/// The form of a failure in a dialect with two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON-RPC error.
    Error,
    /// A result with `isError`.
    Result,
}

/// One call and its outcome.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    outcome: Value,
    /// The outcome as a JSON-RPC error, if the dialect has that form too.
    error: Option<Value>,
}

impl Case {
    fn new(name: &'static str, arguments: Value, outcome: Value) -> Self {
        Case {
            name,
            arguments,
            outcome,
            error: None,
        }
    }

    /// The report of a client that drops nothing.
    pub(crate) fn outcome(&self, form: Form) -> Value {
        match &self.error {
            Some(error) if form == Form::Error => error.clone(),
            _ => self.outcome.clone(),
        }
    }
}

/// A successful call, a failing call in each dialect, a panic and an unknown tool. The last call succeeds,
/// which shows that the server survives every failure.
pub(crate) fn playground() -> Vec<Case> {
    let mut cases = vec![echo("first"), context()];
    cases.extend(github());
    cases.extend([
        workspace(),
        orders(),
        panic(),
        invalid(),
        unknown_tool(),
        echo("last"),
    ]);
    cases
}

fn fail(dialect: &str, code: Value) -> Value {
    json!({ "dialect": dialect, "code": code })
}

fn echo(text: &str) -> Case {
    let arguments = json!({ "text": text });
    let outcome = result(arguments.to_string(), json!({ "structured": arguments }));
    Case::new("echo", arguments, outcome)
}

fn context() -> Case {
    let text = r#"{"error":{"code":"cache_missing","message":"Cache does not exist"}}"#;
    let outcome = failed(format!("{text}\n"), json!({}));
    Case::new("fail", fail("context", json!("cache_missing")), outcome)
}

/// The GitHub dialect, which has two forms.
pub(crate) fn github() -> [Case; 2] {
    let not_found = github_case(
        json!({
            "code": -32002,
            "message": "Not found: it does not exist, or the token cannot see it",
            "data": {
                "tool": "fail",
                "timestamp": "TIME",
                "fault": fault_members("caller", "after_change", None, "Check owner, repository, ref and path.")
            }
        }),
        "Not found: it does not exist, or the token cannot see it; nothing was changed; do not retry unchanged: \
         Check owner, repository, ref and path.",
    );
    let invalid = github_case(
        json!({
            "code": -32602,
            "message": "Invalid params",
            "data": { "tool": "fail", "validation_errors": [], "timestamp": "TIME" }
        }),
        "Invalid params; nothing was changed; do not retry unchanged: \
         Correct every field named in `validation_errors`; `tools/list` has the schema.",
    );
    [not_found, invalid]
}

fn github_case(error: Value, sentence: &str) -> Case {
    let arguments = fail("github", error["code"].clone());
    let outcome = failed(format!("{sentence}\n{error}"), json!({}));
    Case {
        error: Some(error_of(error)),
        ..Case::new("fail", arguments, outcome)
    }
}

fn workspace() -> Case {
    let envelope = json!({
        "error_code": "FILE_NOT_FOUND",
        "human_message": "The file does not exist",
        "role": null,
        "session_id": null,
        "workspace_root": null,
        "tool_name": "fail",
        "invariant_id": null,
        "phase_id": null,
        "plan_hash": null,
        "cause": null,
        "timestamp": "TIME"
    });
    let fault = fault_members(
        "caller",
        "after_change",
        None,
        "Check the name with list_files.",
    );
    let outcome = failed(
        envelope.to_string(),
        json!({ "meta": { "dev.candor/fault": fault } }),
    );
    Case::new("fail", fail("workspace", json!("FILE_NOT_FOUND")), outcome)
}

fn orders() -> Case {
    let error = json!({
        "code": 3001,
        "message": "Rate limit exceeded",
        "retryable": true,
        "details": {
            "suggestion": "Wait `retryAfterMs`, then send the same call.",
            "context": { "class": "limit", "effect": "none", "retryAfterMs": 250 }
        }
    });
    let outcome = order_failure(error);
    let mut arguments = fail("orders", json!(3001));
    arguments["retry_after_ms"] = json!(250);
    Case::new("fail", arguments, outcome)
}

fn panic() -> Case {
    let remedy = "Report it to the author of the server with the time of the call.";
    let error = json!({
        "code": "internal",
        "message": "Internal error",
        "fault": fault_members("server", "never", None, remedy),
        "violations": []
    });
    let sentence = format!("Internal error; nothing was changed; do not retry: {remedy}");
    Case::new("panic", json!({}), neutral(&sentence, error))
}

fn invalid() -> Case {
    let remedy = "Correct every violation; tools/list has the schema.";
    let error = json!({
        "code": "invalid_arguments",
        "message": "The arguments do not fit the tool's schema",
        "fault": fault_members("caller", "after_change", None, remedy),
        "violations": [{
            "path": "/code",
            "field": "code",
            "keyword": "enum",
            "message": "must be equal to one of the allowed values",
            "expected": "a code of the context dialect",
            "value": "cache_mising",
            "hint": "did you mean 'cache_missing'?"
        }]
    });
    let sentence = format!(
        "`code` must be a code of the context dialect, and was \"cache_mising\" \
         (did you mean 'cache_missing'?); nothing was changed; do not retry unchanged: {remedy}"
    );
    Case::new(
        "fail",
        fail("context", json!("cache_mising")),
        neutral(&sentence, error),
    )
}

fn unknown_tool() -> Case {
    let data = json!({ "tool": "ecko", "hint": "did you mean 'echo'?" });
    let error = json!({ "code": -32602, "message": "Unknown tool: ecko", "data": data });
    Case::new("ecko", json!({}), error_of(error))
}

/// The example server: a success and its two codes. It publishes an `outputSchema`, so strict clients
/// check the failures against it.
pub(crate) fn weather() -> Vec<Case> {
    let arguments = |city: &str| json!({ "city": city });
    let snow = json!({ "sky": "snow" });
    let good = result(snow.to_string(), json!({ "structured": snow }));
    let offline = json!({
        "code": "station_offline",
        "message": "The city's station does not answer",
        "fault": fault_members("upstream", "after_delay", Some(60_000), "Wait, then send the same call."),
        "violations": []
    });
    let unknown = json!({
        "code": "unknown_city",
        "message": "No station reports from this city",
        "fault": fault_members("caller", "after_change", None, "Ask for Oslo or Lima."),
        "violations": []
    });
    let offline_sentence = "The city's station does not answer; nothing was changed; \
                            retry the same call after 60000 ms: Wait, then send the same call.";
    let unknown_sentence = "No station reports from this city; nothing was changed; \
                            do not retry unchanged: Ask for Oslo or Lima.";
    vec![
        Case::new("forecast", arguments("Oslo"), good),
        Case::new(
            "forecast",
            arguments("Lima"),
            neutral(offline_sentence, offline),
        ),
        Case::new(
            "forecast",
            arguments("Pune"),
            neutral(unknown_sentence, unknown),
        ),
    ]
}

/// Version 0 of the context server on a directory with `cache` and `docs`: each tool, and a failure. The texts
/// are those of the commands.
pub(crate) fn context_v0(fixture: &ContextFixture) -> Vec<Case> {
    let caches =
        r#"{"caches":[{"path":"cache","has_manifest":true},{"path":"docs","has_manifest":false}]}"#;
    let inspect = fixture.run_ok(&["inspect", "--cache", "cache"]);
    let inspect: Value = serde_json::from_str(&inspect).expect("`inspect` prints JSON");
    let resolve = |cache: &str| json!({ "cache": cache, "query": "fox", "budget": 9 });
    let resolved = fixture.resolve("cache", "fox", "9").stdout;
    vec![
        Case::new(
            "context.list_caches",
            json!({}),
            result(caches.to_owned(), json!({})),
        ),
        Case::new(
            "context.inspect_cache",
            json!({ "cache": "cache" }),
            result(inspect.to_string(), json!({})),
        ),
        Case::new(
            "context.resolve",
            resolve("cache"),
            result(resolved, json!({})),
        ),
        Case::new(
            "context.resolve",
            resolve("nowhere"),
            failed(error_object("cache_missing"), json!({})),
        ),
    ]
}

/// The order tools on a store with the sample catalogue: successes, a permanent refusal, a temporary
/// failure, and arguments that the schema refuses. Every tool publishes an `outputSchema`, so strict
/// clients check successes and failures against it. Keys make the same calls the same in every session.
pub(crate) fn order_tools() -> Vec<Case> {
    let order = |sku: &str, key: &str| json!({ "order": { "externalId": key, "lineItems": [{ "sku": sku, "quantity": 2 }] }, "idempotencyKey": key });
    vec![
        variants(),
        Case::new(
            "create-sales-order",
            order("TEE-BLK-S", "wish-1"),
            order_created(),
        ),
        Case::new("create-sales-order", order("NONE", "wish-2"), refused()),
        Case::new("get-returns", json!({}), unavailable()),
        keyless(order("TEE-BLK-S", "wish-3")),
        Case::new(
            "create-sales-order",
            order("TEE-BLK-S", "wish-1"),
            order_created(),
        ),
    ]
}

fn structured(value: Value) -> Value {
    result(value.to_string(), json!({ "structured": value }))
}

/// A failing result of the orders dialect.
fn order_failure(error: Value) -> Value {
    let structured = json!({ "error": error });
    failed(
        structured.to_string(),
        json!({ "structured": structured, "extra": { "error": error } }),
    )
}

fn variants() -> Case {
    let variants_found = json!({
        "productVariants": [{
            "id": "var_0001",
            "productId": "prod_0001",
            "sku": "TEE-BLK-S",
            "name": "Black T-shirt, S",
            "currency": "USD",
            "price": "19.99",
            "createdAt": "TIME",
            "updatedAt": "TIME"
        }],
        "nextCursor": null
    });
    let arguments = json!({ "skus": ["TEE-BLK-S"] });
    Case::new(
        "get-product-variants",
        arguments,
        structured(variants_found),
    )
}

fn order_created() -> Value {
    structured(json!({
        "order": {
            "id": "ord_ID",
            "orderNumber": "1001",
            "externalId": "wish-1",
            "status": "pending",
            "currency": "USD",
            "lineItems": [{
                "line": 1,
                "sku": "TEE-BLK-S",
                "name": "Black T-shirt, S",
                "quantity": 2,
                "unitPrice": "19.99",
                "unitDiscount": "0.00",
                "tax": "0.00",
                "fulfilledQuantity": 0,
                "cancelledQuantity": 0,
                "returnedQuantity": 0
            }],
            "subTotal": "39.98",
            "discountTotal": "0.00",
            "shippingTotal": "0.00",
            "taxTotal": "0.00",
            "taxIncluded": false,
            "total": "39.98",
            "payments": [],
            "refunds": [],
            "paidTotal": "0.00",
            "refundedTotal": "0.00",
            "paymentStatus": "unpaid",
            "createdAt": "TIME",
            "updatedAt": "TIME"
        }
    }))
}

fn refused() -> Value {
    order_failure(json!({
        "code": 4001,
        "message": "Adapter error: there is no such SKU here",
        "retryable": false,
        "details": {
            "suggestion": "Look the SKU up with get-product-variants, or in the order's lines, then call again with a new idempotencyKey.",
            "context": { "class": "upstream", "effect": "none", "retryAfterMs": null, "key": "bound", "field": "order.lineItems.0.sku" },
            "originalError": "SKU_NOT_FOUND"
        }
    }))
}

fn unavailable() -> Value {
    order_failure(json!({
        "code": 4002,
        "message": "Backend is unavailable",
        "retryable": true,
        "details": {
            "suggestion": "Wait `retryAfterMs`, then send the same call.",
            "context": { "class": "upstream", "effect": "none", "retryAfterMs": 1000 }
        }
    }))
}

/// Without its key, which the schema requires: this failure has two forms.
fn keyless(mut arguments: Value) -> Case {
    if let Some(members) = arguments.as_object_mut() {
        members.shift_remove("idempotencyKey");
    }
    let violations = json!([{
        "field": "idempotencyKey",
        "code": 2002,
        "reason": "required",
        "expected": "present"
    }]);
    let error = json!({
        "code": -32602,
        "message": "Invalid params: idempotencyKey is required",
        "data": { "field": "idempotencyKey", "code": 2002, "reason": "required", "violations": violations }
    });
    let outcome = order_failure(json!({
        "code": 2002,
        "message": "Required field is missing: idempotencyKey is required",
        "retryable": false,
        "details": {
            "field": "idempotencyKey",
            "reason": "required",
            "suggestion": "Add the field named in `details.field`. This call did not bind the idempotencyKey.",
            "context": { "class": "caller", "effect": "none", "retryAfterMs": null, "key": "free", "violations": violations }
        }
    }));
    Case {
        error: Some(error_of(error)),
        ..Case::new("create-sales-order", arguments, outcome)
    }
}

/// The five answers of a failure without effect.
fn fault_members(class: &str, retry: &str, retry_after_ms: Option<u64>, remedy: &str) -> Value {
    json!({
        "class": class,
        "retry": retry,
        "retry_after_ms": retry_after_ms,
        "effect": "none",
        "remedy": remedy
    })
}

/// A failing result of the neutral dialect.
fn neutral(sentence: &str, error: Value) -> Value {
    let structured = json!({ "error": error });
    failed(
        format!("{sentence}\n{structured}"),
        json!({ "structured": structured, "meta": { "dev.candor/error": error } }),
    )
}

/// Returns a result with one text and further members.
fn result(text: String, more: Value) -> Value {
    let mut outcome = json!({
        "outcome": "result",
        "is_error": false,
        "content": [{ "type": "text", "text": text }],
        "structured": null,
        "meta": null,
        "extra": {}
    });
    for member in ["structured", "meta", "extra"] {
        if let Some(given) = more.get(member) {
            outcome[member] = given.clone();
        }
    }
    outcome
}

fn failed(text: String, more: Value) -> Value {
    let mut outcome = result(text, more);
    outcome["is_error"] = json!(true);
    outcome
}

fn error_of(error: Value) -> Value {
    json!({
        "outcome": "error",
        "code": error["code"],
        "message": error["message"],
        "data": error["data"]
    })
}
