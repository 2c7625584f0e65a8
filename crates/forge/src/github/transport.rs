//! One exchange over HTTP: a request out, an answer in, bounded in bytes. Nothing is followed,
//! retried or understood here.

use super::address::Address;
use super::broken::Broken;
use super::settings::{SetupError, Timeouts};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection that nobody uses is kept: shorter than what servers do, because a request
/// on a connection that the other side is closing has an unknown outcome.
const IDLE: Duration = Duration::from_secs(20);

/// How many connections nobody uses are kept.
const IDLE_MAX: usize = 4;

/// How often a connection that carries several requests is asked whether it is still there, and how
/// long it may take to say so: otherwise every attempt would wait on the same dead one.
const PING: Duration = Duration::from_secs(5);

/// Connections to one API.
#[derive(Debug)]
pub(super) struct Transport(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// How much of a body is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    /// All of it; more than this is a failure.
    Whole(u64),
    /// Its first bytes.
    First(u64),
}

impl Wanted {
    /// The most bytes that are taken.
    pub(super) fn most(self) -> usize {
        let (Wanted::Whole(most) | Wanted::First(most)) = self;
        usize::try_from(most).unwrap_or(usize::MAX)
    }
}

/// The bytes of a body.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Bytes,
    /// Whether there were more.
    pub(super) cut: bool,
}

impl Transport {
    pub(super) fn new(address: &Address, timeouts: Timeouts) -> Result<Transport, SetupError> {
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_connect_timeout(Some(timeouts.connect));
        let secure = HttpsConnectorBuilder::new().with_tls_config(tls(address)?);
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
        Ok(Transport(client))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Broken> {
        self.0
            .request(request)
            .await
            .map_err(|error| Broken::sending(&error))
    }
}

/// Reads a body as far as it is wanted.
pub(super) async fn body(mut incoming: Incoming, wanted: Wanted) -> Result<Body, Broken> {
    let most = wanted.most();
    let mut bytes = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| Broken::reading(&error))?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        if data.len() <= most - bytes.len() {
            bytes.extend_from_slice(&data);
            continue;
        }
        if let Wanted::Whole(_) = wanted {
            return Err(Broken::large());
        }
        data.truncate(most - bytes.len());
        bytes.extend_from_slice(&data);
        return Ok(Body {
            bytes: bytes.freeze(),
            cut: true,
        });
    }
    Ok(Body {
        bytes: bytes.freeze(),
        cut: false,
    })
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
