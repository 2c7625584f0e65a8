//! The process: real clock, signals, stdin and stdout, panic hook, messages on stderr.

use candor_fault::Timestamp;
use candor_street::{CancellationToken, Clock, Dispatcher, MetricsHub, Server};
use candor_wire::stdio::serve;
use candor_workspace::visible_lines;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Returns the clock of the system.
pub fn system_clock() -> Arc<dyn Clock> {
    // Nothing else reads the real clock.
    #[allow(clippy::disallowed_methods)]
    let now = SystemTime::now;
    // A clock beyond the year 9999 has no timestamp; a server does not start with one.
    Arc::new(move || Timestamp::try_from(now()).unwrap_or(Timestamp::MAX))
}

/// Serves on stdin and stdout until the input ends or a signal arrives. For the `main` of a server: sets up
/// the process, and prints a failure to start on stderr.
pub fn stdio<S: Server>(server: S) -> ExitCode {
    quiet_panics();
    match stdio_server(server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Serves on stdin and stdout until the input ends or a signal arrives.
pub(crate) fn stdio_server<S: Server>(server: S) -> io::Result<()> {
    let dispatcher = Dispatcher::new(server, system_clock(), &MetricsHub::default())
        .map_err(io::Error::other)?;
    run(|stop| serve_stdio(dispatcher, stop))
}

/// Serves a dispatcher on stdin and stdout. If stdin is a terminal, a line on stderr says first what the
/// program waits for; a client that starts the program sees nothing on stderr.
pub(crate) async fn serve_stdio<S: Server>(
    dispatcher: Arc<Dispatcher<S>>,
    stop: CancellationToken,
) -> io::Result<()> {
    if io::stdin().is_terminal() {
        let tools = dispatcher.server().tools();
        let (name, version) = (tools.server_name(), tools.server_version());
        // If stderr is closed, the message cannot be shown anywhere else.
        let _ = writeln!(
            io::stderr(),
            "{name} {version}: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it"
        );
    }
    serve(dispatcher, io::stdin(), io::stdout(), stop).await
}

/// Runs `work` on a new runtime until it ends; SIGTERM and SIGINT cancel its token.
pub(crate) fn run<T, E: From<io::Error>, F: Future<Output = Result<T, E>>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, E> {
    let stop = CancellationToken::new();
    run_boxed(stop.clone(), Box::pin(async { work(stop).await }))
}

/// Boxed, so that the runtime is compiled once for each type of result and not for each command.
fn run_boxed<T, E: From<io::Error>>(
    stop: CancellationToken,
    work: Pin<Box<dyn Future<Output = Result<T, E>> + '_>>,
) -> Result<T, E> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        // Installed before any work: a signal may arrive with the first answer.
        let (term, int) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::spawn(stop_on_signal(term, int, stop));
        work.await
    });
    // Tasks that still run have already used up their grace period.
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

/// Sends panics to the log instead of stderr: the client gets a failure in its dialect, and a client that
/// shows stderr would show a backtrace.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(
            location,
            "a panic: {}",
            panic.payload_as_str().unwrap_or("no message")
        );
    }));
}

/// Prints an error for the person at the terminal.
pub(crate) fn print_error(message: &str) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = writeln!(
        anstream::stderr(),
        "{style}error:{style:#} {}",
        visible_lines(message)
    );
}

/// Prints a hint after an error.
pub(crate) fn print_hint(message: &str) {
    let style = anstyle::AnsiColor::Cyan.on_default().bold();
    let _ = writeln!(
        anstream::stderr(),
        "{style}hint:{style:#} {}",
        visible_lines(message)
    );
}

/// Prints a note that is not an error.
pub(crate) fn print_note(message: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(
        anstream::stderr(),
        "{style}note:{style:#} {}",
        visible_lines(message)
    );
}
