//! Mutants of the sample adapter: one expression is replaced in each, and the named check fails.

use crate::fixture::sample_adapter::{SampleAdapter, run_checks};
use candor_http_client::BearerToken;
use candor_orders::check::{AdapterCheckOutcome, CheckOptions, CheckReport};
use candor_orders::http::HttpSettings;
use futures_util::future::join_all;
use std::io::Write as _;
use tempfile::NamedTempFile;

const SAMPLE: &str = include_str!("../../../../../examples/orders-adapter/adapter.py");

/// An expression of the sample, its replacement, and the check that detects it.
type Mutant = (&'static str, &'static str, &'static str);

const FITS: &str = "fits = bool(set(value) & set(filters[name](one)))";
const NOT_BEFORE: &str = "fits = one[name[:-3]] >= value";
const NOT_AFTER: &str = "fits = one[name[:-3]] <= value";

/// Ignores a filter.
macro_rules! ignored {
    ($filter:literal, $check:literal) => {
        (
            FITS,
            concat!(
                "fits = name == '",
                $filter,
                "' or bool(set(value) & set(filters[name](one)))"
            ),
            $check,
        )
    };
}

const QUERIES: &[Mutant] = &[
    ignored!("ids", "find"),
    ignored!("externalIds", "find"),
    ignored!("statuses", "orders-by-status"),
    ignored!("skus", "orders-by-sku"),
    ignored!("emails", "orders-by-email"),
    ignored!("orderIds", "returns-by-order"),
    ignored!("productIds", "variants-by-product"),
    ignored!("locationIds", "inventory-by-location"),
    (
        NOT_BEFORE,
        "fits = name == 'createdAtMin' or one[name[:-3]] >= value",
        "orders-by-created",
    ),
    (
        NOT_BEFORE,
        "fits = name == 'updatedAtMin' or one[name[:-3]] >= value",
        "orders-by-updated",
    ),
    (
        NOT_AFTER,
        "fits = name == 'createdAtMax' or one[name[:-3]] <= value",
        "orders-by-created",
    ),
    (
        NOT_AFTER,
        "fits = name == 'updatedAtMax' or one[name[:-3]] <= value",
        "orders-by-updated",
    ),
    (
        r#"raise No(422, "UNSUPPORTED_FILTER", field=name)"#,
        "continue",
        "unknown-filter",
    ),
    (
        r#"lambda one: skus_of(one["id"])"#,
        "lambda one: [v['sku'] for v in self.variants.values()]",
        "products-by-sku",
    ),
    ("if place(one) > after]", "if place(one) >= after]", "pages"),
    (
        "wanted.sort(key=place)",
        "wanted.sort(key=place, reverse=True)",
        "pages",
    ),
    (
        r#"page = wanted[: asked["pageSize"]]"#,
        "page = wanted",
        "pages",
    ),
    (
        r#"raise No(400, "INVALID_CURSOR", field="cursor") from None"#,
        "return '', ''",
        "foreign-cursor",
    ),
];

const CREATION: &[Mutant] = &[
    (
        r#"if needed[line["sku"]] > available:"#,
        "if False:",
        "insufficient-stock",
    ),
    (
        "self.reserved[sku] += quantity",
        "self.reserved[sku] += 0",
        "reservation",
    ),
    (
        r#""status": "pending", "currency""#,
        r#""status": "confirmed", "currency""#,
        "create",
    ),
    (
        "total = sub_total - discount_total + shipping_total + added",
        "total = sub_total + shipping_total + added",
        "create",
    ),
    (
        "return value.quantize(Decimal(1).scaleb(-places))",
        "return float(value)",
        "exact-sums",
    ),
    (
        "if external and any(",
        "if False and any(",
        "external-id-conflict",
    ),
    (
        r#"No(404, "SKU_NOT_FOUND", field=at + "sku")"#,
        r#"No(404, "NO_SKU", field=at + "sku")"#,
        "unknown-sku",
    ),
    (
        "if name in new and amount(",
        "if False and amount(",
        "wrong-total",
    ),
    (
        r#"email = asked["email"].lower()"#,
        r#"email = asked["email"]"#,
        "customer-letter-case",
    ),
    (
        r#"for name in ["externalId", "name","#,
        r#"for name in ["name","#,
        "create",
    ),
    (
        r#""quantity": new["quantity"], **amounts"#,
        r#""quantity": 1, **amounts"#,
        "create",
    ),
    (
        r#"max(0, self.on_hand(entry["sku"]) - reserved)"#,
        r#"self.on_hand(entry["sku"])"#,
        "reservation",
    ),
];

const CHANGES: &[Mutant] = &[
    (
        r#"No(404, "ORDER_NOT_FOUND", field="orderId")"#,
        r#"No(400, "ORDER_NOT_FOUND", field="orderId")"#,
        "unknown-order",
    ),
    (
        r#"(stored["status"], updates["status"]) not in STEPS"#,
        "False",
        "invalid-step",
    ),
    (
        "if name in updates:",
        "if name == 'status' and name in updates:",
        "update",
    ),
    (
        "order.update(totals(order))\n        order[\"updatedAt\"] = now()",
        "order.update(totals(order))",
        "updated-at",
    ),
    (
        "order = self.open_order(asked)\n        shares = self.shares(order, asked.get(\"lineItems\"), still_open, \"QUANTITY_EXCEEDS_OPEN\")\n        self.count_up",
        "order = self.order(asked)\n        shares = self.shares(order, asked.get(\"lineItems\"), still_open, \"QUANTITY_EXCEEDS_OPEN\")\n        self.count_up",
        "cancel-twice",
    ),
    (
        r#"order["cancelReason"] = asked["reason"]
        return order"#,
        r#"order["cancelReason"] = asked["reason"]
        return next(iter(self.orders.values()))"#,
        "cancel",
    ),
    (
        r#""shipped" if sent else "cancelled""#,
        r#""shipped""#,
        "cancel",
    ),
    (
        r#"self.count_up(order, shares, "cancelledQuantity")"#,
        "pass",
        "cancel",
    ),
    (
        r#"self.reserved[line["sku"]] -= share"#,
        r#"self.reserved[line["sku"]] -= 0"#,
        "reservation",
    ),
    (
        "if location is not None and location not in self.locations:",
        "if False:",
        "unknown-location",
    ),
    (
        r#"if "shippingAddress" not in order:"#,
        "if False:",
        "fulfill-without-address",
    ),
    (
        "order[\"status\"] = \"shipped\"\n",
        "order[\"status\"] = \"processing\"\n",
        "fulfill",
    ),
    (
        r#"order["status"] = "confirmed""#,
        r#"order["status"] = "pending""#,
        "fulfill",
    ),
    (
        r#"for name in ["trackingNumbers", "carrier", "service"]:"#,
        r#"for name in ["carrier", "service"]:"#,
        "fulfill",
    ),
    (
        r#"self.stock[sku, place]["onHand"] -= quantity"#,
        "pass",
        "reservation",
    ),
    ("self.reserved[sku] -= quantity", "pass", "reservation"),
    (
        r#"return line["fulfilledQuantity"] - line["returnedQuantity"]"#,
        r#"return line["fulfilledQuantity"]"#,
        "return-in-steps",
    ),
    (
        r#""outcome": asked["outcome"]"#,
        r#""outcome": "exchange""#,
        "return",
    ),
    (
        r#"self.count_up(order, shares, "returnedQuantity")"#,
        "pass",
        "return",
    ),
];

const LOOKUPS: &[Mutant] = &[
    ignored!("orderNumbers", "orders-by-number"),
    ignored!("names", "orders-by-name"),
    ignored!("names", "customers-by-name"),
    ignored!("trackingNumbers", "orders-by-tracking"),
    ignored!("trackingNumbers", "fulfillments-by-tracking"),
    ignored!("customerIds", "orders-by-customer"),
    ignored!("customerNames", "orders-by-customer-name"),
    ignored!("paymentStatuses", "orders-by-payment"),
    ignored!("outcomes", "returns-by-outcome"),
    ignored!("statuses", "returns-by-status"),
    (
        "fits = any(is_same_phone(",
        "fits = any(True or is_same_phone(",
        "orders-by-phone",
    ),
    (
        "one.endswith(other) or other.endswith(one)",
        "one == other",
        "customers-by-phone",
    ),
    (
        r##"name.removeprefix("#").split()"##,
        "name.split()",
        "orders-by-name",
    ),
    (
        r#"f"{last}, {first}", last] if last"#,
        "last] if last",
        "orders-by-customer-name",
    ),
    (
        r#"time = asked.get("sort", "createdAt")"#,
        r#"time = "createdAt""#,
        "orders-by-change",
    ),
    (
        r#"time = asked.get("sort", "createdAt")"#,
        r#"time = "createdAt""#,
        "sorted-pages",
    ),
    (
        r#"order["orderNumber"] = str(1001 + len(self.orders))"#,
        "pass",
        "orders-by-number",
    ),
];

const FEATURES: &[Mutant] = &[
    (r#""tax": str(tax)}"#, r#""tax": "0"}"#, "tax"),
    (
        r#"added = none if order["taxIncluded"] else tax_total"#,
        "added = tax_total",
        "tax",
    ),
    (
        r#"for name in ["subTotal", "discountTotal", "shippingTotal", "taxTotal", "total"]:"#,
        r#"for name in ["subTotal", "discountTotal", "shippingTotal", "total"]:"#,
        "tax",
    ),
    (
        r#"discount_total += money(order.get("orderDiscount", "0"))"#,
        "pass",
        "order-discount",
    ),
    (
        r#"if Decimal(sums["discountTotal"]) > Decimal(sums["subTotal"]):"#,
        "if False:",
        "order-discount",
    ),
    (
        r#"shipping_total = money(shipping.get("price", "0"))"#,
        "shipping_total = none",
        "shipping",
    ),
    (
        r#"{**order.get("shipping", {}), **updates["shipping"]}"#,
        r#"updates["shipping"]"#,
        "shipping",
    ),
    (
        r#"if ships and stored["status"] not in OPEN:"#,
        "if False:",
        "shipping",
    ),
    (
        r#"if ships and stored["status"] not in OPEN:"#,
        "if False:",
        "edit-lines",
    ),
    (
        r#"if known and (known[0]["status"], status) != ("authorized", "captured"):"#,
        "if False:",
        "payments",
    ),
    (
        r#"status = new.get("status", "captured")"#,
        r#"status = "captured""#,
        "payments",
    ),
    (
        r#"raise No(409, "REFUND_EXCEEDS_PAID", field=f""#,
        r#"No(409, "REFUND_EXCEEDS_PAID", field=f""#,
        "refunds",
    ),
    (
        r#""refunded" if refunded == paid else"#,
        r#""refunded" if False else"#,
        "refunds",
    ),
    (
        r#"line.update({name: edit[name] for name in ["quantity", "name"] if name in edit})"#,
        "pass",
        "edit-lines",
    ),
    (
        r#"if edit["quantity"] < line["fulfilledQuantity"] + line["cancelledQuantity"]:"#,
        "if False:",
        "edit-lines",
    ),
    (r#"if not order["lineItems"]:"#, "if False:", "edit-lines"),
    (
        r#"item.get("line", line["line"]) == line["line"]"#,
        "True",
        "line-numbers",
    ),
    (
        r#"named = {"line": number, "sku""#,
        r#"named = {"line": 1, "sku""#,
        "line-numbers",
    ),
    (
        r#"if (known["status"], move["status"]) not in RETURN_STEPS:"#,
        "if False:",
        "return-steps",
    ),
    ("self.returns.update(moved)", "pass", "return-steps"),
    (
        r#"line["returnedQuantity"] -= units"#,
        "pass",
        "return-declined",
    ),
    (
        r#"if not known or known["orderId"] != order["id"]:"#,
        "if not known:",
        "return-declined",
    ),
    (r#"made["exchangeFor"] = return_id"#, "pass", "exchange"),
    (
        r#"made["exchangeOrderId"] = self.exchange(order, asked, made["id"])"#,
        "pass",
        "exchange",
    ),
    (
        r#""lastName", "phone"] if name in shown"#,
        r#""lastName"] if name in shown"#,
        "customer-phone",
    ),
];

const PROTOCOL: &[Mutant] = &[
    (
        "if self.token is None or hmac",
        "if True or hmac",
        "credentials",
    ),
    (
        r#"self.answer(501, No(501, "NOT_IMPLEMENTED").body())"#,
        r#"self.answer(404, No(404, "NOT_FOUND").body())"#,
        "not-offered",
    ),
    ("if not isinstance(asked, dict):", "if False:", "bad-json"),
    (
        r#"self.headers.get("Candor-Client", "")"#,
        r#""all""#,
        "keys-apart",
    ),
    ("if kept and kept[0] != payload:", "if False:", "key-reused"),
    ("if not kept:", "if True:", "same-key"),
    (
        "kept = kept[0], kept[1], json.loads(json.dumps(kept[2]))",
        "pass",
        "same-key",
    ),
    (
        "self.keys[client, operation, key] = kept",
        "self.keys.update({(client, operation, key): kept} if kept[1] == 200 else {})",
        "failure-stands",
    ),
    (r#""keepsKeys": True"#, r#""keepsKeys": 1"#, "capabilities"),
    (
        r#""error": {**error, "context": self.context}"#,
        r#""error": {**error, "retryable": True}"#,
        "unknown-order",
    ),
];

/// Runs every check against a mutant.
async fn check(mutant: &Mutant) -> CheckReport {
    let (expression, replacement, _) = mutant;
    assert_eq!(SAMPLE.matches(expression).count(), 1, "{expression}");
    let mut script = NamedTempFile::with_suffix(".py").unwrap();
    script
        .write_all(SAMPLE.replace(expression, replacement).as_bytes())
        .unwrap();
    let mut token = NamedTempFile::new().unwrap();
    token.write_all(b"sesame\n").unwrap();
    let arguments = ["--token-file", token.path().to_str().unwrap()];
    let adapter = SampleAdapter::start_script(script.path().to_str().unwrap(), &arguments);
    let mut settings = HttpSettings::new(&adapter.url);
    settings.bearer = BearerToken::new("sesame");
    run_checks(&settings, CheckOptions::default()).await
}

async fn detect_all(mutants: &[Mutant]) {
    // A few at once: each is a process.
    for some in mutants.chunks(4) {
        let reports = join_all(some.iter().map(check)).await;
        for ((expression, replacement, expected), report) in some.iter().zip(reports) {
            let failed = report.checks.iter();
            let failed: Vec<_> = failed
                .filter(|check| check.outcome == AdapterCheckOutcome::Failed)
                .map(|check| check.name)
                .collect();
            assert!(
                failed.contains(expected),
                "{expression} -> {replacement}: {expected} is not among {failed:?}"
            );
        }
    }
}

#[tokio::test]
async fn wrong_queries_are_detected() {
    detect_all(QUERIES).await;
}

#[tokio::test]
async fn wrong_creations_are_detected() {
    detect_all(CREATION).await;
}

#[tokio::test]
async fn wrong_changes_are_detected() {
    detect_all(CHANGES).await;
}

#[tokio::test]
async fn wrong_declared_filters_are_detected() {
    detect_all(LOOKUPS).await;
}

#[tokio::test]
async fn wrong_features_are_detected() {
    detect_all(FEATURES).await;
}

/// Runs every check against the sample with another text of the capabilities.
async fn check_declaring(filters: &str, features: &str) -> CheckReport {
    let declared = r#""filters": filters, "features": FEATURES,"#;
    let other = format!("{filters} \"features\": {features},");
    assert_eq!(SAMPLE.matches(declared).count(), 1);
    let mut script = NamedTempFile::with_suffix(".py").unwrap();
    script
        .write_all(SAMPLE.replace(declared, &other).as_bytes())
        .unwrap();
    let adapter = SampleAdapter::start_script(script.path().to_str().unwrap(), &[]);
    run_checks(&HttpSettings::new(&adapter.url), CheckOptions::default()).await
}

#[tokio::test]
async fn undeclared_filters_and_features_are_skipped() {
    let mut summary = String::new();
    for (name, filters, features) in [
        ("nothing declared", "", "[]"),
        ("no filters", r#""filters": {},"#, "FEATURES"),
        (
            "some",
            r#""filters": {"get-orders": ["externalIds", "phones"], "get-returns": ["ids", "statuses"]},"#,
            r#"["tax", "returns"]"#,
        ),
    ] {
        let report = check_declaring(filters, features).await;
        assert!(report.passed(), "{name}: {report:?}");
        let skipped = report.checks.iter();
        let skipped: Vec<_> = skipped
            .filter(|check| check.outcome == AdapterCheckOutcome::Skipped)
            .map(|check| check.name)
            .collect();
        summary += &format!("{name}: {}\n", skipped.join(" "));
    }
    insta::assert_snapshot!(summary);
}

#[tokio::test]
async fn wrong_protocols_and_keys_are_detected() {
    detect_all(PROTOCOL).await;
}

#[test]
fn there_are_at_least_forty_mutants() {
    let all = [QUERIES, CREATION, CHANGES, LOOKUPS, FEATURES, PROTOCOL];
    assert!(all.iter().map(|some| some.len()).sum::<usize>() >= 40);
}
