//! A connection that must finish a request's head once it has begun one. The HTTP library has one
//! timer for waiting and for the head together; waiting may be long, a head may not.

use super::listen::HEADER_TIMEOUT;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// Whether a request is being worked on; its head is complete then.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy(Arc<AtomicBool>);

impl Busy {
    pub(super) fn set(&self, busy: bool) {
        self.0.store(busy, Ordering::Relaxed);
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The stream of one connection.
pub(super) struct Paced {
    stream: TcpStream,
    busy: Busy,
    begun: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(super) fn new(stream: TcpStream, busy: Busy) -> Self {
        Paced {
            stream,
            busy,
            begun: None,
            timer: None,
        }
    }

    /// Ready with an error once a head has taken too long.
    fn too_slow(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(begun) = self.begun else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(begun + HEADER_TIMEOUT)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.busy.is() {
            (self.begun, self.timer) = (None, None);
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.too_slow(cx),
            ready => {
                self.begun.get_or_insert_with(Instant::now);
                ready
            }
        }
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Whatever was read before an answer belongs to the request that is answered.
        (self.begun, self.timer) = (None, None);
        Pin::new(&mut self.stream).poll_write(cx, bytes)
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
        (self.begun, self.timer) = (None, None);
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }
}
