//! The seven tools that read: filters in, one page out, with a cursor for the next page.

use super::{Answer, argument_rules, with_answer_schema};
use crate::dialect::Orders;
use crate::failure::{OrderRule, RuleViolation};
use crate::model::{EntityQuery, Filters, PAGE_DEFAULT, PAGE_MAX};
use crate::model::{OrderStatus, UtcTime};
use crate::server::OrdersServer;
use crate::{Failure, OrderOperation, Request, Response, argument_schemas, cursor};
use candor_fault::Fault;
use candor_schema::Int;
use candor_street::{CallContext, Reply, Tool};
use serde::Deserialize;
use std::sync::Arc;

/// The filters by creation and update time.
const TIMES: [&str; 4] = [
    "createdAtMin",
    "createdAtMax",
    "updatedAtMin",
    "updatedAtMax",
];

pub(super) fn all() -> [Tool<OrdersServer>; 7] {
    [
        query_tool(
            OrderOperation::GetOrders,
            "Find orders by id, your own id, status, SKU, the customer's email or time; oldest first.",
            &["ids", "externalIds", "statuses", "skus", "emails"],
        ),
        query_tool(
            OrderOperation::GetCustomers,
            "Find customers by id, email or time; oldest first.",
            &["ids", "emails"],
        ),
        query_tool(
            OrderOperation::GetProducts,
            "Find products by id, SKU or time; oldest first. For prices use get-product-variants.",
            &["ids", "skus"],
        ),
        query_tool(
            OrderOperation::GetVariants,
            "Find variants, with SKU and price, by id, SKU, product or time; oldest first.",
            &["ids", "skus", "productIds"],
        ),
        query_tool(
            OrderOperation::GetInventory,
            "Find stock by SKU, location or time. Reservations count for the SKU over all locations.",
            &["skus", "locationIds"],
        ),
        query_tool(
            OrderOperation::GetFulfillments,
            "Find what has shipped, by id, order or time; oldest first.",
            &["ids", "orderIds"],
        ),
        query_tool(
            OrderOperation::GetReturns,
            "Find what came back, by id, order or time; oldest first.",
            &["ids", "orderIds"],
        ),
    ]
}

/// The arguments of all queries. Each tool's schema admits the filters of its entity.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct QueryArguments {
    ids: Option<Vec<String>>,
    external_ids: Option<Vec<String>>,
    statuses: Option<Vec<OrderStatus>>,
    skus: Option<Vec<String>>,
    emails: Option<Vec<String>>,
    order_ids: Option<Vec<String>>,
    product_ids: Option<Vec<String>>,
    location_ids: Option<Vec<String>>,
    created_at_min: Option<String>,
    created_at_max: Option<String>,
    updated_at_min: Option<String>,
    updated_at_max: Option<String>,
    page_size: Option<Int<1, PAGE_MAX>>,
    cursor: Option<String>,
}

/// Sorts and deduplicates a list: neither order nor repetition matters to a filter.
fn set<T: Ord>(list: Option<Vec<T>>) -> Option<Vec<T>> {
    list.map(|mut list| {
        list.sort_unstable();
        list.dedup();
        list
    })
}

fn instant(field: &str, text: Option<String>) -> Result<Option<UtcTime>, RuleViolation> {
    let read = |text: String| {
        UtcTime::read(&text).ok_or_else(|| RuleViolation::new(field, OrderRule::Instant))
    };
    text.map(read).transpose()
}

impl QueryArguments {
    pub(super) fn filters(self) -> Result<Filters, RuleViolation> {
        let created_at_min = instant("createdAtMin", self.created_at_min)?;
        let created_at_max = instant("createdAtMax", self.created_at_max)?;
        let updated_at_min = instant("updatedAtMin", self.updated_at_min)?;
        let updated_at_max = instant("updatedAtMax", self.updated_at_max)?;
        let small = |emails: Vec<String>| emails.iter().map(|one| one.to_lowercase()).collect();
        Ok(Filters {
            ids: set(self.ids),
            external_ids: set(self.external_ids),
            statuses: set(self.statuses),
            skus: set(self.skus),
            emails: set(self.emails.map(small)),
            order_ids: set(self.order_ids),
            product_ids: set(self.product_ids),
            location_ids: set(self.location_ids),
            created_at_min,
            created_at_max,
            updated_at_min,
            updated_at_max,
        })
    }

    fn query(mut self, operation: OrderOperation) -> Result<EntityQuery, RuleViolation> {
        let (cursor, page_size) = (self.cursor.take(), self.page_size);
        let filters = self.filters()?;
        let after = match &cursor {
            None => None,
            Some(text) => {
                let position = cursor::read(operation, &filters, text);
                Some(position.ok_or_else(|| RuleViolation::new("cursor", OrderRule::Cursor))?)
            }
        };
        Ok(EntityQuery {
            operation,
            filters,
            page_size: page_size.map_or(PAGE_DEFAULT, Int::get),
            after,
        })
    }
}

fn query_tool(
    operation: OrderOperation,
    description: &'static str,
    filters: &[&str],
) -> Tool<OrdersServer> {
    let filters: Vec<_> = filters.iter().copied().chain(TIMES).collect();
    let work = move |server: Arc<OrdersServer>, arguments: QueryArguments, cx: CallContext| async move {
        page(&server, operation, arguments, &cx).await
    };
    let tool = Tool::read_only(
        operation.name(),
        description,
        argument_schemas::query(&filters),
        work,
    );
    let rules = move |arguments: &_| argument_rules::check_query(operation, arguments);
    with_answer_schema(operation, tool).with_argument_rules(rules)
}

async fn page(
    server: &OrdersServer,
    operation: OrderOperation,
    arguments: QueryArguments,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let found = async {
        let request = Request::Query(Box::new(arguments.query(operation)?));
        let response = server.ask(&request, None, cx).await?;
        Ok((request, response))
    };
    let found: Result<_, Failure> = found.await;
    let (request, response) = found.map_err(|failure| failure.fault(cx.mark.effect()))?;
    let position = match &response {
        Response::Page { next, .. } => next.as_deref(),
        Response::One(_) => None,
    };
    let next = match (&request, position) {
        (Request::Query(query), Some(position)) => {
            Some(cursor::write(operation, &query.filters, position))
        }
        _ => None,
    };
    let answer = Answer {
        operation,
        response: &response,
        next: next.as_deref(),
    };
    answer.reply()
}
