//! The bare loops on stdio: one task that reads a line, parses, echoes, and flushes when its buffer
//! is empty. One uses tokio's stdin and stdout, as most programs do; the other uses the two pipes
//! directly, which is the least that can be done.

use super::echo;
use std::io;
use std::os::fd::AsFd;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::unix::pipe;
use tokio::runtime::Builder;

/// The capacity of a pipe.
const BUFFER: usize = 64 * 1024;

/// Serves tokio's stdin until it ends.
pub(crate) fn run() -> io::Result<()> {
    // Faster here than a runtime of one thread.
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    // The reason against it elsewhere, a late exit, does not matter here.
    #[allow(clippy::disallowed_methods)]
    let input = tokio::io::stdin();
    let serving = serve(input, tokio::io::stdout());
    runtime.block_on(async { tokio::spawn(serving).await? })
}

/// Serves stdin as a pipe, until it ends.
pub(crate) fn run_on_pipes() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        serve(
            pipe::Receiver::from_owned_fd(input)?,
            pipe::Sender::from_owned_fd(output)?,
        )
        .await
    })
}

async fn serve(input: impl AsyncRead + Unpin, output: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut output = BufWriter::with_capacity(BUFFER, output);
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        echo(&line, &mut answer)?;
        answer.push(b'\n');
        output.write_all(&answer).await?;
        if input.buffer().is_empty() {
            output.flush().await?;
        }
        line.clear();
        answer.clear();
    }
    output.flush().await
}
