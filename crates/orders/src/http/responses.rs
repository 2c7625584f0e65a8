//! Successful answers of an order system: validated against their schemas and rewritten without
//! unknown members.

use super::client::AdapterResponse;
use super::json::{self, JsonRejection};
use super::settings::AdapterSetupError;
use crate::model::{
    Customer, Fulfillment, Inventory, Order, Product, ProductVariant, Return as Returned,
};
use crate::{OrderOperation, Request, Response, output_schemas};
use candor_http_client::header::{CONTENT_TYPE, HeaderMap};
use candor_schema::Schema;
use candor_street::JsonTree;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The longest position of a page, in bytes.
pub const MAX_NEXT_CURSOR: usize = 700;

/// The most bytes of an error's description: it may contain names of the order system.
const MAX_WORDS: usize = 300;

/// The reason why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidResponse {
    /// The content type is not JSON.
    ContentType,
    JsonRejection(JsonRejection),
    NoObject,
    NoMember(&'static str),
    /// The member of a page is not an array.
    NoArray(&'static str),
    /// An entity does not match its schema.
    Entity {
        index: usize,
        what: String,
    },
    PageTooLong(usize),
    /// The position of the next page is empty, too long or not a string.
    NextCursor,
}

impl fmt::Display for InvalidResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidResponse::ContentType => {
                out.write_str("the answer's Content-Type is not application/json")
            }
            InvalidResponse::JsonRejection(not) => write!(out, "the answer cannot be read: {not}"),
            InvalidResponse::NoObject => out.write_str("the answer is no object"),
            InvalidResponse::NoMember(name) => write!(out, "the answer has no member {name}"),
            InvalidResponse::NoArray(name) => write!(out, "{name} is no array"),
            InvalidResponse::Entity { index, what } => {
                write!(out, "entity {index} of the answer: {what}")
            }
            InvalidResponse::PageTooLong(count) => {
                write!(out, "the page has {count} entities, more than pageSize")
            }
            InvalidResponse::NextCursor => {
                write!(
                    out,
                    "nextCursor is neither null nor a text of 1 to {MAX_NEXT_CURSOR} bytes"
                )
            }
        }
    }
}

impl From<JsonRejection> for InvalidResponse {
    fn from(not: JsonRejection) -> Self {
        InvalidResponse::JsonRejection(not)
    }
}

/// The schemas of the entities of each operation.
#[derive(Debug)]
pub(crate) struct EntitySchemas(BTreeMap<OrderOperation, Schema>);

impl EntitySchemas {
    pub(crate) fn new() -> Result<EntitySchemas, AdapterSetupError> {
        let compiled = OrderOperation::ALL.into_iter().map(|operation| {
            let schema = Schema::new(output_schemas::entity(operation));
            let schema = schema.map_err(|_| AdapterSetupError::Schema)?;
            Ok((operation, schema))
        });
        Ok(EntitySchemas(
            compiled.collect::<Result<_, AdapterSetupError>>()?,
        ))
    }

    /// Reads the answer to a request.
    pub(crate) fn read(
        &self,
        request: &Request,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        let operation = request.operation();
        match request {
            Request::Query(query) => {
                let most = usize::try_from(query.page_size).unwrap_or(0);
                self.page(operation, most, response)
            }
            _ => self.one(operation, response),
        }
    }

    /// Reads the answer to a change.
    pub(crate) fn one(
        &self,
        operation: OrderOperation,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        let members = members(response)?;
        let entity = member(&members, operation.member())?;
        Ok(Response::One(self.entity(operation, 0, entity)?))
    }

    /// Reads the answer to a query for at most `most` entities.
    pub(crate) fn page(
        &self,
        operation: OrderOperation,
        most: usize,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        let members = members(response)?;
        let name = operation.member();
        let items: Vec<&RawValue> = serde_json::from_str(member(&members, name)?.get())
            .map_err(|_| InvalidResponse::NoArray(name))?;
        if items.len() > most {
            return Err(InvalidResponse::PageTooLong(items.len()));
        }
        let next: Option<String> = serde_json::from_str(member(&members, "nextCursor")?.get())
            .map_err(|_| InvalidResponse::NextCursor)?;
        if next
            .as_ref()
            .is_some_and(|next| next.is_empty() || next.len() > MAX_NEXT_CURSOR)
        {
            return Err(InvalidResponse::NextCursor);
        }
        let items = items.into_iter().enumerate();
        let items = items.map(|(index, item)| self.entity(operation, index, item));
        let items: Vec<_> = items.collect::<Result<_, _>>()?;
        let items = to_raw_value(&items).map_err(|_| InvalidResponse::NoArray(name))?;
        Ok(Response::Page { items, next })
    }

    /// Validates and rewrites one entity.
    fn entity(
        &self,
        operation: OrderOperation,
        index: usize,
        text: &RawValue,
    ) -> Result<Box<RawValue>, InvalidResponse> {
        let wrong = |mut what: String| {
            what.truncate(what.floor_char_boundary(MAX_WORDS));
            InvalidResponse::Entity { index, what }
        };
        let JsonTree(value) = serde_json::from_str(text.get())
            .map_err(|_| wrong(String::from("it cannot be read")))?;
        let checked = self.0.get(&operation).map(|schema| schema.check(&value));
        if let Some(Err(violations)) = checked {
            let first = violations.shown().first().map(|first| {
                let (field, expected) = (first.field(), &first.expected);
                let field = if field.is_empty() {
                    "the whole"
                } else {
                    &field
                };
                format!("{field}: expected {expected}")
            });
            return Err(wrong(first.unwrap_or_default()));
        }
        rewriter(operation)(value)
            .ok_or_else(|| wrong(String::from("a number or an instant is out of its range")))
    }
}

/// Returns the function that rewrites entities of an operation.
fn rewriter(operation: OrderOperation) -> fn(Value) -> Option<Box<RawValue>> {
    fn typed<T: DeserializeOwned + Serialize>(value: Value) -> Option<Box<RawValue>> {
        let entity: T = serde_json::from_value(value).ok()?;
        to_raw_value(&entity).ok()
    }
    match operation {
        OrderOperation::CreateOrder
        | OrderOperation::UpdateOrder
        | OrderOperation::CancelOrder
        | OrderOperation::GetOrders => typed::<Order>,
        OrderOperation::FulfillOrder | OrderOperation::GetFulfillments => typed::<Fulfillment>,
        OrderOperation::CreateReturn | OrderOperation::GetReturns => typed::<Returned>,
        OrderOperation::GetCustomers => typed::<Customer>,
        OrderOperation::GetProducts => typed::<Product>,
        OrderOperation::GetVariants => typed::<ProductVariant>,
        OrderOperation::GetInventory => typed::<Inventory>,
    }
}

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// The members of an answer that is an object.
pub(super) fn members(response: &AdapterResponse) -> Result<Members<'_>, InvalidResponse> {
    if !is_json(&response.headers) {
        return Err(InvalidResponse::ContentType);
    }
    let text = json::text(&response.body)?;
    serde_json::from_str(text).map_err(|_| InvalidResponse::NoObject)
}

pub(super) fn member<'a>(
    members: &Members<'a>,
    name: &'static str,
) -> Result<&'a RawValue, InvalidResponse> {
    members
        .get(name)
        .copied()
        .ok_or(InvalidResponse::NoMember(name))
}

/// Returns true if the content type is JSON; parameters do not matter.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let error_body = headers
        .get(CONTENT_TYPE)
        .and_then(|error_body| error_body.to_str().ok());
    let kind = error_body.and_then(|error_body| error_body.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
