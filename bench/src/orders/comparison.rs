//! The comparison of a backend's answers with their requests: pages of 100 orders with and without it.

use super::OrdersBench;
use crate::figures::ratios;
use crate::rounds::SLICE;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use candor_call_fixtures::{answer, call, specification_instant};
use candor_fault::Answer;
use candor_orders::http::{HttpAdapter, HttpSettings};
use candor_orders::{Config, OrderOperation, OrdersServer};
use candor_street::{Dispatcher, MetricsHub};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const BAR: &str = "http adapter, get-orders with 100 orders: times the time without comparison";

/// The most time of a page with the comparison, as a ratio to that without.
const AT_MOST: f64 = 1.15;

const ORDERS: i64 = 100;

const TIME: &str = "2025-10-12T12:00:00Z";

type Tools = Arc<Dispatcher<OrdersServer>>;

/// Measures both in turn, in this process, with a backend on the loopback interface.
pub(super) fn measure(bench: &mut OrdersBench<'_>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        let url = start_backend().await?;
        let (comparing, plain) = (tools(&url, true).await?, tools(&url, false).await?);
        for round in 1..=bench.plan.rounds {
            let text = format!("comparison: round {round} of {}", bench.plan.rounds);
            bench.progress.say(&text);
            let mut times = [(Duration::ZERO, 0_u32); 2];
            for _ in 0..bench.plan.turns() {
                for (tools, (took, count)) in [&comparing, &plain].into_iter().zip(&mut times) {
                    let started = Instant::now();
                    while started.elapsed() < SLICE / 2 {
                        ask(tools).await?;
                        *count += 1;
                    }
                    *took += started.elapsed();
                }
            }
            let [(compared, compared_pages), (plain, plain_pages)] = times;
            with.push(compared.as_secs_f64() * 1e6 / f64::from(compared_pages));
            without.push(plain.as_secs_f64() * 1e6 / f64::from(plain_pages));
        }
        Ok::<_, io::Error>(())
    })?;
    let findings = &mut bench.report.orders;
    findings.at_most(BAR, AT_MOST, "×", Ok(&ratios(&with, &without)));
    findings.note(format!("{BAR}: with"), "µs", &with);
    findings.note(format!("{BAR}: without"), "µs", &without);
    Ok(())
}

/// Asks for the page. It must be a success.
async fn ask(tools: &Tools) -> io::Result<()> {
    let arguments = json!({ "statuses": ["pending"], "pageSize": ORDERS });
    let answered = answer(tools, call(OrderOperation::GetOrders.name(), arguments)).await;
    match answered {
        Answer::Result(text) if !text.to_string().contains("\"isError\":true") => Ok(()),
        _ => Err(io::Error::other("the page of orders was refused")),
    }
}

async fn tools(url: &str, compares: bool) -> io::Result<Tools> {
    let settings = HttpSettings {
        compares,
        ..HttpSettings::new(url)
    };
    let adapter = HttpAdapter::connect(&settings).await;
    let config = Config {
        calls_a_minute: None,
        tool_calls_a_minute: None,
        ..Config::default()
    };
    let metrics = MetricsHub::default();
    let adapter = Arc::new(adapter.map_err(io::Error::other)?);
    let server = OrdersServer::new(adapter, config, Arc::new(|| 0), metrics.clone());
    Dispatcher::new(server, Arc::new(specification_instant), &metrics).map_err(io::Error::other)
}

/// Starts a backend that always sends the same page. Returns its address.
async fn start_backend() -> io::Result<String> {
    let orders: Vec<_> = (0..ORDERS).map(order).collect();
    let page = json!({ "orders": orders, "nextCursor": null }).to_string();
    let operations = [OrderOperation::GetOrders.name()];
    let known = json!({ "protocol": 1, "operations": operations, "keepsKeys": true }).to_string();
    let send = |text: String| {
        move || {
            let text = text.clone();
            async move { ([(CONTENT_TYPE, "application/json")], text) }
        }
    };
    let router = Router::new()
        .route("/v1/capabilities", get(send(known)))
        .route("/v1/get-orders", post(send(page)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

/// Returns an order with two lines, a customer and both addresses.
fn order(number: i64) -> Value {
    let line = |sku: &str| {
        json!({
            "sku": sku, "name": "Mug, blue", "quantity": 3, "unitPrice": "9.00", "unitDiscount": "0.50",
            "fulfilledQuantity": 0, "cancelledQuantity": 0, "returnedQuantity": 0
        })
    };
    let address = json!({
        "address1": "Hauptstr. 1", "city": "Berlin", "country": "DE", "firstName": "Kim",
        "lastName": "Berg", "phone": "+49 30 1234567"
    });
    json!({
        "id": format!("ord_{number:08}"), "externalId": format!("web-{number}"), "name": "#1001",
        "status": "pending", "currency": "EUR", "lineItems": [line("MUG-BLUE"), line("MUG-RED")],
        "customer": { "id": "cus_9", "email": "kim@example.com", "firstName": "Kim", "lastName": "Berg" },
        "shippingAddress": address, "billingAddress": address, "tags": ["gift"],
        "notes": "Ring twice.", "subTotal": "54.00", "discountTotal": "3.00", "total": "51.00",
        "createdAt": TIME, "updatedAt": TIME
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn page_is_accepted_with_and_without_comparison() {
        let url = start_backend().await.unwrap();
        for compares in [true, false] {
            ask(&tools(&url, compares).await.unwrap()).await.unwrap();
        }
    }
}
