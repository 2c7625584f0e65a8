//! `candor orders check-adapter`: tests an order system against the adapter protocol.

use super::backend::{certificates, token, unusable};
use crate::cli::{CommandError, print};
use crate::host::{print_note, run};
use anstyle::{AnsiColor, Style};
use candor_orders::check::{
    AdapterCheckOutcome, CheckError, CheckOptions, CheckReport, CheckResult, check_adapter,
};
use candor_orders::http::HttpSettings;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

/// Test an order system against the adapter protocol
///
/// Creates up to 100 orders there, each with an external id or a tag that begins with `candor-check-`:
/// use a test system. Operations that the system does not offer, and filters and features that it does
/// not declare, are skipped.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckAdapterArgs {
    /// The URL of the order system, without /v1/…
    #[arg(value_name = "URL")]
    url: String,
    /// A file with the token for the order system
    #[arg(long, value_name = "FILE", visible_alias = "bearer-file")]
    backend_bearer_file: Option<PathBuf>,
    /// A file with the certificates to trust, in PEM, instead of the system's
    #[arg(long, value_name = "FILE")]
    backend_ca: Option<PathBuf>,
    /// A SKU with at least 400 units in stock [default: the first that is found]
    #[arg(long)]
    sku: Option<String>,
    /// Allow an order system on another machine without encryption
    #[arg(long)]
    allow_insecure_backend: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl CheckAdapterArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let token = self.backend_bearer_file.as_deref().map(token).transpose()?;
        let settings = HttpSettings {
            bearer: token.map(|(bearer, _)| bearer),
            ca: self.backend_ca.as_deref().map(certificates).transpose()?,
            allow_insecure: self.allow_insecure_backend,
            ..HttpSettings::new(self.url)
        };
        print_note(
            "this creates orders in the order system; their external ids or tags begin with candor-check-",
        );
        let goods = CheckOptions { sku: self.sku };
        let mut unprinted = None;
        let tell = |result: &CheckResult| {
            if !self.json && unprinted.is_none() {
                unprinted = print(line(result).as_bytes()).err();
            }
        };
        let random = Arc::new(|| fastrand::u64(..));
        let report: CheckReport = run(|stop| async move {
            tokio::select! {
                done = check_adapter(&settings, goods, random, tell) => done.map_err(not_checked),
                () = stop.cancelled() => Err(CommandError::new("the check was stopped; some orders may have been created")),
            }
        })?;
        if let Some(error) = unprinted {
            return Err(error);
        }
        if self.json {
            let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
            print((text + "\n").as_bytes())?;
        } else {
            print(totals(&report).as_bytes())?;
        }
        match report.count(AdapterCheckOutcome::Failed) {
            0 => Ok(()),
            failed => {
                let all = report.checks.len();
                let error = CommandError::new(format!("{failed} of {all} checks failed"));
                Err(error.with_hint("docs/adapter-protocol.md describes each check"))
            }
        }
    }
}

/// Converts the error of a run without checks into an error with a hint.
fn not_checked(error: CheckError) -> CommandError {
    match error {
        CheckError::Setup(error) => unusable(error),
        CheckError::Unreachable(_) => CommandError::new(error.to_string())
            .with_hint("start the order system, and check the host and the port of the URL"),
    }
}

/// Formats the result of one check.
fn line(result: &CheckResult) -> String {
    let (word, style) = match result.outcome {
        AdapterCheckOutcome::Ok => ("ok", AnsiColor::Green.on_default()),
        AdapterCheckOutcome::Failed => ("failed", AnsiColor::Red.on_default().bold()),
        AdapterCheckOutcome::Skipped => ("skipped", Style::new().dimmed()),
    };
    let (name, seen) = (result.name, &result.seen);
    let mut line = format!("{style}{word:<8}{style:#}{name:<26}{seen}\n");
    if result.outcome == AdapterCheckOutcome::Failed {
        line += &format!("{:34}expected: {}\n", "", result.expected);
    }
    line
}

fn totals(report: &CheckReport) -> String {
    let count = |outcome| report.count(outcome);
    format!(
        "{} ok, {} failed, {} skipped\n",
        count(AdapterCheckOutcome::Ok),
        count(AdapterCheckOutcome::Failed),
        count(AdapterCheckOutcome::Skipped)
    )
}
