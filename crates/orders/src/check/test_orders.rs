//! Test orders, and the steps that checks share.

use super::probe::{StepResult, failed, shown, skipped};
use super::{CheckRun, UNITS};
use crate::OrderOperation;
use serde_json::{Value, json};

/// The pages of stock that are searched for a SKU.
const PAGES: usize = 10;

/// An order that a check created.
pub(super) struct TestOrder {
    pub(super) id: String,
    pub(super) external: String,
    pub(super) order: Value,
}

impl CheckRun {
    /// Returns a SKU with enough stock for every check.
    pub(super) async fn sku(&mut self) -> StepResult<String> {
        if let Some(sku) = &self.options.sku {
            return Ok(sku.clone());
        }
        let none = format!("no SKU with {UNITS} units in stock was found; name one");
        if self.probe.needs(&[OrderOperation::GetInventory]).is_err() {
            return skipped(none);
        }
        let mut arguments = json!({});
        for _ in 0..PAGES {
            let page = self
                .probe
                .page(OrderOperation::GetInventory, 100, arguments)
                .await?;
            let plenty = |item: &&Value| item["availableTotal"].as_i64() >= Some(UNITS);
            if let Some(item) = page.0.iter().find(plenty) {
                let sku = item["sku"].as_str().unwrap_or_default().to_owned();
                self.options.sku = Some(sku.clone());
                return Ok(sku);
            }
            match page.1 {
                Some(next) => arguments = json!({ "cursor": next }),
                None => break,
            }
        }
        skipped(none)
    }

    /// Returns another SKU with stock, or `None` if none can be found.
    pub(super) async fn other_sku(&mut self) -> StepResult<Option<String>> {
        let sku = self.sku().await?;
        if self.probe.needs(&[OrderOperation::GetInventory]).is_err() {
            return Ok(None);
        }
        let page = self
            .probe
            .page(OrderOperation::GetInventory, 100, json!({}))
            .await?;
        let is_other =
            |item: &&Value| item["availableTotal"].as_i64() >= Some(1) && text(item, "sku") != sku;
        Ok(page.0.iter().find(is_other).map(|item| text(item, "sku")))
    }

    /// Returns the arguments of a new order: three units, with a total of 3 after discounts.
    pub(super) async fn order(&mut self, external: &str) -> StepResult<Value> {
        let sku = self.sku().await?;
        let line = json!({ "sku": sku, "quantity": 3, "unitPrice": "2", "unitDiscount": "1" });
        let address = json!({ "address1": "Check 1", "city": "Berlin", "country": "DE" });
        Ok(json!({ "order": {
            "externalId": external,
            "lineItems": [line],
            "customer": { "email": "check@example.com" },
            "shippingAddress": address,
        } }))
    }

    /// Creates an order.
    pub(super) async fn create_order(&mut self) -> StepResult<TestOrder> {
        self.create_with(json!({})).await
    }

    /// Creates an order with these members instead of, or beside, the usual ones.
    pub(super) async fn create_with(&mut self, members: Value) -> StepResult<TestOrder> {
        self.probe.needs(&[OrderOperation::CreateOrder])?;
        let external = self.probe.id();
        let mut arguments = self.order(&external).await?;
        for (name, value) in members.as_object().into_iter().flatten() {
            arguments["order"][name] = value.clone();
        }
        let key = self.probe.key();
        let order = self
            .probe
            .change(OrderOperation::CreateOrder, &key, &arguments)
            .await?;
        Ok(TestOrder {
            id: text(&order, "id"),
            external,
            order,
        })
    }

    /// Creates an order and ships its three units.
    pub(super) async fn create_shipped(&mut self) -> StepResult<TestOrder> {
        self.probe.needs(&[OrderOperation::FulfillOrder])?;
        let test_order = self.create_order().await?;
        let arguments = json!({ "orderId": test_order.id });
        self.step(OrderOperation::FulfillOrder, arguments).await?;
        Ok(test_order)
    }

    /// Returns the filters of a query for these orders.
    pub(super) fn only(&self, orders: &[&TestOrder]) -> StepResult<Value> {
        let ids: Vec<_> = orders.iter().map(|order| &order.id).collect();
        let externals: Vec<_> = orders.iter().map(|order| &order.external).collect();
        if self.probe.has_filter(OrderOperation::GetOrders, "ids") {
            return Ok(json!({ "ids": ids }));
        }
        self.probe
            .needs_filter(OrderOperation::GetOrders, "externalIds")?;
        Ok(json!({ "externalIds": externals }))
    }

    /// Makes an update of an order that must succeed.
    pub(super) async fn update(&self, test_order: &TestOrder, updates: Value) -> StepResult<Value> {
        let arguments = json!({ "orderId": test_order.id, "updates": updates });
        self.step(OrderOperation::UpdateOrder, arguments).await
    }

    /// Makes a change that must succeed.
    pub(super) async fn step(
        &self,
        operation: OrderOperation,
        arguments: Value,
    ) -> StepResult<Value> {
        let key = self.probe.key();
        self.probe.change(operation, &key, &arguments).await
    }

    /// Makes a change that must be refused with this code.
    pub(super) async fn refused(
        &self,
        operation: OrderOperation,
        arguments: Value,
        code: &str,
    ) -> StepResult {
        let key = self.probe.key();
        let seen = self.probe.ask(operation, &key, &arguments).await?;
        seen.refused(code)
    }

    /// As [`CheckRun::refused`]; the context must contain this fact.
    pub(super) async fn refused_with(
        &self,
        operation: OrderOperation,
        arguments: Value,
        code: &str,
        (fact, expected): (&str, Value),
    ) -> StepResult {
        let key = self.probe.key();
        let seen = self.probe.ask(operation, &key, &arguments).await?;
        let words = seen.refused(code)?;
        let body: Value = serde_json::from_slice(&seen.response.body).unwrap_or_default();
        let found = &body["error"]["context"][fact];
        match plain(found) == expected {
            true => Ok(format!("{words} with {fact} {expected}")),
            false => failed(format!("{words} with {fact} {}", shown(&found.to_string()))),
        }
    }

    /// Checks that no order has this external id.
    pub(super) async fn not_made(&self, external: &str) -> StepResult<()> {
        let needed = self
            .probe
            .needs_filter(OrderOperation::GetOrders, "externalIds");
        if needed.is_err() {
            return Ok(());
        }
        match self.probe.orders(external).await?.len() {
            0 => Ok(()),
            _ => failed("refused, and made all the same"),
        }
    }

    /// Returns an order as it is now, or `None` if it cannot be queried.
    pub(super) async fn read(&self, test_order: &TestOrder) -> StepResult<Option<Value>> {
        let Ok(filters) = self.only(&[test_order]) else {
            return Ok(None);
        };
        let page = self.probe.page(OrderOperation::GetOrders, 10, filters);
        match page.await?.0.into_iter().next() {
            Some(order) => Ok(Some(order)),
            None => failed("the order is not found by its id"),
        }
    }

    /// Returns the current status of an order, or `None` if it cannot be queried.
    pub(super) async fn status(&self, test_order: &TestOrder) -> StepResult<Option<String>> {
        let order = self.read(test_order).await?;
        Ok(order.map(|order| text(&order, "status")))
    }
}

pub(super) fn text(entity: &Value, name: &str) -> String {
    entity[name].as_str().unwrap_or_default().to_owned()
}

/// Returns a value without the trailing zeros of an amount.
fn plain(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if text.contains('.') => {
            json!(text.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => value.clone(),
    }
}

/// Checks that a member has a value. Trailing zeros of amounts do not matter.
pub(super) fn has(entity: &Value, name: &str, expected: &Value) -> StepResult<()> {
    match plain(&entity[name]) == *expected {
        true => Ok(()),
        false => {
            let found = shown(&entity[name].to_string());
            failed(format!("{name} is {found}, not {expected}"))
        }
    }
}

pub(super) fn quantities(sku: &str, quantity: i64) -> Value {
    json!([{ "sku": sku, "quantity": quantity }])
}
