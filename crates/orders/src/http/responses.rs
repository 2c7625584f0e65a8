//! Successful answers of an order system: validated against their schemas and rewritten without
//! unknown members.

use super::capabilities::StatusMap;
use super::client::AdapterResponse;
use super::compare::{
    Mismatch, PageComparison, check_fulfillment, check_order, check_return, check_sums,
    clean_entity, clean_id,
};
use super::json::{self, JsonRejection};
use super::settings::AdapterSetupError;
use crate::model::{
    Customer, Fulfillment, Inventory, Order, OrderStatus, Product, ProductVariant,
    Return as Returned,
};
use crate::{
    Corrections, EntityQuery, OmissionReason, OmittedEntity, OrderOperation, Request, Response,
    output_schemas,
};
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

/// The member with the order system's own word for a status.
const PLATFORM_STATUS: &str = "platformStatus";

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
    /// An entity contradicts the request.
    Mismatch {
        index: usize,
        mismatch: Mismatch,
    },
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
            InvalidResponse::Mismatch { index, mismatch } => {
                write!(out, "entity {index} of the answer: {mismatch}")
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
pub(crate) struct EntitySchemas {
    schemas: BTreeMap<OrderOperation, Schema>,
    /// False only to measure the cost of the comparison.
    compares: bool,
}

impl EntitySchemas {
    pub(crate) fn new() -> Result<EntitySchemas, AdapterSetupError> {
        let compiled = OrderOperation::ALL.into_iter().map(|operation| {
            let schema = Schema::new(output_schemas::entity(operation));
            let schema = schema.map_err(|_| AdapterSetupError::Schema)?;
            Ok((operation, schema))
        });
        Ok(EntitySchemas {
            schemas: compiled.collect::<Result<_, AdapterSetupError>>()?,
            compares: true,
        })
    }

    /// Turns the comparison with the request on or off.
    pub(crate) fn comparing(mut self, compares: bool) -> EntitySchemas {
        self.compares = compares;
        self
    }

    /// Reads the answer to a request.
    pub(crate) fn read(
        &self,
        request: &Request,
        statuses: Option<&StatusMap>,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        match request {
            Request::Query(query) => self.page(query, statuses, response),
            _ => self.one(request, statuses, response),
        }
    }

    /// Reads the answer to a change, and compares it with the request.
    pub(crate) fn one(
        &self,
        request: &Request,
        statuses: Option<&StatusMap>,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        let operation = request.operation();
        let members = members(response)?;
        let mut value = parse_entity(member(&members, operation.member())?, 0)?;
        if operation.member() == "order" {
            map_status(&mut value, statuses);
        }
        let entity = self.entity(operation, &value);
        let entity = entity.map_err(|defect| defect.into_error(0))?;
        let invalid = |mismatch| InvalidResponse::Mismatch { index: 0, mismatch };
        entity.check_change(request).map_err(invalid)?;
        let (entity, cleaned) = entity.write(true).map_err(|defect| defect.into_error(0))?;
        let corrections = Corrections {
            cleaned,
            omitted: Vec::new(),
        };
        Ok(Response::One {
            entity,
            corrections,
        })
    }

    /// Reads the answer to a query. An entity that fits the query but cannot be shown is left out.
    pub(crate) fn page(
        &self,
        query: &EntityQuery,
        statuses: Option<&StatusMap>,
        response: &AdapterResponse,
    ) -> Result<Response, InvalidResponse> {
        let members = members(response)?;
        let name = query.operation.member();
        let items: Vec<&RawValue> = serde_json::from_str(member(&members, name)?.get())
            .map_err(|_| InvalidResponse::NoArray(name))?;
        if items.len() > usize::try_from(query.page_size).unwrap_or(0) {
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
        let mut comparison = PageComparison::new(query);
        let mut shown = Vec::with_capacity(items.len());
        let mut corrections = Corrections::default();
        for (index, item) in items.into_iter().enumerate() {
            let invalid = |mismatch| InvalidResponse::Mismatch { index, mismatch };
            let mut value = parse_entity(item, index)?;
            if query.operation == OrderOperation::GetOrders {
                map_status(&mut value, statuses);
            }
            if self.compares {
                comparison.check_entity(&value).map_err(invalid)?;
            }
            let id = entity_id(query.operation, &value);
            let written = self
                .entity(query.operation, &value)
                .and_then(|entity| entity.write(self.compares));
            match (written, id) {
                (Ok((entity, cleaned)), _) => {
                    corrections.cleaned += cleaned;
                    shown.push(entity);
                }
                (Err(defect), Some(id)) => corrections.omitted.push(OmittedEntity {
                    id: clean_id(&id),
                    reason: defect.reason,
                    detail: defect.what,
                }),
                (Err(defect), None) => return Err(defect.into_error(index)),
            }
        }
        let next_index = shown.len() + corrections.omitted.len();
        comparison
            .check_next(next.as_deref())
            .map_err(|mismatch| InvalidResponse::Mismatch {
                index: next_index,
                mismatch,
            })?;
        let items = to_raw_value(&shown).map_err(|_| InvalidResponse::NoArray(name))?;
        Ok(Response::Page {
            items,
            next,
            corrections,
        })
    }

    /// Validates one entity against its schema and the rules that hold for every entity.
    fn entity(
        &self,
        operation: OrderOperation,
        value: &Value,
    ) -> Result<TypedEntity, EntityDefect> {
        let is_order = matches!(
            operation,
            OrderOperation::CreateOrder
                | OrderOperation::UpdateOrder
                | OrderOperation::CancelOrder
                | OrderOperation::GetOrders
        );
        let unknown_status = is_order
            && value["status"]
                .as_str()
                .is_some_and(|word| OrderStatus::read(word).is_none());
        let checked = self
            .schemas
            .get(&operation)
            .map(|schema| schema.check(value));
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
            let reason = match unknown_status {
                true => OmissionReason::Status,
                false => OmissionReason::Schema,
            };
            return Err(EntityDefect::new(reason, first.unwrap_or_default()));
        }
        let entity = TypedEntity::read(operation, value).ok_or_else(|| {
            let what = String::from("a number or an instant is out of its range");
            EntityDefect::new(OmissionReason::Schema, what)
        })?;
        if is_order && self.compares {
            check_sums(value).map_err(|mismatch| {
                EntityDefect::new(OmissionReason::Sums, mismatch.to_string())
            })?;
        }
        Ok(entity)
    }
}

/// The reason why an entity cannot be shown.
struct EntityDefect {
    reason: OmissionReason,
    what: String,
}

impl EntityDefect {
    fn new(reason: OmissionReason, mut what: String) -> EntityDefect {
        what.truncate(what.floor_char_boundary(MAX_WORDS));
        EntityDefect { reason, what }
    }

    fn into_error(self, index: usize) -> InvalidResponse {
        let what = self.what;
        InvalidResponse::Entity { index, what }
    }
}

/// An entity that matches its schema. It is written without unknown members.
#[derive(Serialize)]
#[serde(untagged)]
enum TypedEntity {
    Order(Box<Order>),
    Fulfillment(Fulfillment),
    Return(Returned),
    Customer(Customer),
    Product(Product),
    Variant(ProductVariant),
    Inventory(Inventory),
}

impl TypedEntity {
    fn read(operation: OrderOperation, value: &Value) -> Option<TypedEntity> {
        fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
            T::deserialize(value).ok()
        }
        match operation {
            OrderOperation::CreateOrder
            | OrderOperation::UpdateOrder
            | OrderOperation::CancelOrder
            | OrderOperation::GetOrders => typed(value).map(TypedEntity::Order),
            OrderOperation::FulfillOrder | OrderOperation::GetFulfillments => {
                typed(value).map(TypedEntity::Fulfillment)
            }
            OrderOperation::CreateReturn | OrderOperation::GetReturns => {
                typed(value).map(TypedEntity::Return)
            }
            OrderOperation::GetCustomers => typed(value).map(TypedEntity::Customer),
            OrderOperation::GetProducts => typed(value).map(TypedEntity::Product),
            OrderOperation::GetVariants => typed(value).map(TypedEntity::Variant),
            OrderOperation::GetInventory => typed(value).map(TypedEntity::Inventory),
        }
    }

    /// Compares the entity with the change that it answers.
    fn check_change(&self, request: &Request) -> Result<(), Mismatch> {
        match (self, request) {
            (TypedEntity::Order(order), request) => check_order(request, order),
            (TypedEntity::Fulfillment(fulfillment), Request::Fulfill(request)) => {
                check_fulfillment(request, fulfillment)
            }
            (TypedEntity::Return(returned), Request::Return(request)) => {
                check_return(request, returned)
            }
            _ => Ok(()),
        }
    }

    /// Writes the entity, with clean texts if `cleans` is set. Returns the number of texts that were
    /// changed.
    fn write(self, cleans: bool) -> Result<(Box<RawValue>, usize), EntityDefect> {
        let written = to_raw_value(&self)
            .map_err(|error| EntityDefect::new(OmissionReason::Schema, error.to_string()))?;
        if !cleans {
            return Ok((written, 0));
        }
        clean_entity(written)
            .map_err(|mismatch| EntityDefect::new(OmissionReason::Text, mismatch.to_string()))
    }
}

fn parse_entity(text: &RawValue, index: usize) -> Result<Value, InvalidResponse> {
    let JsonTree(value) = serde_json::from_str(text.get()).map_err(|_| {
        let what = String::from("it cannot be read");
        InvalidResponse::Entity { index, what }
    })?;
    Ok(value)
}

/// Replaces the status of an order by ours, and keeps the order system's word beside it.
fn map_status(order: &mut Value, statuses: Option<&StatusMap>) {
    let Some(members) = order.as_object_mut() else {
        return;
    };
    // Only a mapped status has a word beside it.
    members.shift_remove(PLATFORM_STATUS);
    let word = members.get("status").and_then(Value::as_str);
    let ours = word.and_then(|word| statuses?.get(word));
    if let (Some(word), Some(ours)) = (word.map(String::from), ours) {
        members.insert(String::from("status"), ours.word().into());
        members.insert(PLATFORM_STATUS.to_owned(), word.into());
    }
}

/// Returns the id under which an entity is named if it is left out.
fn entity_id(operation: OrderOperation, entity: &Value) -> Option<String> {
    let member = match operation {
        OrderOperation::GetInventory => "sku",
        _ => "id",
    };
    let id = entity[member].as_str().filter(|id| !id.is_empty())?;
    Some(id.to_owned())
}

pub(super) type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

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
