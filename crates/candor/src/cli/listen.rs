//! Options of every command that listens: address, hosts, origins, tokens.

use super::CommandError;
use super::shell_words::quote;
use crate::host::run;
use candor_wire::http::{Admission, AdmissionToken, ClientTokens, HttpPaths, bind, serve};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct ListenArgs {
    /// The port; 0 takes any free one
    #[arg(long, default_value_t = 8788)]
    port: u16,
    /// The address; one that other machines can reach needs --bearer-file
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// A file with the token that clients must show as `Authorization: Bearer …`
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<PathBuf>,
    /// Another host name under which clients may reach this server (repeatable)
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,
    /// Another web origin whose pages may call this server (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    allowed_origin: Vec<String>,
}

impl ListenArgs {
    /// Returns the file with the token, if one protects the server.
    pub(super) fn bearer_file(&self) -> Option<&Path> {
        self.bearer_file.as_deref()
    }

    /// Returns the rules by which requests are admitted; `to_write` is the file of a second token for writes.
    pub(super) fn admission(
        &self,
        to_write: Option<&Path>,
    ) -> Result<Arc<Admission>, CommandError> {
        let bearer = self.bearer_file.as_deref().map(secret).transpose()?;
        if !self.bind.is_loopback() && bearer.is_none() {
            let message = format!(
                "{} can be reached from other machines, and no token protects it",
                self.bind
            );
            return Err(
                CommandError::new(message).with_hint("add --bearer-file FILE, or omit --bind")
            );
        }
        Ok(Arc::new(Admission {
            bearer,
            write_bearer: to_write.map(secret).transpose()?,
            ..self.unprotected()
        }))
    }

    /// Returns the rules by which requests are admitted if each client has tokens of its own.
    pub(super) fn admission_of_clients(&self, clients: Arc<dyn ClientTokens>) -> Arc<Admission> {
        Arc::new(Admission {
            clients: Some(clients),
            ..self.unprotected()
        })
    }

    /// Returns the rules by which requests are admitted if each shows a token that the server passes on.
    /// Such a server gives nothing to callers that their tokens do not give them, so its address may be
    /// one that other machines can reach.
    pub(super) fn admission_passing_tokens_on(&self) -> Arc<Admission> {
        Arc::new(Admission {
            passes_token_on: true,
            ..self.unprotected()
        })
    }

    /// Returns the rules about hosts and origins, without a token.
    fn unprotected(&self) -> Admission {
        Admission {
            bound: Some(self.bind),
            allowed_hosts: self.allowed_host.clone(),
            allowed_origins: self.allowed_origin.clone(),
            ..Admission::default()
        }
    }

    /// Serves the paths that `make` returns until a signal arrives; calls `announce` once the address is bound.
    pub(super) fn serve<F: Future<Output = Result<HttpPaths, CommandError>>>(
        &self,
        make: impl FnOnce() -> F,
        announce: impl FnOnce(&str),
    ) -> Result<(), CommandError> {
        run(|stop| async {
            let paths = make().await?;
            let paths = paths.with_max_connections(raise_open_files() / 2);
            let listener = bind(SocketAddr::new(self.bind, self.port));
            let listener = listener.map_err(|error| self.cannot_bind(&error))?;
            announce(&listener.local_addr()?.to_string());
            Ok(serve(listener, paths, stop).await?)
        })
    }

    /// Returns the error for an address that cannot be bound.
    fn cannot_bind(&self, error: &std::io::Error) -> CommandError {
        let address = SocketAddr::new(self.bind, self.port);
        CommandError::new(format!("cannot listen on {address}: {error}"))
            .with_hint("choose another port with --port, or any free one with --port 0")
    }
}

/// Raises the limit of open files as far as the system allows, and returns it. Every connection is an open
/// file; calls need some too.
fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    // No limit at all is an unlimited number of files.
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

fn secret(path: &Path) -> Result<AdmissionToken, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CommandError::new(format!(
            "cannot read the token in {}: {error}",
            path.display()
        ))
    })?;
    AdmissionToken::new(&text).ok_or_else(|| {
        CommandError::new(format!("the token in {} is empty", path.display())).with_hint(format!(
            "to write a random token into it, run:\n  openssl rand -hex 32 > {}",
            quote(path)
        ))
    })
}
