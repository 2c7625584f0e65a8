//! One HTTP exchange with the order system. Nothing is redirected, retried or interpreted here.

use super::settings::{AdapterSetupError, HttpSettings};
use bytes::Bytes;
use candor_http_client::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT,
};
use candor_http_client::{
    BaseUrl, BodyLimit, ClientOptions, ExchangeError, HttpClient, HttpSetupError, Method,
    PlainHttp, ResponseBody, StatusCode,
};
use std::time::Duration;

/// The most bytes of a successful answer that are read.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

/// The most bytes of a failing answer that are read.
pub const MAX_FAILURE_BODY: usize = 64 * 1024;

/// The time that an idle connection is kept. It is shorter than what servers use, because a request
/// on a connection that the other side is closing has an unknown outcome.
const IDLE: Duration = Duration::from_secs(4);

/// The most idle connections.
const MAX_IDLE_CONNECTIONS: usize = 8;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The connections to one order system.
#[derive(Debug)]
pub(crate) struct AdapterClient {
    client: HttpClient,
    base: BaseUrl,
    /// Sent with every request.
    headers: HeaderMap,
}

/// An answer of the order system.
#[derive(Debug)]
pub(crate) struct AdapterResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl AdapterClient {
    pub(crate) fn new(settings: &HttpSettings) -> Result<AdapterClient, AdapterSetupError> {
        let plain_http = match settings.allow_insecure {
            true => PlainHttp::AnyHost,
            false => PlainHttp::LoopbackOnly,
        };
        let base = BaseUrl::parse(&settings.base_url, plain_http)?;
        let agent = HeaderValue::from_str(&settings.user_agent);
        let agent = agent.map_err(|_| AdapterSetupError::UserAgent)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent);
        headers.insert(ACCEPT, JSON);
        if let Some(bearer) = &settings.bearer {
            headers.insert(AUTHORIZATION, bearer.header());
        }
        let options = ClientOptions {
            connect_timeout: settings.connect_time,
            idle_timeout: IDLE,
            max_idle_connections: MAX_IDLE_CONNECTIONS,
        };
        let client = match &settings.ca {
            None => HttpClient::new(&base, options)?,
            Some(pem) => {
                HttpClient::with_roots(&base, options, pem).map_err(|error| match error {
                    HttpSetupError::NoCertificates => AdapterSetupError::Ca,
                    other => other.into(),
                })?
            }
        };
        Ok(AdapterClient {
            client,
            base,
            headers,
        })
    }

    pub(crate) async fn get(&self, route: &str) -> Result<AdapterResponse, ExchangeError> {
        let headers = self.headers.clone();
        self.exchange(Method::GET, route, headers, Bytes::new())
            .await
    }

    /// Sends JSON to a route, with additional headers.
    pub(crate) async fn post(
        &self,
        route: &str,
        more: HeaderMap,
        body: Bytes,
    ) -> Result<AdapterResponse, ExchangeError> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, JSON);
        headers.extend(more);
        self.exchange(Method::POST, route, headers, body).await
    }

    async fn exchange(
        &self,
        method: Method,
        route: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<AdapterResponse, ExchangeError> {
        let url = self.base.join(&format!("/v1/{route}"));
        let response = self.client.send(method, &url, headers, body).await?;
        let (head, body) = response.into_parts();
        let body = match head.status.is_success() {
            true => read_whole(body).await?,
            // The status is enough if the body does not arrive.
            false => body.read_available(MAX_FAILURE_BODY).await,
        };
        Ok(AdapterResponse {
            status: head.status,
            headers: head.headers,
            body,
        })
    }
}

/// Reads a whole body. A body that announces too many bytes is not read at all.
async fn read_whole(body: ResponseBody) -> Result<Bytes, ExchangeError> {
    let limit = MAX_BODY as u64;
    if body.announced_length() > limit {
        return Err(ExchangeError::BodyTooLarge { limit });
    }
    Ok(body.read(BodyLimit::Whole(limit)).await?.bytes)
}
