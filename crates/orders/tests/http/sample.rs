//! The sample adapter of `examples/`, run for real.

use crate::stage::asked;
use candor_http_client::BearerToken;
use candor_orders::Adapter as _;
use candor_orders::check::{CheckOptions, CheckOutcome, CheckReport, CheckResult, check_adapter};
use candor_orders::http::{HttpAdapter, Settings};
use candor_testkit::Process;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ChildStdin;

/// A running sample adapter.
pub(crate) struct Sample {
    _process: Process,
    _stdin: ChildStdin,
    pub(crate) url: String,
}

impl Sample {
    pub(crate) fn start(arguments: &[&str]) -> Sample {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/orders-adapter/adapter.py"
        );
        let mut all = vec![script, "--port", "0"];
        all.extend(arguments);
        let (process, stdin, stdout) = Process::start(Process::command("python3", &all));
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{}", process.stderr());
        Sample {
            _process: process,
            _stdin: stdin,
            url,
        }
    }
}

/// Runs all checks; the random bits are those of a counter.
pub(crate) async fn checked(settings: &Settings, goods: CheckOptions) -> CheckReport {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let count = Arc::new(AtomicU64::new(1));
    let random = Arc::new(move || count.fetch_add(1, Ordering::Relaxed));
    let mut told: Vec<CheckResult> = Vec::new();
    let report = check_adapter(settings, goods, random, |result| told.push(result.clone()))
        .await
        .unwrap();
    assert_eq!(report.checks, told);
    report
}

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
async fn the_sample_passes_every_check() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"sesame\n").unwrap();
    let sample = Sample::start(&["--token-file", file.path().to_str().unwrap()]);
    let mut settings = Settings::new(&sample.url);
    settings.bearer = BearerToken::new("sesame");
    let report = checked(&settings, CheckOptions::default()).await;
    assert_eq!(
        report.count(CheckOutcome::Ok),
        report.checks.len(),
        "{}",
        shown(&report)
    );
    insta::assert_snapshot!(shown(&report));
}

#[tokio::test]
async fn what_a_smaller_system_does_not_offer_is_skipped() {
    let without: Vec<_> = [
        "get-orders",
        "get-inventory",
        "update-order",
        "create-return",
    ]
    .into_iter()
    .flat_map(|name| ["--without", name])
    .collect();
    let sample = Sample::start(&without);
    let report = checked(&Settings::new(&sample.url), CheckOptions::default()).await;
    assert!(report.passed(), "{}", shown(&report));
    insta::assert_snapshot!("smaller", shown(&report));
    let sample = Sample::start(&without);
    let goods = CheckOptions {
        sku: Some(String::from("POT-1")),
    };
    let report = checked(&Settings::new(&sample.url), goods).await;
    assert!(report.passed(), "{}", shown(&report));
    insta::assert_snapshot!("smaller_with_sku", shown(&report));
}

#[tokio::test]
async fn the_adapter_speaks_with_the_sample() {
    let sample = Sample::start(&[]);
    let adapter = HttpAdapter::connect(&Settings::new(&sample.url))
        .await
        .unwrap();
    assert!(adapter.keeps_keys());
    let (done, _) = asked(&adapter, &crate::stage::create()).await;
    let failure = format!("{:?}", done.unwrap_err());
    assert!(failure.contains("SkuNotFound"), "{failure}");
}
