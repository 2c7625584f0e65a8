//! What only a process has: the real clock, signals, stdin and stdout, a log, a panic hook.

use candor_fault::Timestamp;
use candor_street::{CancellationToken, Clock, Dispatcher, MetricsHub, Server};
use candor_wire::stdio::serve;
use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The time of day.
pub fn system_clock() -> Arc<dyn Clock> {
    // The one place that reads the real clock.
    #[allow(clippy::disallowed_methods)]
    Arc::new(Timestamp::now)
}

/// Serves on stdin and stdout until the input ends or a signal comes. For servers of their own: sets
/// up what a process needs, and says on stderr why it cannot.
pub fn stdio<S: Server>(server: S) -> ExitCode {
    quiet_panics();
    match stdio_server(server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Serves on stdin and stdout.
pub(crate) fn stdio_server<S: Server>(server: S) -> io::Result<()> {
    let dispatcher = Dispatcher::new(server, system_clock(), &MetricsHub::default())
        .map_err(io::Error::other)?;
    run(|stop| serve(dispatcher, io::stdin(), io::stdout(), stop))
}

/// Runs `work` on a runtime of its own until it ends; SIGTERM and SIGINT set its token.
pub(crate) fn run<T, E: From<io::Error>, F: Future<Output = Result<T, E>>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, E> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let stop = CancellationToken::new();
        // Before any work: a signal that comes with the first answer must find its handler.
        let (term, int) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::spawn(stop_on_signal(term, int, stop.clone()));
        work(stop).await
    });
    // What still runs was given its time already.
    runtime.shutdown_background();
    ended
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("candor")
        .build()
}

async fn stop_on_signal(mut term: Signal, mut int: Signal, stop: CancellationToken) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    stop.cancel();
}

/// Sends panics to the log instead of stderr: the client is told in its own dialect, and a client that
/// shows stderr would show a backtrace.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            place,
            "a panic: {}",
            panic.payload_as_str().unwrap_or("without words")
        );
    }));
}

/// A message for the person at the terminal.
pub(crate) fn complain(message: &str) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // Where stderr is gone there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {message}");
}

/// A line that helps, after a message.
pub(crate) fn hint(message: &str) {
    let style = anstyle::AnsiColor::Cyan.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}hint:{style:#} {message}");
}

/// Something worth knowing that is no error.
pub(crate) fn note(message: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}note:{style:#} {message}");
}
