//! `skip`: finds the position after so many entities, page by page, because an order system knows
//! cursors only.

use crate::failure::RefusalReason;
use crate::model::{EntityQuery, MAX_PAGE_SIZE};
use crate::server::OrdersServer;
use crate::{Failure, Request, Response};
use candor_street::CallContext;
use serde_json::value::RawValue;

/// Returns the position after so many entities of a query. Returns `None` if nothing follows.
pub(crate) async fn position_after(
    server: &OrdersServer,
    query: &EntityQuery,
    skip: i64,
    cx: &CallContext,
) -> Result<Option<String>, Failure> {
    let walk = async {
        let (mut left, mut after) = (skip, None);
        loop {
            let page = EntityQuery {
                page_size: left.min(MAX_PAGE_SIZE),
                after,
                ..query.clone()
            };
            let request = Request::Query(Box::new(page));
            let (count, next) = match server.ask(&request, None, cx).await? {
                Response::Page {
                    items,
                    next,
                    corrections,
                } => (count(&items) + corrections.omitted.len(), next),
                Response::One { .. } => return Err(RefusalReason::InvalidAdapterResponse.into()),
            };
            // An order system may send empty pages; the walk ends all the same.
            left -= i64::try_from(count.max(1)).unwrap_or(left);
            match next {
                Some(next) if left > 0 => after = Some(next),
                next => return Ok(next),
            }
        }
    };
    let walked = tokio::time::timeout(server.deadline(), walk).await;
    walked.unwrap_or(Err(Failure::TimedOut(None)))
}

/// Returns the number of entities of a page.
fn count(items: &RawValue) -> usize {
    let items: Result<Vec<&RawValue>, _> = serde_json::from_str(items.get());
    items.map_or(0, |items| items.len())
}
