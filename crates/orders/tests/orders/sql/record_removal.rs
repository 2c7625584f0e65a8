//! `--keep-records-days`: old records are removed in the background.

use crate::fixture::store::{StoreFixture, StoreOptions};
use candor_orders::sql::invariants;
use serde_json::json;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The records before the servers start, more than one batch.
const OLD: i64 = 1_200;

pub(crate) async fn old_records_are_removed(fixture: &StoreFixture) {
    // Records as a server writes them, a minute apart. The last of them has a key that is kept.
    for number in 0..OLD {
        let at = 1_760_000_000_000_000 + number * 60_000_000;
        fixture
            .execute(&format!(
                "INSERT INTO records (id, at, client, tool, key, fingerprint, outcome)
                 VALUES ('rec_{at:013x}000000000000', {at}, 'default', 'cancel-order', 'old-{number}', 'f', '{{\"Refused\":{{\"why\":\"OrderNotFound\"}}}}')"
            ))
            .await;
    }
    fixture
        .execute(&format!(
            "INSERT INTO keys (client, tool, key, fingerprint, outcome, at)
             SELECT client, tool, key, fingerprint, '{{\"failed\":{{\"Refused\":{{\"why\":\"OrderNotFound\"}}}}}}', at
             FROM records WHERE key = 'old-{}'",
            OLD - 1
        ))
        .await;
    fixture.clock.advance(40 * DAY);
    let options = |keep_days, first_id| StoreOptions {
        keep_records: Some(keep_days * DAY),
        keep_keys: 100 * DAY,
        first_id,
        ..StoreOptions::default()
    };
    let wish = |key: &str| {
        let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
        json!({ "order": order, "idempotencyKey": key })
    };
    // A server that keeps records for longer removes none of these.
    let longer = fixture.another_server(options(60, 1 << 20)).await;
    for key in ["one", "two"] {
        let response = longer.call("create-sales-order", wish(key)).await;
        assert!(!response.is_failure());
    }
    let count = "SELECT COUNT(*) FROM records";
    assert_eq!(fixture.number(count).await, OLD + 2);
    let shorter = fixture.another_server(options(30, 1 << 21)).await;
    // Calls go on meanwhile, and their records stay.
    let mut made = 2;
    while fixture.number(count).await > made + 1 {
        let wish = wish(&format!("k{made}"));
        let response = shorter.call("create-sales-order", wish).await;
        let is_made = !response.is_failure();
        assert!(is_made || response.failure().1 == "INSUFFICIENT_INVENTORY");
        made += 1;
        assert!(made < 10_000, "old records are still there");
    }
    let kept = fixture
        .rows("SELECT key FROM records WHERE key LIKE 'old-%'")
        .await;
    assert_eq!(kept, [format!("old-{}", OLD - 1)]);
    let url = fixture.database.database_url();
    assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
}
