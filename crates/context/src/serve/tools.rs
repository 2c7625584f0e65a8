//! The tools of the server. Their text is the output of the command line for the same request.

use crate::cache::Cache;
use crate::dialect::Context;
use crate::failure::Failure;
use crate::query::request::{MAX_BUDGET, Query, TokenBudget};
use crate::query::response::to_json_line;
use crate::serve::answer_room::AnswerSpace;
use crate::serve::cache_list;
use crate::serve::open_caches::OpenCaches;
use crate::serve::server::{self, ContextServer, Quick, reply_bytes};
use candor_fault::Fault;
use candor_street::{CallContext, Reply, Tool};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Arguments of a tool, with the schema that admits exactly what can be deserialised.
trait Arguments: DeserializeOwned {
    fn schema() -> Value;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryArguments {
    cache: String,
    query: String,
    budget: TokenBudget,
}

impl Arguments for QueryArguments {
    fn schema() -> Value {
        object(json!({
            "cache": cache_schema(),
            "query": { "type": "string", "description": "Natural-language query" },
            "budget": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_BUDGET,
                "description": "Maximum token budget"
            }
        }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheArguments {
    cache: String,
}

impl Arguments for CacheArguments {
    fn schema() -> Value {
        object(json!({ "cache": cache_schema() }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

impl Arguments for NoArguments {
    fn schema() -> Value {
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    }
}

/// Returns the schema of an object that has all of these members and no others.
fn object(properties: Value) -> Value {
    let names = properties.as_object().into_iter().flatten();
    let required: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

fn cache_schema() -> Value {
    json!({ "type": "string", "description": "Path or identifier of a built context cache" })
}

/// Declares a tool whose schema is the one of its arguments.
fn tool<A, F>(
    name: &'static str,
    description: &'static str,
    run: impl Fn(Arc<ContextServer>, A, CallContext) -> F + Send + Sync + 'static,
) -> Tool<ContextServer>
where
    A: Arguments + Send + 'static,
    F: Future<Output = Result<Reply, Fault<Context>>> + Send + 'static,
{
    Tool::read_only(name, description, A::schema(), run)
}

/// Serialises an answer without a newline at its end, as the published server does for these two tools.
fn to_json_text(answer: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut line = to_json_line(answer)?;
    line.pop();
    Ok(line)
}

fn parse_query(text: &str) -> Result<Query, Fault<Context>> {
    Query::new(text).map_err(|failure| failure.fault())
}

pub(super) fn resolve() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, arguments: QueryArguments, cx: CallContext| async move {
        let (query, budget) = (parse_query(&arguments.query)?, arguments.budget);
        let selection = match server.resolve_quickly(&cx, &arguments.cache, &query, budget) {
            Quick::Response(bytes) => return reply_bytes(bytes),
            Quick::Selection(selection) => Some(selection),
            Quick::Nothing => None,
        };
        let work = move |caches: &Arc<OpenCaches>, space: &AnswerSpace| {
            let request = (&query, budget);
            server::resolve(caches, &arguments.cache, request, selection.as_ref(), space)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        "context.resolve",
        "Resolve a natural-language query against a pre-built context cache and return a deterministic, explainable set of documents within a token budget.",
        run,
    )
}

pub(super) fn passages() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, arguments: QueryArguments, cx: CallContext| async move {
        let (query, budget) = (parse_query(&arguments.query)?, arguments.budget);
        let work = move |caches: &Arc<OpenCaches>, space: &AnswerSpace| {
            let clock = caches.clock();
            let search = |cache: &Cache| cache.passages(&query, budget, clock, space);
            to_json_line(&caches.query(&arguments.cache, search)?)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        "context.passages",
        "Find the passages of a context cache that answer a query best (BM25), within a token budget. Not for whole documents: use context.resolve.",
        run,
    )
}

pub(super) fn list_caches() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, _: NoArguments, cx: CallContext| async move {
        let work = |caches: &Arc<OpenCaches>, _: &AnswerSpace| {
            to_json_text(&cache_list::list_caches(caches.location())?)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        "context.list_caches",
        "List the caches directly below the root. Not for looking into one: use context.inspect_cache.",
        run,
    )
}

pub(super) fn inspect_cache() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, arguments: CacheArguments, cx: CallContext| async move {
        let work = move |caches: &Arc<OpenCaches>, _: &AnswerSpace| {
            to_json_text(&caches.inspect(&arguments.cache)?)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        "context.inspect_cache",
        "Say what a cache is (version, documents, bytes) and whether it is valid. Not for its contents: use context.resolve.",
        run,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_call_fixtures::assert_schema_agreement;
    use candor_schema::Schema;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Values that are right for some member, or nearly.
    fn value() -> impl Strategy<Value = Value> {
        let most = MAX_BUDGET as f64;
        prop_oneof![
            4 => "\\PC{0,8}".prop_map(Value::from),
            4 => any::<u64>().prop_flat_map(|n| (0..64u32).prop_map(move |by| json!(n >> by))),
            1 => any::<i64>().prop_map(Value::from),
            1 => any::<f64>().prop_map(Value::from),
            2 => select(vec![0.0, -0.0, -1.0, 0.5, 1e3, most, most + 1.0, 1e300]).prop_map(Value::from),
            2 => select(vec![MAX_BUDGET, MAX_BUDGET + 1, u64::MAX]).prop_map(Value::from),
            1 => select(vec![json!(null), json!(true), json!([]), json!({}), json!("7")]),
        ]
    }

    /// Objects with members that a tool has, and sometimes with others.
    fn arguments() -> impl Strategy<Value = Value> {
        let member = |name: &'static str| {
            proptest::option::weighted(0.8, value().prop_map(move |one| (name.to_owned(), one)))
        };
        let members = (member("cache"), member("query"), member("budget"));
        let other = proptest::option::weighted(0.1, ("[a-z]{1,6}", value()));
        (members, other).prop_map(|((cache, query, budget), other)| {
            let members = [cache, query, budget, other];
            members
                .into_iter()
                .flatten()
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
    }

    fn schema<A: Arguments>() -> Schema {
        Schema::new(A::schema()).unwrap()
    }

    fn check_agreement<A: Arguments>(schema: &Schema, arguments: &Value) {
        let parsed = serde_json::from_value::<A>(arguments.clone());
        let admitted = schema.check(arguments);
        assert_eq!(admitted.is_ok(), parsed.is_ok(), "{arguments}");
    }

    #[test]
    fn schema_admits_exactly_the_arguments_that_parse() {
        let of_query = schema::<QueryArguments>();
        let of_cache = schema::<CacheArguments>();
        let of_nothing = schema::<NoArguments>();
        let config = ProptestConfig {
            cases: 1000,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        proptest!(config, |(mut arguments in arguments())| {
            check_agreement::<QueryArguments>(&of_query, &arguments);
            if let Some(members) = arguments.as_object_mut() {
                members.shift_remove("query");
                members.shift_remove("budget");
            }
            check_agreement::<CacheArguments>(&of_cache, &arguments);
            if let Some(members) = arguments.as_object_mut() {
                members.shift_remove("cache");
            }
            check_agreement::<NoArguments>(&of_nothing, &arguments);
        });
    }

    #[test]
    fn types_read_every_member_of_their_schemas() {
        for tool in [resolve(), passages(), list_caches(), inspect_cache()] {
            assert_schema_agreement(&tool, &[], &[]);
        }
    }
}
