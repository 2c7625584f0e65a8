//! The adapter checks against the sample adapter.

use crate::fixture::http_adapter::send_request;
use crate::fixture::sample_adapter::{SampleAdapter, run_checks};
use candor_http_client::BearerToken;
use candor_orders::Adapter as _;
use candor_orders::check::{
    AdapterCheckOutcome, CheckOptions, CheckReport, CheckResult, check_adapter,
};
use candor_orders::http::{HttpAdapter, HttpSettings};
use std::io::Write as _;

fn shown(report: &CheckReport) -> String {
    let lines = report.checks.iter().map(|check| {
        let CheckResult {
            name,
            outcome,
            seen,
            ..
        } = check;
        format!("{name}: {outcome:?}: {seen}\n")
    });
    lines.collect()
}

#[tokio::test]
async fn sample_passes_every_check() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"sesame\n").unwrap();
    let sample = SampleAdapter::start(&["--token-file", file.path().to_str().unwrap()]);
    let mut settings = HttpSettings::new(&sample.url);
    settings.bearer = BearerToken::new("sesame");
    let report = run_checks(&settings, CheckOptions::default()).await;
    assert_eq!(
        report.count(AdapterCheckOutcome::Ok),
        report.checks.len(),
        "{}",
        shown(&report)
    );
    insta::assert_snapshot!(shown(&report));
}

#[tokio::test]
async fn checks_of_missing_operations_are_skipped() {
    let without: Vec<_> = [
        "get-orders",
        "get-inventory",
        "update-order",
        "create-return",
    ]
    .into_iter()
    .flat_map(|name| ["--without", name])
    .collect();
    let sample = SampleAdapter::start(&without);
    let report = run_checks(&HttpSettings::new(&sample.url), CheckOptions::default()).await;
    assert!(report.passed(), "{}", shown(&report));
    insta::assert_snapshot!("smaller", shown(&report));
    let sample = SampleAdapter::start(&without);
    let options = CheckOptions {
        sku: Some(String::from("POT-1")),
    };
    let report = run_checks(&HttpSettings::new(&sample.url), options).await;
    assert!(report.passed(), "{}", shown(&report));
    insta::assert_snapshot!("smaller_with_sku", shown(&report));
}

#[tokio::test]
async fn adapter_that_offers_one_query_passes() {
    let without: Vec<_> = candor_orders::OrderOperation::ALL
        .into_iter()
        .map(candor_orders::OrderOperation::name)
        .filter(|name| *name != "get-orders")
        .flat_map(|name| ["--without", name])
        .collect();
    let sample = SampleAdapter::start(&without);
    let report = run_checks(&HttpSettings::new(&sample.url), CheckOptions::default()).await;
    assert!(report.passed(), "{}", shown(&report));
    insta::assert_snapshot!("one_query", shown(&report));
}

#[tokio::test]
async fn closed_port_is_one_sentence() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let settings = HttpSettings::new(url);
    let checked = check_adapter(
        &settings,
        CheckOptions::default(),
        std::sync::Arc::new(|| 1),
        |_| {},
    );
    let error = checked.await.unwrap_err().to_string();
    insta::assert_snapshot!(error, @"the order system cannot be reached: Connection refused (os error 111)");
}

#[tokio::test]
async fn adapter_works_with_the_sample_system() {
    let sample = SampleAdapter::start(&[]);
    let adapter = HttpAdapter::connect(&HttpSettings::new(&sample.url))
        .await
        .unwrap();
    assert!(adapter.keeps_keys());
    let (result, _) = send_request(&adapter, &crate::fixture::http_adapter::create()).await;
    let failure = format!("{:?}", result.unwrap_err());
    assert!(failure.contains("SkuNotFound"), "{failure}");
}
