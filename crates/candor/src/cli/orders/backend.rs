//! `--backend`: an order system behind HTTP.

use crate::cli::CommandError;
use candor_http_client::{BearerToken, HttpSetupError};
use candor_orders::Adapter;
use candor_orders::http::{
    AdapterSetupError, CAPABILITIES_EVERY, HttpAdapter, HttpSettings, KeyStoreAdapter,
    KeyStoreError,
};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct BackendArgs {
    /// The URL of the order system, for --adapter http
    #[arg(long, value_name = "URL")]
    backend: Option<String>,
    /// A file with the token for the order system
    #[arg(long, value_name = "FILE", requires = "backend")]
    backend_bearer_file: Option<PathBuf>,
    /// A file with the certificates to trust for the order system, in PEM, instead of the system's
    #[arg(long, value_name = "FILE", requires = "backend")]
    backend_ca: Option<PathBuf>,
    /// The number of seconds after which the capabilities of the order system are read again
    #[arg(long, value_name = "N", default_value_t = CAPABILITIES_EVERY.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86400))]
    capabilities_every_s: u64,
    /// A file that stores the idempotencyKeys and results of changes, for an order system that keeps no keys
    #[arg(long, value_name = "FILE", requires = "backend")]
    key_store: Option<PathBuf>,
    /// Allow an order system on another machine without encryption
    #[arg(long, requires = "backend")]
    allow_insecure_backend: bool,
}

impl BackendArgs {
    /// Returns an error if `--backend` is given without `--adapter http`.
    pub(super) fn must_be_absent(&self) -> Result<(), CommandError> {
        match self.backend {
            None => Ok(()),
            Some(_) => Err(
                CommandError::new("--backend works only with --adapter http")
                    .with_hint("add --adapter http, or omit --backend"),
            ),
        }
    }

    /// Connects to the order system. Returns it with the secrets that must not reach a log.
    /// `keep_keys` is the time for which a key store keeps results.
    pub(super) async fn open(
        &self,
        keep_keys: Duration,
    ) -> Result<(Arc<dyn Adapter>, Vec<String>), CommandError> {
        let missing = || {
            CommandError::new("--adapter http needs the URL of the order system")
                .with_hint("add --backend URL")
        };
        let url = self.backend.as_ref().ok_or_else(missing)?;
        let token = self.backend_bearer_file.as_deref().map(token).transpose()?;
        let (bearer, secret) = token.unzip();
        let settings = HttpSettings {
            bearer,
            ca: self.backend_ca.as_deref().map(certificates).transpose()?,
            allow_insecure: self.allow_insecure_backend,
            ..HttpSettings::new(url)
        };
        let every = Duration::from_secs(self.capabilities_every_s);
        let adapter = HttpAdapter::start(&settings, every).map_err(unusable)?;
        let adapter: Arc<dyn Adapter> = match &self.key_store {
            None => Arc::new(adapter),
            Some(path) => Arc::new(open_key_store(adapter, path, keep_keys).await?),
        };
        Ok((adapter, secret.into_iter().collect()))
    }
}

/// Opens a key store in front of an order system.
async fn open_key_store(
    adapter: HttpAdapter,
    path: &Path,
    keep: Duration,
) -> Result<KeyStoreAdapter, CommandError> {
    let shown = path.display();
    // The file contains orders, so nobody else may read it.
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| {
        CommandError::new(format!("cannot open the key store {shown}: {error}"))
            .with_hint("name a file in a directory that exists and can be written")
    })?;
    let opened = KeyStoreAdapter::open(adapter, path, keep).await;
    opened.map_err(|error| {
        let hint = match error {
            KeyStoreError::InUse => "stop the other server, or name another file",
            KeyStoreError::Newer(_) => "use the version of candor that wrote it, or a newer one",
            KeyStoreError::Other | KeyStoreError::Sqlite(_) => {
                "name a new file, or one that --key-store has written"
            }
        };
        CommandError::new(format!("{error}: {shown}")).with_hint(hint)
    })
}

/// Reads the token in a file. Returns it as it is sent, and as text that must not be shown.
pub(super) fn token(path: &Path) -> Result<(BearerToken, String), CommandError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::new(format!("cannot read the token in {shown}: {error}")))?;
    let text = text.trim().to_owned();
    let bearer = BearerToken::new(&text).ok_or_else(|| {
        CommandError::new(format!("{shown} is empty or contains invalid characters"))
            .with_hint("write only the token into it, in visible ASCII characters")
    })?;
    Ok((bearer, text))
}

/// Reads the file of certificates.
pub(super) fn certificates(path: &Path) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    std::fs::read(path).map_err(|error| {
        CommandError::new(format!("cannot read the certificates in {shown}: {error}"))
    })
}

/// Converts the error of a connection into an error with a hint.
pub(super) fn unusable(error: AdapterSetupError) -> CommandError {
    let command_error = CommandError::new(error.to_string());
    match error {
        AdapterSetupError::Http(HttpSetupError::Unencrypted) => command_error
            .with_hint("--allow-insecure-backend sends everything unencrypted, even the token"),
        _ => command_error
            .with_hint("docs/adapter-protocol.md describes the protocol that the URL must serve"),
    }
}
