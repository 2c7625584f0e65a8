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
use crate::{OrderOperation, Response, output_schemas};
use candor_fault::Fault;
use candor_street::{Reply, Tool, reply};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

pub(crate) fn all() -> Vec<Tool<OrdersServer>> {
    change::all().into_iter().chain(query::all()).collect()
}

/// Adds the schema of the answer, including failures.
fn with_answer_schema(operation: OrderOperation, tool: Tool<OrdersServer>) -> Tool<OrdersServer> {
    tool.with_output_schema(output_schemas::answer(operation), Some(schemas::failure()))
        .open_world()
}

/// The answer of an operation: its entities under their member, and the next cursor of a page.
struct Answer<'a> {
    operation: OrderOperation,
    response: &'a Response,
    next: Option<&'a str>,
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let member = self.operation.member();
        match self.response {
            Response::One(entity) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(member, entity)?;
                map.end()
            }
            Response::Page { items, .. } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry(member, items)?;
                map.serialize_entry("nextCursor", &self.next)?;
                map.end()
            }
        }
    }
}

impl Answer<'_> {
    fn reply(&self) -> Result<Reply, Fault<Orders>> {
        reply(self)
    }
}
