//! The bare handler for orders: the statements of the order tools in the same transactions, on
//! pools of the same size, without schema, limits, deadlines, retries or an answer other than the
//! rows.

use super::statements::{
    BEGIN, BEGIN_SQLITE, CLAIM, CLAIM_SQLITE, COMMIT, CUSTOMER, GET, GREETING, GREETING_SQLITE,
    GREETING_SQLITE_WRITES, LINES, LOOKUPS, ORDER, ORDER_SQLITE, RECORD, SETTLE, STOCK,
    STOCK_SQLITE, VARIANTS,
};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::{AnyPool, Executor as _, Row as _};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

const CLIENT: &str = "default";
const CREATE: &str = "create-sales-order";
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A text as long as the hash of a call.
const FINGERPRINT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A record as long as the one that the order tools store for a call that succeeds.
const DONE: &str = r#"{"done":{"id":"ord_640f5c4f38000ffffffffffff","status":"pending","currency":"USD","lineItems":[{"sku":"SKU-17","name":"A thing of the 17th kind","quantity":1,"unitPrice":"19.90","unitDiscount":"0.00","fulfilledQuantity":0,"cancelledQuantity":0,"returnedQuantity":0},{"sku":"SKV-17","name":"A thing of the 17th kind","quantity":2,"unitPrice":"19.90","unitDiscount":"0.00","fulfilledQuantity":0,"cancelledQuantity":0,"returnedQuantity":0}],"customer":{"id":"cus_0000000000000000000000017","email":"c0000000017@example.org","firstName":"Ada","lastName":"Byron"},"shippingAddress":{"address1":"1 Long Road","city":"Springfield","zipCodeOrPostalCode":"12345","country":"US"},"subTotal":"59.70","discountTotal":"0.00","total":"59.70","createdAt":"2025-10-12T16:00:00.123456Z","updatedAt":"2025-10-12T16:00:00.123456Z"}}"#;

/// Records as long as those for a call without stock: under its key, and in the record.
const REFUSED: (&str, &str) = (
    r#"{"failed":{"Refused":{"why":"InsufficientInventory","field":"order.lineItems.1.quantity","available":0}}}"#,
    r#"{"Refused":{"why":"InsufficientInventory","field":"order.lineItems.1.quantity","available":0}}"#,
);

#[derive(Deserialize)]
struct OrderMessage<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: CallArguments<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallArguments<'a> {
    #[serde(default)]
    ids: Vec<String>,
    idempotency_key: Option<String>,
    #[serde(borrow)]
    order: Option<Order<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Order<'a> {
    customer: Customer,
    line_items: Vec<OrderLine>,
    #[serde(borrow)]
    shipping_address: &'a RawValue,
}

#[derive(Deserialize)]
struct Customer {
    email: String,
}

#[derive(Deserialize)]
struct OrderLine {
    sku: String,
    quantity: i64,
}

struct BareOrders {
    reads: AnyPool,
    writes: AnyPool,
    is_sqlite: bool,
    made: AtomicU64,
}

/// Serves until it is killed.
pub(crate) fn run(url: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(url))
}

async fn serve(url: &str) -> io::Result<()> {
    let bare = BareOrders::open(url).await.map_err(io::Error::other)?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("bare listening on http://{}/mcp", listener.local_addr()?);
    // Without it a small answer could be delayed by the network stack.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let router = Router::new().route("/mcp", post(answer));
    axum::serve(listener, router.with_state(Arc::new(bare))).await
}

async fn answer(State(bare): State<Arc<BareOrders>>, body: Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<OrderMessage<'_>>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let asked = &message.params.arguments;
    let result = match (&asked.order, &asked.idempotency_key) {
        (Some(order), Some(key)) => bare.create(order, key).await,
        _ => bare.get(&asked.ids).await,
    };
    let id = message.id.get();
    match result {
        Ok(result) => {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            ([(CONTENT_TYPE, "application/json")], answer).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

impl BareOrders {
    async fn open(url: &str) -> Result<BareOrders, sqlx::Error> {
        sqlx::any::install_default_drivers();
        let options: AnyConnectOptions = url.parse()?;
        let sqlite = url.starts_with("sqlite:");
        let greeting = if sqlite { GREETING_SQLITE } else { GREETING };
        let further = if sqlite { GREETING_SQLITE_WRITES } else { &[] };
        let pool = |most, further: &'static [&'static str]| {
            AnyPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(Duration::from_secs(2))
                .test_before_acquire(false)
                .after_connect(move |connection, _| {
                    Box::pin(async move {
                        for statement in greeting.iter().chain(further) {
                            connection.execute(*statement).await?;
                        }
                        Ok(())
                    })
                })
                .connect_lazy_with(options.clone())
        };
        let (reads, writes) = if sqlite { (4, 1) } else { (8, 16) };
        Ok(BareOrders {
            reads: pool(reads, &[]),
            writes: pool(writes, further),
            is_sqlite: sqlite,
            made: AtomicU64::new(0),
        })
    }

    fn id(&self, prefix: &str, at: i64) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}_{at:013x}{number:012x}")
    }

    async fn get(&self, ids: &[String]) -> Result<String, sqlx::Error> {
        let id = ids.first().cloned().unwrap_or_default();
        let statement = sqlx::query(GET).bind(id).bind(i64::MIN).bind("");
        let mut connection = self.reads.acquire().await?;
        let rows = statement.bind(i64::MAX).fetch_all(&mut *connection).await?;
        drop(connection);
        let rows: Result<Vec<_>, _> = rows.iter().map(as_it_is).collect();
        let rows = serde_json::to_string(&rows?).map_err(sqlx::Error::decode)?;
        Ok(format!(r#"{{"rows":{rows}}}"#))
    }

    async fn create(&self, order: &Order<'_>, key: &str) -> Result<String, sqlx::Error> {
        // The time of an order is the time of its creation.
        #[allow(clippy::disallowed_methods)]
        let at = Timestamp::now().as_microsecond();
        let mut connection = self.writes.acquire().await?;
        let (begin, claim, insert, stock) = match self.is_sqlite {
            true => (BEGIN_SQLITE, CLAIM_SQLITE, ORDER_SQLITE, STOCK_SQLITE),
            false => (BEGIN, CLAIM, ORDER, STOCK),
        };
        connection.execute(begin).await?;
        let claim = sqlx::query(claim).bind(CLIENT).bind(CREATE).bind(key);
        let claim = claim.bind(FINGERPRINT).bind(DAY_MICROS);
        let claim = match self.is_sqlite {
            true => claim.bind(at),
            false => claim,
        };
        claim.fetch_one(&mut *connection).await?;
        let customer = sqlx::query(CUSTOMER).bind(&order.customer.email);
        let customer = customer.fetch_one(&mut *connection).await?;
        let mut lines: Vec<&OrderLine> = order.line_items.iter().collect();
        lines.sort_unstable_by(|a, b| a.sku.cmp(&b.sku));
        let variants = lines
            .iter()
            .fold(sqlx::query(VARIANTS), |all, line| all.bind(&line.sku));
        let variants = variants.fetch_all(&mut *connection).await?;
        let mut total = 0;
        let mut enough = true;
        for (variant, line) in variants.iter().zip(&lines) {
            total += variant.try_get::<i64, _>(2)? * line.quantity;
            enough &= variant.try_get::<i64, _>(3)? >= line.quantity;
        }
        let id = enough.then(|| self.id("ord", at));
        if let Some(id) = &id {
            let address = order.shipping_address.get();
            let (email, known) = (&order.customer.email, customer.try_get::<String, _>(0)?);
            let (first, last) = (
                customer.try_get::<String, _>(2)?,
                customer.try_get::<String, _>(3)?,
            );
            let details = format!(
                r#"{{"customer":{{"id":"{known}","email":"{email}","firstName":"{first}","lastName":"{last}"}},"shippingAddress":{address}}}"#,
            );
            let head = sqlx::query(insert).bind(id).bind(None::<String>);
            let head = head.bind(None::<String>).bind("pending").bind("USD");
            let head = head.bind(known).bind(details);
            let head = head.bind(total).bind(0_i64).bind(total).bind(at).bind(at);
            // Shipping, discount and tax of the order, and what was paid.
            let head = (0..7).fold(head, |head, _| head.bind(0_i64));
            let head = head.bind("unpaid").bind(lines.len() as i64);
            head.bind(None::<String>)
                .fetch_one(&mut *connection)
                .await?;
            let mut rows = sqlx::query(LINES);
            for (place, (variant, line)) in variants.iter().zip(&lines).enumerate() {
                rows = rows.bind(id).bind(place as i64).bind(&line.sku);
                rows = rows.bind(variant.try_get::<String, _>(1)?);
                rows = rows.bind(line.quantity).bind(variant.try_get::<i64, _>(2)?);
                rows = rows
                    .bind(0_i64)
                    .bind(0_i64)
                    .bind(0_i64)
                    .bind(0_i64)
                    .bind(at)
                    .bind(0_i64);
            }
            rows.execute(&mut *connection).await?;
            let (first, last) = (first.to_lowercase(), last.to_lowercase());
            let names = [
                format!("oc:{first} {last}"),
                format!("oc:{last}"),
                format!("oc:{last}, {first}"),
            ];
            let lookups = names.into_iter().fold(sqlx::query(LOOKUPS), |all, name| {
                all.bind(name).bind(at).bind(id).bind("")
            });
            lookups.execute(&mut *connection).await?;
        }
        let (outcome, said) = if enough { (DONE, "done") } else { REFUSED };
        let settle = sqlx::query(SETTLE).bind(CLIENT).bind(CREATE).bind(key);
        settle.bind(outcome).execute(&mut *connection).await?;
        let record = sqlx::query(RECORD).bind(self.id("rec", at)).bind(at);
        let record = record.bind(CLIENT).bind(CREATE).bind(key);
        let record = record.bind(FINGERPRINT).bind(id.clone()).bind(said);
        record.execute(&mut *connection).await?;
        if enough {
            let stock = lines.iter().fold(sqlx::query(stock), |all, line| {
                all.bind(&line.sku).bind(0_i64).bind(line.quantity)
            });
            stock.execute(&mut *connection).await?;
        }
        sqlx::query(COMMIT).execute(&mut *connection).await?;
        Ok(match id {
            Some(id) => format!(r#"{{"order":"{id}"}}"#),
            None => String::from(r#"{"order":null}"#),
        })
    }
}

/// The first six columns, which are texts, and the numbers after them; one text among them is left out.
type Columns = ([Option<String>; 6], [Option<i64>; 17]);

/// The position of the text among the numbers: the return that an order is an exchange for.
const EXCHANGE_FOR: usize = 21;

fn as_it_is(row: &AnyRow) -> Result<Columns, sqlx::Error> {
    let mut columns = Columns::default();
    for (place, text) in columns.0.iter_mut().enumerate() {
        *text = row.try_get(place)?;
    }
    let places = (6..24).filter(|place| *place != EXCHANGE_FOR);
    for (place, number) in places.zip(columns.1.iter_mut()) {
        *number = row.try_get(place)?;
    }
    Ok(columns)
}
