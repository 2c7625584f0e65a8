//! `--backend`: another order system, over HTTP.

use crate::cli::CommandError;
use candor_http_client::{BearerToken, HttpSetupError};
use candor_orders::Adapter;
use candor_orders::http::{AdapterSetupError, HttpAdapter, HttpSettings};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct BackendArgs {
    /// The address of the order system for --adapter http
    #[arg(long, value_name = "URL")]
    backend: Option<String>,
    /// A file with the token that the order system is shown
    #[arg(long, value_name = "FILE", requires = "backend")]
    backend_bearer_file: Option<PathBuf>,
    /// Let the order system be on another machine without encryption
    #[arg(long, requires = "backend")]
    allow_insecure_backend: bool,
}

impl BackendArgs {
    /// Nothing here makes sense without the adapter.
    pub(super) fn must_be_absent(&self) -> Result<(), CommandError> {
        match self.backend {
            None => Ok(()),
            Some(_) => Err(CommandError::new("--backend is for another order system")
                .with_hint("add --adapter http, or leave out --backend")),
        }
    }

    /// The order system, and what must not reach a log.
    pub(super) async fn open(&self) -> Result<(Arc<dyn Adapter>, Vec<String>), CommandError> {
        let missing = || {
            CommandError::new("--adapter http needs the address of the order system")
                .with_hint("add --backend URL")
        };
        let url = self.backend.as_ref().ok_or_else(missing)?;
        let token = self.backend_bearer_file.as_deref().map(token).transpose()?;
        let (bearer, secret) = token.unzip();
        let settings = HttpSettings {
            bearer,
            allow_insecure: self.allow_insecure_backend,
            ..HttpSettings::new(url)
        };
        let adapter = HttpAdapter::connect(&settings).await;
        let adapter = adapter.map_err(unusable)?;
        Ok((Arc::new(adapter), secret.into_iter().collect()))
    }
}

/// The token in a file: as it is sent, and as it must not be shown.
pub(super) fn token(path: &Path) -> Result<(BearerToken, String), CommandError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::new(format!("cannot read the token in {shown}: {error}")))?;
    let text = text.trim().to_owned();
    let bearer = BearerToken::new(&text).ok_or_else(|| {
        CommandError::new(format!(
            "{shown} is empty, or has characters that no token has"
        ))
        .with_hint("put nothing but the token into it, in visible ASCII")
    })?;
    Ok((bearer, text))
}

/// A sentence about an order system that cannot be asked, and what to do.
pub(super) fn unusable(error: AdapterSetupError) -> CommandError {
    let shown = CommandError::new(error.to_string());
    match error {
        AdapterSetupError::Http(HttpSetupError::Unencrypted) => shown
            .with_hint("--allow-insecure-backend sends everything in the open, the token among it"),
        _ => shown.with_hint("docs/adapter-protocol.md says what stands behind the address"),
    }
}
