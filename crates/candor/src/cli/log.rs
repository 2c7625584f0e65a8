//! The log: level, form, and spans for a collector.

use super::CommandError;
use crate::stderr_lines::StderrLines;
use clap::Args;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// The level of the log on stderr: off, error, warn, info, debug or trace
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        default_value = "warn",
        env = "CANDOR_LOG",
        hide_env_values = true
    )]
    log: LevelFilter,
    /// The form of log lines
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        default_value = "text",
        value_enum
    )]
    log_form: LogForm,
    /// Send spans to an OpenTelemetry collector at this URL (OTLP over HTTP), e.g. http://127.0.0.1:4318/v1/traces
    #[arg(long, global = true, value_name = "URL")]
    otlp: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogForm {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// Flushes the log when it is dropped.
#[derive(Debug)]
pub(super) struct LogGuard {
    // Dropped before the lines: spans that cannot be sent are logged there.
    _spans: Option<super::otlp::Spans>,
    _last: LastLines,
}

/// Waits for the last lines when it is dropped.
#[derive(Debug)]
struct LastLines(StderrLines);

impl Drop for LastLines {
    fn drop(&mut self) {
        self.0.finish();
    }
}

type BoxLayer = Box<dyn Layer<Registry> + Send + Sync>;

impl LogArgs {
    pub(super) fn start(&self) -> Result<LogGuard, CommandError> {
        let writer = StderrLines::shared();
        let last = LastLines(writer.clone());
        // Without colours: their code is not compiled in, and asking for them would panic.
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(writer)
            .with_ansi(false)
            .with_target(false);
        let lines: BoxLayer = match self.form() {
            LogForm::Text => lines.with_filter(self.log).boxed(),
            LogForm::Json => lines.json().with_filter(self.log).boxed(),
        };
        let (spans, layer) = super::otlp::start(self.otlp.as_deref())?;
        let all: Vec<BoxLayer> = [lines].into_iter().chain(layer).collect();
        // A second start in one process keeps the first log.
        let _ = tracing_subscriber::registry().with(all).try_init();
        Ok(LogGuard {
            _spans: spans,
            _last: last,
        })
    }

    fn form(&self) -> LogForm {
        self.log_form
    }
}
