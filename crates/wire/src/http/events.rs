//! The event stream of a call that reports progress, and the cancellation by a closed connection.

use super::endpoint::receive_answer;
use super::respond;
use crate::write::write;
use bytes::Bytes;
use candor_fault::Answer;
use candor_street::{CancellationToken, Era};
use futures_util::stream;
use std::convert::Infallible;
use tokio::sync::{mpsc, oneshot};

/// Progress events, then the answer, then the end.
pub(super) struct Events {
    first: Option<Bytes>,
    progress: mpsc::Receiver<Bytes>,
    answer: Option<Result<oneshot::Receiver<Answer>, Answer>>,
    hangup: HangupSignal,
    id: String,
    era: Era,
}

impl Events {
    /// Returns the stream; `answer` is the answer or the channel that it will arrive on.
    pub(super) fn stream(
        first: Option<Bytes>,
        progress: mpsc::Receiver<Bytes>,
        answer: Result<oneshot::Receiver<Answer>, Answer>,
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
        if let Some(more) = self.progress.recv().await {
            return Some(more);
        }
        let answer = match self.answer.take()? {
            Ok(receiver) => receive_answer(receiver).await,
            Err(answer) => answer,
        };
        self.hangup.disarm_now();
        let mut message = Vec::new();
        write(&mut message, &self.id, self.era, &answer);
        Some(respond::event(&message))
    }
}

/// Cancels a call of the stateless era when its connection closes.
pub(super) struct HangupSignal {
    pub(super) token: CancellationToken,
    armed: bool,
}

impl HangupSignal {
    pub(super) fn new(era: Era) -> Self {
        HangupSignal {
            token: CancellationToken::new(),
            armed: era == Era::Stateless,
        }
    }

    fn disarm_now(&mut self) {
        self.armed = false;
    }

    pub(super) fn disarm(mut self) {
        self.disarm_now();
    }
}

impl Drop for HangupSignal {
    fn drop(&mut self) {
        if self.armed {
            self.token.cancel();
        }
    }
}
