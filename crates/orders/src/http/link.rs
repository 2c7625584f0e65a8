//! One exchange over HTTP: a request out, an answer in, bounded in bytes. Nothing is followed,
//! retried or understood here.

use super::address::Address;
use super::broken::Broken;
use super::settings::{Settings, SetupError};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of an answer that are read.
pub const BODY_MAX: usize = 16 * 1024 * 1024;

/// The most bytes of a failure that are read.
pub const FAILURE_MAX: usize = 64 * 1024;

/// How long a connection that nobody uses is kept: shorter than what servers do, because a request
/// on a connection that the other side is closing has an unknown outcome.
const IDLE: Duration = Duration::from_secs(4);

/// How many connections nobody uses are kept.
const IDLE_MAX: usize = 8;

/// How often a connection that carries several requests is asked whether it is still there, and how
/// long it may take to say so.
const PING: Duration = Duration::from_secs(5);

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Connections to one order system.
#[derive(Debug)]
pub(crate) struct Link {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    address: Address,
    /// What every request says.
    headers: HeaderMap,
}

/// An answer: its head, and its body as far as it is wanted.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Link {
    pub(crate) fn new(settings: &Settings) -> Result<Link, SetupError> {
        let address = Address::read(&settings.base_url, settings.allow_insecure)?;
        let agent = HeaderValue::from_str(&settings.user_agent);
        let agent = agent.map_err(|_| SetupError::UserAgent)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent);
        headers.insert(ACCEPT, JSON);
        if let Some(bearer) = &settings.bearer {
            headers.insert(AUTHORIZATION, bearer.header());
        }
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_connect_timeout(Some(settings.connect_time));
        let secure = HttpsConnectorBuilder::new().with_tls_config(tls(&address)?);
        let connector = match address.is_encrypted() {
            true => secure.https_only(),
            false => secure.https_or_http(),
        };
        let connector = connector.enable_all_versions().wrap_connector(plain);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PING)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Ok(Link {
            client,
            address,
            headers,
        })
    }

    /// Asks for a route.
    pub(crate) async fn get(&self, route: &str) -> Result<Heard, Broken> {
        let headers = self.headers.clone();
        self.exchange(Method::GET, route, headers, Bytes::new())
            .await
    }

    /// Sends JSON to a route, with more headers.
    pub(crate) async fn post(
        &self,
        route: &str,
        more: HeaderMap,
        body: Bytes,
    ) -> Result<Heard, Broken> {
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
    ) -> Result<Heard, Broken> {
        let request = Request::builder()
            .method(method)
            .uri(self.address.below(route))
            .body(Full::new(body));
        // The address was read before, and routes are names.
        let mut request =
            request.map_err(|error| Broken::Unsent(candor_fault::Cause::error("Uri", &error)))?;
        *request.headers_mut() = headers;
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| Broken::sending(&error))?;
        let (head, body) = answer.into_parts();
        let body = match head.status.is_success() {
            true => whole(body).await?,
            // The status says enough where the rest does not come.
            false => first(body).await,
        };
        Ok(Heard {
            status: head.status,
            headers: head.headers,
            body,
        })
    }
}

/// All of a body.
async fn whole(mut incoming: Incoming) -> Result<Bytes, Broken> {
    if incoming.size_hint().lower() > BODY_MAX as u64 {
        return Err(Broken::TooLarge);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| Broken::reading(&error))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > BODY_MAX - bytes.len() {
            return Err(Broken::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// The beginning of a body, as far as it comes.
async fn first(mut incoming: Incoming) -> Bytes {
    let mut bytes = BytesMut::new();
    while let Some(Ok(frame)) = incoming.frame().await {
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        let room = FAILURE_MAX - bytes.len();
        data.truncate(room);
        bytes.extend_from_slice(&data);
        if bytes.len() == FAILURE_MAX {
            break;
        }
    }
    bytes.freeze()
}

fn tls(address: &Address) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    if address.is_encrypted() {
        // Some of a system's certificates may be unreadable; one that works is what is needed.
        let found = rustls_native_certs::load_native_certs();
        let (added, _ignored) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            return Err(SetupError::Certificates);
        }
    }
    // Named here and not process-wide: who else uses TLS in this process is not our concern.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| SetupError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
