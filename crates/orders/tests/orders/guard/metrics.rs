//! The metrics of the guard.

use crate::fixture::guarded::ServerBuilder;
use crate::fixture::scripted_adapter::fails;
use candor_orders::{Failure, RefusalReason};

#[tokio::test(start_paused = true)]
async fn retries_refusals_and_answers_are_counted_by_tool_and_code() {
    let down = Failure::Unavailable(None, None);
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_script([
            fails(down.clone()),
            fails(Failure::TimedOut(None)),
            vec![],
            fails(busy),
            vec![],
            fails(RefusalReason::OrderNotFound),
        ])
        .with_every_call(fails(down))
        .build();
    for expected in ["ok", "ok", "4001 ORDER_NOT_FOUND none"] {
        assert_eq!(server.create().await.summary(), expected);
    }
    server.find().await;
    for _ in 0..2 {
        server.find().await;
    }
    for _ in 0..2 {
        server.create().await;
    }
    let text = server.metrics.text();
    let counted = text.lines().filter(|line| line.contains("_total{"));
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable();
    assert_eq!(
        counted,
        [
            r#"candor_breaker_refusals_total{tool="create-sales-order"} 1"#,
            r#"candor_breaker_refusals_total{tool="get-orders"} 2"#,
            r#"candor_calls_total{tool="create-sales-order",code="4001"} 1"#,
            r#"candor_calls_total{tool="create-sales-order",code="4002"} 2"#,
            r#"candor_calls_total{tool="create-sales-order",code="ok"} 2"#,
            r#"candor_calls_total{tool="get-orders",code="4002"} 3"#,
            r#"candor_retries_total{tool="create-sales-order",code="3002"} 1"#,
            r#"candor_retries_total{tool="create-sales-order",code="4001"} 1"#,
            r#"candor_retries_total{tool="create-sales-order",code="4002"} 3"#,
            r#"candor_retries_total{tool="get-orders",code="4002"} 2"#,
        ]
    );
}
