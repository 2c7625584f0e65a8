//! The seven tools that read: filters in, one page out, with a cursor for the next page.

use super::{Answer, argument_rules, with_answer_schema};
use crate::dialect::Orders;
use crate::failure::{OrderRule, RuleViolation};
use crate::model::{
    EntityQuery, Filters, MAX_PAGE_SIZE, OrderStatus, PAGE_DEFAULT, PaymentStatus, ReturnOutcome,
    ReturnStatus, SortOrder, TIME_FILTERS, UtcTime,
};
use crate::server::OrdersServer;
use crate::{
    Compat, Failure, OrderOperation, Request, Response, argument_schemas, cursor, reference,
};
use candor_fault::{Fault, Violations, to_raw_json};
use candor_schema::Int;
use candor_street::{CallContext, IndexedText, JsonRef, Reply, Tool};
use serde::Deserialize;
use std::sync::Arc;

pub(super) fn all(compat: Option<Compat>) -> [Tool<OrdersServer>; 7] {
    let query_tool = |operation, description| query_tool(operation, description, compat);
    [
        query_tool(
            OrderOperation::GetOrders,
            "Find orders by id, number, name, status, SKU, tracking number, payment or time, or by the customer's id, email, name or phone; oldest first.",
        ),
        query_tool(
            OrderOperation::GetCustomers,
            "Find customers by id, email, name, phone or time; oldest first.",
        ),
        query_tool(
            OrderOperation::GetProducts,
            "Find products by id, SKU or time; oldest first. For prices use get-product-variants.",
        ),
        query_tool(
            OrderOperation::GetVariants,
            "Find variants, with SKU and price, by id, SKU, product or time; oldest first.",
        ),
        query_tool(
            OrderOperation::GetInventory,
            "Find stock by SKU, location or time. Reservations count for the SKU over all locations.",
        ),
        query_tool(
            OrderOperation::GetFulfillments,
            "Find what has shipped, by id, order, tracking number or time; oldest first.",
        ),
        query_tool(
            OrderOperation::GetReturns,
            "Find what came back, by id, order, status, outcome or time; oldest first.",
        ),
    ]
}

/// The arguments of all queries but the [`TimeFilters`]. Each tool's schema admits the filters of its
/// entity.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct QueryArguments {
    ids: Option<Vec<String>>,
    external_ids: Option<Vec<String>>,
    statuses: Option<Vec<StatusWord>>,
    skus: Option<Vec<String>>,
    emails: Option<Vec<String>>,
    order_ids: Option<Vec<String>>,
    product_ids: Option<Vec<String>>,
    location_ids: Option<Vec<String>>,
    order_numbers: Option<Vec<String>>,
    names: Option<Vec<String>>,
    tracking_numbers: Option<Vec<String>>,
    customer_ids: Option<Vec<String>>,
    customer_names: Option<Vec<String>>,
    phones: Option<Vec<String>>,
    payment_statuses: Option<Vec<PaymentStatus>>,
    outcomes: Option<Vec<ReturnOutcome>>,
    sort: Option<SortOrder>,
    page_size: Option<Int<1, MAX_PAGE_SIZE>>,
    cursor: Option<String>,
}

/// A status of an order or of a return, whichever the schema of the tool admits.
#[derive(Deserialize)]
#[serde(untagged)]
enum StatusWord {
    Order(OrderStatus),
    Return(ReturnStatus),
}

type StatusFilters = (Option<Vec<OrderStatus>>, Option<Vec<ReturnStatus>>);

/// Returns the statuses of orders and of returns; a tool has one of them.
fn split_statuses(operation: OrderOperation, words: Option<Vec<StatusWord>>) -> StatusFilters {
    let Some(words) = words else {
        return (None, None);
    };
    let (mut orders, mut returns) = (Vec::new(), Vec::new());
    for word in words {
        match word {
            StatusWord::Order(status) => orders.push(status),
            StatusWord::Return(status) => returns.push(status),
        }
    }
    match operation {
        OrderOperation::GetReturns => (None, Some(returns)),
        _ => (Some(orders), None),
    }
}

/// Sorts and deduplicates a list: neither order nor repetition matters to a filter.
fn set<T: Ord>(list: Option<Vec<T>>) -> Option<Vec<T>> {
    list.map(|mut list| {
        list.sort_unstable();
        list.dedup();
        list
    })
}

/// The filters by time, in the order of [`TIME_FILTERS`], each with the instant that it is.
pub(super) struct TimeFilters<'a>([(JsonRef<'a>, Option<UtcTime>); 4]);

impl TimeFilters<'_> {
    pub(super) fn read(arguments: JsonRef<'_>) -> TimeFilters<'_> {
        TimeFilters(TIME_FILTERS.map(|name| {
            let value = arguments.get_or_null(name);
            (value, value.as_str().as_deref().and_then(UtcTime::read))
        }))
    }

    /// Returns a violation for each range that ends before it starts.
    pub(super) fn inverted_ranges(&self) -> Vec<RuleViolation> {
        let ranges = TIME_FILTERS.chunks_exact(2).zip(self.0.chunks_exact(2));
        let is_inverted = |times: &[(JsonRef<'_>, Option<UtcTime>)]| matches!(times, [(_, Some(min)), (_, Some(max))] if max < min);
        let inverted = ranges.filter(|(_, times)| is_inverted(times));
        inverted
            .map(|(names, _)| RuleViolation::new(names[1], OrderRule::Range))
            .collect()
    }

    /// Returns true if each filter is a text or absent.
    pub(super) fn are_texts(&self) -> bool {
        let mut values = self.0.iter().map(|(value, _)| value);
        values.all(|value| value.is_string() || value.is_null())
    }

    fn instants(&self) -> Result<[Option<UtcTime>; 4], RuleViolation> {
        let mut named = TIME_FILTERS.iter().zip(&self.0);
        let unread = named.find(|(_, (value, time))| value.is_string() && time.is_none());
        match unread {
            Some((name, _)) => Err(RuleViolation::new(*name, OrderRule::Instant)),
            None => Ok(self.0.map(|(_, time)| time)),
        }
    }
}

/// A query, or the rule that it breaks although the schema and the argument rules admit it.
pub(super) type ParsedQuery = Result<EntityQuery, RuleViolation>;

impl QueryArguments {
    pub(super) fn query(self, operation: OrderOperation, times: &TimeFilters<'_>) -> ParsedQuery {
        let [
            created_at_min,
            created_at_max,
            updated_at_min,
            updated_at_max,
        ] = times.instants()?;
        argument_rules::check_phones(self.phones.as_deref())?;
        let (statuses, return_statuses) = split_statuses(operation, self.statuses);
        let small = |emails: Vec<String>| emails.iter().map(|one| one.to_lowercase()).collect();
        let filters = Filters {
            ids: set(self.ids),
            external_ids: set(self.external_ids),
            statuses: set(statuses),
            skus: set(self.skus),
            emails: set(self.emails.map(small)),
            order_ids: set(self.order_ids),
            product_ids: set(self.product_ids),
            location_ids: set(self.location_ids),
            created_at_min,
            created_at_max,
            updated_at_min,
            updated_at_max,
            order_numbers: set(self.order_numbers),
            names: set(self.names),
            tracking_numbers: set(self.tracking_numbers),
            customer_ids: set(self.customer_ids),
            customer_names: set(self.customer_names),
            phones: set(self.phones),
            payment_statuses: set(self.payment_statuses),
            return_statuses: set(return_statuses),
            outcomes: set(self.outcomes),
            sort: self.sort,
        };
        let position = |text: String| {
            let position = cursor::read(operation, &filters, &text);
            position.ok_or_else(|| RuleViolation::new("cursor", OrderRule::Cursor))
        };
        let after = self.cursor.map(position).transpose()?;
        Ok(EntityQuery {
            operation,
            filters,
            page_size: self.page_size.map_or(PAGE_DEFAULT, Int::get),
            after,
        })
    }
}

/// A query, and the number of entities before its page that are skipped.
type SkippingQuery = Result<(EntityQuery, i64), RuleViolation>;

fn query_tool(
    operation: OrderOperation,
    description: &'static str,
    compat: Option<Compat>,
) -> Tool<OrdersServer> {
    let schema = argument_schemas::query(operation);
    let work = move |server: Arc<OrdersServer>, query: SkippingQuery, cx: CallContext| async move {
        let found = page(&server, query, &cx).await;
        found.map_err(|failure| failure.fault(cx.mark.effect()))?
    };
    let tool = match compat {
        None => Tool::read_only_with_parser(
            operation.name(),
            description,
            schema,
            move |arguments| {
                let query = argument_rules::parse_query(operation, arguments)?;
                Ok(query.map(|query| query.map(|query| (query, 0))))
            },
            work,
        ),
        Some(Compat::Reference) => Tool::read_only_with_parser(
            operation.name(),
            description,
            reference::accept(operation, schema),
            move |arguments| parse_reference_query(operation, arguments),
            work,
        ),
    };
    with_answer_schema(operation, tool, compat)
}

fn parse_reference_query(
    operation: OrderOperation,
    arguments: JsonRef<'_>,
) -> Result<Option<SkippingQuery>, Violations> {
    let (translated, skip) = match reference::translate_query(arguments) {
        Ok(translated) => translated,
        Err(broken) => return Ok(Some(Err(broken))),
    };
    let translated = IndexedText::unbounded(&translated);
    let query = argument_rules::parse_query(operation, translated.root())?;
    Ok(query.map(|query| query.map(|query| (query, skip))))
}

async fn page(
    server: &OrdersServer,
    query: SkippingQuery,
    cx: &CallContext,
) -> Result<Result<Reply, Fault<Orders>>, Failure> {
    let (mut query, skip) = query?;
    let is_over = match skip {
        0 => false,
        skip => {
            query.after = reference::position_after(server, &query, skip, cx).await?;
            query.after.is_none()
        }
    };
    let request = Request::Query(Box::new(query));
    let response = match is_over {
        true => Response::page(to_raw_json(&[(); 0]), None),
        false => server.ask(&request, None, cx).await?,
    };
    let position = match &response {
        Response::Page { next, .. } => next.as_deref(),
        Response::One { .. } => None,
    };
    let next = match (&request, position) {
        (Request::Query(query), Some(position)) => {
            Some(cursor::write(query.operation, &query.filters, position))
        }
        _ => None,
    };
    let answer = Answer {
        operation: request.operation(),
        response: &response,
        next: next.as_deref(),
        compat: server.compat(),
    };
    Ok(answer.reply())
}
