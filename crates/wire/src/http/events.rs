//! The event stream of a call that reports progress, and the cancellation of a call by its connection.

use super::connection_table::ConnectionEntry;
use super::endpoint::{ReadyAnswer, receive_answer};
use super::respond;
use crate::write::write;
use bytes::Bytes;
use candor_street::{CancellationToken, Era};
use futures_util::stream;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Sleep, sleep};

/// Progress events, then the answer, then the end.
pub(super) struct Events {
    first: Option<Bytes>,
    progress: mpsc::Receiver<Bytes>,
    answer: Option<Result<oneshot::Receiver<ReadyAnswer>, ReadyAnswer>>,
    hangup: HangupSignal,
    id: String,
    era: Era,
}

impl Events {
    /// Returns the stream; `answer` is the answer or the channel that it will arrive on.
    pub(super) fn stream(
        first: Option<Bytes>,
        progress: mpsc::Receiver<Bytes>,
        answer: Result<oneshot::Receiver<ReadyAnswer>, ReadyAnswer>,
        hangup: HangupSignal,
        id: String,
        era: Era,
    ) -> impl stream::Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        let events = Events {
            first,
            progress,
            answer: Some(answer),
            hangup,
            id,
            era,
        };
        stream::unfold(events, |mut events| async move {
            let next = events.next().await?;
            Some((Ok(next), events))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        // All progress is sent before the answer: its sender is gone once the call has ended.
        if let Some(more) = self.hangup.watch(self.progress.recv()).await {
            return Some(more);
        }
        let ReadyAnswer { answer, held } = match self.answer.take()? {
            Ok(receiver) => self.hangup.watch(receive_answer(receiver)).await,
            Err(ready) => ready,
        };
        self.hangup.disarm();
        let mut message = Vec::new();
        write(&mut message, &self.id, self.era, &answer);
        // It may be large.
        drop(answer);
        Some(respond::event_holding(&message, held))
    }
}

/// The time that a running call of the stateless era has after the end of the input.
pub const HANGUP_GRACE: Duration = Duration::from_secs(2);

/// Cancels a call of the stateless era: at once when its connection is lost, and a while after the end of
/// the input if it only reads. A call of the handshake era is never cancelled.
pub(super) struct HangupSignal {
    pub(super) token: CancellationToken,
    is_armed: bool,
    /// Set until the end of the input cancels the call.
    ends_with_input: bool,
    grace: Option<Pin<Box<Sleep>>>,
    entry: Arc<ConnectionEntry>,
}

impl HangupSignal {
    pub(super) fn new(era: Era, entry: Arc<ConnectionEntry>) -> Self {
        HangupSignal {
            token: CancellationToken::new(),
            is_armed: era == Era::Stateless,
            ends_with_input: true,
            grace: None,
            entry,
        }
    }

    /// Notes whether the call may change something: then the end of the input does not cancel it.
    pub(super) fn set_writes(&mut self, writes: bool) {
        self.ends_with_input = !writes;
    }

    /// Waits for the work of the call, and watches the connection meanwhile.
    pub(super) async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        if !self.is_armed {
            return work.await;
        }
        self.entry.watch_input(true);
        let mut work = pin!(work);
        // The connection is a single task, so it is polled again when its input ends.
        poll_fn(|cx| {
            let worked = work.as_mut().poll(cx);
            if worked.is_pending() {
                self.poll_input_end(cx);
            }
            worked
        })
        .await
    }

    fn poll_input_end(&mut self, cx: &mut Context<'_>) {
        if !self.ends_with_input || !self.entry.has_input_ended() {
            return;
        }
        let grace = self
            .grace
            .get_or_insert_with(|| Box::pin(sleep(HANGUP_GRACE)));
        if grace.as_mut().poll(cx).is_ready() {
            self.ends_with_input = false;
            self.token.cancel();
        }
    }

    /// Notes that the call has ended.
    pub(super) fn disarm(&mut self) {
        self.is_armed = false;
        self.entry.watch_input(false);
    }
}

impl Drop for HangupSignal {
    fn drop(&mut self) {
        if self.is_armed {
            self.token.cancel();
        }
        self.entry.watch_input(false);
    }
}
