//! The order of the stages of a call, and the stage at which each refusal ends it.

use crate::fixture::{RecordingServer, answer_until, describe_answer, raw_call, run_call};
use candor_fault::Answer;
use candor_street::{CancellationToken, MetricsHub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[tokio::test]
async fn successful_call_passes_every_station_once() {
    let (outcome, events) = run_call(RecordingServer::new(), "read", &[]).await;
    assert_eq!(outcome, "ok");
    let expected = [
        "gate",
        "guard {\"steps\":[]}",
        "permit back",
        "record {\"ok\":true}",
        "note {\"ok\":true}",
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn refused_call_is_still_recorded_and_noted() {
    let mut server = RecordingServer::new();
    server.refuse_gate = true;
    let (outcome, events) = run_call(server, "read", &[]).await;
    assert_eq!(outcome, "cancelled none");
    assert_eq!(
        events,
        ["gate", "record cancelled none", "note cancelled none"]
    );

    let mut server = RecordingServer::new();
    server.refuse_guard = true;
    let (outcome, events) = run_call(server, "read", &[]).await;
    assert_eq!(outcome, "limited none");
    assert_eq!(
        events,
        [
            "gate",
            "guard {\"steps\":[]}",
            "record limited none",
            "note limited none"
        ]
    );
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_the_guard() {
    for arguments in [None, Some("[1]"), Some("null"), Some("{\"steps\":1}")] {
        let (dispatcher, events, _, _) = RecordingServer::new().dispatcher();
        let call = raw_call("read", arguments.map(String::from));
        let answer = answer_until(&dispatcher, call, CancellationToken::new()).await;
        assert_eq!(
            describe_answer(&answer),
            "invalid_arguments none",
            "{arguments:?}"
        );
        let expected = [
            "gate",
            "record invalid_arguments none",
            "note invalid_arguments none",
        ];
        assert_eq!(events.all(), expected);
    }
}

#[tokio::test]
async fn tool_that_disagrees_with_its_schema_is_an_internal_error() {
    let (dispatcher, _, _, _) = RecordingServer::new().dispatcher();
    let answer = answer_until(&dispatcher, raw_call("sly", None), CancellationToken::new()).await;
    assert_eq!(describe_answer(&answer), "internal none");
}

#[tokio::test]
async fn panic_is_an_internal_error_with_the_effect_of_the_mark() {
    for (steps, expected) in [
        (&["panic"][..], "internal none"),
        (&["begin", "panic"], "internal unknown"),
        (&["begin", "done", "panic"], "internal done"),
        (&["begin", "undone", "panic"], "internal none"),
    ] {
        assert_eq!(
            run_call(RecordingServer::new(), "write", steps).await.0,
            expected
        );
    }
}

#[tokio::test]
async fn read_only_tool_cannot_begin_an_effect() {
    assert_eq!(
        run_call(RecordingServer::new(), "read", &["begin"]).await.0,
        "internal none"
    );
}

#[tokio::test]
async fn unknown_tool_is_refused_recorded_and_noted() {
    let (dispatcher, events, _, _) = RecordingServer::new().dispatcher();
    let answer = answer_until(
        &dispatcher,
        raw_call("raed", None),
        CancellationToken::new(),
    )
    .await;
    let Answer::Error(error) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(
        (error.code, error.message.as_str(), error.status),
        (-32602, "Unknown tool: raed", 200)
    );
    let data = r#"{"tool":"raed","hint":"did you mean 'read'?"}"#;
    assert_eq!(error.data.as_deref(), Some(data));
    assert_eq!(events.all(), ["record wire -32602", "note wire -32602"]);
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_code() {
    let (dispatcher, _, _, hub) = RecordingServer::new().dispatcher();
    for (name, arguments) in [
        ("read", None),
        ("read", Some("{\"steps\":[]}")),
        ("nothing", None),
    ] {
        answer_until(
            &dispatcher,
            raw_call(name, arguments.map(String::from)),
            CancellationToken::new(),
        )
        .await;
    }
    let text = hub.text();
    let counters: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("candor_calls_total"))
        .collect();
    let mut counters = counters;
    counters.sort_unstable();
    assert_eq!(
        counters,
        [
            r#"candor_calls_total{tool="",code="-32602"} 1"#,
            r#"candor_calls_total{tool="read",code="invalid_arguments"} 1"#,
            r#"candor_calls_total{tool="read",code="ok"} 1"#,
        ]
    );
    let guard_metrics = ["candor_retries", "candor_breaker_refusals"];
    assert!(
        guard_metrics.iter().all(|name| !text.contains(name)),
        "{text}"
    );
}

#[test]
fn guard_metrics_appear_with_their_first_event() {
    let hub = MetricsHub::default();
    assert_eq!(hub.text(), "# EOF\n");
    hub.count_retry("read", 4002);
    hub.count_retry("read", 4002);
    hub.count_breaker_refusal("write");
    let expected = [
        "# HELP candor_retries Attempts that failed and were followed by another, by tool and code.",
        "# TYPE candor_retries counter",
        r#"candor_retries_total{tool="read",code="4002"} 2"#,
        "# HELP candor_breaker_refusals Calls answered without asking a system that is left alone, by tool.",
        "# TYPE candor_breaker_refusals counter",
        r#"candor_breaker_refusals_total{tool="write"} 1"#,
        "# EOF",
    ];
    assert_eq!(hub.text().lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn every_metric_has_its_documented_name_and_labels() {
    let (dispatcher, _, _, hub) = RecordingServer::new().dispatcher();
    answer_until(
        &dispatcher,
        raw_call("read", None),
        CancellationToken::new(),
    )
    .await;
    hub.count_retry("read", 1);
    hub.count_breaker_refusal("read");
    hub.count_invalid_answer("read");
    hub.count_omitted("read", 2);
    hub.set_breaker_open("queries", true);
    hub.set_orders_connections("read", "idle", 1);
    hub.set_changes_waiting(3);
    hub.count_commit_group(2);
    hub.set_connections("idle", 1);
    hub.count_eviction("idle");
    hub.count_http_refusal(401);
    let text = hub.text();
    for (name, labels) in candor_street::METRIC_NAMES {
        let sample = text.lines().find(|line| line.starts_with(name)).unwrap();
        for label in *labels {
            assert!(sample.contains(&format!("{label}=\"")), "{sample}");
        }
    }
    assert_eq!(documented_metrics(), candor_street::METRIC_NAMES.len());
}

#[test]
fn observers_set_gauges_before_every_text() {
    let hub = MetricsHub::default();
    let waiting = Arc::new(AtomicI64::new(1));
    let observed = Arc::clone(&waiting);
    hub.observe(move |hub| hub.set_changes_waiting(observed.load(Ordering::Relaxed)));
    for expected in [1, 7] {
        waiting.store(expected, Ordering::Relaxed);
        let line = format!("candor_orders_changes_waiting {expected}\n");
        assert!(hub.text().contains(&line), "{}", hub.text());
    }
}

/// Checks that the page describes every metric with its labels. Returns how many it describes.
fn documented_metrics() -> usize {
    let page = include_str!("../../../../docs/wire.md");
    for (name, labels) in candor_street::METRIC_NAMES {
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let row = format!("| `{name}{labels}` |");
        assert!(page.contains(&row), "{row}");
    }
    page.matches("\n| `candor_").count()
}
