//! Random entities, in memory and in the tables of a store.

use super::expected::{EMAILS, ExpectedEntity, ExpectedStore, SKUS};
use crate::model::{
    Currency, Customer, Fulfillment, FulfillmentLine, Inventory, LineQuantity, Money, Order,
    OrderStatus, Product, ProductVariant, Return, ReturnOutcome, UtcTime,
};
use crate::sql::order::{LineRow, OrderDetails, OrderRow};
use crate::sql::seed::insert::CellValue;
use crate::sql::seed::splitmix::SplitMix64;
use crate::sql::seed::tables::{
    CUSTOMER, FULFILLMENT, LINE, ORDER, PRODUCT, RETURN, STOCK, VARIANT,
};
use crate::sql::store::Store;
use serde_json::json;

/// Returns an id. Ids sort byte by byte, may contain points, and do not follow the order of time.
fn id(number: u64) -> String {
    let start = ["o", "O", "ü.", "z%", "1."][usize::try_from(number).unwrap() % 5];
    format!("{start}{number}")
}

fn moment(chance: &mut SplitMix64) -> UtcTime {
    UtcTime::of_micros(chance.count(-3, 8))
}

fn money(minor: i64) -> Money {
    Money::of_minor(i128::from(minor)).unwrap()
}

#[derive(Default)]
struct Rows {
    customers: Vec<[CellValue; 7]>,
    products: Vec<[CellValue; 5]>,
    variants: Vec<[CellValue; 9]>,
    stock: Vec<[CellValue; 5]>,
    orders: Vec<[CellValue; 12]>,
    lines: Vec<[CellValue; 11]>,
    fulfillments: Vec<[CellValue; 5]>,
    returns: Vec<[CellValue; 6]>,
}

/// Fills an empty store with random entities, and returns them.
pub(super) async fn made(store: &Store, start: u64) -> ExpectedStore {
    let mut chance = SplitMix64(start);
    let (mut world, mut rows) = (ExpectedStore::default(), Rows::default());
    customers(&mut chance, &mut world, &mut rows);
    catalogue(&mut chance, &mut world, &mut rows, store.currency);
    for number in 0..chance.below(60) {
        order(&mut chance, &mut world, &mut rows, number);
    }
    for number in 0..chance.below(30) {
        fulfillment(&mut chance, &mut world, &mut rows, number);
        returned(&mut chance, &mut world, &mut rows, number);
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
    world
}

fn customers(chance: &mut SplitMix64, world: &mut ExpectedStore, rows: &mut Rows) {
    for number in 0..6 {
        let key = EMAILS[..3].get(usize::try_from(number).unwrap());
        let customer = Customer {
            id: id(number),
            email: key.map(|key| key.to_uppercase()),
            first_name: chance.one_in(2).then(|| String::from("Ada")),
            last_name: None,
            created_at: moment(chance),
            updated_at: moment(chance),
        };
        rows.customers.push([
            customer.id.clone().into(),
            customer.email.clone().into(),
            key.map(|key| String::from(*key)).into(),
            customer.first_name.clone().into(),
            customer.last_name.clone().into(),
            customer.created_at.micros().into(),
            customer.updated_at.micros().into(),
        ]);
        let known = ExpectedEntity::new(
            &customer,
            (customer.created_at, customer.updated_at),
            [&customer.id],
        );
        world
            .customers
            .push(known.with("ids", [&customer.id]).with("emails", key));
    }
}

fn catalogue(
    chance: &mut SplitMix64,
    world: &mut ExpectedStore,
    rows: &mut Rows,
    currency: Currency,
) {
    for number in 0..4 {
        let product = Product {
            id: id(number),
            name: String::from("A thing"),
            description: chance.one_in(2).then(|| String::from("Of wood")),
            created_at: moment(chance),
            updated_at: moment(chance),
        };
        rows.products.push([
            product.id.clone().into(),
            product.name.clone().into(),
            product.description.clone().into(),
            product.created_at.micros().into(),
            product.updated_at.micros().into(),
        ]);
        let mut known = ExpectedEntity::new(
            &product,
            (product.created_at, product.updated_at),
            [&product.id],
        )
        .with("ids", [&product.id]);
        // The first product has two variants, the last one has none.
        let of_it = match number {
            0 => &SKUS[..2],
            1 => &SKUS[2..3],
            2 => &SKUS[3..4],
            _ => &[],
        };
        for sku in of_it {
            known = known.with("skus", [sku]);
            variant(chance, world, rows, (&product.id, sku, currency));
        }
        world.products.push(known);
    }
}

fn variant(
    chance: &mut SplitMix64,
    world: &mut ExpectedStore,
    rows: &mut Rows,
    (product_id, sku, currency): (&str, &str, Currency),
) {
    let price = chance.count(0, 100_000);
    let (on_hand, reserved) = (chance.count(50, 50), chance.count(0, 50));
    let variant = ProductVariant {
        id: id(chance.below(1_000_000)),
        product_id: product_id.to_owned(),
        sku: sku.to_owned(),
        name: format!("A thing, {sku}"),
        currency: currency.code().to_owned(),
        price: money(price).text(currency),
        created_at: moment(chance),
        updated_at: moment(chance),
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
    let known = ExpectedEntity::new(
        &variant,
        (variant.created_at, variant.updated_at),
        [&variant.id],
    );
    let known = known.with("ids", [&variant.id]).with("skus", [sku]);
    world.variants.push(known.with("productIds", [product_id]));
    for location in (0..3).map(id).filter(|_| !chance.one_in(4)) {
        let here = Inventory {
            sku: sku.to_owned(),
            location_id: location,
            on_hand: on_hand / 3,
            reserved_total: reserved,
            available_total: on_hand - reserved,
            created_at: UtcTime::of_micros(variant.created_at.micros() / 2),
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
        let known = ExpectedEntity::new(&here, times, [sku, &here.location_id]);
        let known = known.with("skus", [sku]);
        world
            .inventory
            .push(known.with("locationIds", [&here.location_id]));
    }
}

fn lines(chance: &mut SplitMix64, order_id: &str) -> Vec<LineRow> {
    let lines = 0..=chance.count(0, 4);
    let line = |line| {
        let (fulfilled, cancelled) = (chance.count(0, 3), chance.count(0, 3));
        LineRow {
            order_id: order_id.to_owned(),
            line,
            sku: chance.one_of(&SKUS[..4]).unwrap().to_string(),
            name: chance.one_in(2).then(|| String::from("A thing")),
            quantity: fulfilled + cancelled + 1,
            unit_price: money(chance.count(100, 900)),
            unit_discount: money(chance.count(0, 100)),
            fulfilled,
            cancelled,
            returned: fulfilled / 2,
        }
    };
    lines.map(line).collect()
}

fn order(chance: &mut SplitMix64, world: &mut ExpectedStore, rows: &mut Rows, number: u64) {
    let customer = chance.below(8);
    let head = OrderRow {
        id: id(number),
        external_id: chance.one_in(2).then(|| format!("ext {number}")),
        name: chance.one_in(2).then(|| format!("#{number}")),
        status: *chance.one_of(&OrderStatus::ALL).unwrap(),
        currency: Currency::read("EUR").unwrap(),
        details: OrderDetails {
            notes: chance
                .one_in(2)
                .then(|| String::from("\"quoted\" and ünïcode")),
            tags: vec![String::from("sample")],
            ..OrderDetails::default()
        },
        sub_total: money(12_345),
        discount_total: money(345),
        total: money(12_000),
        created_at: moment(chance),
        updated_at: moment(chance),
    };
    let lines = lines(chance, &head.id);
    rows.orders.push([
        head.id.clone().into(),
        head.external_id.clone().into(),
        head.name.clone().into(),
        head.status.word().into(),
        head.currency.code().into(),
        (customer < 6).then(|| id(customer)).into(),
        candor_fault::to_json(&head.details).into(),
        head.sub_total.minor().into(),
        head.discount_total.minor().into(),
        head.total.minor().into(),
        head.created_at.micros().into(),
        head.updated_at.micros().into(),
    ]);
    rows.lines
        .extend(lines.iter().map(|line| -> [CellValue; 11] {
            [
                line.order_id.clone().into(),
                line.line.into(),
                line.sku.clone().into(),
                line.name.clone().into(),
                line.quantity.into(),
                line.unit_price.minor().into(),
                line.unit_discount.minor().into(),
                line.fulfilled.into(),
                line.cancelled.into(),
                line.returned.into(),
                head.created_at.micros().into(),
            ]
        }));
    let skus: Vec<_> = lines.iter().map(|line| line.sku.clone()).collect();
    let email = EMAILS[..3].get(usize::try_from(customer).unwrap());
    let order: Order = head.into_entity(lines);
    let known = ExpectedEntity::new(&order, (order.created_at, order.updated_at), [&order.id])
        .with("ids", [&order.id])
        .with("externalIds", order.external_id.as_ref())
        .with("statuses", [order.status.word()])
        .with("skus", &skus)
        .with("emails", email);
    world.orders.push(known);
}

fn fulfillment(chance: &mut SplitMix64, world: &mut ExpectedStore, rows: &mut Rows, number: u64) {
    let line = FulfillmentLine {
        sku: String::from("A"),
        quantity: chance.count(1, 9),
        location_id: chance.one_in(2).then(|| id(1)),
    };
    let sent = Fulfillment {
        id: id(number),
        order_id: id(chance.below(5)),
        line_items: vec![line],
        tracking_numbers: if chance.one_in(2) {
            vec![id(2)]
        } else {
            Vec::new()
        },
        created_at: moment(chance),
        updated_at: moment(chance),
    };
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
    let known = ExpectedEntity::new(&sent, (sent.created_at, sent.updated_at), [&sent.id]);
    let known = known.with("ids", [&sent.id]);
    world
        .fulfillments
        .push(known.with("orderIds", [&sent.order_id]));
}

fn returned(chance: &mut SplitMix64, world: &mut ExpectedStore, rows: &mut Rows, number: u64) {
    let line = json!({ "sku": "A", "quantity": chance.count(1, 9) });
    let line: LineQuantity = serde_json::from_value(line).unwrap();
    let outcomes = [
        ReturnOutcome::Refund,
        ReturnOutcome::Exchange,
        ReturnOutcome::StoreCredit,
    ];
    let back = Return {
        id: id(number),
        order_id: id(chance.below(5)),
        outcome: *chance.one_of(&outcomes).unwrap(),
        line_items: vec![line],
        created_at: moment(chance),
        updated_at: moment(chance),
    };
    rows.returns.push([
        back.id.clone().into(),
        back.order_id.clone().into(),
        back.outcome.word().into(),
        json!({ "lineItems": back.line_items }).to_string().into(),
        back.created_at.micros().into(),
        back.updated_at.micros().into(),
    ]);
    let known = ExpectedEntity::new(&back, (back.created_at, back.updated_at), [&back.id]);
    let known = known.with("ids", [&back.id]);
    world.returns.push(known.with("orderIds", [&back.order_id]));
}

/// Returns a strategy for ids that may exist.
pub(super) fn ids() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::strategy::Strategy as _;
    (0_u64..62).prop_map(id)
}
