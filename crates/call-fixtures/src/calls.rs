//! Builds calls and waits for their answers.

use crate::marks::reading_mark;
use candor_fault::Answer;
use candor_street::{
    Call, CallContext, CancellationToken, ClientInfo, Dispatcher, Era, Peer, Progress, Server,
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Returns a call with these arguments, by a client that may write.
pub fn call(tool: &str, arguments: impl ToString) -> Call {
    call_by(None, tool, arguments)
}

/// Returns a call by the client that has shown this credential, and may write.
pub fn call_by(credential: Option<&str>, tool: &str, arguments: impl ToString) -> Call {
    Call {
        target: Default::default(),
        name: tool.to_owned(),
        arguments: Some(arguments.to_string().into()),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            credential: credential.map(str::to_owned),
            may_write: true,
            ..Peer::default()
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
        held: Default::default(),
    }
}

/// Returns the context of a reading call.
pub fn context() -> CallContext {
    CallContext {
        call: Arc::new(call("tool", "{}")),
        number: 1,
        notes: Arc::default(),
        mark: reading_mark(),
        cancel: CancellationToken::new(),
    }
}

/// Waits for the answer to a call.
pub async fn answer<S: Server>(
    dispatcher: &Arc<Dispatcher<S>>,
    call: impl Into<Arc<Call>>,
) -> Answer {
    answer_until(dispatcher, call, CancellationToken::new()).await
}

/// As [`answer`], for a call that a test cancels.
pub async fn answer_until<S: Server>(
    dispatcher: &Arc<Dispatcher<S>>,
    call: impl Into<Arc<Call>>,
    cancel: CancellationToken,
) -> Answer {
    match dispatcher.begin(call, cancel) {
        Ok(answer) => answer,
        Err(pending) => {
            let (sender, receiver) = oneshot::channel();
            pending.deliver(|answer| async move { drop(sender.send(answer)) });
            receiver.await.expect("a pending call is answered")
        }
    }
}

/// Returns the JSON-RPC line that a transport would send for this answer.
pub fn answer_line(answer: &Answer) -> String {
    match answer {
        Answer::Result(text) => format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#),
        Answer::Error(error) => format!(r#"{{"jsonrpc":"2.0","id":1,"error":{}}}"#, error.json()),
    }
}
