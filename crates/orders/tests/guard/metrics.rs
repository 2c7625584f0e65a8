//! What the guard did, as the metrics tell it.

use crate::house::Plan;
use crate::scripted::fails;
use candor_orders::{Failure, RefusalReason};

#[tokio::test(start_paused = true)]
async fn retries_refusals_and_answers_are_counted_by_tool_and_code() {
    let down = Failure::Unavailable(None, None);
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    let house = Plan::default()
        .breaking_after(1)
        .script([
            fails(down.clone()),
            fails(Failure::TimedOut(None)),
            vec![],
            fails(busy),
            vec![],
            fails(RefusalReason::OrderNotFound),
        ])
        .always(fails(down))
        .house();
    for wanted in ["ok", "ok", "4001 ORDER_NOT_FOUND none"] {
        assert_eq!(house.create().await.told(), wanted);
    }
    house.find().await;
    for _ in 0..2 {
        house.find().await;
    }
    house.create().await;
    let text = house.hub.text();
    let counted = text.lines().filter(|line| line.contains("_total{"));
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable();
    assert_eq!(
        counted,
        [
            r#"candor_breaker_refusals_total{tool="create-sales-order"} 1"#,
            r#"candor_breaker_refusals_total{tool="get-orders"} 2"#,
            r#"candor_calls_total{tool="create-sales-order",code="4001"} 1"#,
            r#"candor_calls_total{tool="create-sales-order",code="4002"} 1"#,
            r#"candor_calls_total{tool="create-sales-order",code="ok"} 2"#,
            r#"candor_calls_total{tool="get-orders",code="4002"} 3"#,
            r#"candor_retries_total{tool="create-sales-order",code="3002"} 1"#,
            r#"candor_retries_total{tool="create-sales-order",code="4001"} 1"#,
            r#"candor_retries_total{tool="create-sales-order",code="4002"} 1"#,
            r#"candor_retries_total{tool="get-orders",code="4002"} 2"#,
        ]
    );
}
