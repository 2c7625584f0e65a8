//! A connection with timeouts: for being idle, for an unfinished request head, and for a peer that
//! does not read. The HTTP library has one limit for waiting and for the head, creates a timer for
//! every request, and has no limit for a peer that does not read; this uses one timer per connection.

use super::listen::{HEADER_TIMEOUT, IDLE_TIMEOUT};
use super::respond::HttpResponse;
use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body as HttpBody, Frame};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// Set while a request is processed; its head is complete then.
#[derive(Debug, Clone, Default)]
pub(super) struct BusyFlag(Arc<AtomicBool>);

impl BusyFlag {
    pub(super) fn set(&self, busy: bool) {
        self.0.store(busy, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl BusyFlag {
    /// Returns the answer of a request. If its body is a stream, the connection stays busy until the
    /// stream ends, because any time may pass between two events.
    pub(super) fn until_sent(self, answer: HttpResponse) -> HttpResponse {
        if answer.body().size_hint().exact().is_some() {
            self.set(false);
            return answer;
        }
        answer.map(|body| Either::Right(Body::new(TrackedBody { body, busy: self })))
    }
}

/// A body that keeps its connection busy until it ends.
struct TrackedBody {
    body: Either<Full<Bytes>, Body>,
    busy: BusyFlag,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.busy.set(false);
    }
}

/// The stream of one connection.
pub(super) struct TimedStream {
    stream: TcpStream,
    busy: BusyFlag,
    since: WaitState,
    /// Fires at the deadline or before it, and is reset only after it has fired.
    timer: Option<Pin<Box<Sleep>>>,
    unread: Option<Pin<Box<Sleep>>>,
}

/// The awaited action of the peer, and the start of the wait.
#[derive(Clone, Copy)]
enum WaitState {
    /// A request. The first poll of an idle connection sets the time.
    Idle(Option<Instant>),
    /// The rest of a head.
    Begun(Instant),
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, busy: BusyFlag) -> Self {
        TimedStream {
            stream,
            busy,
            since: WaitState::Idle(None),
            timer: None,
            unread: None,
        }
    }

    /// Ready with an error if the peer has taken too long.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let deadline = match &mut self.since {
            WaitState::Idle(since) => *since.get_or_insert_with(Instant::now) + IDLE_TIMEOUT,
            WaitState::Begun(since) => *since + HEADER_TIMEOUT,
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // The timer was set for an earlier request.
            timer.as_mut().reset(deadline);
        }
    }

    /// Starts the wait for the next request again, because this one is being answered.
    fn restart_idle_wait(&mut self) {
        self.since = WaitState::Idle(None);
    }
}

impl TimedStream {
    /// Returns the result of a write, or an error if the peer has read nothing for as long as a
    /// connection may be idle.
    fn check_write_timeout<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread = None;
            return written;
        }
        let begin = || Box::pin(sleep_until(Instant::now() + IDLE_TIMEOUT));
        ready!(self.unread.get_or_insert_with(begin).as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.busy.is_set() {
            self.restart_idle_wait();
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.poll_timeout(cx),
            ready => {
                if let WaitState::Idle(_) = self.since {
                    self.since = WaitState::Begun(Instant::now());
                }
                ready
            }
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // All input before an answer belongs to the request that is answered.
        self.restart_idle_wait();
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_write_timeout(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.restart_idle_wait();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.check_write_timeout(written, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    async fn connect() -> (TimedStream, BusyFlag, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let (peer, accepted) = tokio::join!(peer, listener.accept());
        let busy = BusyFlag::default();
        let stream = TimedStream::new(accepted.unwrap().0, busy.clone());
        (stream, busy, peer.unwrap())
    }

    /// Returns the time until reading fails.
    async fn time_until_timeout(stream: &mut TimedStream) -> Duration {
        let started = Instant::now();
        let error = stream.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        started.elapsed()
    }

    fn is_about(expected: Duration, measured: Duration) -> bool {
        measured >= expected && measured < expected + Duration::from_millis(100)
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_times_out() {
        let (mut stream, _busy, _peer) = connect().await;
        assert!(is_about(
            IDLE_TIMEOUT,
            time_until_timeout(&mut stream).await
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn unfinished_head_times_out() {
        let (mut stream, _busy, mut peer) = connect().await;
        let waited = Duration::from_secs(40);
        assert!(timeout(waited, stream.read_u8()).await.is_err());
        peer.write_all(b"P").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'P');
        assert!(is_about(
            HEADER_TIMEOUT,
            time_until_timeout(&mut stream).await
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_starts_again_after_an_answer() {
        let (mut stream, busy, _peer) = connect().await;
        let waited = Duration::from_secs(40);
        assert!(timeout(waited, stream.read_u8()).await.is_err());
        stream.write_all(b"HTTP").await.unwrap();
        assert!(timeout(waited, stream.read_u8()).await.is_err());
        // There is no timeout while a request is processed.
        busy.set(true);
        let long = 2 * IDLE_TIMEOUT;
        assert!(timeout(long, stream.read_u8()).await.is_err());
        busy.set(false);
        assert!(is_about(
            IDLE_TIMEOUT,
            time_until_timeout(&mut stream).await
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn paused_event_stream_does_not_time_out() {
        let (mut stream, busy, _peer) = connect().await;
        busy.set(true);
        let events = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let sending = busy
            .clone()
            .until_sent(HttpResponse::new(Either::Right(Body::from_stream(events))));
        let hour = Duration::from_secs(3600);
        assert!(timeout(hour, stream.read(&mut [0; 64])).await.is_err());
        drop(sending);
        assert!(is_about(
            IDLE_TIMEOUT,
            time_until_timeout(&mut stream).await
        ));
        busy.set(true);
        let whole = Either::Left(Full::from("whole"));
        busy.clone().until_sent(HttpResponse::new(whole));
        assert!(!busy.is_set());
    }

    #[tokio::test]
    async fn peer_that_does_not_read_times_out() {
        let (mut stream, _busy, _peer) = connect().await;
        tokio::time::pause();
        let started = Instant::now();
        let error = loop {
            if let Err(error) = stream.write_all(&[0; 65_536]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= IDLE_TIMEOUT);
    }
}
