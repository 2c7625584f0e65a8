//! The twelve tools: each turns its arguments into a request and the adapter's response into a
//! reply.

mod argument_rules;
mod change;
mod query;
#[cfg(test)]
mod tests;

use crate::dialect::Orders;
use crate::dialect::schemas;
use crate::server::OrdersServer;
use crate::{Compat, Corrections, OrderOperation, Response, output_schemas};
use candor_fault::{Fault, ToolOutput, ToolResult, to_raw_json};
use candor_street::{Reply, Tool, reply};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

pub(crate) fn all(compat: Option<Compat>) -> Vec<Tool<OrdersServer>> {
    let changes = change::all(compat).into_iter();
    changes.chain(query::all(compat)).collect()
}

/// Adds the schema of the answer's envelope, including that of failures. The complete schemas of
/// entities and failures are files: a client that has them in its list would read twice as much.
fn with_answer_schema(
    operation: OrderOperation,
    tool: Tool<OrdersServer>,
    compat: Option<Compat>,
) -> Tool<OrdersServer> {
    let mut envelope = output_schemas::envelope(operation);
    if compat.is_some() {
        envelope["properties"]["success"] = json!({ "const": true });
    }
    tool.with_output_schema(envelope, Some(schemas::failure_envelope()))
        .open_world()
}

/// The answer of an operation: its entities under their member, the next cursor of a page, and the
/// corrections if there are any.
struct Answer<'a> {
    operation: OrderOperation,
    response: &'a Response,
    next: Option<&'a str>,
    /// In compatibility mode, successes have a member `success`.
    compat: Option<Compat>,
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let member = self.operation.member();
        let mut map = serializer.serialize_map(None)?;
        if self.compat.is_some() {
            map.serialize_entry("success", &true)?;
        }
        match self.response {
            Response::One { entity, .. } => map.serialize_entry(member, entity)?,
            Response::Page { items, .. } => {
                map.serialize_entry(member, items)?;
                map.serialize_entry("nextCursor", &self.next)?;
            }
        }
        let Corrections { cleaned, omitted } = self.response.corrections();
        if !omitted.is_empty() {
            map.serialize_entry("omitted", omitted)?;
        }
        if *cleaned > 0 {
            map.serialize_entry("cleaned", cleaned)?;
        }
        map.end()
    }
}

impl Answer<'_> {
    fn reply(&self) -> Result<Reply, Fault<Orders>> {
        reply(self)
    }

    /// As [`Answer::reply`], with the key that the change was given.
    fn reply_with_key(&self, key: &str) -> Result<Reply, Fault<Orders>> {
        let mut reply = self.reply()?;
        if let ToolOutput::Json(json) = &reply.output {
            let mut result = ToolResult::<&RawValue, ()>::text(json.get());
            result.structured = Some(json);
            result.meta.key = Some(key);
            reply.output = ToolOutput::Whole(to_raw_json(&result));
        }
        Ok(reply)
    }
}
