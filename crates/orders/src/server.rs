//! The orders server: permissions, limits and calls of the order system.

use crate::clients::{CallsInFlight, Client, ClientDirectory, RateLimits, RateQuotas};
use crate::dialect::{Orders, with_key_state};
use crate::failure_log::FailureLog;
use crate::faults::{of_query, unnamed, with_rule_remedy};
use crate::guarded_adapter::{Caller, GuardConfig, GuardedAdapter};
use crate::{
    Adapter, Failure, IdempotencyKey, MissingScope, OrderOperation, RefusalReason, Request,
    Response, ServerReadiness, tools,
};
use candor_fault::{Effect, Fault, Form};
use candor_secrets::redact;
use candor_street::{
    Call, CallContext, Era, FailureForm, JsonRef, MetricsHub, Peer, Permit, Random, Server, Tool,
    Tools,
};
use std::borrow::Cow;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

/// The calls that a client may make per minute, unless the owner configures another number.
pub const CALLS_A_MINUTE: NonZeroU32 = NonZeroU32::new(600).unwrap();

/// The calls that a client may make per minute of one tool, unless the owner configures another
/// number.
pub const TOOL_CALLS_A_MINUTE: NonZeroU32 = NonZeroU32::new(300).unwrap();

/// The most clients, or pairs of client and tool, that are counted at once.
pub const MAX_LIMITED: usize = 4096;

/// The calls that a client may have in flight, unless the owner configures another number.
pub const CALLS_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// The wait that is proposed to a client with too many calls in flight.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(1);

/// The name of a client without a credential, for limits.
const ANONYMOUS: &str = "anonymous";

/// The client to which the keys of all callers belong if they are not told apart.
const DEFAULT_CLIENT: &str = "default";

/// Replaces a known secret in a log.
const HIDDEN: &str = "[hidden]";

/// The forms of calls that are accepted beside our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// Those of the public reference server.
    Reference,
}

/// The configuration of the server.
#[derive(Clone)]
pub struct Config {
    pub failures: FailureForm,
    /// The calls that a client may make per minute. `None` means any number.
    pub calls_a_minute: Option<NonZeroU32>,
    /// The calls that a client may make per minute of one tool. `None` means any number.
    pub tool_calls_a_minute: Option<NonZeroU32>,
    /// The calls that a client may have in flight. `None` means any number.
    pub calls_in_flight: Option<NonZeroUsize>,
    pub guard: GuardConfig,
    /// The clients, if callers are told apart by their tokens.
    pub clients: Option<Arc<ClientDirectory>>,
    /// Other forms of calls that are accepted.
    pub compat: Option<Compat>,
    /// Texts that must not reach a log: passwords and tokens of the order system.
    pub secrets: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            failures: FailureForm::default(),
            calls_a_minute: Some(CALLS_A_MINUTE),
            tool_calls_a_minute: Some(TOOL_CALLS_A_MINUTE),
            calls_in_flight: Some(CALLS_IN_FLIGHT),
            guard: GuardConfig::default(),
            clients: None,
            compat: None,
            secrets: Vec::new(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config")
            .field("failures", &self.failures)
            .field("calls_a_minute", &self.calls_a_minute)
            .field("tool_calls_a_minute", &self.tool_calls_a_minute)
            .field("calls_in_flight", &self.calls_in_flight)
            .field("guard", &self.guard)
            .field("compat", &self.compat)
            .finish_non_exhaustive()
    }
}

/// The order tools in front of one order system.
pub struct OrdersServer {
    tools: Tools<Self>,
    guarded: GuardedAdapter,
    failures: FailureForm,
    quotas: RateQuotas,
    rates: RateLimits,
    in_flight: Option<CallsInFlight>,
    clients: Option<Arc<ClientDirectory>>,
    compat: Option<Compat>,
    random: Random,
    secrets: Vec<String>,
    log: FailureLog,
    metrics: MetricsHub,
}

impl OrdersServer {
    pub fn new(
        adapter: Arc<dyn Adapter>,
        config: Config,
        random: Random,
        metrics: MetricsHub,
    ) -> OrdersServer {
        let tools = Tools::new("candor-orders", env!("CARGO_PKG_VERSION"));
        let most = NonZeroUsize::new(MAX_LIMITED).unwrap_or(NonZeroUsize::MIN);
        let mut secrets = config.secrets;
        secrets.retain(|secret| !secret.is_empty());
        // Longest first: otherwise a part of a secret stays visible if a shorter one is contained
        // in it.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        OrdersServer {
            tools: tools::all(config.compat)
                .into_iter()
                .fold(tools, Tools::with),
            guarded: GuardedAdapter::new(
                adapter,
                &config.guard,
                Arc::clone(&random),
                metrics.clone(),
            ),
            failures: config.failures,
            quotas: RateQuotas {
                calls: config.calls_a_minute,
                tool_calls: config.tool_calls_a_minute,
            },
            rates: RateLimits::new(most),
            in_flight: config.calls_in_flight.map(CallsInFlight::new),
            clients: config.clients,
            compat: config.compat,
            random,
            secrets,
            log: FailureLog::default(),
            metrics,
        }
    }

    /// Sends a request to the order system for this call.
    pub(crate) async fn ask(
        &self,
        request: &Request,
        key: Option<String>,
        cx: &CallContext,
    ) -> Result<Response, Failure> {
        let credential = cx.call.peer.credential.as_deref();
        let own = credential.filter(|_| self.clients.is_some());
        let client = own.unwrap_or(DEFAULT_CLIENT);
        let key = key.map(|key| IdempotencyKey {
            client: client.to_owned(),
            key,
        });
        let caller = Caller {
            client,
            tenant: self
                .client(&cx.call.peer)
                .and_then(|own| own.tenant.clone()),
            trace_parent: cx.call.peer.trace_parent.clone(),
        };
        let call = self.guarded.call(request, caller, key, &cx.mark);
        let (response, breaker) = call.await;
        self.report(request.operation(), client, &response);
        if let Some(breaker) = breaker {
            self.log.breaker(request.operation(), client, breaker);
        }
        response
    }

    /// Counts and logs what the owner of the server has to know about an answer.
    fn report(
        &self,
        operation: OrderOperation,
        client: &str,
        response: &Result<Response, Failure>,
    ) {
        match response {
            Ok(response) => {
                let corrections = response.corrections();
                let omitted = corrections.omitted.len();
                if omitted > 0 {
                    self.metrics.count_omitted(operation.name(), omitted);
                    self.log.omitted(operation, client, corrections);
                }
            }
            Err(failure) => {
                if failure.is_invalid_answer() {
                    self.metrics.count_invalid_answer(operation.name());
                }
                let hide = |text: &str| self.hide(text);
                self.log.failed(operation, client, failure, hide);
            }
        }
    }

    /// Returns the other forms of calls that are accepted.
    pub(crate) fn compat(&self) -> Option<Compat> {
        self.compat
    }

    /// Returns the time that a call may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.guarded.deadline()
    }

    /// Returns a key for a change whose call has none, in the form of a UUID.
    pub(crate) fn new_key(&self) -> String {
        let drawn = (u128::from((self.random)()) << 64) | u128::from((self.random)());
        let fixed_bits = (0xf000 << 64) | (0xc << 60);
        let versioned = (drawn & !fixed_bits) | (0x4000 << 64) | (0x8 << 60);
        let digits = format!("{versioned:032x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
        parts.map(|part| digits[part].to_owned()).join("-")
    }

    /// Checks whether the order system can be used now.
    pub async fn readiness(&self) -> ServerReadiness {
        self.guarded.readiness().await
    }

    /// Applies the limits of the caller. The returned permit counts the call as long as it runs.
    fn limit(&self, call: &Call, tool: &'static str) -> Result<Permit, Failure> {
        let client = match (&call.peer.credential, call.peer.address) {
            (Some(credential), _) => Cow::Borrowed(credential.as_str()),
            (None, Some(address)) => Cow::Owned(address.to_string()),
            (None, None) => Cow::Borrowed(ANONYMOUS),
        };
        let permit = match &self.in_flight {
            None => Permit::default(),
            Some(calls) => {
                let begun = calls.begin(&client);
                Permit::holding(begun.ok_or(Failure::Limited(IN_FLIGHT_WAIT, None))?)
            }
        };
        let quotas = self.quotas(&call.peer);
        let checked = self.rates.check(quotas, &client, tool);
        checked.map_err(|limited| Failure::Limited(limited.after, None))?;
        Ok(permit)
    }

    /// Returns the quotas of a caller: its own, or else those of the server.
    fn quotas(&self, peer: &Peer) -> RateQuotas {
        let own = self.client(peer);
        let own_calls = own.as_ref().and_then(|client| client.calls_a_minute);
        let own_tool_calls = own.as_ref().and_then(|client| client.tool_calls_a_minute);
        RateQuotas {
            calls: own_calls.map_or(self.quotas.calls, NonZeroU32::new),
            tool_calls: own_tool_calls.map_or(self.quotas.tool_calls, NonZeroU32::new),
        }
    }

    /// Returns the client that calls, if callers are told apart.
    fn client(&self, peer: &Peer) -> Option<Arc<Client>> {
        self.clients.as_ref()?.get(peer.credential.as_deref()?)
    }

    /// Refuses a tool that the caller may not use.
    fn check_scope(&self, peer: &Peer, tool: &Tool<Self>) -> Result<(), Failure> {
        if self.clients.is_none() {
            return match tool.writes() && !peer.may_write {
                true => Err(RefusalReason::WriteTokenRequired.into()),
                false => Ok(()),
            };
        }
        let operation = OrderOperation::read(tool.name());
        // A client whose token was revoked a moment ago is not in the directory any more.
        let client = self.client(peer);
        let may_call = |client: &Arc<Client>| operation.is_some_and(|tool| client.may_call(tool));
        match client {
            Some(client) if may_call(&client) => Ok(()),
            Some(client) if tool.writes() && !client.may_write => {
                Err(Failure::ScopeRequired(MissingScope::Write))
            }
            _ => Err(Failure::ScopeRequired(MissingScope::Tool(tool.name()))),
        }
    }

    /// Removes secrets from a text. Returns `None` if there are none.
    fn hide(&self, text: &str) -> Option<String> {
        let mut hidden = Cow::Borrowed(text);
        for secret in self.secrets.iter().filter(|secret| text.contains(*secret)) {
            hidden = Cow::Owned(hidden.replace(secret.as_str(), HIDDEN));
        }
        let shaped = redact(&hidden);
        (*shaped != *text).then(|| shaped.into_owned())
    }
}

impl fmt::Debug for OrdersServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OrdersServer")
            .field("guarded", &self.guarded)
            .finish_non_exhaustive()
    }
}

impl Server for OrdersServer {
    type Dialect = Orders;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn listed_tools(&self, peer: &Peer) -> Option<Vec<&'static str>> {
        self.clients.as_ref()?;
        let tools = self.tools.all().iter();
        let allowed = tools.filter(|tool| self.check_scope(peer, tool).is_ok());
        Some(allowed.map(Tool::name).collect())
    }

    fn form(&self, era: Era) -> Form {
        self.failures.form(era)
    }

    fn gate(&self, cx: &CallContext, tool: &Tool<Self>) -> Result<(), Fault<Orders>> {
        let checked = self.check_scope(&cx.call.peer, tool);
        checked.map_err(|failure| failure.fault(Effect::None))
    }

    async fn guard(
        &self,
        cx: &CallContext,
        tool: &Tool<Self>,
        _arguments: JsonRef<'_>,
    ) -> Result<Permit, Fault<Orders>> {
        let limited = self.limit(&cx.call, tool.name());
        limited.map_err(|failure| failure.fault(Effect::None))
    }

    fn complete(&self, fault: Fault<Orders>, cx: &CallContext) -> Fault<Orders> {
        let fault = with_rule_remedy(fault);
        let fault = match OrderOperation::read(&cx.call.name) {
            Some(operation) if operation.changes() => {
                with_key_state(fault, self.guarded.keeps_keys())
            }
            Some(_) => of_query(fault),
            None => fault,
        };
        let fault = fault.redacted(&|text| self.hide(text));
        fault.with_facts(|facts| {
            let own = facts.original_error.as_deref();
            if own.is_some_and(|own| self.hide(own).is_some()) {
                facts.original_error = Some(unnamed());
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AdapterFuture, ReadinessFuture, RequestContext};

    struct Nobody;

    impl Adapter for Nobody {
        fn name(&self) -> &'static str {
            "nobody"
        }

        fn readiness(&self) -> ReadinessFuture<'_> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn call<'a>(&'a self, _: &'a Request, _: &'a RequestContext) -> AdapterFuture<'a> {
            Box::pin(std::future::pending())
        }

        fn keeps_keys(&self) -> bool {
            true
        }
    }

    #[test]
    fn known_secrets_are_hidden_completely() {
        let secrets = ["", "sesame", "sesame-street-17", "street-17"].map(String::from);
        let config = Config {
            secrets: secrets.to_vec(),
            ..Config::default()
        };
        let metrics = MetricsHub::default();
        let server = OrdersServer::new(Arc::new(Nobody), config, Arc::new(|| 0), metrics);
        let hidden = |text| server.hide(text);
        assert_eq!(
            hidden("no: sesame-street-17, sesame and street-17"),
            Some(String::from("no: [hidden], [hidden] and [hidden]"))
        );
        assert_eq!(hidden("nothing to hide"), None);
    }
}
