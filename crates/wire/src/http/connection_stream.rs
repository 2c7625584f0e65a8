//! The stream of one connection, below the HTTP library: notes what the peer does, holds back the answers
//! that the library writes by itself, and closes the connection of a peer that does not read.

use super::connection_table::{ConnectionEntry, ConnectionState};
use super::listen::UNREAD_TIMEOUT;
use super::respond::HttpResponse;
use axum::BoxError;
use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use http_body_util::{Either, Full};
use hyper::body::{Body as HttpBody, Frame};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// The most bytes that are read ahead while a call runs.
const MAX_AHEAD: usize = 64 * 1024;

/// Returns the answer of a request. If its body is a stream, the connection counts as an open stream until
/// the body ends, because any time may pass between two events.
pub(super) fn track_answer(entry: Arc<ConnectionEntry>, answer: HttpResponse) -> HttpResponse {
    if answer.body().size_hint().exact().is_some() {
        entry.end_answer();
        return answer;
    }
    entry.begin_stream();
    answer.map(|body| Either::Right(Body::new(TrackedBody { body, entry })))
}

/// A body that keeps its connection an open stream until it ends.
struct TrackedBody {
    body: Either<Full<Bytes>, Body>,
    entry: Arc<ConnectionEntry>,
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
        self.entry.end_answer();
    }
}

/// The stream of one connection.
pub(super) struct ConnectionStream {
    stream: TcpStream,
    entry: Arc<ConnectionEntry>,
    unread: Option<Pin<Box<Sleep>>>,
    /// Bytes that were read while nobody asked for them.
    ahead: BytesMut,
    has_ended: bool,
    /// The status of an answer that the HTTP library has written by itself. It is not sent.
    refused: Option<u16>,
}

impl ConnectionStream {
    pub(super) fn new(stream: TcpStream, entry: Arc<ConnectionEntry>) -> Self {
        ConnectionStream {
            stream,
            entry,
            unread: None,
            ahead: BytesMut::new(),
            has_ended: false,
            refused: None,
        }
    }

    /// Returns the status of the answer that the HTTP library has written by itself.
    pub(super) fn refused(&self) -> Option<u16> {
        self.refused
    }

    pub(super) fn into_inner(self) -> TcpStream {
        self.stream
    }

    fn note_end(&mut self) {
        self.has_ended = true;
        self.entry.end_input();
    }

    /// Looks for the end of the input while a call runs, when the HTTP library does not read. Bytes that
    /// arrive are kept for it. Fails if the peer has reset the connection.
    fn watch_input(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.has_ended && self.ahead.len() < MAX_AHEAD {
            let mut space = [MaybeUninit::uninit(); 4096];
            let mut buffer = ReadBuf::uninit(&mut space);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(read) => read?,
            }
            if buffer.filled().is_empty() {
                self.note_end();
                // The call is polled again, and gets its time from now on.
                cx.waker().wake_by_ref();
            } else {
                self.ahead.extend_from_slice(buffer.filled());
            }
        }
        Ok(())
    }

    /// Returns true if bytes must not be sent: those of an evicted connection, and an answer that the HTTP
    /// library writes by itself, because no request has reached a server.
    fn holds_back(&mut self, bytes: &[u8]) -> bool {
        match self.entry.state() {
            ConnectionState::Evicted => true,
            ConnectionState::Idle | ConnectionState::Head => {
                let status = automatic_status(bytes);
                self.refused = status.or(self.refused);
                status.is_some()
            }
            _ => false,
        }
    }

    /// Returns the result of a write, or an error if the peer has read nothing for too long.
    fn check_write_timeout<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.unread.take().is_some() {
                self.entry.note_read();
            }
            return written;
        }
        self.entry.note_unread();
        let begin = || Box::pin(sleep_until(Instant::now() + UNREAD_TIMEOUT));
        ready!(self.unread.get_or_insert_with(begin).as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Returns the status of a refusal at the start of `bytes`.
fn automatic_status(bytes: &[u8]) -> Option<u16> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let status = std::str::from_utf8(status).ok()?.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.ahead.is_empty() {
            let count = this.ahead.len().min(buffer.remaining());
            buffer.put_slice(&this.ahead[..count]);
            this.ahead.advance(count);
            this.entry.note_input();
            return Poll::Ready(Ok(()));
        }
        if this.has_ended {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        match &read {
            Poll::Pending => this.entry.note_pause(),
            Poll::Ready(Ok(())) if buffer.filled().len() == before => this.note_end(),
            Poll::Ready(Ok(())) => this.entry.note_input(),
            Poll::Ready(Err(_)) => {}
        }
        read
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.holds_back(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_write_timeout(written, cx)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.entry.note_flush();
        if this.entry.watches_input() {
            this.watch_input(cx)?;
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_some() {
            // The refusal is still to be written.
            return Poll::Ready(Ok(()));
        }
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
        if self.holds_back(pieces.first().map_or(&[], |first| &**first)) {
            return Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.check_write_timeout(written, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connection_table::ConnectionTable;
    use candor_street::MetricsHub;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn connect() -> (ConnectionStream, Arc<ConnectionEntry>, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let (peer, accepted) = tokio::join!(peer, listener.accept());
        let (stream, address) = accepted.unwrap();
        let table = ConnectionTable::new(8, MetricsHub::default());
        let entry = table.admit(address).await.unwrap();
        let stream = ConnectionStream::new(stream, Arc::clone(&entry));
        (stream, entry, peer.unwrap())
    }

    #[tokio::test]
    async fn unread_answer_times_out() {
        let (mut stream, entry, _peer) = connect().await;
        assert!(entry.begin_request(false));
        tokio::time::pause();
        let started = Instant::now();
        let error = loop {
            if let Err(error) = stream.write_all(&[0; 65_536]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= UNREAD_TIMEOUT);
        assert!(started.elapsed() < UNREAD_TIMEOUT + Duration::from_millis(100));
    }

    #[tokio::test]
    async fn progress_of_a_slow_reader_restarts_its_time() {
        let (mut stream, entry, peer) = connect().await;
        assert!(entry.begin_request(false));
        tokio::time::pause();
        let started = Instant::now();
        let written = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&written);
        let writing = tokio::spawn(async move {
            while stream.write_all(&[0; 65_536]).await.is_ok() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut piece = vec![0; 1 << 20];
        for _ in 0..20 {
            tokio::time::sleep(UNREAD_TIMEOUT - Duration::from_secs(1)).await;
            let before = written.load(Ordering::Relaxed);
            // Yielding does not let the clock run.
            while written.load(Ordering::Relaxed) == before {
                let _ = peer.try_read(&mut piece);
                tokio::task::yield_now().await;
            }
        }
        assert!(started.elapsed() >= 20 * (UNREAD_TIMEOUT - Duration::from_secs(1)));
        assert!(!writing.is_finished());
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn connection_is_idle_once_its_answer_is_written() {
        let (mut stream, entry, mut peer) = connect().await;
        peer.write_all(b"P").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'P');
        assert_eq!(entry.state(), ConnectionState::Idle);
        let reading = async { stream.read(&mut [0; 8]).await };
        assert!(futures_util::FutureExt::now_or_never(reading).is_none());
        assert_eq!(entry.state(), ConnectionState::Head);
        assert!(entry.begin_request(false));
        stream.flush().await.unwrap();
        assert_eq!(entry.state(), ConnectionState::Busy);
        let whole = Either::Left(Full::from("whole"));
        track_answer(Arc::clone(&entry), HttpResponse::new(whole));
        stream
            .write_all(b"HTTP/1.1 400 made by a server")
            .await
            .unwrap();
        assert_eq!(entry.state(), ConnectionState::Busy);
        stream.flush().await.unwrap();
        assert_eq!(entry.state(), ConnectionState::Idle);
        let mut answer = [0; 29];
        peer.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400 made by a server");
        assert_eq!(stream.refused(), None);
    }

    #[tokio::test]
    async fn open_event_stream_ends_with_its_body() {
        let (mut stream, entry, _peer) = connect().await;
        assert!(entry.begin_request(false));
        let events = futures_util::stream::pending::<Result<Bytes, io::Error>>();
        let events = HttpResponse::new(Either::Right(Body::from_stream(events)));
        let sending = track_answer(Arc::clone(&entry), events);
        stream.flush().await.unwrap();
        assert_eq!(entry.state(), ConnectionState::Stream);
        drop(sending);
        assert_eq!(entry.state(), ConnectionState::Busy);
        stream.flush().await.unwrap();
        assert_eq!(entry.state(), ConnectionState::Idle);
    }

    #[tokio::test]
    async fn automatic_answer_is_held_back() {
        let (mut stream, _entry, mut peer) = connect().await;
        stream
            .write_all(b"HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n")
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.refused(), Some(431));
        stream.into_inner().write_all(b"mine").await.unwrap();
        let mut sent = String::new();
        peer.read_to_string(&mut sent).await.unwrap();
        assert_eq!(sent, "mine");
    }

    #[tokio::test]
    async fn input_that_is_read_ahead_is_kept() {
        let (mut stream, entry, mut peer) = connect().await;
        assert!(entry.begin_request(false));
        entry.watch_input(true);
        let next: Vec<u8> = (0..10_000_u32).map(|byte| byte as u8).collect();
        peer.write_all(&next).await.unwrap();
        peer.shutdown().await.unwrap();
        while !entry.has_input_ended() {
            stream.flush().await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, next);
    }

    #[test]
    fn only_refusals_are_automatic() {
        assert_eq!(automatic_status(b"HTTP/1.1 400 Bad Request"), Some(400));
        assert_eq!(automatic_status(b"HTTP/1.1 505"), Some(505));
        assert_eq!(automatic_status(b"HTTP/1.1 200 OK"), None);
        assert_eq!(automatic_status(b"HTTP/1.1 100 Continue"), None);
        assert_eq!(automatic_status(b"HTTP/1.1 40"), None);
        assert_eq!(automatic_status(b"x"), None);
    }
}
