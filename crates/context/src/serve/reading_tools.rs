//! The tools of version 1. Their structured content is the output of the command line for the same
//! request, and their text is its Markdown form.

use crate::dialect::v1::ContextV1;
use crate::failure::Failure;
use crate::query::request::{MAX_BUDGET, Query, TokenBudget};
use crate::read::answers::{DocumentAnswer, SearchAnswer};
use crate::read::catalogue::{Catalogue, MAX_SEARCHED};
use crate::read::document::{DocumentPart, DocumentRequest};
use crate::read::failure::ReadFailure;
use crate::read::listing::{DEFAULT_ENTRIES, ListRequest, MAX_ENTRIES};
use crate::read::render::{bounded_text, json_line};
use crate::read::search::SearchRequest;
use crate::read::violations::{lines_and_range, missing_cache, of_query};
use crate::serve::answer_room::AnswerSpace;
use crate::serve::reading_server::ReadingServer;
use candor_fault::{Fault, ToolOutput, ToolResult, Violations};
use candor_street::{CallContext, JsonRef, Reply, Tool};
use serde::de::{self, Deserialize, Deserializer, Unexpected};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::Arc;

/// The budget of a call that gives none.
pub(crate) const DEFAULT_BUDGET: u64 = 4_000;

/// A whole number from 0 to 2^53 − 1; `4000`, `4000.0` and `4e3` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WholeNumber(u64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        match TokenBudget::from_number(&number) {
            Some(whole) => Ok(WholeNumber(whole.tokens())),
            None => {
                let found = number.to_string();
                Err(de::Error::invalid_value(
                    Unexpected::Other(&found),
                    &"a whole number",
                ))
            }
        }
    }
}

/// Deserialises a member that may be absent but not null.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    #[serde(default, deserialize_with = "given")]
    budget: Option<TokenBudget>,
    #[serde(default, deserialize_with = "given")]
    caches: Option<Vec<String>>,
}

#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct GetArguments {
    id: String,
    #[serde(default, deserialize_with = "given")]
    cache: Option<String>,
    #[serde(default, deserialize_with = "given")]
    lines: Option<[WholeNumber; 2]>,
    #[serde(default, deserialize_with = "given")]
    range: Option<[WholeNumber; 2]>,
    #[serde(default, deserialize_with = "given")]
    version: Option<String>,
    #[serde(default, deserialize_with = "given")]
    budget: Option<TokenBudget>,
}

#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    #[serde(default, deserialize_with = "given")]
    cache: Option<String>,
    #[serde(default, deserialize_with = "given")]
    under: Option<String>,
    #[serde(default, deserialize_with = "given")]
    after: Option<String>,
    #[serde(default, deserialize_with = "given")]
    limit: Option<WholeNumber>,
}

/// Returns the budget of a call, or the default.
fn budget_or_default(budget: Option<TokenBudget>) -> Option<TokenBudget> {
    budget.or_else(|| TokenBudget::new(DEFAULT_BUDGET).ok())
}

/// Parses the arguments of `context_search`. The schema reports a wrong form.
fn parse_search(arguments: JsonRef<'_>) -> Result<Option<SearchRequest>, Violations> {
    if let Some(text) = arguments.get_or_null("query").as_str()
        && let Err(Failure::Query(flaw)) = Query::new(&text)
    {
        return Err(Violations::from_iter([of_query(&flaw, &text)]));
    }
    let parsed = SearchArguments::deserialize(arguments).ok();
    Ok(parsed.and_then(|parsed| {
        Some(SearchRequest {
            query: Query::new(&parsed.query).ok()?,
            budget: budget_or_default(parsed.budget)?,
            caches: parsed.caches,
        })
    }))
}

/// Parses the arguments of `context_get`.
fn parse_get(arguments: JsonRef<'_>) -> Result<Option<DocumentRequest>, Violations> {
    if let (Some(_), Some(range)) = (arguments.get("lines"), arguments.get("range")) {
        return Err(Violations::from_iter([lines_and_range(&range.to_value())]));
    }
    let parsed = GetArguments::deserialize(arguments).ok();
    Ok(parsed.and_then(|parsed| {
        let part = match (parsed.lines, parsed.range) {
            (Some([from, to]), _) if from.0.min(to.0) == 0 => return None,
            (Some([from, to]), _) => DocumentPart::Lines(from.0, to.0),
            (None, Some([from, to])) => DocumentPart::Range(from.0, to.0),
            (None, None) => DocumentPart::Whole,
        };
        Some(DocumentRequest {
            id: parsed.id,
            cache: parsed.cache,
            part,
            version: parsed.version,
            budget: budget_or_default(parsed.budget).filter(|budget| budget.tokens() > 0)?,
        })
    }))
}

/// Parses the arguments of `context_list`.
fn parse_list(arguments: JsonRef<'_>) -> Result<Option<ListRequest>, Violations> {
    let has = |name: &str| arguments.get(name).is_some();
    if !has("cache") && (has("under") || has("after")) {
        return Err(Violations::from_iter([missing_cache()]));
    }
    let parsed = ListArguments::deserialize(arguments).ok();
    Ok(parsed.and_then(|parsed| {
        let limit = parsed.limit.map_or(DEFAULT_ENTRIES as u64, |limit| limit.0);
        Some(ListRequest {
            cache: parsed.cache,
            under: parsed.under.unwrap_or_default(),
            after: parsed.after,
            limit: usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=MAX_ENTRIES).contains(limit))?,
        })
    }))
}

/// Returns the schema of an object with these members, of which the first `required` must be present.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

fn budget_schema(minimum: u64) -> Value {
    json!({
        "type": "integer", "minimum": minimum, "maximum": MAX_BUDGET, "default": DEFAULT_BUDGET,
        "description": "Most tokens of the answer"
    })
}

fn pair_schema(minimum: u64, description: &str) -> Value {
    json!({
        "type": "array",
        "items": { "type": "integer", "minimum": minimum, "maximum": MAX_BUDGET },
        "minItems": 2, "maxItems": 2, "description": description
    })
}

/// Declares a tool that answers with these members or with a failure.
fn tool<T, F>(
    (name, description): (&'static str, &'static str),
    schema: Value,
    members: &[&str],
    parse: fn(JsonRef<'_>) -> Result<Option<T>, Violations>,
    run: impl Fn(Arc<ReadingServer>, T, CallContext) -> F + Send + Sync + 'static,
) -> Tool<ReadingServer>
where
    T: Send + 'static,
    F: Future<Output = Result<Reply, Fault<ContextV1>>> + Send + 'static,
{
    let success = json!({ "required": members });
    let failure = json!({
        "required": ["error"],
        "properties": { "error": {
            "type": "object", "required": ["code", "message", "fault", "violations"]
        } }
    });
    Tool::read_only_with_parser(name, description, schema, parse, run)
        .with_output_schema(success, Some(failure))
}

pub(super) fn search() -> Tool<ReadingServer> {
    let schema = object(
        json!({
            "query": {
                "type": "string",
                "description": "Words or a question; synonyms help"
            },
            "budget": budget_schema(0),
            "caches": {
                "type": "array", "items": { "type": "string" },
                "minItems": 1, "maxItems": MAX_SEARCHED, "uniqueItems": true,
                "description": "Names of caches; all if absent"
            }
        }),
        &["query"],
    );
    let run = |server: Arc<ReadingServer>, request: SearchRequest, cx: CallContext| async move {
        let work = move |catalogue: &Catalogue, space: &AnswerSpace| {
            let answer = catalogue.search_within(&request, space)?;
            reply(answer, SearchAnswer::to_markdown, space)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        (
            "context_search",
            "Find the passages of the documents that answer a query best, within a token budget. Start here. To read more of a document, use context_get with its id, version and lines.",
        ),
        schema,
        &["passages", "selection"],
        parse_search,
        run,
    )
}

pub(super) fn get() -> Tool<ReadingServer> {
    let schema = object(
        json!({
            "id": { "type": "string", "description": "Id of a document" },
            "cache": { "type": "string", "description": "Name of its cache; needed if several have the id" },
            "lines": pair_schema(1, "First and last line, from 1"),
            "range": pair_schema(0, "First byte and byte after the last; not with lines"),
            "version": {
                "type": "string", "pattern": "^sha256:[0-9a-f]{64}$",
                "description": "Version that an earlier answer has; another one is refused"
            },
            "budget": budget_schema(1)
        }),
        &["id"],
    );
    let run = |server: Arc<ReadingServer>, request: DocumentRequest, cx: CallContext| async move {
        let work = move |catalogue: &Catalogue, space: &AnswerSpace| {
            let answer = catalogue.get_within(&request, space)?;
            reply(answer, DocumentAnswer::to_markdown, space)
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        (
            "context_get",
            "Read a document or a part of it, within a token budget. If `next` is not null, call again with range set to it to read on.",
        ),
        schema,
        &[
            "cache",
            "cache_version",
            "id",
            "version",
            "source",
            "title",
            "lines",
            "range",
            "total_lines",
            "total_bytes",
            "content",
            "tokens",
            "tokenizer",
            "next",
        ],
        parse_get,
        run,
    )
}

pub(super) fn list() -> Tool<ReadingServer> {
    let schema = object(
        json!({
            "cache": { "type": "string", "description": "Name of a cache; the caches are listed if absent" },
            "under": {
                "type": "string", "pattern": "^$|/$", "default": "",
                "description": "Folder, with / at its end"
            },
            "after": { "type": "string", "description": "`next` of the page before" },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": MAX_ENTRIES, "default": DEFAULT_ENTRIES
            }
        }),
        &[],
    );
    let run = |server: Arc<ReadingServer>, request: ListRequest, cx: CallContext| async move {
        let work = move |catalogue: &Catalogue, space: &AnswerSpace| {
            let list = raw(&catalogue.list_within(&request, space)?)?;
            // The answer contains it as text, too.
            space.settle(2 * list.get().len() as u64)?;
            Ok(ToolOutput::Json(list).into())
        };
        server.run_blocking(&cx, work).await
    };
    tool(
        (
            "context_list",
            "List the caches, or the folders and documents of one cache, one level at a time. To find something by its content, use context_search.",
        ),
        schema,
        &[],
        parse_list,
        run,
    )
}

/// Returns the reply of a tool: the object, and its text form.
fn reply<A: Serialize>(
    answer: A,
    to_text: fn(&A) -> String,
    space: &AnswerSpace,
) -> Result<Reply, ReadFailure> {
    let structured = raw(&answer)?;
    let text = bounded_text(to_text(&answer))?;
    // It may be large.
    drop(answer);
    let mut result = ToolResult::<&RawValue, ()>::text(&text);
    result.structured = Some(&structured);
    let whole = to_raw_value(&result);
    let whole = whole.map_err(|_| ReadFailure::Bug("an answer cannot be written"))?;
    space.settle(whole.get().len() as u64)?;
    Ok(ToolOutput::Whole(whole).into())
}

/// Serialises an answer. Fails if it is too large.
fn raw(answer: &impl Serialize) -> Result<Box<RawValue>, ReadFailure> {
    let mut line = json_line(answer)?;
    line.pop();
    let text = String::from_utf8(line).ok();
    let raw = text.and_then(|text| RawValue::from_string(text).ok());
    raw.ok_or(ReadFailure::Bug("an answer is not JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_call_fixtures::assert_schema_agreement;

    #[test]
    fn types_read_every_member_of_their_schemas() {
        let version = format!("sha256:{}", "0".repeat(64));
        let examples = [
            ("version", vec![json!(version)]),
            ("under", vec![json!(""), json!("a/")]),
        ];
        for tool in [search(), get(), list()] {
            assert_schema_agreement(&tool, &examples, &[]);
        }
    }
}
