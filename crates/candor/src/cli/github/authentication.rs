//! Options of `candor github serve` that say how it authenticates to GitHub.

use super::token_file::TokenFile;
use crate::cli::CommandError;
use crate::cli::shell_words::quote;
use candor_forge::github::{AppKey, GithubApp, GithubAuthentication};
use candor_http_client::BearerToken;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct AuthenticationArgs {
    /// A file with the token for GitHub, read again when it changes; without it GITHUB_TOKEN is used
    #[arg(long, value_name = "FILE")]
    github_token_file: Option<PathBuf>,
    /// The id of a GitHub app whose installations give access, instead of a token
    #[arg(long, value_name = "ID", value_parser = app_id, requires = "github_app_key_file", conflicts_with = "github_token_file")]
    github_app_id: Option<String>,
    /// The private key of the app: the PEM file that GitHub has created for it
    #[arg(long, value_name = "FILE", requires = "github_app_id")]
    github_app_key_file: Option<PathBuf>,
    /// The installation to use for every repository [default: that of each repository's owner]
    #[arg(long, value_name = "ID", requires = "github_app_id", value_parser = clap::value_parser!(u64).range(1..))]
    github_app_installation: Option<u64>,
    /// Send the token that each request shows as `Authorization: Bearer …` to GitHub; a request without
    /// one is refused
    #[arg(
        long,
        requires = "http",
        conflicts_with_all = ["github_token_file", "github_app_id", "bearer_file", "write_bearer_file"]
    )]
    github_token_from_request: bool,
}

/// Parses the id of an app, a number, or its client id.
fn app_id(text: &str) -> Result<String, String> {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    match (1..=64).contains(&text.len()) && text.bytes().all(is_id) {
        true => Ok(text.to_owned()),
        false => Err(String::from(
            "give the app's number or client id, as its settings page shows it",
        )),
    }
}

impl AuthenticationArgs {
    /// Returns true if each request brings its own token.
    pub(super) fn is_from_request(&self) -> bool {
        self.github_token_from_request
    }

    /// Refuses options that make no sense for the local forge.
    pub(super) fn check_local(&self) -> Result<(), CommandError> {
        let option = match (self.github_token_from_request, &self.github_app_id) {
            (true, _) => "--github-token-from-request",
            (false, Some(_)) => "--github-app-id",
            (false, None) => return Ok(()),
        };
        let message = format!("{option} is for GitHub, and the local forge needs no token");
        Err(CommandError::new(message).with_hint("add --backend github, or omit the option"))
    }

    /// Returns the source of authentication. Exactly one may be given.
    pub(super) fn source(&self) -> Result<GithubAuthentication, CommandError> {
        let app = self.github_app_id.as_deref();
        let app = app.zip(self.github_app_key_file.as_deref());
        let environment = token_of_environment();
        let other = match (app, self.github_token_from_request) {
            (Some(_), _) => Some("--github-app-id"),
            (None, true) => Some("--github-token-from-request"),
            (None, false) => None,
        };
        if let (Some(other), Some(_)) = (other, &environment) {
            let message =
                format!("GITHUB_TOKEN and {other} are two ways to authenticate to GitHub");
            return Err(CommandError::new(message).with_hint(
                "to start the server without the token, run `unset GITHUB_TOKEN` first",
            ));
        }
        match (app, &self.github_token_file) {
            (Some((id, key)), _) => self.app(id, key),
            (None, Some(path)) => Ok(GithubAuthentication::Token(TokenFile::open(path)?.source())),
            (None, None) if self.github_token_from_request => Ok(GithubAuthentication::Caller),
            (None, None) => match environment {
                Some(text) => Ok(GithubAuthentication::token(parse_token(&text)?)),
                None => Ok(GithubAuthentication::Anonymous),
            },
        }
    }

    fn app(&self, id: &str, path: &Path) -> Result<GithubAuthentication, CommandError> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            CommandError::new(format!(
                "cannot read the key of the app in {shown}: {error}"
            ))
        })?;
        let key = AppKey::from_pem(&text).map_err(|error| {
            let message = format!("cannot use the key of the app in {shown}: {error}");
            let file = quote(path);
            CommandError::new(message).with_hint(format!(
                "give the file that the settings page of the app has created; to see what it is, run:\n  openssl rsa -check -noout -in {file}"
            ))
        })?;
        Ok(GithubAuthentication::App(Box::new(GithubApp {
            id: id.to_owned(),
            key,
            installation: self.github_app_installation,
        })))
    }
}

fn token_of_environment() -> Option<String> {
    // Only this crate reads the environment.
    #[allow(clippy::disallowed_methods)]
    let token = std::env::var("GITHUB_TOKEN");
    token.ok().filter(|text| !text.trim().is_empty())
}

/// Parses the text of a token, without the white space around it.
pub(super) fn parse_token(text: &str) -> Result<BearerToken, CommandError> {
    BearerToken::new(text.trim()).ok_or_else(|| {
        CommandError::new("the token for GitHub is empty or contains invalid characters")
            .with_hint("check the file of --github-token-file, or GITHUB_TOKEN")
    })
}
