//! An adapter in front of a scripted order system, and what it is asked.

use crate::marks;
use crate::scripted::{Play, Scripted};
use candor_fault::Effect;
use candor_guard::Deadline;
use candor_http_client::BearerToken;
use candor_orders::http::{HttpAdapter, Settings};
use candor_orders::model::{CreateOrder, NewLineItem, NewOrder};
use candor_orders::{
    Adapter as _, EntityQuery, Failure, Filters, IdempotencyKey, OrderOperation, Request,
    RequestContext, Response,
};
use candor_street::EffectMark;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Must be seen by nobody but the order system.
pub(crate) const CANARY: &str = "canary-7f3a";

pub(crate) fn settings(url: String) -> Settings {
    Settings {
        bearer: BearerToken::new(CANARY),
        user_agent: String::from("candor-test/1"),
        connect_time: LONG,
        ..Settings::new(url)
    }
}

/// A new order of two lamps.
pub(crate) fn create() -> Request {
    let line = NewLineItem {
        sku: String::from("LAMP"),
        quantity: 2.try_into().unwrap(),
        unit_price: None,
        unit_discount: None,
        name: None,
    };
    let order = NewOrder {
        external_id: Some(String::from("größe 1")),
        name: None,
        currency: None,
        line_items: vec![line],
        customer: None,
        shipping_address: None,
        billing_address: None,
        tags: None,
        custom_fields: None,
        notes: None,
        sub_total: None,
        discount_total: None,
        total: None,
    };
    Request::Create(Box::new(CreateOrder { order }))
}

/// A page of two inventory entries.
pub(crate) fn query() -> Request {
    Request::Query(Box::new(EntityQuery {
        operation: OrderOperation::GetInventory,
        filters: Filters {
            skus: Some(vec![String::from("LAMP")]),
            ..Filters::default()
        },
        page_size: 2,
        after: Some(String::from("17.x")),
    }))
}

/// An order as an order system answers it, with a member that nobody knows.
pub(crate) fn order() -> Value {
    json!({
        "unknown": { "deep": [1] },
        "total": "6.00",
        "subTotal": "6.00",
        "discountTotal": "0.00",
        "id": "ord_1",
        "status": "pending",
        "currency": "EUR",
        "createdAt": "2025-10-12T14:00:00+02:00",
        "updatedAt": "2025-10-12T12:00:00Z",
        "lineItems": [{
            "sku": "LAMP",
            "quantity": 2,
            "unitPrice": "3.00",
            "unitDiscount": "0.00",
            "fulfilledQuantity": 0,
            "cancelledQuantity": 0,
            "returnedQuantity": 0
        }]
    })
}

pub(crate) fn inventory() -> Value {
    json!({
        "sku": "LAMP",
        "locationId": "loc_1",
        "onHand": 5,
        "reservedTotal": 1,
        "availableTotal": 4,
        "createdAt": "2025-10-12T12:00:00Z",
        "updatedAt": "2025-10-12T12:00:00Z"
    })
}

/// The turn of a call with this mark.
pub(crate) fn turn(mark: EffectMark, key: Option<&str>) -> RequestContext {
    RequestContext {
        deadline: Deadline::after(LONG),
        mark,
        key: key.map(|key| IdempotencyKey {
            client: String::from("shop"),
            key: key.to_owned(),
        }),
    }
}

/// What one request comes to, and what its mark says then.
pub(crate) async fn asked(
    adapter: &HttpAdapter,
    request: &Request,
) -> (Result<Response, Failure>, Effect) {
    let turn = match request.operation().changes() {
        true => turn(marks::writing(), Some("k1")),
        false => turn(EffectMark::read_only(), None),
    };
    let done = adapter.call(request, &turn).await;
    (done, turn.mark.effect())
}

/// What one request comes to when this is played to it.
pub(crate) async fn played(play: Play, request: &Request) -> (Result<Response, Failure>, Effect) {
    let server = Scripted::playing(play).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    asked(&adapter, request).await
}
