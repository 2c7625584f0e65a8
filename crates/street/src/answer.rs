//! The one function that answers. It never fails: every call is recorded, its change kept or
//! undone, noted, counted, and answered in the server's dialect.

use crate::dispatcher::Target;
use crate::resources;
use crate::tool::Work;
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
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

type ToolResult<S> = Result<Reply, Fault<<S as Server>::Dialect>>;
type ToolFuture<S> = BoxFuture<'static, ToolResult<S>>;

/// Answers one call.
pub(crate) async fn answer<S: Server>(
    dispatcher: Arc<Dispatcher<S>>,
    call: Arc<Call>,
    cancel: CancellationToken,
) -> Answer {
    let number = dispatcher.next_call();
    let Some(target) = dispatcher.find(&call) else {
        let near = dispatcher.server.tools().near(&call.name);
        let advice = dispatcher.server.unknown_tool_advice(&call.name);
        let unknown = Wire::unknown_tool(&call.name, near.as_deref());
        let unknown = unknown.with_facts(|facts| {
            if let Some(unknown) = &mut facts.unknown_tool {
                unknown.advice = advice;
            }
        });
        return refuse(&dispatcher, Some((&call, number)), unknown).await;
    };
    let span = tracing::info_span!(
        "call",
        request = number,
        id = %call.id,
        tool = %call.name,
        // Makes the span a part of the caller's trace, see `--otlp`.
        trace_parent = call.peer.trace_parent.as_deref(),
    );
    let cx = CallContext {
        call,
        number,
        notes: Arc::default(),
        mark: EffectMark::new(dispatcher.tool(&target).writes()),
        cancel,
    };
    answer_found(dispatcher, cx, target).instrument(span).await
}

async fn answer_found<S: Server>(
    dispatcher: Arc<Dispatcher<S>>,
    cx: CallContext<S::Notes>,
    target: Target<S>,
) -> Answer {
    let started = Instant::now();
    let ended = match admit(&dispatcher, &target, &cx) {
        Err(fault) => WorkOutcome::Finished(Err(fault)),
        Ok(parsed) => {
            let limit = dispatcher.server.deadline(dispatcher.tool(&target));
            let work = work(&dispatcher, &target, &cx, parsed);
            within::<S>(limit, work, &cx, &dispatcher.closing).await
        }
    };
    let (worked, rest) = match ended {
        WorkOutcome::Finished(worked) => (worked, None),
        WorkOutcome::Interrupted(refusal, rest) => (Err(S::Dialect::adopt(refusal)), rest),
    };
    let end = CallEnd {
        dispatcher: &dispatcher,
        cx: &cx,
        target: &target,
        started,
    };
    let (answer, receipt) = end.finish_anyhow(worked, None).await;
    if let Some(rest) = rest {
        dispatcher.running.spawn(outlive(
            Arc::clone(&dispatcher),
            cx,
            target,
            started,
            rest,
            receipt,
        ));
    }
    answer
}

/// The first part of the way in: gate and schema. It never waits, so a refused call needs no future.
/// Returns the work that the tool's parser has made of the arguments.
fn admit<S: Server>(
    dispatcher: &Dispatcher<S>,
    target: &Target<S>,
    cx: &CallContext<S::Notes>,
) -> Result<Option<Work<S>>, Fault<S::Dialect>> {
    let checking = || {
        let server = &dispatcher.server;
        let tool = dispatcher.tool(target);
        server.gate(cx, tool)?;
        let arguments = cx.call.argument_values();
        tool.check(arguments)
            .map_err(|refusal| server.complete_refusal(S::Dialect::adopt(refusal), cx, arguments))
    };
    catch_unwind(AssertUnwindSafe(checking))
        .unwrap_or_else(|panic| Err(panicked(panic.as_ref(), &cx.mark)))
}

/// The second part of the way in: guard and tool; a panic on it becomes a failure.
fn work<S: Server>(
    dispatcher: &Arc<Dispatcher<S>>,
    target: &Target<S>,
    cx: &CallContext<S::Notes>,
    parsed: Option<Work<S>>,
) -> ToolFuture<S> {
    let (dispatcher, target, cx) = (Arc::clone(dispatcher), target.clone(), cx.clone());
    let mark = cx.mark.clone();
    let inward = async move {
        let server = &dispatcher.server;
        let tool = dispatcher.tool(&target);
        let call = Arc::clone(&cx.call);
        let arguments = call.argument_values();
        let permit = server.guard(&cx, tool, arguments).await?;
        let work = tool.run(Arc::clone(server), arguments, parsed, cx)?;
        // A tool that waits does not need the arguments any more.
        drop(call);
        let worked = work.await;
        drop(permit);
        worked
    };
    let caught = AssertUnwindSafe(inward).catch_unwind();
    Box::pin(
        caught.map(move |ended| ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref(), &mark)))),
    )
}

/// Returns the failure of a call that panicked.
fn panicked<D: Dialect>(panic: &(dyn Any + Send), mark: &EffectMark) -> Fault<D> {
    D::adopt(Refusal::Panicked {
        cause: panic_cause(panic),
        effect: mark.effect(),
    })
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

enum WorkOutcome<S: Server> {
    Finished(ToolResult<S>),
    /// The call was cut; what had begun to change something goes on as the rest.
    Interrupted(Refusal, Option<ToolFuture<S>>),
}

/// Waits for the work, but no longer than the deadline and the caller's wish. Work whose effect has
/// not begun is dropped; work whose effect has begun is never dropped.
async fn within<S: Server>(
    limit: Option<Duration>,
    mut work: ToolFuture<S>,
    cx: &CallContext<S::Notes>,
    closing: &CancellationToken,
) -> WorkOutcome<S> {
    // The first try comes before any timer is made: most calls need none, nor the room for one.
    match (&mut work).now_or_never() {
        Some(worked) => WorkOutcome::Finished(worked),
        None => Box::pin(waited(limit, work, cx, closing)).await,
    }
}

async fn waited<S: Server>(
    limit: Option<Duration>,
    mut work: ToolFuture<S>,
    cx: &CallContext<S::Notes>,
    closing: &CancellationToken,
) -> WorkOutcome<S> {
    let time_is_up = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let cut = tokio::select! {
        biased;
        worked = &mut work => return WorkOutcome::Finished(worked),
        () = cx.cancel.cancelled() => Interruption::Cancelled,
        () = closing.cancelled() => Interruption::Cancelled,
        () = time_is_up => Interruption::Deadline,
    };
    if cx.mark.close() {
        return WorkOutcome::Interrupted(cut.refusal(Effect::None), None);
    }
    match cut {
        // No client waits for the answer: the change is carried to its end, and recorded as it ended.
        Interruption::Cancelled => WorkOutcome::Finished(work.await),
        Interruption::Deadline => {
            WorkOutcome::Interrupted(cut.refusal(cx.mark.effect()), Some(work))
        }
    }
}

#[derive(Clone, Copy)]
enum Interruption {
    Cancelled,
    Deadline,
}

impl Interruption {
    fn refusal(self, effect: Effect) -> Refusal {
        match self {
            Interruption::Cancelled => Refusal::Cancelled { effect },
            Interruption::Deadline => Refusal::Deadline { effect },
        }
    }
}

/// Carries a change to its end after its call was answered; a second record names the first.
async fn outlive<S: Server>(
    dispatcher: Arc<Dispatcher<S>>,
    cx: CallContext<S::Notes>,
    target: Target<S>,
    started: Instant,
    rest: ToolFuture<S>,
    first: Option<Receipt>,
) {
    let worked = rest.await;
    let end = CallEnd {
        dispatcher: &dispatcher,
        cx: &cx,
        target: &target,
        started,
    };
    end.finish_anyhow(worked, first.as_ref()).await;
}

/// The way back of one call.
struct CallEnd<'a, S: Server> {
    dispatcher: &'a Dispatcher<S>,
    cx: &'a CallContext<S::Notes>,
    target: &'a Target<S>,
    started: Instant,
}

impl<S: Server> CallEnd<'_, S> {
    /// As [`CallEnd::finish`]; a panic on the way back is answered like one on the way in.
    async fn finish_anyhow(
        &self,
        worked: ToolResult<S>,
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
        let metrics = &self.dispatcher.metrics;
        let index = self.dispatcher.metrics_index(self.target);
        metrics.count(Some(index), Some(fault.row()), took);
        let facts = CallFacts {
            tool: Some(self.tool().name()),
            form: self.dispatcher.server.form(self.cx.call.era),
            receipt: None,
        };
        let answer = self.encode_failure(&fault, &facts, self.dispatcher.now());
        log(took, Some(fault), S::LOGS_FAILURES);
        answer
    }

    /// Record, then keep or undo, then note and metrics, then the dialect: all with one instant.
    async fn finish(
        &self,
        worked: ToolResult<S>,
        first: Option<&Receipt>,
    ) -> (Answer, Option<Receipt>) {
        let at = self.dispatcher.now();
        let took = self.started.elapsed();
        let server = &self.dispatcher.server;
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
        let index = self.dispatcher.metrics_index(self.target);
        self.dispatcher.metrics.count(Some(index), row, took);
        let facts = CallFacts {
            tool: Some(self.tool().name()),
            form: server.form(self.cx.call.era),
            receipt: receipt.as_ref(),
        };
        let answer = match &ended {
            Ok(output) => self.encode_success(output, &facts),
            Err(fault) => self.encode_failure(fault, &facts, at),
        };
        log(took, ended.err(), S::LOGS_FAILURES);
        (answer, receipt)
    }

    fn tool(&self) -> &Tool<S> {
        self.dispatcher.tool(self.target)
    }

    fn encode_success(&self, output: &ToolOutput, facts: &CallFacts<'_>) -> Answer {
        match self.target {
            Target::Tool(_) => S::Dialect::encode_success(output, facts),
            Target::Resources(..) => resources::encode_success(output, self.cx.call.era),
        }
    }

    fn encode_failure(
        &self,
        fault: &Fault<S::Dialect>,
        facts: &CallFacts<'_>,
        at: Timestamp,
    ) -> Answer {
        match self.target {
            Target::Tool(_) => S::Dialect::encode_failure(fault, facts, at),
            Target::Resources(_, resources) => {
                let call = &self.cx.call;
                resources.encode_failure(fault, call.era, call.argument_values(), at)
            }
        }
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

    /// Undoes the pending change of a call that could not be recorded, and returns its failure.
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
        self.dispatcher.server.complete(fault, self.cx)
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

/// Writes the log line of a call. A panic here is logged by the panic hook.
fn note<S: Server>(server: &S, entry: &CallRecord<'_, S::Dialect, S::Notes>) {
    let _ = catch_unwind(AssertUnwindSafe(|| server.note(entry)));
}

/// Combines the reason why a call could not be recorded with the failure of the call.
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

/// Makes a recorded change final. A failure here is only logged: the record exists already.
async fn keep(pending: Option<Box<dyn crate::Pending>>) {
    let Some(pending) = pending else { return };
    if let Err(cause) = pending.keep().await {
        tracing::error!(cause = %candor_fault::to_json(&cause), "a recorded change could not be made final");
    }
}

fn log<D: Dialect>(took: Duration, failed: Option<Fault<D>>, has_line: bool) {
    let took_us = took.as_micros() as u64;
    match &failed {
        None => tracing::info!(took_us, "call succeeded"),
        // A client that is sent to the owner of the server must find something in its log.
        Some(fault) if fault.class() == Class::Server && !has_line => tracing::error!(
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

/// Answers a message that does not call a tool: record, note, metrics, dialect.
pub(crate) async fn refuse<S: Server>(
    dispatcher: &Dispatcher<S>,
    call: Option<(&Call, u64)>,
    fault: Fault<Wire>,
) -> Answer {
    let at = dispatcher.now();
    let recorded = recorded(dispatcher.server.as_ref(), &refused(call, &fault, at)).await;
    let fault = match recorded {
        Ok(_) => fault,
        Err(cause) => Wire::adopt(Refusal::Unrecorded {
            cause,
            effect: Effect::None,
        }),
    };
    note(dispatcher.server.as_ref(), &refused(call, &fault, at));
    dispatcher
        .metrics
        .count(None, Some(fault.row()), Duration::ZERO);
    let era = call.map_or(crate::Era::Handshake, |(call, _)| call.era);
    let facts = CallFacts {
        tool: None,
        form: dispatcher.server.form(era),
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
