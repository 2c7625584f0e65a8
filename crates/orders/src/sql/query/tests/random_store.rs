//! Random entities, in memory and in the tables of a store.

use super::HALF_DAY;
use super::expected::{EMAILS, ExpectedEntity, ExpectedStore, NAMES, PHONES, SKUS};
use crate::model::{
    Currency, Customer, Fulfillment, FulfillmentLine, Inventory, Money, Order, OrderAmounts,
    OrderCustomer, OrderStatus, PostalAddress, Product, ProductVariant, Return, ReturnLine,
    ReturnOutcome, ReturnStatus, Totals, UtcTime,
};
use crate::sql::lookups::{self, LookupKeys, LookupKind};
use crate::sql::order::{LineRow, OrderDetails, OrderRow};
use crate::sql::seed::fill::{line_cells, lookup_rows};
use crate::sql::seed::insert::CellValue;
use crate::sql::seed::splitmix::SplitMix64;
use crate::sql::seed::tables::{
    CUSTOMER, FULFILLMENT, LINE, LOOKUP, ORDER, PRODUCT, RETURN, STOCK, VARIANT,
};
use crate::sql::store::Store;
use serde_json::json;

/// Returns an id. Ids sort byte by byte, may contain points, and do not follow the order of time.
fn id(number: u64) -> String {
    let start = ["o", "O", "ü.", "z%", "1."][usize::try_from(number).unwrap() % 5];
    format!("{start}{number}")
}

fn moment(random: &mut SplitMix64) -> UtcTime {
    UtcTime::of_micros(random.count(-3, 8) * HALF_DAY)
}

/// Returns the times of an entity: its creation, and a change that is not before it.
fn moments(random: &mut SplitMix64) -> (UtcTime, UtcTime) {
    let (one, other) = (moment(random), moment(random));
    (one.min(other), one.max(other))
}

fn person(random: &mut SplitMix64) -> (Option<String>, Option<String>) {
    let (first, last) = random.one_of(&NAMES).unwrap();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (given(first), given(last))
}

/// Returns the fact by which a person is compared.
fn fact((first, last): &(Option<String>, Option<String>)) -> String {
    let (first, last) = (first.as_deref(), last.as_deref());
    format!("{}|{}", first.unwrap_or_default(), last.unwrap_or_default())
}

fn phone(random: &mut SplitMix64) -> Option<String> {
    let phone = random.one_of(&PHONES).unwrap().to_string();
    random.one_in(2).then_some(phone)
}

fn money(minor: i64) -> Money {
    Money::of_minor(i128::from(minor)).unwrap()
}

#[derive(Default)]
struct Rows {
    customers: Vec<[CellValue; 8]>,
    products: Vec<[CellValue; 5]>,
    variants: Vec<[CellValue; 9]>,
    stock: Vec<[CellValue; 5]>,
    orders: Vec<[CellValue; 15]>,
    lines: Vec<[CellValue; 12]>,
    fulfillments: Vec<[CellValue; 5]>,
    returns: Vec<[CellValue; 8]>,
    keys: Vec<(String, i64, LookupKeys)>,
}

/// Fills an empty store with random entities, and returns them.
pub(super) async fn fill(store: &Store, start: u64) -> ExpectedStore {
    let mut random = SplitMix64(start);
    let (mut expected_store, mut rows) = (ExpectedStore::default(), Rows::default());
    customers(&mut random, &mut expected_store, &mut rows);
    catalogue(&mut random, &mut expected_store, &mut rows, store.currency);
    for number in 0..random.below(60) {
        order(&mut random, &mut expected_store, &mut rows, number);
    }
    for number in 0..random.below(30) {
        fulfillment(&mut random, &mut expected_store, &mut rows, number);
        returned(&mut random, &mut expected_store, &mut rows, number);
    }
    let mut connection = store.write_pool().acquire().await.unwrap();
    CUSTOMER
        .insert(&mut connection, rows.customers)
        .await
        .unwrap();
    PRODUCT
        .insert(&mut connection, rows.products)
        .await
        .unwrap();
    VARIANT
        .insert(&mut connection, rows.variants)
        .await
        .unwrap();
    STOCK.insert(&mut connection, rows.stock).await.unwrap();
    ORDER.insert(&mut connection, rows.orders).await.unwrap();
    LINE.insert(&mut connection, rows.lines).await.unwrap();
    FULFILLMENT
        .insert(&mut connection, rows.fulfillments)
        .await
        .unwrap();
    RETURN.insert(&mut connection, rows.returns).await.unwrap();
    let keys = lookup_rows(rows.keys.into_iter());
    LOOKUP.insert(&mut connection, keys).await.unwrap();
    expected_store
}

fn customers(random: &mut SplitMix64, expected_store: &mut ExpectedStore, rows: &mut Rows) {
    for number in 0..6 {
        let key = EMAILS[..3].get(usize::try_from(number).unwrap());
        let (created_at, updated_at) = moments(random);
        let name = person(random);
        let customer = Customer {
            id: id(number),
            email: key.map(|key| key.to_uppercase()),
            first_name: name.0.clone(),
            last_name: name.1.clone(),
            phone: phone(random),
            created_at,
            updated_at,
        };
        let (first, last) = (name.0.as_deref(), name.1.as_deref());
        let keys = lookups::of_customer(first, last, customer.phone.as_deref());
        let at = created_at.micros();
        rows.keys.push((customer.id.clone(), at, keys));
        rows.customers.push([
            customer.id.clone().into(),
            customer.email.clone().into(),
            key.map(|key| String::from(*key)).into(),
            customer.first_name.clone().into(),
            customer.last_name.clone().into(),
            customer.created_at.micros().into(),
            customer.updated_at.micros().into(),
            customer.phone.clone().into(),
        ]);
        let entity = ExpectedEntity::new(
            &customer,
            (customer.created_at, customer.updated_at),
            [&customer.id],
        );
        expected_store.customers.push(
            entity
                .with_values("ids", [&customer.id])
                .with_values("emails", key)
                .with_values("names", [fact(&name)])
                .with_values("phones", customer.phone.as_ref()),
        );
    }
}

fn catalogue(
    random: &mut SplitMix64,
    expected_store: &mut ExpectedStore,
    rows: &mut Rows,
    currency: Currency,
) {
    for number in 0..4 {
        let (created_at, updated_at) = moments(random);
        let product = Product {
            id: id(number),
            name: String::from("A thing"),
            description: random.one_in(2).then(|| String::from("Of wood")),
            created_at,
            updated_at,
        };
        rows.products.push([
            product.id.clone().into(),
            product.name.clone().into(),
            product.description.clone().into(),
            product.created_at.micros().into(),
            product.updated_at.micros().into(),
        ]);
        let mut entity = ExpectedEntity::new(
            &product,
            (product.created_at, product.updated_at),
            [&product.id],
        )
        .with_values("ids", [&product.id]);
        // The first product has two variants, the last one has none.
        let of_it = match number {
            0 => &SKUS[..2],
            1 => &SKUS[2..3],
            2 => &SKUS[3..4],
            _ => &[],
        };
        for sku in of_it {
            entity = entity.with_values("skus", [sku]);
            variant(random, expected_store, rows, (&product.id, sku, currency));
        }
        expected_store.products.push(entity);
    }
}

fn variant(
    random: &mut SplitMix64,
    expected_store: &mut ExpectedStore,
    rows: &mut Rows,
    (product_id, sku, currency): (&str, &str, Currency),
) {
    let price = random.count(0, 100_000);
    let (on_hand, reserved) = (random.count(50, 50), random.count(0, 50));
    let (created_at, updated_at) = moments(random);
    let variant = ProductVariant {
        id: id(random.below(1_000_000)),
        product_id: product_id.to_owned(),
        sku: sku.to_owned(),
        name: format!("A thing, {sku}"),
        currency: currency.code().to_owned(),
        price: money(price).text(currency),
        created_at,
        updated_at,
    };
    rows.variants.push([
        sku.into(),
        variant.id.clone().into(),
        product_id.into(),
        variant.name.clone().into(),
        price.into(),
        on_hand.into(),
        reserved.into(),
        variant.created_at.micros().into(),
        variant.updated_at.micros().into(),
    ]);
    let entity = ExpectedEntity::new(
        &variant,
        (variant.created_at, variant.updated_at),
        [&variant.id],
    );
    let entity = entity
        .with_values("ids", [&variant.id])
        .with_values("skus", [sku]);
    expected_store
        .variants
        .push(entity.with_values("productIds", [product_id]));
    for location in (0..3).map(id).filter(|_| !random.one_in(4)) {
        let here = Inventory {
            sku: sku.to_owned(),
            location_id: location,
            on_hand: on_hand / 3,
            reserved_total: reserved,
            available_total: on_hand - reserved,
            created_at: variant.created_at,
            updated_at: variant.updated_at,
        };
        rows.stock.push([
            sku.into(),
            here.location_id.clone().into(),
            here.on_hand.into(),
            here.created_at.micros().into(),
            here.updated_at.micros().into(),
        ]);
        let times = (here.created_at, here.updated_at);
        let entity = ExpectedEntity::new(&here, times, [sku, &here.location_id]);
        let entity = entity.with_values("skus", [sku]);
        expected_store
            .inventory
            .push(entity.with_values("locationIds", [&here.location_id]));
    }
}

fn lines(random: &mut SplitMix64, order_id: &str) -> Vec<LineRow> {
    let lines = 0..=random.count(0, 4);
    let line = |line| {
        let (fulfilled, cancelled) = (random.count(0, 3), random.count(0, 3));
        LineRow {
            order_id: order_id.to_owned(),
            line,
            sku: random.one_of(&SKUS[..4]).unwrap().to_string(),
            name: random.one_in(2).then(|| String::from("A thing")),
            quantity: fulfilled + cancelled + 1,
            unit_price: money(random.count(100, 900)),
            unit_discount: money(random.count(0, 100)),
            fulfilled,
            cancelled,
            returned: fulfilled / 2,
            tax: money(random.count(0, 10)),
        }
    };
    lines.map(line).collect()
}

fn order(
    random: &mut SplitMix64,
    expected_store: &mut ExpectedStore,
    rows: &mut Rows,
    number: u64,
) {
    let customer = random.below(8);
    let (created_at, updated_at) = moments(random);
    let (buyer, receiver) = (person(random), person(random));
    let (phone_of_buyer, phone_of_receiver) = (phone(random), phone(random));
    let address: PostalAddress = serde_json::from_value(json!({
        "address1": "1", "city": "X", "country": "US", "firstName": receiver.0,
        "lastName": receiver.1, "phone": phone_of_receiver
    }))
    .unwrap();
    let order_row = OrderRow {
        id: id(number),
        external_id: random.one_in(2).then(|| format!("ext {number}")),
        name: random.one_in(2).then(|| format!("#A{}", number % 7)),
        status: *random.one_of(&OrderStatus::ALL).unwrap(),
        currency: Currency::read("EUR").unwrap(),
        details: OrderDetails {
            customer: Some(OrderCustomer {
                id: (customer < 6).then(|| id(customer)),
                email: None,
                first_name: buyer.0.clone(),
                last_name: buyer.1.clone(),
                phone: phone_of_buyer.clone(),
            }),
            shipping_address: Some(address),
            notes: random
                .one_in(2)
                .then(|| String::from("\"quoted\" and ünïcode")),
            tags: vec![String::from("sample")],
            ..OrderDetails::default()
        },
        totals: Totals {
            sub_total: money(12_345),
            discount_total: money(345),
            total: money(if random.one_in(3) { 0 } else { 12_000 }),
            ..Totals::default()
        },
        amounts: OrderAmounts::default(),
        paid_total: Money::default(),
        refunded_total: Money::default(),
        created_at,
        updated_at,
        number: 1001 + i64::try_from(number).unwrap(),
        next_line: 9,
        exchange_for: None,
    };
    let numbers = match random.one_in(2) {
        true => vec![format!("T{}", random.below(9))],
        false => Vec::new(),
    };
    let mut keys = lookups::of_order(order_row.name.as_deref(), &order_row.details);
    keys.extend(lookups::of_tracking(LookupKind::OrderTracking, &numbers));
    let at = created_at.micros();
    rows.keys.push((order_row.id.clone(), at, keys));
    let lines = lines(random, &order_row.id);
    rows.orders.push([
        order_row.id.clone().into(),
        order_row.external_id.clone().into(),
        order_row.name.clone().into(),
        order_row.status.word().into(),
        order_row.currency.code().into(),
        (customer < 6).then(|| id(customer)).into(),
        candor_fault::to_json(&order_row.details).into(),
        order_row.totals.sub_total.minor().into(),
        order_row.totals.discount_total.minor().into(),
        order_row.totals.total.minor().into(),
        order_row.created_at.micros().into(),
        order_row.updated_at.micros().into(),
        order_row.number.into(),
        order_row.payment_status().word().into(),
        order_row.next_line.into(),
    ]);
    rows.lines
        .extend(lines.iter().map(|line| line_cells(line, created_at)));
    let skus: Vec<_> = lines.iter().map(|line| line.sku.clone()).collect();
    let email = EMAILS[..3].get(usize::try_from(customer).unwrap());
    let order: Order = order_row.into_entity(lines);
    let entity = ExpectedEntity::new(&order, (order.created_at, order.updated_at), [&order.id])
        .with_values("ids", [&order.id])
        .with_values("externalIds", order.external_id.as_ref())
        .with_values("statuses", [order.status.word()])
        .with_values("skus", &skus)
        .with_values("emails", email)
        .with_values("orderNumbers", order.order_number.as_ref())
        .with_values("names", order.name.as_ref())
        .with_values("trackingNumbers", &numbers)
        .with_values("customerIds", (customer < 6).then(|| id(customer)))
        .with_values("customerNames", [fact(&buyer), fact(&receiver)])
        .with_values("phones", phone_of_buyer.iter().chain(&phone_of_receiver))
        .with_values(
            "paymentStatuses",
            order.payment_status.map(|one| one.word()),
        );
    expected_store.orders.push(entity);
}

fn fulfillment(
    random: &mut SplitMix64,
    expected_store: &mut ExpectedStore,
    rows: &mut Rows,
    number: u64,
) {
    let line = FulfillmentLine {
        sku: String::from("A"),
        quantity: random.count(1, 9),
        location_id: random.one_in(2).then(|| id(1)),
    };
    let (created_at, updated_at) = moments(random);
    let sent = Fulfillment {
        id: id(number),
        order_id: id(random.below(5)),
        line_items: vec![line],
        tracking_numbers: if random.one_in(2) {
            vec![id(2)]
        } else {
            Vec::new()
        },
        carrier: None,
        service: None,
        created_at,
        updated_at,
    };
    let keys = lookups::of_tracking(LookupKind::FulfillmentTracking, &sent.tracking_numbers);
    rows.keys.push((sent.id.clone(), created_at.micros(), keys));
    let details = match sent.tracking_numbers.as_slice() {
        [] => json!({ "lineItems": sent.line_items }),
        numbers => json!({ "lineItems": sent.line_items, "trackingNumbers": numbers }),
    };
    rows.fulfillments.push([
        sent.id.clone().into(),
        sent.order_id.clone().into(),
        details.to_string().into(),
        sent.created_at.micros().into(),
        sent.updated_at.micros().into(),
    ]);
    let entity = ExpectedEntity::new(&sent, (sent.created_at, sent.updated_at), [&sent.id]);
    let entity = entity
        .with_values("ids", [&sent.id])
        .with_values("trackingNumbers", &sent.tracking_numbers);
    expected_store
        .fulfillments
        .push(entity.with_values("orderIds", [&sent.order_id]));
}

fn returned(
    random: &mut SplitMix64,
    expected_store: &mut ExpectedStore,
    rows: &mut Rows,
    number: u64,
) {
    let line = json!({ "sku": "A", "quantity": random.count(1, 9) });
    let line: ReturnLine = serde_json::from_value(line).unwrap();
    let outcomes = [
        ReturnOutcome::Refund,
        ReturnOutcome::Exchange,
        ReturnOutcome::StoreCredit,
    ];
    let (created_at, updated_at) = moments(random);
    let status = *random.one_of(ReturnStatus::ALL).unwrap();
    let back = Return {
        id: id(number),
        order_id: id(random.below(5)),
        outcome: *random.one_of(&outcomes).unwrap(),
        status: Some(status),
        line_items: vec![line],
        note: random.one_in(2).then(|| String::from("torn")),
        refund_amount: Some(String::from("1.00")),
        exchange_order_id: None,
        restock_location_id: None,
        created_at,
        updated_at,
    };
    let details = match &back.note {
        Some(note) => json!({ "lineItems": back.line_items, "note": note, "refundAmount": "1.00" }),
        None => json!({ "lineItems": back.line_items, "refundAmount": "1.00" }),
    };
    rows.returns.push([
        back.id.clone().into(),
        back.order_id.clone().into(),
        back.outcome.word().into(),
        details.to_string().into(),
        back.created_at.micros().into(),
        back.updated_at.micros().into(),
        status.word().into(),
        100.into(),
    ]);
    let entity = ExpectedEntity::new(&back, (back.created_at, back.updated_at), [&back.id]);
    let entity = entity
        .with_values("ids", [&back.id])
        .with_values("returnStatuses", [status.word()])
        .with_values("outcomes", [back.outcome.word()]);
    expected_store
        .returns
        .push(entity.with_values("orderIds", [&back.order_id]));
}

/// Returns a strategy for ids that may exist.
pub(super) fn ids() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::strategy::Strategy as _;
    (0_u64..62).prop_map(id)
}
