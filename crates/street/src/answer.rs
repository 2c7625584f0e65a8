//! The one function that answers. It never fails: whatever a call comes to, it is recorded, kept or
//! undone, noted, counted, and said in the server's dialect.

use crate::{
    Call, CallContext, CallOutcome, CallRecord, Dispatcher, EffectMark, Reply, Server, Tool,
};
use candor_fault::dialects::Wire;
use candor_fault::{
    Answer, CallFacts, Cause, Class, Dialect, Effect, Fault, Receipt, Refusal, Timestamp,
    ToolOutput,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

type Worked<S> = Result<Reply, Fault<<S as Server>::Dialect>>;
type Work<S> = BoxFuture<'static, Worked<S>>;

/// Answers one call.
pub(crate) async fn answer<S: Server>(
    desk: Arc<Dispatcher<S>>,
    call: Arc<Call>,
    cancel: CancellationToken,
) -> Answer {
    let number = desk.next_call();
    let Some(place) = desk.server.tools().find(&call.name) else {
        let near = desk.server.tools().near(&call.name);
        let unknown = Wire::unknown_tool(&call.name, near);
        return refuse(&desk, Some((&call, number)), unknown).await;
    };
    let span = tracing::info_span!("call", request = number, id = %call.id, tool = %call.name);
    let cx = CallContext {
        call,
        number,
        notes: Arc::default(),
        mark: EffectMark::new(desk.server.tools().all()[place].writes()),
        cancel,
    };
    answer_found(desk, cx, place).instrument(span).await
}

async fn answer_found<S: Server>(
    desk: Arc<Dispatcher<S>>,
    cx: CallContext<S::Notes>,
    place: usize,
) -> Answer {
    let started = Instant::now();
    let tool = &desk.server.tools().all()[place];
    let limit = desk.server.deadline(tool);
    let ended = within::<S>(limit, work(&desk, place, &cx), &cx, &desk.closing).await;
    let (worked, rest) = match ended {
        Ended::Worked(worked) => (worked, None),
        Ended::Cut(refusal, rest) => (Err(S::Dialect::adopt(refusal)), rest),
    };
    let end = End {
        desk: &desk,
        cx: &cx,
        place,
        started,
    };
    let (answer, receipt) = end.finish_anyhow(worked, None).await;
    if let Some(rest) = rest {
        desk.running.spawn(outlive(
            Arc::clone(&desk),
            cx,
            place,
            started,
            rest,
            receipt,
        ));
    }
    answer
}

/// The way in: gate, schema, guard, tool; a panic on it becomes a failure.
fn work<S: Server>(desk: &Arc<Dispatcher<S>>, place: usize, cx: &CallContext<S::Notes>) -> Work<S> {
    let (desk, cx) = (Arc::clone(desk), cx.clone());
    let mark = cx.mark.clone();
    let inward = async move {
        let server = &desk.server;
        let tool = &server.tools().all()[place];
        server.gate(&cx, tool)?;
        let arguments = parsed(&cx.call);
        tool.check(&arguments).map_err(S::Dialect::adopt)?;
        let permit = server.guard(&cx, tool, &arguments).await?;
        let worked = tool.run(Arc::clone(server), arguments, cx).await;
        drop(permit);
        worked
    };
    let caught = AssertUnwindSafe(inward).catch_unwind();
    Box::pin(caught.map(move |ended| {
        ended.unwrap_or_else(|panic| {
            Err(S::Dialect::adopt(Refusal::Panicked {
                cause: panic_cause(panic.as_ref()),
                effect: mark.effect(),
            }))
        })
    }))
}

/// The arguments as a value; a transport has checked the text already.
fn parsed(call: &Call) -> Value {
    match &call.arguments {
        None => Value::Object(serde_json::Map::new()),
        Some(text) => serde_json::from_str(text).unwrap_or(Value::Null),
    }
}

fn panic_cause(panic: &(dyn Any + Send)) -> Cause {
    let said = panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Cause::Error {
        message: said.unwrap_or("a panic without words").to_owned(),
        code: None,
        name: String::from("Panic"),
    }
}

enum Ended<S: Server> {
    Worked(Worked<S>),
    /// The call was cut; what had begun to change something goes on as the rest.
    Cut(Refusal, Option<Work<S>>),
}

/// Waits for the work, but no longer than the deadline and the caller's wish. Work whose effect has
/// not begun is dropped; work whose effect has begun is never dropped.
async fn within<S: Server>(
    limit: Option<Duration>,
    mut work: Work<S>,
    cx: &CallContext<S::Notes>,
    closing: &CancellationToken,
) -> Ended<S> {
    // The first try comes before any timer is made: most calls need none, nor the room for one.
    match (&mut work).now_or_never() {
        Some(worked) => Ended::Worked(worked),
        None => Box::pin(waited(limit, work, cx, closing)).await,
    }
}

async fn waited<S: Server>(
    limit: Option<Duration>,
    mut work: Work<S>,
    cx: &CallContext<S::Notes>,
    closing: &CancellationToken,
) -> Ended<S> {
    let time_is_up = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let cut = tokio::select! {
        biased;
        worked = &mut work => return Ended::Worked(worked),
        () = cx.cancel.cancelled() => Cut::Cancelled,
        () = closing.cancelled() => Cut::Cancelled,
        () = time_is_up => Cut::Deadline,
    };
    if cx.mark.close() {
        return Ended::Cut(cut.refusal(Effect::None), None);
    }
    match cut {
        // Nobody waits for the answer: the change is carried to its end, and recorded as it ended.
        Cut::Cancelled => Ended::Worked(work.await),
        Cut::Deadline => Ended::Cut(cut.refusal(cx.mark.effect()), Some(work)),
    }
}

#[derive(Clone, Copy)]
enum Cut {
    Cancelled,
    Deadline,
}

impl Cut {
    fn refusal(self, effect: Effect) -> Refusal {
        match self {
            Cut::Cancelled => Refusal::Cancelled { effect },
            Cut::Deadline => Refusal::Deadline { effect },
        }
    }
}

/// Carries a change to its end after its call was answered; a second record names the first.
async fn outlive<S: Server>(
    desk: Arc<Dispatcher<S>>,
    cx: CallContext<S::Notes>,
    place: usize,
    started: Instant,
    rest: Work<S>,
    first: Option<Receipt>,
) {
    let worked = rest.await;
    let end = End {
        desk: &desk,
        cx: &cx,
        place,
        started,
    };
    end.finish_anyhow(worked, first.as_ref()).await;
}

/// The way back of one call.
struct End<'a, S: Server> {
    desk: &'a Dispatcher<S>,
    cx: &'a CallContext<S::Notes>,
    place: usize,
    started: Instant,
}

impl<S: Server> End<'_, S> {
    /// As [`End::finish`]; a panic on the way back is answered like one on the way in.
    async fn finish_anyhow(
        &self,
        worked: Worked<S>,
        first: Option<&Receipt>,
    ) -> (Answer, Option<Receipt>) {
        let finishing = AssertUnwindSafe(self.finish(worked, first)).catch_unwind();
        match finishing.await {
            Ok(finished) => finished,
            Err(panic) => (self.broken(panic.as_ref()), None),
        }
    }

    /// The answer of a call whose way back panicked. What was kept and what was undone by then is not
    /// known, so neither is the effect of a change.
    fn broken(&self, panic: &(dyn Any + Send)) -> Answer {
        let effect = match self.cx.mark.effect() {
            Effect::None => Effect::None,
            Effect::Done | Effect::Unknown => Effect::Unknown,
        };
        let cause = panic_cause(panic);
        let fault = S::Dialect::adopt(Refusal::Panicked { cause, effect });
        let took = self.started.elapsed();
        let metrics = &self.desk.metrics;
        metrics.count(Some(self.place), Some(fault.row()), took);
        let facts = CallFacts {
            tool: Some(self.tool().name()),
            form: self.desk.server.form(self.cx.call.era),
            receipt: None,
        };
        let answer = S::Dialect::encode_failure(&fault, &facts, self.desk.now());
        log(took, Some(fault));
        answer
    }

    /// Record, then keep or undo, then note and metrics, then the dialect: all with one instant.
    async fn finish(
        &self,
        worked: Worked<S>,
        first: Option<&Receipt>,
    ) -> (Answer, Option<Receipt>) {
        let at = self.desk.now();
        let took = self.started.elapsed();
        let server = &self.desk.server;
        let (ended, pending) = match worked {
            Ok(reply) => (Ok(reply.output), reply.pending),
            Err(fault) => (Err(server.complete(fault, self.cx)), None),
        };
        let recorded = recorded(server.as_ref(), &self.entry(&ended, at, took, first)).await;
        let (ended, receipt) = match recorded {
            Ok(receipt) => {
                keep(pending).await;
                (ended, receipt)
            }
            Err(cause) => {
                let cause = beside(cause, ended.as_ref().err());
                (Err(self.unrecorded(cause, pending).await), None)
            }
        };
        note(server.as_ref(), &self.entry(&ended, at, took, first));
        let row = ended.as_ref().err().map(Fault::row);
        self.desk.metrics.count(Some(self.place), row, took);
        let facts = CallFacts {
            tool: Some(self.tool().name()),
            form: server.form(self.cx.call.era),
            receipt: receipt.as_ref(),
        };
        let answer = match &ended {
            Ok(output) => S::Dialect::encode_success(output, &facts),
            Err(fault) => S::Dialect::encode_failure(fault, &facts, at),
        };
        log(took, ended.err());
        (answer, receipt)
    }

    fn tool(&self) -> &Tool<S> {
        &self.desk.server.tools().all()[self.place]
    }

    fn entry<'e>(
        &'e self,
        ended: &'e Result<ToolOutput, Fault<S::Dialect>>,
        at: Timestamp,
        took: Duration,
        follows: Option<&'e Receipt>,
    ) -> CallRecord<'e, S::Dialect, S::Notes> {
        let (outcome, effect) = match ended {
            Ok(output) => (CallOutcome::Done(output), self.cx.mark.effect()),
            Err(fault) => (CallOutcome::Failed(fault), fault.effect()),
        };
        CallRecord {
            call: Some(&self.cx.call),
            number: Some(self.cx.number),
            notes: Some(&self.cx.notes),
            tool: Some(self.tool().name()),
            outcome,
            effect,
            at,
            took,
            follows,
        }
    }

    /// The failure of a call that could not be recorded; what can be taken back is taken back.
    async fn unrecorded(
        &self,
        cause: Cause,
        pending: Option<Box<dyn crate::Pending>>,
    ) -> Fault<S::Dialect> {
        let effect = match pending {
            None => self.cx.mark.effect(),
            Some(pending) => match pending.undo().await {
                Ok(()) => Effect::None,
                Err(_) => Effect::Unknown,
            },
        };
        let fault = S::Dialect::adopt(Refusal::Unrecorded { cause, effect });
        self.desk.server.complete(fault, self.cx)
    }
}

/// Puts a call on record; a recorder that panics has not recorded it.
async fn recorded<S: Server>(
    server: &S,
    entry: &CallRecord<'_, S::Dialect, S::Notes>,
) -> Result<Option<Receipt>, Cause> {
    let recording = async { server.record(entry).await };
    let caught = AssertUnwindSafe(recording).catch_unwind().await;
    caught.unwrap_or_else(|panic| Err(panic_cause(panic.as_ref())))
}

/// Writes the log line of a call; one that panics is told to the log by the panic itself.
fn note<S: Server>(server: &S, entry: &CallRecord<'_, S::Dialect, S::Notes>) {
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| server.note(entry)));
}

/// Why a call could not be recorded, and the failure that it would have been recorded with.
fn beside<D: Dialect>(recording: Cause, original: Option<&Fault<D>>) -> Cause {
    let Some(original) = original else {
        return recording;
    };
    Cause::Data(serde_json::json!({
        "recording": recording,
        "original": {
            "code": original.row().code,
            "message": original.message(),
            "cause": original.cause(),
        },
    }))
}

/// The change is on record already: what fails here is told to the log alone.
async fn keep(pending: Option<Box<dyn crate::Pending>>) {
    let Some(pending) = pending else { return };
    if let Err(cause) = pending.keep().await {
        tracing::error!(cause = %candor_fault::to_json(&cause), "a recorded change could not be made final");
    }
}

fn log<D: Dialect>(took: Duration, failed: Option<Fault<D>>) {
    let took_us = took.as_micros() as u64;
    match &failed {
        None => tracing::info!(took_us, "call succeeded"),
        // Whoever is sent to the owner of the server must find something in its log.
        Some(fault) if fault.class() == Class::Server => tracing::error!(
            took_us,
            code = %fault.row().code,
            cause = fault.cause().map(candor_fault::to_json),
            "call failed"
        ),
        Some(fault) => tracing::info!(
            took_us,
            code = %fault.row().code,
            cause = fault.cause().map(candor_fault::to_json),
            "call failed"
        ),
    }
}

/// Answers what is no call of a tool: record, note, metrics, dialect.
pub(crate) async fn refuse<S: Server>(
    desk: &Dispatcher<S>,
    call: Option<(&Call, u64)>,
    fault: Fault<Wire>,
) -> Answer {
    let at = desk.now();
    let recorded = recorded(desk.server.as_ref(), &refused(call, &fault, at)).await;
    let fault = match recorded {
        Ok(_) => fault,
        Err(cause) => Wire::adopt(Refusal::Unrecorded {
            cause,
            effect: Effect::None,
        }),
    };
    note(desk.server.as_ref(), &refused(call, &fault, at));
    desk.metrics.count(None, Some(fault.row()), Duration::ZERO);
    let era = call.map_or(crate::Era::Handshake, |(call, _)| call.era);
    let facts = CallFacts {
        tool: None,
        form: desk.server.form(era),
        receipt: None,
    };
    S::Dialect::encode_protocol_fault(&fault, &facts, at)
}

fn refused<'a, D: Dialect, N>(
    call: Option<(&'a Call, u64)>,
    fault: &'a Fault<Wire>,
    at: Timestamp,
) -> CallRecord<'a, D, N> {
    CallRecord {
        call: call.map(|(call, _)| call),
        number: call.map(|(_, number)| number),
        notes: None,
        tool: None,
        outcome: CallOutcome::Refused(fault),
        effect: Effect::None,
        at,
        took: Duration::ZERO,
        follows: None,
    }
}
