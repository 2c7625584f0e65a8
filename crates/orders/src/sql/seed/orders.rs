//! Sample orders. The order of a number is always the same.

use super::samples::{EPOCH, LOCATIONS, MINUTE, SampleCustomer, SampleVariant};
use super::splitmix::SplitMix64;
use crate::model::{Currency, Money, OrderAmounts, OrderStatus, Totals, UtcTime};
use crate::sql::order::{LineRow, OrderDetails, OrderRow};
use candor_fault::to_json;
use serde_json::json;

/// The average time between two orders.
const STEP: i64 = MINUTE / 2;

/// The random part of an order's time, so that numbers and times are not in the same order.
const SPREAD: u64 = 3_600_000_000;

/// A day, in microseconds.
const DAY: i64 = 1_440 * MINUTE;

/// An order with its fulfilment and its return.
pub(super) struct SampleOrder {
    pub(super) order_row: OrderRow,
    pub(super) customer_id: Option<String>,
    pub(super) lines: Vec<LineRow>,
    /// The fulfilment: id, details, time.
    pub(super) fulfilment: Option<(String, String, i64)>,
    /// The return: id, details, time, refund amount in the smallest unit.
    pub(super) returned_goods: Option<(String, String, i64, i64)>,
    pub(super) tracking_number: Option<String>,
}

/// Returns the status for a number below 100.
const fn status(of_hundred: u64) -> OrderStatus {
    match of_hundred {
        0..15 => OrderStatus::Pending,
        15..30 => OrderStatus::Confirmed,
        30..40 => OrderStatus::Processing,
        40..60 => OrderStatus::Shipped,
        60..95 => OrderStatus::Delivered,
        _ => OrderStatus::Cancelled,
    }
}

pub(super) fn order(
    number: u64,
    currency: Currency,
    variants: &[SampleVariant],
    customers: &[SampleCustomer],
) -> SampleOrder {
    let mut random = SplitMix64(number);
    let status = status(random.below(100));
    let turn = i64::try_from(number).unwrap_or_default();
    let created_at = EPOCH + DAY + turn * STEP + random.count(0, SPREAD);
    let id = format!("ord_{number:07}");
    let mut lines = draw_lines(&mut random, &id, variants);
    let returned = set_progress(&mut random, status, &mut lines);
    let left = lines.iter().any(|line| line.fulfilled > 0);
    let tracking_number = left.then(|| format!("SAMPLE{number:07}"));
    let fulfilment = tracking_number.as_ref().map(|tracking_number| {
        (
            format!("ful_{number:07}"),
            fulfilment(tracking_number, &lines),
            created_at + DAY,
        )
    });
    let returned_goods = returned.then(|| {
        let refund_amount = refund_amount(&lines);
        (
            format!("ret_{number:07}"),
            returned_goods(&lines, refund_amount.text(currency)),
            created_at + 9 * DAY,
            refund_amount.minor(),
        )
    });
    let updated_at = match status {
        _ if returned => created_at + 9 * DAY,
        OrderStatus::Pending => created_at,
        OrderStatus::Cancelled => created_at + 60 * MINUTE,
        OrderStatus::Delivered => created_at + 3 * DAY,
        _ => created_at + DAY,
    };
    let totals = totals(&lines);
    let customer = random.one_of(customers);
    let details = OrderDetails {
        customer: customer.map(|customer| customer.customer.clone()),
        shipping_address: customer.map(|customer| customer.address.clone()),
        ..OrderDetails::default()
    };
    SampleOrder {
        order_row: OrderRow {
            external_id: Some(format!("sample-{number:07}")),
            name: Some(format!("#{number}")),
            status,
            currency,
            details,
            totals,
            amounts: OrderAmounts::default(),
            paid_total: Money::default(),
            refunded_total: Money::default(),
            number: 0,
            next_line: i64::try_from(lines.len()).unwrap_or_default(),
            exchange_for: None,
            created_at: UtcTime::of_micros(created_at),
            updated_at: UtcTime::of_micros(updated_at),
            id,
        },
        customer_id: customer.and_then(|customer| customer.customer.id.clone()),
        lines,
        fulfilment,
        returned_goods,
        tracking_number,
    }
}

/// Returns one to three lines, each of another SKU.
fn draw_lines(random: &mut SplitMix64, id: &str, variants: &[SampleVariant]) -> Vec<LineRow> {
    let mut lines: Vec<LineRow> = Vec::new();
    for _ in 0..=random.below(3) {
        let Some(variant) = random.one_of(variants) else {
            break;
        };
        let (quantity, reduced) = (random.count(1, 5), random.one_in(5));
        if lines.iter().any(|line| line.sku == variant.sku) {
            continue;
        }
        let off = if reduced {
            variant.price.minor() / 10
        } else {
            0
        };
        lines.push(LineRow {
            order_id: id.to_owned(),
            line: i64::try_from(lines.len()).unwrap_or_default(),
            sku: variant.sku.clone(),
            name: Some(variant.name.clone()),
            quantity,
            unit_price: variant.price,
            unit_discount: Money::of_minor(i128::from(off)).unwrap_or_default(),
            fulfilled: 0,
            cancelled: 0,
            returned: 0,
            tax: Money::default(),
        });
    }
    lines
}

/// Sets the shipped, cancelled and returned units of an order in this status. Returns true if
/// something was returned.
fn set_progress(random: &mut SplitMix64, status: OrderStatus, lines: &mut [LineRow]) -> bool {
    let (some, few) = (random.one_in(4), random.one_in(10));
    let Some(first) = lines.first_mut() else {
        return false;
    };
    match status {
        OrderStatus::Pending => {}
        OrderStatus::Confirmed | OrderStatus::Processing => {
            // A part is shipped, the rest stays open.
            first.fulfilled = i64::from(some && first.quantity > 1);
        }
        OrderStatus::Cancelled => lines
            .iter_mut()
            .for_each(|line| line.cancelled = line.quantity),
        OrderStatus::Shipped | OrderStatus::Delivered => {
            first.cancelled = i64::from(some && few && first.quantity > 1);
            first.returned = i64::from(few && status == OrderStatus::Delivered);
            let returned = first.returned > 0;
            for line in lines {
                line.fulfilled = line.quantity - line.cancelled;
            }
            return returned;
        }
    }
    false
}

fn fulfilment(tracking_number: &str, lines: &[LineRow]) -> String {
    let [(location, _), ..] = LOCATIONS;
    let left = lines.iter().filter(|line| line.fulfilled > 0);
    let left: Vec<_> = left
        .map(|line| json!({ "sku": line.sku, "quantity": line.fulfilled, "locationId": location }))
        .collect();
    to_json(&json!({ "lineItems": left, "trackingNumbers": [tracking_number] }))
}

/// Returns the price of the returned units.
fn refund_amount(lines: &[LineRow]) -> Money {
    let price = |line: &LineRow| {
        let net = line.unit_price.minor() - line.unit_discount.minor();
        i128::from(line.returned) * i128::from(net)
    };
    Money::of_minor(lines.iter().map(price).sum()).unwrap_or_default()
}

fn returned_goods(lines: &[LineRow], refund_amount: String) -> String {
    let returned_goods = lines.iter().filter(|line| line.returned > 0);
    let returned_goods: Vec<_> = returned_goods
        .map(|line| json!({ "sku": line.sku, "quantity": line.returned }))
        .collect();
    to_json(&json!({ "lineItems": returned_goods, "refundAmount": refund_amount }))
}

fn totals(lines: &[LineRow]) -> Totals {
    let lines: Vec<_> = lines.iter().map(LineRow::amounts).collect();
    Totals::of(&lines, &OrderAmounts::default()).unwrap_or_default()
}
