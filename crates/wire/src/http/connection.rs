//! Serves one connection: its time limits, its eviction, and the refusal of a broken head.

use super::connection_stream::{ConnectionStream, track_answer};
use super::connection_table::{ConnectionEntry, PeerDeadline};
use super::listen::{MAX_HEAD, MAX_TARGET, RouteTable};
use super::respond;
use candor_fault::Fault;
use candor_fault::dialects::Wire;
use hyper::Request;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until, timeout};

/// The time for sending a refusal, and for reading the rest of a refused request. A connection that is
/// closed while input is unread is reset, and the peer may lose the answer.
const LINGER: Duration = Duration::from_secs(1);

/// The end of a connection.
enum ConnectionEnd {
    /// All requests are answered.
    Closed,
    /// The HTTP library cannot continue.
    Failed(hyper::Error),
    /// The peer has used up its time.
    TimedOut(PeerDeadline),
    Evicted,
}

/// Serves a connection until it ends.
pub(super) async fn serve_connection(
    stream: TcpStream,
    entry: Arc<ConnectionEntry>,
    routes: Arc<RouteTable>,
) {
    // Small answers must not wait for further data.
    let _ = stream.set_nodelay(true);
    let stream = ConnectionStream::new(stream, Arc::clone(&entry));
    let service_entry = Arc::clone(&entry);
    let service_routes = Arc::clone(&routes);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (routes, entry) = (Arc::clone(&service_routes), Arc::clone(&service_entry));
        let is_open = entry.begin_request(!request.body().is_end_stream());
        async move {
            let answer = match is_open {
                true => routes.answer(request, &entry).await,
                // Nothing is sent on an evicted connection.
                false => respond::accepted(),
            };
            Ok::<_, Infallible>(track_answer(entry, answer))
        }
    });
    let mut connection = Builder::new()
        .half_close(true)
        // The connection has its own timeouts.
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut timer = None;
    let mut is_closing = false;
    let end = poll_fn(|cx| {
        entry.register(cx.waker());
        if entry.is_closing() && !is_closing {
            is_closing = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        if let Poll::Ready(ended) = Pin::new(&mut connection).poll(cx) {
            return Poll::Ready(match ended {
                _ if entry.is_evicted() => ConnectionEnd::Evicted,
                Ok(()) => ConnectionEnd::Closed,
                Err(error) => ConnectionEnd::Failed(error),
            });
        }
        if entry.is_evicted() {
            return Poll::Ready(ConnectionEnd::Evicted);
        }
        poll_deadline(&entry, &mut timer, cx).map(ConnectionEnd::TimedOut)
    })
    .await;
    if let ConnectionEnd::Evicted = end {
        return;
    }
    let parts = connection.into_parts();
    let stream = parts.io.into_inner();
    let refusal = find_refusal(&end, stream.refused(), &parts.read_buf);
    if let ConnectionEnd::Failed(error) = &end {
        // A connection that its peer has broken is not worth a line of the usual log.
        tracing::debug!(%error, "a connection ended badly");
    }
    let has_unread_input = entry.has_unread_body() && !entry.has_input_ended();
    if refusal.is_none() && !has_unread_input {
        return;
    }
    let answer = refusal.map(|fault| routes.refuse_head(&fault));
    entry.begin_lingering();
    // Boxed because few connections end like this.
    let mut ending = Box::pin(end_politely(stream.into_inner(), answer));
    poll_fn(|cx| {
        entry.register(cx.waker());
        match entry.is_evicted() {
            true => Poll::Ready(()),
            false => ending.as_mut().poll(cx),
        }
    })
    .await;
}

/// Ready if the peer has used up its time. The timer fires at the deadline or before it, and is reset only
/// after it has fired.
fn poll_deadline(
    entry: &ConnectionEntry,
    timer: &mut Option<Pin<Box<Sleep>>>,
    cx: &mut Context<'_>,
) -> Poll<PeerDeadline> {
    let Some(deadline) = entry.deadline() else {
        return Poll::Pending;
    };
    let instant = deadline.instant();
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(instant)));
    if timer.deadline() > instant {
        timer.as_mut().reset(instant);
    }
    loop {
        ready!(timer.as_mut().poll(cx));
        if timer.deadline() >= instant {
            return Poll::Ready(deadline);
        }
        // The timer was set for an earlier request.
        timer.as_mut().reset(instant);
    }
}

/// Returns the refusal of a head that cannot be served. `refused` is the status that the HTTP library has
/// chosen, and `unread` what it has read of the head.
fn find_refusal(end: &ConnectionEnd, refused: Option<u16>, unread: &[u8]) -> Option<Fault<Wire>> {
    let has_begun = unread.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
    let (status, message) = match (end, refused) {
        (ConnectionEnd::TimedOut(PeerDeadline::Head(_)), _) => (408, "the head took too long"),
        (ConnectionEnd::TimedOut(PeerDeadline::Idle(_)), _) if has_begun => {
            (408, "the head took too long")
        }
        (ConnectionEnd::Failed(_), Some(414)) => (414, TARGET_TOO_LONG),
        (ConnectionEnd::Failed(_), Some(431)) if is_target_too_long(unread) => {
            (414, TARGET_TOO_LONG)
        }
        (ConnectionEnd::Failed(_), Some(431)) => {
            (431, "the head is too large or has too many fields")
        }
        (ConnectionEnd::Failed(_), Some(_)) => (400, "the head is malformed"),
        (ConnectionEnd::Failed(error), None) if error.is_incomplete_message() && has_begun => {
            (400, "the head ended early")
        }
        // The only head that the library refuses without an answer begins HTTP/2.
        (ConnectionEnd::Failed(error), None) if error.is_parse() => {
            (505, "only HTTP/1.1 and HTTP/1.0 are served here")
        }
        _ => return None,
    };
    Some(Wire::invalid_request(message).with_facts(|facts| facts.status = Some(status)))
}

/// The message for a request target that is too long.
pub(super) const TARGET_TOO_LONG: &str = "the target is too long";

/// Returns true if the target in the first line of a head is too long.
fn is_target_too_long(head: &[u8]) -> bool {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let line = head.iter().position(|byte| !is_line_end(byte));
    let line = head.get(line.unwrap_or(0)..).unwrap_or_default();
    let line = line.split(is_line_end).next().unwrap_or_default();
    let target = line.split(|byte| *byte == b' ').nth(1);
    target.is_some_and(|target| target.len() > MAX_TARGET)
}

/// Sends the last answer, if there is one, ends the output, and reads until the peer has ended its own.
async fn end_politely(mut stream: TcpStream, answer: Option<Vec<u8>>) {
    let sending = async {
        if let Some(answer) = answer {
            stream.write_all(&answer).await?;
        }
        stream.shutdown().await
    };
    if !matches!(timeout(LINGER, sending).await, Ok(Ok(()))) {
        return;
    }
    let mut rest = vec![0; 8 * 1024];
    let reading = pin!(async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} });
    let _ = timeout(LINGER, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_target_is_recognised_in_any_head() {
        let target = |bytes: usize| "x".repeat(bytes);
        for (head, expected) in [
            (
                format!("GET /{} HTTP/1.1\r\n", target(MAX_TARGET - 1)),
                false,
            ),
            (format!("GET /{} HTTP/1.1\r\n", target(MAX_TARGET)), true),
            (format!("\r\n\r\nGET /{}", target(MAX_TARGET)), true),
            (
                format!("GET / HTTP/1.1\r\nX: {}", target(MAX_TARGET)),
                false,
            ),
            (target(MAX_TARGET + 1), false),
            (String::new(), false),
        ] {
            assert_eq!(is_target_too_long(head.as_bytes()), expected);
        }
    }
}
