//! The stations of a call, in order, and where each refusal ends it.

use crate::fixture::{Station, answer_until, one, raw_call, told};
use candor_fault::Answer;
use candor_street::{CancellationToken, MetricsHub};

#[tokio::test]
async fn a_success_passes_every_station_once() {
    let (told, seen) = one(Station::new(), "read", &[]).await;
    assert_eq!(told, "ok");
    let wanted = [
        "gate",
        "guard {\"steps\":[]}",
        "permit back",
        "record {\"ok\":true}",
        "note {\"ok\":true}",
    ];
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn a_refusal_ends_the_way_in_but_not_the_way_back() {
    let mut station = Station::new();
    station.refuse_gate = true;
    let (told, seen) = one(station, "read", &[]).await;
    assert_eq!(told, "cancelled none");
    assert_eq!(
        seen,
        ["gate", "record cancelled none", "note cancelled none"]
    );

    let mut station = Station::new();
    station.refuse_guard = true;
    let (told, seen) = one(station, "read", &[]).await;
    assert_eq!(told, "limited none");
    assert_eq!(
        seen,
        [
            "gate",
            "guard {\"steps\":[]}",
            "record limited none",
            "note limited none"
        ]
    );
}

#[tokio::test]
async fn wrong_arguments_stop_before_the_guard() {
    for arguments in [None, Some("[1]"), Some("null"), Some("{\"steps\":1}")] {
        let (dispatcher, seen, _, _) = Station::new().dispatcher();
        let call = raw_call("read", arguments.map(String::from));
        let answer = answer_until(&dispatcher, call, CancellationToken::new()).await;
        assert_eq!(told(&answer), "invalid_arguments none", "{arguments:?}");
        let wanted = [
            "gate",
            "record invalid_arguments none",
            "note invalid_arguments none",
        ];
        assert_eq!(seen.all(), wanted);
    }
}

#[tokio::test]
async fn a_tool_that_disagrees_with_its_schema_is_a_bug_of_the_server() {
    let (dispatcher, _, _, _) = Station::new().dispatcher();
    let answer = answer_until(&dispatcher, raw_call("sly", None), CancellationToken::new()).await;
    assert_eq!(told(&answer), "internal none");
}

#[tokio::test]
async fn a_panic_is_a_failure_that_knows_its_effect() {
    for (steps, wanted) in [
        (&["panic"][..], "internal none"),
        (&["begin", "panic"], "internal unknown"),
        (&["begin", "done", "panic"], "internal done"),
        (&["begin", "undone", "panic"], "internal none"),
    ] {
        assert_eq!(one(Station::new(), "write", steps).await.0, wanted);
    }
}

#[tokio::test]
async fn a_read_only_tool_cannot_begin() {
    assert_eq!(
        one(Station::new(), "read", &["begin"]).await.0,
        "internal none"
    );
}

#[tokio::test]
async fn an_unknown_tool_is_refused_recorded_and_noted() {
    let (dispatcher, seen, _, _) = Station::new().dispatcher();
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
    assert_eq!(seen.all(), ["record wire -32602", "note wire -32602"]);
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_code() {
    let (dispatcher, _, _, hub) = Station::new().dispatcher();
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
    let counted: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("candor_calls_total"))
        .collect();
    let mut counted = counted;
    counted.sort_unstable();
    assert_eq!(
        counted,
        [
            r#"candor_calls_total{tool="",code="-32602"} 1"#,
            r#"candor_calls_total{tool="read",code="invalid_arguments"} 1"#,
            r#"candor_calls_total{tool="read",code="ok"} 1"#,
        ]
    );
    let guarded = ["candor_retries", "candor_breaker_refusals"];
    assert!(guarded.iter().all(|name| !text.contains(name)), "{text}");
}

#[test]
fn what_a_guard_did_is_counted_with_its_first_event() {
    let hub = MetricsHub::default();
    assert_eq!(hub.text(), "# EOF\n");
    hub.count_retry("read", 4002);
    hub.count_retry("read", 4002);
    hub.count_breaker_refusal("write");
    let wanted = [
        "# HELP candor_retries Attempts that failed and were followed by another, by tool and code.",
        "# TYPE candor_retries counter",
        r#"candor_retries_total{tool="read",code="4002"} 2"#,
        "# HELP candor_breaker_refusals Calls answered without asking a system that is left alone, by tool.",
        "# TYPE candor_breaker_refusals counter",
        r#"candor_breaker_refusals_total{tool="write"} 1"#,
        "# EOF",
    ];
    assert_eq!(hub.text().lines().collect::<Vec<_>>(), wanted);
}

#[tokio::test]
async fn every_metric_has_the_name_and_the_labels_that_are_promised() {
    let (dispatcher, _, _, hub) = Station::new().dispatcher();
    answer_until(
        &dispatcher,
        raw_call("read", None),
        CancellationToken::new(),
    )
    .await;
    hub.count_retry("read", 1);
    hub.count_breaker_refusal("read");
    let text = hub.text();
    for (name, labels) in candor_street::METRIC_NAMES {
        let sample = text.lines().find(|line| line.starts_with(name)).unwrap();
        for label in *labels {
            assert!(sample.contains(&format!("{label}=\"")), "{sample}");
        }
    }
}
