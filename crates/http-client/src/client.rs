//! The client and its connections.

use crate::public_address::CheckedResolver;
use crate::{BaseUrl, ExchangeError, HttpSetupError, ResponseBody};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The interval of HTTP/2 pings and the time a server has to answer one. Without pings every attempt
/// would wait on the same dead connection.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Bounds of the connections of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    pub connect_timeout: Duration,
    /// The time after which an unused connection is closed. It should be shorter than the server's
    /// own: a request on a connection that the server is closing has an unknown outcome.
    pub idle_timeout: Duration,
    pub max_idle_connections: usize,
}

/// A request under way. Boxed, so that HTTP is compiled in this crate alone and not in each that uses it.
pub type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, ExchangeError>> + Send + 'a>>;

/// A client for one server.
#[derive(Debug)]
pub struct HttpClient(Client<HttpsConnector<HttpConnector<CheckedResolver>>, Full<Bytes>>);

impl HttpClient {
    /// Creates a client that trusts the system's certificates. No connection is opened yet.
    pub fn new(base: &BaseUrl, options: ClientOptions) -> Result<HttpClient, HttpSetupError> {
        HttpClient::trusting(system_roots(base)?, base, options, false)
    }

    /// Creates a client for downloads to which the server redirects: names without a public address are
    /// refused, unless the server itself is on this machine.
    pub fn for_downloads(
        base: &BaseUrl,
        options: ClientOptions,
    ) -> Result<HttpClient, HttpSetupError> {
        HttpClient::trusting(system_roots(base)?, base, options, !base.is_loopback())
    }

    /// Creates a client that trusts these certificates in PEM only. No connection is opened yet.
    pub fn with_roots(
        base: &BaseUrl,
        options: ClientOptions,
        pem: &[u8],
    ) -> Result<HttpClient, HttpSetupError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| HttpSetupError::NoCertificates)?;
            let added = roots.add(certificate);
            added.map_err(|_| HttpSetupError::NoCertificates)?;
        }
        match roots.is_empty() {
            true => Err(HttpSetupError::NoCertificates),
            false => HttpClient::trusting(roots, base, options, false),
        }
    }

    fn trusting(
        roots: RootCertStore,
        base: &BaseUrl,
        options: ClientOptions,
        is_public_only: bool,
    ) -> Result<HttpClient, HttpSetupError> {
        let resolver = CheckedResolver::new(is_public_only);
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.connect_timeout));
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls_config(roots)?);
        let connector = match base.is_encrypted() {
            true => tls.https_only(),
            false => tls.https_or_http(),
        };
        let connector = connector.enable_all_versions().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_INTERVAL)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_timeout)
            .pool_max_idle_per_host(options.max_idle_connections)
            .build(connector);
        Ok(HttpClient(client))
    }

    /// Sends a request and waits for the head of its response.
    pub fn send<'a>(
        &'a self,
        method: Method,
        url: &'a str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Sending<'a> {
        Box::pin(self.exchange(method, url, headers, body))
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, ExchangeError> {
        let request = Request::builder().method(method).uri(url);
        let mut request = request
            .body(Full::new(body))
            .map_err(|error| ExchangeError::InvalidRequest(error.into()))?;
        *request.headers_mut() = headers;
        let response = self.0.request(request).await;
        let response = response.map_err(ExchangeError::from_request)?;
        Ok(response.map(ResponseBody::new))
    }
}

/// Returns the certificates that the system trusts. A server without TLS needs none.
fn system_roots(base: &BaseUrl) -> Result<RootCertStore, HttpSetupError> {
    let mut roots = RootCertStore::empty();
    if base.is_encrypted() {
        // Some of a system's certificates may be unreadable; one usable certificate is enough.
        let loaded = rustls_native_certs::load_native_certs();
        let (added, _ignored) = roots.add_parsable_certificates(loaded.certs);
        if added == 0 {
            return Err(HttpSetupError::NoCertificates);
        }
    }
    Ok(roots)
}

fn tls_config(roots: RootCertStore) -> Result<ClientConfig, HttpSetupError> {
    // The provider is named here and not process-wide, because other code of the process may use TLS too.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| HttpSetupError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
