//! A connection that may be idle for long, but must finish a request's head soon once it has begun
//! one, and must take its answers. The HTTP library has one limit for waiting and for the head, makes
//! a timer for every request, and has none for a peer that does not read; this makes one timer for
//! every connection.

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

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl BusyFlag {
    /// The answer of a request. One whose body is still being made keeps the connection busy to its
    /// end: between two events there may be any time.
    pub(super) fn until_sent(self, answer: HttpResponse) -> HttpResponse {
        if answer.body().size_hint().exact().is_some() {
            self.set(false);
            return answer;
        }
        answer.map(|body| Either::Right(Body::new(TrackedBody { body, busy: self })))
    }
}

/// A body whose connection is busy as long as there is more of it.
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
pub(super) struct PacedStream {
    stream: TcpStream,
    busy: BusyFlag,
    since: WaitState,
    /// Rings at the deadline or before it, and is set anew only when it has rung.
    timer: Option<Pin<Box<Sleep>>>,
    unread: Option<Pin<Box<Sleep>>>,
}

/// The action of the peer that is awaited, and its start.
#[derive(Clone, Copy)]
enum WaitState {
    /// A request; the first look at an idle connection sets the time.
    Idle(Option<Instant>),
    /// The rest of a head.
    Begun(Instant),
}

impl PacedStream {
    pub(super) fn new(stream: TcpStream, busy: BusyFlag) -> Self {
        PacedStream {
            stream,
            busy,
            since: WaitState::Idle(None),
            timer: None,
            unread: None,
        }
    }

    /// Ready with an error once the peer has taken too long.
    fn too_slow(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
            // It was set for an earlier request.
            timer.as_mut().reset(deadline);
        }
    }

    /// A request is being answered: the next one is waited for from now on.
    fn answered(&mut self) {
        self.since = WaitState::Idle(None);
    }
}

impl PacedStream {
    /// Returns the result of a write, or an error if the peer has read nothing for as long as a
    /// connection may be idle.
    fn taken<T>(
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

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.busy.is() {
            self.answered();
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.too_slow(cx),
            ready => {
                if let WaitState::Idle(_) = self.since {
                    self.since = WaitState::Begun(Instant::now());
                }
                ready
            }
        }
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Whatever was read before an answer belongs to the request that is answered.
        self.answered();
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.taken(written, cx)
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
        self.answered();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.taken(written, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    async fn pair() -> (PacedStream, BusyFlag, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let (peer, accepted) = tokio::join!(peer, listener.accept());
        let busy = BusyFlag::default();
        let paced = PacedStream::new(accepted.unwrap().0, busy.clone());
        (paced, busy, peer.unwrap())
    }

    /// Returns the time until reading fails.
    async fn patience(paced: &mut PacedStream) -> Duration {
        let started = Instant::now();
        let error = paced.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        started.elapsed()
    }

    fn about(wanted: Duration, measured: Duration) -> bool {
        measured >= wanted && measured < wanted + Duration::from_millis(100)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_idle_for_a_while() {
        let (mut paced, _busy, _peer) = pair().await;
        assert!(about(IDLE_TIMEOUT, patience(&mut paced).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_must_end_soon() {
        let (mut paced, _busy, mut peer) = pair().await;
        let waited = Duration::from_secs(40);
        assert!(timeout(waited, paced.read_u8()).await.is_err());
        peer.write_all(b"P").await.unwrap();
        assert_eq!(paced.read_u8().await.unwrap(), b'P');
        assert!(about(HEADER_TIMEOUT, patience(&mut paced).await));
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_answer_the_wait_begins_anew() {
        let (mut paced, busy, _peer) = pair().await;
        let waited = Duration::from_secs(40);
        assert!(timeout(waited, paced.read_u8()).await.is_err());
        paced.write_all(b"HTTP").await.unwrap();
        assert!(timeout(waited, paced.read_u8()).await.is_err());
        // While a request is worked on, nobody waits for the peer.
        busy.set(true);
        let long = 2 * IDLE_TIMEOUT;
        assert!(timeout(long, paced.read_u8()).await.is_err());
        busy.set(false);
        assert!(about(IDLE_TIMEOUT, patience(&mut paced).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_of_events_may_pause_for_long() {
        let (mut paced, busy, _peer) = pair().await;
        busy.set(true);
        let events = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let sending = busy
            .clone()
            .until_sent(HttpResponse::new(Either::Right(Body::from_stream(events))));
        let hour = Duration::from_secs(3600);
        assert!(timeout(hour, paced.read(&mut [0; 64])).await.is_err());
        drop(sending);
        assert!(about(IDLE_TIMEOUT, patience(&mut paced).await));
        busy.set(true);
        let whole = Either::Left(Full::from("whole"));
        busy.clone().until_sent(HttpResponse::new(whole));
        assert!(!busy.is());
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (mut paced, _busy, _peer) = pair().await;
        tokio::time::pause();
        let started = Instant::now();
        let error = loop {
            if let Err(error) = paced.write_all(&[0; 65_536]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= IDLE_TIMEOUT);
    }
}
