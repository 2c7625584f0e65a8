//! Order systems with one defect each: exactly the checks of that defect fail.

use crate::fixture::sample_adapter::{SampleAdapter, run_checks};
use candor_orders::check::{AdapterCheckOutcome, CheckOptions};
use candor_orders::http::HttpSettings;
use candor_testkit::scripted_http::{HttpMessage, RecordedRequest};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A response that may be distorted.
struct Answer {
    status: u16,
    body: Value,
}

/// The defect of an order system: how it distorts requests and responses.
#[derive(Clone, Copy)]
struct Distortion {
    request: fn(&mut RecordedRequest, u64),
    answer: fn(&RecordedRequest, &mut Answer),
}

const RIGHT: Distortion = Distortion {
    request: |_, _| {},
    answer: |_, _| {},
};

/// Starts a distorting proxy in front of the sample adapter, and returns its address.
async fn distorted(sample: &SampleAdapter, wrong: Distortion) -> String {
    let behind = sample.url.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(pass(stream, behind.clone(), wrong, Arc::clone(&count)));
        }
    });
    url
}

async fn pass(
    stream: TcpStream,
    behind: String,
    wrong: Distortion,
    count: Arc<AtomicU64>,
) -> Option<()> {
    let mut front = BufReader::new(stream);
    loop {
        let mut request = RecordedRequest::read(&mut front).await?;
        (wrong.request)(&mut request, count.fetch_add(1, Ordering::SeqCst));
        let mut back = BufReader::new(TcpStream::connect(&behind).await.unwrap());
        let mut head = format!("{} HTTP/1.1\r\nconnection: close\r\n", request.line());
        for (name, value) in &request.headers {
            if name != "content-length" {
                head += &format!("{name}: {value}\r\n");
            }
        }
        head += &format!("content-length: {}\r\n\r\n", request.body.len());
        back.write_all(&[head.as_bytes(), &request.body].concat())
            .await
            .unwrap();
        let HttpMessage { first, body, .. } = HttpMessage::read(&mut back).await.unwrap();
        let mut answer = Answer {
            status: first.split_whitespace().nth(1).unwrap().parse().unwrap(),
            body: serde_json::from_slice(&body).unwrap(),
        };
        (wrong.answer)(&request, &mut answer);
        let (status, body) = (answer.status, answer.body.to_string());
        let length = body.len();
        let whole = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        front.write_all(whole.as_bytes()).await.ok()?;
    }
}

/// Returns the names of the failing checks.
async fn failing(wrong: Distortion) -> Vec<&'static str> {
    let sample = SampleAdapter::start(&[]);
    let settings = HttpSettings::new(distorted(&sample, wrong).await);
    let report = run_checks(&settings, CheckOptions::default()).await;
    let failed = report
        .checks
        .iter()
        .filter(|check| check.outcome == AdapterCheckOutcome::Failed);
    failed.map(|check| check.name).collect()
}

fn header(request: &mut RecordedRequest, name: &str, value: String) {
    for (key, old) in &mut request.headers {
        if key == name {
            old.clone_from(&value);
        }
    }
}

#[tokio::test]
async fn undistorted_system_passes_every_check() {
    assert_eq!(failing(RIGHT).await, Vec::<&str>::new());
}

#[tokio::test]
async fn keys_that_are_not_kept() {
    let wrong = Distortion {
        request: |request, count| header(request, "idempotency-key", count.to_string()),
        ..RIGHT
    };
    // A second order with the same external id is a conflict, not the same answer.
    let expected = [
        "same-key",
        "odd-key",
        "key-reused",
        "failure-stands",
        "concurrent-duplicates",
    ];
    assert_eq!(failing(wrong).await, expected);
}

#[tokio::test]
async fn keys_that_ignore_the_client_fail_their_checks() {
    let wrong = Distortion {
        request: |request, _| header(request, "candor-client", String::from("all")),
        ..RIGHT
    };
    assert_eq!(failing(wrong).await, ["keys-apart"]);
}

#[tokio::test]
async fn not_found_as_an_empty_success() {
    let wrong = Distortion {
        answer: |_, answer| {
            if answer.status == 404 {
                answer.status = 200;
                answer.body = json!({});
            }
        },
        ..RIGHT
    };
    assert_eq!(
        failing(wrong).await,
        [
            "unknown-sku",
            "unknown-order",
            "unknown-location",
            "return-declined"
        ]
    );
}

#[tokio::test]
async fn cursors_that_lead_nowhere() {
    let wrong = Distortion {
        answer: |request, answer| {
            if request.line() == "POST /v1/get-orders" && answer.status == 200 {
                answer.body["nextCursor"] = json!(null);
            }
        },
        ..RIGHT
    };
    assert_eq!(failing(wrong).await, ["pages"]);
}

#[tokio::test]
async fn filters_that_are_ignored() {
    let wrong = Distortion {
        request: |request, _| {
            if request.line() == "POST /v1/get-orders" {
                request.body = br#"{"pageSize":100}"#.to_vec();
            }
        },
        ..RIGHT
    };
    let failing = failing(wrong).await;
    for name in ["unknown-ids", "find", "pages", "unknown-sku", "wrong-total"] {
        // Not detectable before the first order.
        assert_eq!(
            failing.contains(&name),
            name != "unknown-ids",
            "{failing:?}"
        );
    }
}

#[tokio::test]
async fn amounts_as_numbers() {
    let wrong = Distortion {
        answer: |_, answer| {
            if let Some(order) = answer.body.get_mut("order") {
                order["total"] = json!(3.0);
            }
        },
        ..RIGHT
    };
    let failing = failing(wrong).await;
    assert!(failing.contains(&"create"), "{failing:?}");
    assert!(!failing.contains(&"get-product-variants"), "{failing:?}");
}

#[tokio::test]
async fn failures_without_names_or_facts() {
    let wrong = Distortion {
        answer: |_, answer| {
            if answer.status >= 400 {
                answer.body = json!({ "message": "no" });
            }
        },
        ..RIGHT
    };
    let expected = [
        "unknown-sku",
        "external-id-conflict",
        "unknown-order",
        "invalid-step",
        "cancel-twice",
        "fulfill-too-much",
        "insufficient-stock",
        "unknown-location",
        "return-too-much",
        "return-in-steps",
        "shipping",
        "payments",
        "refunds",
        "edit-lines",
        "return-steps",
        "return-declined",
        "exchange",
        "key-reused",
        "failure-stands",
    ];
    assert_eq!(failing(wrong).await, expected);
}

#[tokio::test]
async fn operations_that_are_not_there_as_404() {
    let wrong = Distortion {
        answer: |_, answer| {
            if answer.status == 501 {
                answer.status = 404;
            }
        },
        ..RIGHT
    };
    assert_eq!(failing(wrong).await, ["not-offered"]);
}

#[tokio::test]
async fn other_protocol_version_fails_its_check() {
    let wrong = Distortion {
        answer: |_, answer| {
            if answer.body.get("protocol").is_some() {
                answer.body["protocol"] = json!(2);
            }
        },
        ..RIGHT
    };
    assert_eq!(failing(wrong).await, ["capabilities"]);
}

#[tokio::test]
async fn refusals_that_change_something_all_the_same() {
    let wrong = Distortion {
        request: |request, _| {
            // The wrong total is ignored.
            let text = String::from_utf8(request.body.clone()).unwrap();
            request.body = text.replace(r#","total":"4""#, "").into_bytes();
        },
        ..RIGHT
    };
    assert_eq!(failing(wrong).await, ["wrong-total"]);
}
