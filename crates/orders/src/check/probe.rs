//! Sends requests to an order system under test and describes its answers.

use crate::http::capabilities::{Capabilities, ROUTE, StatusMap};
use crate::http::client::{AdapterClient, AdapterResponse};
use crate::http::failures::AdapterErrorBody;
use crate::http::responses::EntitySchemas;
use crate::http::{AdapterSetupError, HttpSettings, headers};
use crate::model::{Feature, SortOrder};
use crate::{EntityQuery, Filters, IdempotencyKey, OrderOperation, Request, Response};
use bytes::Bytes;
use candor_http_client::ExchangeError;
use candor_street::Random;
use serde_json::{Value, json};
use std::error::Error;
use std::iter::successors;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// The time that one request of a check may take.
pub const REQUEST_TIME: Duration = Duration::from_secs(30);

/// The client that the keys of checks belong to.
const CLIENT: &str = "candor-check";

/// The most characters of an order system's text that are shown.
const MAX_WORDS: usize = 120;

/// The reason why a check did not pass.
#[derive(Debug)]
pub(super) enum NotPassed {
    /// The answer is not the expected one.
    Failed(String),
    /// The order system does not offer what the check needs.
    Skipped(String),
}

/// The result of a step of a check.
pub(super) type StepResult<T = String> = Result<T, NotPassed>;

pub(super) fn failed<T>(seen: impl Into<String>) -> StepResult<T> {
    Err(NotPassed::Failed(seen.into()))
}

pub(super) fn skipped<T>(reason: impl Into<String>) -> StepResult<T> {
    Err(NotPassed::Skipped(reason.into()))
}

/// An order system under test.
pub(super) struct AdapterProbe {
    client: AdapterClient,
    schemas: EntitySchemas,
    random: Random,
    /// `None` until they are fetched.
    pub(super) capabilities: Option<Capabilities>,
    /// The prefix of this run's ids.
    run: String,
    count: AtomicU32,
}

/// An answer, with the name of its route.
pub(super) struct ProbeResponse {
    operation: &'static str,
    pub(super) response: AdapterResponse,
}

impl AdapterProbe {
    pub(super) fn new(
        settings: &HttpSettings,
        random: Random,
    ) -> Result<AdapterProbe, AdapterSetupError> {
        let run = format!("candor-check-{:016x}", random());
        Ok(AdapterProbe {
            client: AdapterClient::new(settings)?,
            schemas: EntitySchemas::new()?,
            random,
            capabilities: None,
            run,
            count: AtomicU32::new(1),
        })
    }

    /// Returns a new id.
    pub(super) fn id(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{}-{count}", self.run)
    }

    /// Returns a new number of ten digits.
    pub(super) fn digits(&self) -> String {
        format!("9{:09}", (self.random)() % 1_000_000_000)
    }

    /// Returns a new key.
    pub(super) fn key(&self) -> IdempotencyKey {
        let (high, low) = ((self.random)(), (self.random)());
        IdempotencyKey {
            client: String::from(CLIENT),
            key: format!("{high:016x}{low:016x}"),
        }
    }

    /// Skips the check if an operation is not offered.
    pub(super) fn needs(&self, operations: &[OrderOperation]) -> StepResult<()> {
        let Some(known) = &self.capabilities else {
            return skipped("the capabilities are not known");
        };
        match operations
            .iter()
            .find(|one| !known.operations.contains(one))
        {
            Some(missing) => skipped(format!("{} is not offered", missing.name())),
            None => Ok(()),
        }
    }

    /// Returns true if a query supports the filter with this name.
    pub(super) fn has_filter(&self, operation: OrderOperation, name: &str) -> bool {
        let known = self.capabilities.as_ref();
        known.is_some_and(|known| known.has_filter(operation, name))
    }

    /// Skips the check if a query is not offered, or does not support a filter.
    pub(super) fn needs_filter(&self, operation: OrderOperation, name: &str) -> StepResult<()> {
        self.needs(&[operation])?;
        match self.has_filter(operation, name) {
            true => Ok(()),
            false => skipped(format!("{} does not declare {name}", operation.name())),
        }
    }

    /// Skips the check if an operation is not offered, or a feature is not declared.
    pub(super) fn needs_feature(
        &self,
        feature: Feature,
        operations: &[OrderOperation],
    ) -> StepResult<()> {
        self.needs(operations)?;
        let known = self.capabilities.as_ref();
        match known.is_some_and(|known| known.features.contains(&feature)) {
            true => Ok(()),
            false => skipped(format!("the feature {} is not declared", feature.word())),
        }
    }

    /// Skips the check if a change uses a feature that is not declared.
    fn needs_features_of(&self, operation: OrderOperation, arguments: &Value) -> StepResult<()> {
        let features = parse_change(operation, arguments).map(|request| request.features());
        let mut features = features.unwrap_or_default().into_iter();
        features.try_for_each(|feature| self.needs_feature(feature, &[]))
    }

    /// Skips the check if keys are not kept.
    pub(super) fn needs_keys(&self) -> StepResult<()> {
        match &self.capabilities {
            None => skipped("the capabilities are not known"),
            Some(known) if known.keeps_keys => Ok(()),
            Some(_) => skipped("keys are not kept"),
        }
    }

    /// Returns the reason why the order system cannot be reached, if it cannot.
    pub(super) async fn unreachable_reason(&self) -> Option<String> {
        match self.client.get(ROUTE).await {
            Err(error) if error.is_unsent() => {
                let last = successors(error.source(), |&error| error.source()).last();
                Some(shown(
                    &last.map_or_else(|| error.to_string(), ToString::to_string),
                ))
            }
            _ => None,
        }
    }

    pub(super) async fn get(&self, route: &'static str) -> StepResult<ProbeResponse> {
        within(route, self.client.get(route)).await
    }

    /// Sends a body to a route.
    pub(super) async fn send(
        &self,
        route: &'static str,
        key: Option<&IdempotencyKey>,
        body: impl Into<Bytes>,
    ) -> StepResult<ProbeResponse> {
        let left = u64::try_from(REQUEST_TIME.as_millis()).unwrap_or(u64::MAX);
        let client = key.map_or(CLIENT, |key| key.client.as_str());
        let key = key.map(|key| key.key.as_str());
        let headers = headers(client, key, left);
        let sent = self.client.post(route, headers, body.into());
        within(route, sent).await
    }

    pub(super) async fn ask(
        &self,
        operation: OrderOperation,
        key: &IdempotencyKey,
        arguments: &Value,
    ) -> StepResult<ProbeResponse> {
        self.needs_features_of(operation, arguments)?;
        self.send(operation.name(), Some(key), arguments.to_string())
            .await
    }

    /// Makes a change that must succeed, and returns the entity.
    pub(super) async fn change(
        &self,
        operation: OrderOperation,
        key: &IdempotencyKey,
        arguments: &Value,
    ) -> StepResult<Value> {
        let seen = self.ask(operation, key, arguments).await?;
        self.entity(operation, arguments, &seen)
    }

    fn statuses(&self) -> Option<&StatusMap> {
        self.capabilities.as_ref().map(|known| &known.statuses)
    }

    /// Returns the entity of a successful response, which must fit the arguments.
    pub(super) fn entity(
        &self,
        operation: OrderOperation,
        arguments: &Value,
        seen: &ProbeResponse,
    ) -> StepResult<Value> {
        seen.succeeded()?;
        let request = parse_change(operation, arguments);
        let request = request.map_err(|error| NotPassed::Failed(error.to_string()))?;
        let read = self.schemas.one(&request, self.statuses(), &seen.response);
        match read.map_err(|error| NotPassed::Failed(error.to_string()))? {
            Response::One { entity, .. } => Ok(value(entity.get())),
            Response::Page { .. } => failed("the answer is a page"),
        }
    }

    /// Returns a page and the position of the next one.
    pub(super) async fn page(
        &self,
        operation: OrderOperation,
        size: usize,
        mut arguments: Value,
    ) -> StepResult<(Vec<Value>, Option<String>)> {
        let names = arguments.as_object().into_iter().flatten();
        for (name, _) in names.filter(|(name, _)| *name != "cursor") {
            self.needs_filter(operation, name)?;
        }
        arguments["pageSize"] = json!(size);
        let seen = self
            .send(operation.name(), None, arguments.to_string())
            .await?;
        seen.succeeded()?;
        let query = EntityQuery {
            operation,
            filters: Filters {
                sort: arguments["sort"].as_str().and_then(SortOrder::read),
                ..Filters::default()
            },
            page_size: i64::try_from(size).unwrap_or(i64::MAX),
            after: arguments["cursor"].as_str().map(String::from),
        };
        let read = self.schemas.page(&query, self.statuses(), &seen.response);
        match read.map_err(|error| NotPassed::Failed(error.to_string()))? {
            Response::Page { corrections, .. } if !corrections.omitted.is_empty() => {
                let details = corrections.omitted.iter().map(|entity| &entity.detail);
                let first = details.take(1).cloned().collect::<String>();
                failed(format!("an entity cannot be shown: {}", shown(&first)))
            }
            Response::Page { items, next, .. } => match value(items.get()) {
                Value::Array(items) => Ok((items, next)),
                _ => failed("the page is no array"),
            },
            Response::One { .. } => failed("the answer is no page"),
        }
    }

    /// Returns the orders with this external id.
    pub(super) async fn orders(&self, external: &str) -> StepResult<Vec<Value>> {
        let arguments = json!({ "externalIds": [external] });
        let found = self.page(OrderOperation::GetOrders, 10, arguments).await?;
        Ok(found.0)
    }
}

async fn within(
    operation: &'static str,
    answer: impl Future<Output = Result<AdapterResponse, ExchangeError>>,
) -> StepResult<ProbeResponse> {
    match timeout(REQUEST_TIME, answer).await {
        Ok(Ok(response)) => Ok(ProbeResponse {
            operation,
            response,
        }),
        Ok(Err(error)) => {
            let sources = successors(error.source(), |&error| error.source());
            let message = sources.fold(error.to_string(), |message, source| {
                format!("{message}: {source}")
            });
            failed(format!("{operation}: no answer: {}", shown(&message)))
        }
        Err(_) => failed(format!(
            "{operation}: no answer within {} s",
            REQUEST_TIME.as_secs()
        )),
    }
}

impl ProbeResponse {
    pub(super) fn status(&self) -> u16 {
        self.response.status.as_u16()
    }

    pub(super) fn error_body(&self) -> AdapterErrorBody {
        AdapterErrorBody::read(&self.response)
    }

    /// Describes the answer in a few words.
    pub(super) fn words(&self) -> String {
        let (operation, status) = (self.operation, self.status());
        let code = match self.error_body().code {
            Some(code) if !self.response.status.is_success() => format!(" {}", shown(&code)),
            _ => String::new(),
        };
        format!("{operation}: {status}{code}")
    }

    pub(super) fn succeeded(&self) -> StepResult<()> {
        match self.response.status.is_success() {
            true => Ok(()),
            false => failed(self.words()),
        }
    }

    /// Checks that the answer is a final refusal with this code.
    pub(super) fn refused(&self, code: &str) -> StepResult {
        let error_body = self.error_body();
        match (self.status(), error_body.code.as_deref()) {
            (408 | 429, _) => failed(self.words()),
            (400..=499, Some(named)) if named == code && !error_body.retryable => Ok(self.words()),
            (400..=499, Some(named)) if named == code => {
                failed(format!("{}, said to be retryable", self.words()))
            }
            _ => failed(self.words()),
        }
    }

    /// Returns true if the answer is a refusal that may be retried.
    pub(super) fn is_busy(&self) -> bool {
        let error_body = self.error_body();
        matches!(self.status(), 400..=499) && error_body.retryable || self.status() == 429
    }
}

/// Returns the request with these arguments.
fn parse_change(operation: OrderOperation, arguments: &Value) -> serde_json::Result<Request> {
    let arguments = arguments.clone();
    Ok(match operation {
        OrderOperation::CreateOrder => Request::Create(serde_json::from_value(arguments)?),
        OrderOperation::UpdateOrder => Request::Update(serde_json::from_value(arguments)?),
        OrderOperation::CancelOrder => Request::Cancel(serde_json::from_value(arguments)?),
        OrderOperation::FulfillOrder => Request::Fulfill(serde_json::from_value(arguments)?),
        _ => Request::Return(serde_json::from_value(arguments)?),
    })
}

/// Parses JSON that was validated before.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Makes text of an order system safe to show: without control and direction characters, and short.
pub(super) fn shown(text: &str) -> String {
    let turns = |one| matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let safe = text
        .chars()
        .map(|one| match one.is_control() || turns(one) {
            true => ' ',
            false => one,
        });
    let mut shown: String = safe.take(MAX_WORDS).collect();
    if text.chars().nth(MAX_WORDS).is_some() {
        shown.push('…');
    }
    shown
}
