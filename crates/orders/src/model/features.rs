//! The parts of a request that an order system may not understand.

use super::{CreateReturn, LineNumber, NewOrder, NewShipping, OrderUpdates};
use crate::adapter::Request;

/// Members of requests that an order system may or may not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Lines are named by their number.
    Lines,
    Tax,
    /// A discount off the whole order.
    Discounts,
    Shipping,
    /// Payments and refunds.
    Payments,
    /// Lines of an order are changed.
    Edits,
    /// Returns have a status, reasons, notes and amounts.
    Returns,
    Exchange,
    /// Customers have a phone number.
    Phones,
}

impl Feature {
    pub const ALL: [Feature; 9] = [
        Feature::Lines,
        Feature::Tax,
        Feature::Discounts,
        Feature::Shipping,
        Feature::Payments,
        Feature::Edits,
        Feature::Returns,
        Feature::Exchange,
        Feature::Phones,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Feature::Lines => "lines",
            Feature::Tax => "tax",
            Feature::Discounts => "discounts",
            Feature::Shipping => "shipping",
            Feature::Payments => "payments",
            Feature::Edits => "edits",
            Feature::Returns => "returns",
            Feature::Exchange => "exchange",
            Feature::Phones => "phones",
        }
    }

    pub fn read(word: &str) -> Option<Feature> {
        Feature::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// A part of a request that the order system does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsupportedPart {
    Feature(Feature),
    /// The name of a filter.
    Filter(&'static str),
}

impl Request {
    /// Returns the features that the request uses, without repetitions.
    pub fn features(&self) -> Vec<Feature> {
        let mut features = match self {
            Request::Create(request) => of_new_order(&request.order),
            Request::Update(request) => of_updates(&request.updates),
            Request::Cancel(request) => {
                let lines = request.line_items.as_deref().unwrap_or_default();
                of_lines(lines.iter().map(|line| line.line))
            }
            Request::Fulfill(request) => {
                let lines = request.line_items.as_deref().unwrap_or_default();
                let mut features = of_lines(lines.iter().map(|line| line.line));
                if request.carrier.is_some() || request.service.is_some() {
                    features.push(Feature::Shipping);
                }
                features
            }
            Request::Return(request) => of_return(request),
            Request::Query(_) => Vec::new(),
        };
        features.sort_unstable();
        features.dedup();
        features
    }
}

fn of_lines(mut numbers: impl Iterator<Item = Option<LineNumber>>) -> Vec<Feature> {
    match numbers.any(|line| line.is_some()) {
        true => vec![Feature::Lines],
        false => Vec::new(),
    }
}

fn of_shipping(shipping: Option<&NewShipping>) -> Vec<Feature> {
    let Some(shipping) = shipping else {
        return Vec::new();
    };
    match shipping.tax.is_some() {
        true => vec![Feature::Shipping, Feature::Tax],
        false => vec![Feature::Shipping],
    }
}

fn of_new_order(order: &NewOrder) -> Vec<Feature> {
    let mut features = of_shipping(order.shipping.as_ref());
    let taxed_lines = order.line_items.iter().any(|line| line.tax.is_some());
    let phone = order
        .customer
        .as_ref()
        .is_some_and(|one| one.phone.is_some());
    let used = [
        (
            Feature::Tax,
            taxed_lines
                || order.order_tax.is_some()
                || order.tax_included.is_some()
                || order.tax_total.is_some(),
        ),
        (Feature::Discounts, order.order_discount.is_some()),
        (Feature::Shipping, order.shipping_total.is_some()),
        (Feature::Payments, order.payments.is_some()),
        (Feature::Phones, phone),
    ];
    features.extend(
        used.into_iter()
            .filter(|(_, used)| *used)
            .map(|(one, _)| one),
    );
    features
}

fn of_updates(updates: &OrderUpdates) -> Vec<Feature> {
    let mut features = of_shipping(updates.shipping.as_ref());
    let lines = updates.line_items.as_deref().unwrap_or_default();
    features.extend(of_lines(lines.iter().map(|line| line.line)));
    let used = [
        (Feature::Tax, lines.iter().any(|line| line.tax.is_some())),
        (
            Feature::Payments,
            updates.payments.is_some() || updates.refunds.is_some(),
        ),
        (Feature::Edits, updates.line_items.is_some()),
        (Feature::Returns, updates.returns.is_some()),
    ];
    features.extend(
        used.into_iter()
            .filter(|(_, used)| *used)
            .map(|(one, _)| one),
    );
    features
}

fn of_return(request: &CreateReturn) -> Vec<Feature> {
    let lines = &request.line_items;
    let mut features = of_lines(lines.iter().map(|line| line.line));
    let described = lines.iter().any(|line| line.reason.is_some())
        || request.note.is_some()
        || request.refund_amount.is_some();
    let used = [
        (Feature::Returns, described),
        (Feature::Exchange, request.exchange_line_items.is_some()),
    ];
    features.extend(
        used.into_iter()
            .filter(|(_, used)| *used)
            .map(|(one, _)| one),
    );
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CreateOrder, UpdateOrder};
    use serde_json::json;

    #[test]
    fn words_parse_back() {
        for feature in Feature::ALL {
            assert_eq!(Feature::read(feature.word()), Some(feature));
        }
    }

    #[test]
    fn features_of_a_request_are_found() {
        let create = |order: serde_json::Value| -> Request {
            let order: CreateOrder = serde_json::from_value(json!({ "order": order })).unwrap();
            Request::Create(Box::new(order))
        };
        let words = |request: Request| -> Vec<_> {
            request.features().into_iter().map(Feature::word).collect()
        };
        let line = json!({ "sku": "A", "quantity": 1, "tax": "1" });
        let plain = json!({ "lineItems": [{ "sku": "A", "quantity": 1, "unitDiscount": "1" }] });
        assert_eq!(words(create(plain)), [""; 0]);
        let full = json!({
            "lineItems": [line], "shipping": { "price": "1" }, "orderDiscount": "1",
            "payments": [], "customer": { "email": "a@b", "phone": "1" }
        });
        let all = ["tax", "discounts", "shipping", "payments", "phones"];
        assert_eq!(words(create(full)), all);
        let updates: UpdateOrder = serde_json::from_value(json!({
            "orderId": "o", "updates": { "lineItems": [{ "sku": "A", "quantity": 0, "line": 1 }] }
        }))
        .unwrap();
        let update = Request::Update(Box::new(updates));
        assert_eq!(words(update), ["lines", "edits"]);
    }
}
