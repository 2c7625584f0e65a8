//! Rules that every order obeys, whatever was requested: its quantities and its sums.
//!
//! An order is read as it arrived, because its sums include members that an order system need not
//! have. An absent amount is zero.

use super::amounts::ExactAmount;
use super::{Mismatch, must};
use serde_json::Value;

const SUM: &str = "is not the sum of its parts";

/// Checks that the quantities and sums of an order do not contradict each other.
pub(in crate::http) fn check_sums(order: &Value) -> Result<(), Mismatch> {
    let lines = items(&order["lineItems"]);
    for (index, line) in lines.iter().enumerate() {
        check_quantities(line)
            .map_err(|(name, rule)| Mismatch::new(format!("lineItems.{index}.{name}"), rule))?;
    }
    let of_units = |name: &str| -> ExactAmount {
        let each = lines.iter();
        each.map(|line| amount(&line[name]).times(count(line, "quantity")))
            .sum()
    };
    let of_entries = |entries: &[&Value]| -> ExactAmount {
        entries.iter().map(|entry| amount(&entry["amount"])).sum()
    };
    let sub_total = of_units("unitPrice");
    let discount_total = of_units("unitDiscount").plus(amount(&order["orderDiscount"]));
    let shipping_total = amount(&order["shipping"]["price"]);
    let line_taxes: ExactAmount = lines.iter().map(|line| amount(&line["tax"])).sum();
    let tax_total = line_taxes
        .plus(amount(&order["shipping"]["tax"]))
        .plus(amount(&order["orderTax"]));
    let untaxed = sub_total.minus(discount_total).plus(shipping_total);
    let total = match order["taxIncluded"] == true {
        true => untaxed,
        false => untaxed.plus(tax_total),
    };
    let payments = items(&order["payments"]).iter();
    let captured: Vec<_> = payments
        .filter(|payment| payment["status"] == "captured")
        .collect();
    let refunds: Vec<_> = items(&order["refunds"]).iter().collect();
    let (paid, refunded) = (of_entries(&captured), of_entries(&refunds));
    for (member, sum) in [
        ("subTotal", sub_total),
        ("discountTotal", discount_total),
        ("shippingTotal", shipping_total),
        ("taxTotal", tax_total),
        ("total", total),
        ("paidTotal", paid),
        ("refundedTotal", refunded),
    ] {
        must(amount(&order[member]).equals(sum), member, SUM)?;
    }
    let status = order["paymentStatus"].as_str();
    must(
        status.is_none_or(|status| status == payment_status(total, paid, refunded)),
        "paymentStatus",
        "is not the one of the payments and refunds",
    )
}

/// Returns the items of an array; none if it is absent.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the amount of a member; an absent one is zero.
fn amount(value: &Value) -> ExactAmount {
    match value {
        Value::Null => ExactAmount::ZERO,
        value => ExactAmount::parse(value.as_str().unwrap_or("?")),
    }
}

fn count(line: &Value, name: &str) -> i64 {
    line[name].as_i64().unwrap_or(i64::MAX)
}

fn check_quantities(line: &Value) -> Result<(), (&'static str, &'static str)> {
    let fulfilled = count(line, "fulfilledQuantity");
    let used = fulfilled.saturating_add(count(line, "cancelledQuantity"));
    if used > count(line, "quantity") {
        return Err((
            "quantity",
            "is less than what was fulfilled and cancelled of it",
        ));
    }
    if count(line, "returnedQuantity") > fulfilled {
        return Err(("returnedQuantity", "is more than what was fulfilled"));
    }
    Ok(())
}

/// Returns the first status that applies.
fn payment_status(total: ExactAmount, paid: ExactAmount, refunded: ExactAmount) -> &'static str {
    let zero = ExactAmount::ZERO;
    if refunded > zero && refunded == paid {
        "refunded"
    } else if refunded > zero {
        "partially-refunded"
    } else if paid >= total {
        "paid"
    } else if paid > zero {
        "partially-paid"
    } else {
        "unpaid"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order() -> Value {
        json!({
            "lineItems": [{
                "quantity": 3, "unitPrice": "10.00", "unitDiscount": "1.00", "tax": "4.05",
                "fulfilledQuantity": 1, "cancelledQuantity": 1, "returnedQuantity": 1
            }],
            "orderDiscount": "2.00", "orderTax": "0.10",
            "shipping": { "price": "5.00", "tax": "0.95" },
            "payments": [
                { "amount": "30.00", "status": "captured" },
                { "amount": "99.00", "status": "authorized" }
            ],
            "refunds": [{ "amount": "1.50" }],
            "subTotal": "30.00", "discountTotal": "5.00", "shippingTotal": "5.00",
            "taxTotal": "5.10", "total": "35.10", "paidTotal": "30", "refundedTotal": "1.5",
            "paymentStatus": "partially-refunded"
        })
    }

    fn broken(change: impl Fn(&mut Value)) -> Option<String> {
        let mut order = order();
        change(&mut order);
        check_sums(&order).err().map(|mismatch| mismatch.member)
    }

    #[test]
    fn every_sum_is_checked() {
        assert_eq!(check_sums(&order()), Ok(()));
        for member in [
            "subTotal",
            "discountTotal",
            "shippingTotal",
            "taxTotal",
            "total",
            "paidTotal",
            "refundedTotal",
        ] {
            let changed = broken(|order| order[member] = json!("7.77"));
            assert_eq!(changed.as_deref(), Some(member));
            let absent = broken(|order| order[member] = Value::Null);
            assert_eq!(absent.as_deref(), Some(member));
        }
        let status = broken(|order| order["paymentStatus"] = json!("paid"));
        assert_eq!(status.as_deref(), Some("paymentStatus"));
        let number = broken(|order| order["orderTax"] = json!(0.1));
        assert_eq!(number.as_deref(), Some("taxTotal"));
    }

    #[test]
    fn included_tax_is_not_added() {
        let changed = broken(|order| order["taxIncluded"] = json!(true));
        assert_eq!(changed.as_deref(), Some("total"));
        let included = broken(|order| {
            order["taxIncluded"] = json!(true);
            order["total"] = json!("30.00");
        });
        assert_eq!(included, None);
    }

    #[test]
    fn quantities_are_checked() {
        let returned = broken(|order| order["lineItems"][0]["returnedQuantity"] = json!(2));
        assert_eq!(returned.as_deref(), Some("lineItems.0.returnedQuantity"));
        let used = broken(|order| order["lineItems"][0]["cancelledQuantity"] = json!(3));
        assert_eq!(used.as_deref(), Some("lineItems.0.quantity"));
    }
}
