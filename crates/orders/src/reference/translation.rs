//! Translates arguments of the reference server to ours.
//!
//! The arguments may be wrong in every way. A value of another shape than the schema admits is left
//! as it is, because the schema reports it.

use super::{IGNORED, SHIPPING_NAMES};
use crate::OrderOperation;
use crate::failure::{OrderRule, RuleViolation};
use crate::model::{MAX_LINE, MAX_NOTES, ReturnReason};
use candor_street::{JsonKind, JsonRef};
use serde_json::{Map, Value};

/// The names of amounts, which may be numbers.
const AMOUNTS: [&str; 14] = [
    "unitPrice",
    "unitDiscount",
    "tax",
    "price",
    "amount",
    "refundAmount",
    "subTotal",
    "discountTotal",
    "total",
    "shippingTotal",
    "taxTotal",
    "orderDiscount",
    "orderTax",
    "shippingPrice",
];

type Members = Map<String, Value>;

/// Translates the arguments of a change.
pub(crate) fn translate_change(
    operation: OrderOperation,
    arguments: JsonRef<'_>,
) -> Result<Value, RuleViolation> {
    let mut translated = with_amounts_as_texts(arguments, "")?;
    let Some(members) = translated.as_object_mut() else {
        return Ok(translated);
    };
    match operation {
        OrderOperation::CreateOrder => translate_order(members, "order")?,
        OrderOperation::UpdateOrder => {
            rename(members, "id", "orderId", "")?;
            require(members, "orderId")?;
            translate_order(members, "updates")?;
            let updates = members.get("updates").and_then(Value::as_object);
            if updates.is_some_and(Members::is_empty) {
                return Err(RuleViolation::new("updates", OrderRule::EmptyUpdate));
            }
        }
        OrderOperation::CancelOrder => drop_ignored_of_items(members, "lineItems"),
        OrderOperation::FulfillOrder => {
            drop_ignored_of_items(members, "lineItems");
            for (name, own) in SHIPPING_NAMES {
                rename(members, name, own, "")?;
            }
        }
        OrderOperation::CreateReturn => translate_return(members)?,
        _ => {}
    }
    Ok(translated)
}

/// Returns the number of entities to skip, and the arguments without it.
pub(crate) fn translate_query(arguments: JsonRef<'_>) -> Result<(Value, i64), RuleViolation> {
    let mut translated = arguments.to_value();
    let members = translated.as_object_mut();
    let skip = members.and_then(|members| members.shift_remove("skip"));
    // An integer may be written as 2.0.
    let skip = skip.and_then(|skip| serde_json::from_value(skip).ok());
    let skip = skip.map(candor_schema::Int::<0, { super::MAX_SKIP }>::get);
    if skip.is_some() && translated.get("cursor").is_some() {
        return Err(RuleViolation::new("skip", OrderRule::SkipAndCursor));
    }
    Ok((translated, skip.unwrap_or_default()))
}

/// Copies a value. Amounts that are numbers become the text of their digits.
fn with_amounts_as_texts(value: JsonRef<'_>, path: &str) -> Result<Value, RuleViolation> {
    let below = |step: &str| match path {
        "" => step.to_owned(),
        path => format!("{path}.{step}"),
    };
    if value.is_object() {
        let mut members = Members::new();
        for (name, member) in value.members() {
            let path = below(&name);
            let copy = match member.is_number() && AMOUNTS.contains(&&*name) {
                true => amount_text(member.text())
                    .map_err(|rule| RuleViolation::new(path, rule))?
                    .into(),
                false => with_amounts_as_texts(member, &path)?,
            };
            members.insert(name.into_owned(), copy);
        }
        return Ok(Value::Object(members));
    }
    if value.kind() == JsonKind::Array {
        let items = value.items().enumerate();
        let copies =
            items.map(|(index, item)| with_amounts_as_texts(item, &below(&index.to_string())));
        return copies.collect();
    }
    Ok(value.to_value())
}

/// Returns an amount as our schema admits it, from the text of a number. Zeros at the end of a number
/// have no meaning: some clients write 21.0 for 21.
fn amount_text(number: &str) -> Result<String, OrderRule> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) {
        return Err(OrderRule::Amount);
    }
    match (whole.len(), part.len()) {
        (16.., _) => Err(OrderRule::Digits),
        (_, 5..) => Err(OrderRule::Places),
        (_, 0) => Ok(whole.to_owned()),
        _ => Ok(format!("{whole}.{part}")),
    }
}

fn translate_order(members: &mut Members, name: &str) -> Result<(), RuleViolation> {
    let Some(order) = members.get_mut(name).and_then(Value::as_object_mut) else {
        return Ok(());
    };
    drop_ignored(order);
    if let Some(customer) = order.get_mut("customer").and_then(Value::as_object_mut) {
        // Unlike the others, the id of a customer has a meaning.
        let ignored = IGNORED.into_iter().filter(|name| *name != "id");
        ignored.for_each(|name| drop(customer.shift_remove(name)));
    }
    drop_ignored_of_items(order, "lineItems");
    rename(order, "orderNote", "notes", name)?;
    for (other, own) in SHIPPING_NAMES {
        let Some(value) = order.shift_remove(other) else {
            continue;
        };
        let shipping = order
            .entry("shipping")
            .or_insert_with(|| Value::Object(Members::new()));
        if let Some(shipping) = shipping.as_object_mut()
            && shipping.insert(own.to_owned(), value).is_some()
        {
            let field = format!("{name}.{other}");
            return Err(RuleViolation::new(field, OrderRule::TwoNames));
        }
    }
    Ok(())
}

fn translate_return(members: &mut Members) -> Result<(), RuleViolation> {
    if let Some(given) = members.shift_remove("return") {
        let beside = members.keys().find(|name| *name != "idempotencyKey");
        if let Some(beside) = beside {
            return Err(RuleViolation::new(beside.clone(), OrderRule::BesideReturn));
        }
        if let Value::Object(given) = given {
            members.extend(given);
        }
        for name in IGNORED {
            members.shift_remove(name);
        }
        if let Some(mut lines) = members.shift_remove("returnLineItems") {
            let note = translate_return_lines(&mut lines)?;
            members.insert(String::from("lineItems"), lines);
            members.extend(note.map(|note| (String::from("note"), note.into())));
        }
    }
    for name in ["orderId", "lineItems", "outcome"] {
        require(members, name)?;
    }
    drop_ignored_of_items(members, "lineItems");
    drop_ignored_of_items(members, "exchangeLineItems");
    Ok(())
}

/// Translates the lines of a return. Returns the note: the reasons that are not one of ours.
fn translate_return_lines(lines: &mut Value) -> Result<Option<String>, RuleViolation> {
    let mut others: Vec<String> = Vec::new();
    let lines = lines.as_array_mut().into_iter().flatten();
    for (index, line) in lines.enumerate() {
        let Some(line) = line.as_object_mut() else {
            continue;
        };
        if let Some(units) = line.shift_remove("quantityReturned") {
            line.insert(String::from("quantity"), units);
        }
        let number = line.shift_remove("orderLineItemId");
        if let Some(number) = number
            .as_ref()
            .and_then(Value::as_str)
            .filter(|id| is_integer(id))
        {
            let known = number.parse().ok();
            let known = known.filter(|number| (1..=MAX_LINE).contains(number));
            let field = || format!("return.returnLineItems.{index}.orderLineItemId");
            let number = known.ok_or_else(|| RuleViolation::new(field(), OrderRule::Line))?;
            line.insert(String::from("line"), number.into());
        }
        if let Some(Value::String(reason)) = line.shift_remove("returnReason") {
            let known = ReturnReason::read(&reason);
            let word = known.unwrap_or(ReturnReason::Other).word();
            line.insert(String::from("reason"), word.into());
            if known.is_none() && !others.contains(&reason) {
                others.push(reason);
            }
        }
    }
    let note = others.join("\n");
    if note.chars().count() > MAX_NOTES {
        let field = "return.returnLineItems";
        return Err(RuleViolation::new(field, OrderRule::LongReasons));
    }
    Ok(Some(note).filter(|note| !note.is_empty()))
}

fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn drop_ignored(members: &mut Members) {
    for name in IGNORED {
        members.shift_remove(name);
    }
}

fn drop_ignored_of_items(members: &mut Members, list: &str) {
    let items = members.get_mut(list).and_then(Value::as_array_mut);
    let items = items.into_iter().flatten();
    items
        .filter_map(Value::as_object_mut)
        .for_each(drop_ignored);
}

/// Gives a member its own name. Refuses a member that has both names.
fn rename(
    members: &mut Members,
    other: &str,
    own: &str,
    parent: &str,
) -> Result<(), RuleViolation> {
    let Some(value) = members.shift_remove(other) else {
        return Ok(());
    };
    if members.insert(own.to_owned(), value).is_none() {
        return Ok(());
    }
    let field = match parent {
        "" => other.to_owned(),
        parent => format!("{parent}.{other}"),
    };
    Err(RuleViolation::new(field, OrderRule::TwoNames))
}

/// Checks that a member is there, which the schema cannot require because it may have another name.
fn require(members: &Members, name: &str) -> Result<(), RuleViolation> {
    match members.contains_key(name) {
        true => Ok(()),
        false => Err(RuleViolation::new(name, OrderRule::Required)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_street::IndexedText;

    fn translate(operation: OrderOperation, text: &str) -> Result<Value, RuleViolation> {
        let arguments = IndexedText::new(text.to_owned()).unwrap();
        translate_change(operation, arguments.root())
    }

    #[test]
    fn number_is_read_from_its_digits() {
        for (number, text) in [
            ("10.5", "10.5"),
            ("21.0", "21"),
            ("0", "0"),
            ("0.10", "0.1"),
            ("999999999999999.9999", "999999999999999.9999"),
            ("0.1000000000000000", "0.1"),
        ] {
            assert_eq!(amount_text(number), Ok(text.to_owned()), "{number}");
        }
        for (number, rule) in [
            ("1e2", OrderRule::Amount),
            ("-0.0", OrderRule::Amount),
            ("1E-2", OrderRule::Amount),
            ("1.5e1", OrderRule::Amount),
            ("0.30000000000000004", OrderRule::Places),
            ("1000000000000000", OrderRule::Digits),
        ] {
            assert_eq!(amount_text(number), Err(rule), "{number}");
        }
    }

    #[test]
    fn wrong_shapes_are_left_to_the_schema() {
        let changes = OrderOperation::ALL.into_iter();
        for operation in changes.filter(|one| one.changes()) {
            for text in [
                "7",
                "[]",
                "null",
                r#"{"order":7,"updates":[],"return":7,"orderId":1,"lineItems":7,"outcome":[]}"#,
                r#"{"order":{"lineItems":[7,{"id":1}],"customer":7,"shipping":7,"shippingCarrier":7}}"#,
                r#"{"return":{"returnLineItems":[7,{"orderLineItemId":7,"returnReason":7}]}}"#,
            ] {
                let _ = translate(operation, text);
            }
        }
    }

    #[test]
    fn reference_return_becomes_ours() {
        let text = r#"{"return":{"orderId":"o","outcome":"exchange","id":"r","returnLineItems":[{"orderLineItemId":"02","sku":"A","quantityReturned":1,"returnReason":"size"},{"orderLineItemId":"line_2","sku":"B","quantityReturned":2,"returnReason":"too blue"},{"sku":"C","quantityReturned":3,"returnReason":"too blue"},{"sku":"D","quantityReturned":3,"returnReason":"late, again"}],"exchangeLineItems":[{"id":"x","sku":"A","quantity":1,"unitPrice":10.50}]}}"#;
        let translated = translate(OrderOperation::CreateReturn, text).unwrap();
        insta::assert_snapshot!(translated, @r#"{"orderId":"o","outcome":"exchange","exchangeLineItems":[{"sku":"A","quantity":1,"unitPrice":"10.5"}],"lineItems":[{"sku":"A","quantity":1,"line":2,"reason":"size"},{"sku":"B","quantity":2,"reason":"other"},{"sku":"C","quantity":3,"reason":"other"},{"sku":"D","quantity":3,"reason":"other"}],"note":"too blue\nlate, again"}"#);
    }

    #[test]
    fn what_no_schema_shows_is_refused() {
        let (create, update, back) = (
            OrderOperation::CreateOrder,
            OrderOperation::UpdateOrder,
            OrderOperation::CreateReturn,
        );
        for (operation, text, field, rule) in [
            (update, r#"{"updates":{}}"#, "orderId", OrderRule::Required),
            (
                update,
                r#"{"id":"1","orderId":"1"}"#,
                "id",
                OrderRule::TwoNames,
            ),
            (
                update,
                r#"{"id":"1","updates":{"tenantId":"t"}}"#,
                "updates",
                OrderRule::EmptyUpdate,
            ),
            (
                create,
                r#"{"order":{"notes":"a","orderNote":"b"}}"#,
                "order.orderNote",
                OrderRule::TwoNames,
            ),
            (
                create,
                r#"{"order":{"shipping":{"price":"1"},"shippingPrice":1}}"#,
                "order.shippingPrice",
                OrderRule::TwoNames,
            ),
            (
                create,
                r#"{"order":{"lineItems":[{"unitPrice":1e2}]}}"#,
                "order.lineItems.0.unitPrice",
                OrderRule::Amount,
            ),
            (back, r"{}", "orderId", OrderRule::Required),
            (
                back,
                r#"{"return":{},"outcome":"refund"}"#,
                "outcome",
                OrderRule::BesideReturn,
            ),
            (
                back,
                r#"{"return":{"returnLineItems":[{"orderLineItemId":"0"}]}}"#,
                "return.returnLineItems.0.orderLineItemId",
                OrderRule::Line,
            ),
        ] {
            assert_eq!(
                translate(operation, text),
                Err(RuleViolation::new(field, rule)),
                "{text}"
            );
        }
    }

    #[test]
    fn other_reasons_of_a_return_fit_into_its_note() {
        let line = |number: usize| {
            let reason = format!("{number:0>255}");
            format!(r#"{{"sku":"A","quantityReturned":1,"returnReason":"{reason}"}}"#)
        };
        let of = |count: usize| {
            let lines: Vec<_> = (0..count).map(line).collect();
            let text = format!(
                r#"{{"return":{{"orderId":"o","outcome":"refund","returnLineItems":[{}]}}}}"#,
                lines.join(",")
            );
            translate(OrderOperation::CreateReturn, &text)
        };
        assert!(of(19).is_ok());
        let long = RuleViolation::new("return.returnLineItems", OrderRule::LongReasons);
        assert_eq!(of(20), Err(long));
    }
}
