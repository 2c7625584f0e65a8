//! `candor orders clients`: adds, rotates, revokes and lists the clients of a server.

use super::clients_file::{read, unusable};
use crate::cli::atomic_file::write_file;
use crate::cli::{CommandError, print};
use crate::host::print_note;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use candor_disk::RealDisk;
use candor_orders::{Client, ClientsFile, MAX_TOKENS, OrderOperation, TokenHash};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use ssh_key::rand_core::{OsRng, RngCore as _};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The mode of a file of clients: it shows who may do what.
const FILE_MODE: u32 = 0o600;

/// The number of random bytes of a token.
const TOKEN_BYTES: usize = 32;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ClientsCommand {
    Add(AddArgs),
    Rotate(RotateArgs),
    Revoke(RevokeArgs),
    List(ListArgs),
}

#[derive(Debug, Args)]
struct FileArgs {
    /// The file of clients, as `candor orders serve --clients` reads it
    #[arg(long, value_name = "FILE")]
    clients: PathBuf,
}

/// Create a client and print its token
///
/// The token is shown once; the file contains only its hash. A missing file is created. Running servers read the
/// file again within two seconds.
#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    /// The name of the client, which owns its keys, limits and records
    name: String,
    #[command(flatten)]
    file: FileArgs,
    /// The operations that the client may use
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ScopeName::Read])]
    scopes: Vec<ScopeName>,
    /// The tools that the client may call [default: all that its scopes allow]
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    tools: Vec<String>,
    /// The maximum number of calls per minute; 0 for no limit [default: the limit of the server]
    #[arg(long, value_name = "N")]
    calls_per_minute: Option<u32>,
    /// The maximum number of calls per minute of one tool; 0 for no limit [default: the limit of the server]
    #[arg(long, value_name = "N")]
    tool_calls_per_minute: Option<u32>,
    /// The tenant that an order system behind --adapter http knows this client by
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    /// Look things up
    Read,
    /// Change orders; includes `read`
    Write,
}

/// Give a client a second token and print it
///
/// The old tokens stay valid until they are revoked, so that a client can change its token without a gap.
#[derive(Debug, Args)]
pub(in crate::cli) struct RotateArgs {
    /// The name of the client
    name: String,
    #[command(flatten)]
    file: FileArgs,
}

/// Revoke a client, or its old tokens
#[derive(Debug, Args)]
pub(in crate::cli) struct RevokeArgs {
    /// The name of the client
    name: String,
    #[command(flatten)]
    file: FileArgs,
    /// Revoke all tokens but the newest, and keep the client
    #[arg(long)]
    old_tokens: bool,
}

/// List the clients, without their tokens
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ClientsCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            ClientsCommand::Add(add) => add.run(),
            ClientsCommand::Rotate(rotate) => rotate.run(),
            ClientsCommand::Revoke(revoke) => revoke.run(),
            ClientsCommand::List(list) => list.run(),
        }
    }
}

impl AddArgs {
    fn run(self) -> Result<(), CommandError> {
        let (token, hash) = new_token();
        let mut client = self.client().map_err(CommandError::new)?;
        client.tokens.push(hash);
        change(&self.file.clients, OnMissing::Create, |clients| {
            if find(clients, &self.name).is_ok() {
                let message = format!("there is a client {} already", self.name);
                return Err(CommandError::new(message)
                    .with_hint("choose another name, or use `rotate` for a new token"));
            }
            clients.clients.push(client);
            Ok(())
        })?;
        print_token(&token)
    }

    fn client(&self) -> Result<Client, String> {
        let may_write = self.scopes.contains(&ScopeName::Write);
        let mut client = Client::new(&self.name, may_write)?;
        if !self.tools.is_empty() {
            client = client.with_tools(self.tools.iter().map(String::as_str))?;
        }
        client.calls_a_minute = self.calls_per_minute;
        client.tool_calls_a_minute = self.tool_calls_per_minute;
        client.tenant = self.tenant.clone();
        Ok(client)
    }
}

impl RotateArgs {
    fn run(self) -> Result<(), CommandError> {
        let (token, hash) = new_token();
        change(&self.file.clients, OnMissing::Fail, |clients| {
            let client = find(clients, &self.name)?;
            if client.tokens.len() >= MAX_TOKENS {
                let message = format!("{} has {MAX_TOKENS} tokens already", self.name);
                return Err(CommandError::new(message)
                    .with_hint("revoke the old ones first with `revoke --old-tokens`"));
            }
            client.tokens.push(hash);
            Ok(())
        })?;
        print_token(&token)
    }
}

impl RevokeArgs {
    fn run(self) -> Result<(), CommandError> {
        let mut revoked = String::new();
        change(&self.file.clients, OnMissing::Fail, |clients| {
            let client = find(clients, &self.name)?;
            if self.old_tokens {
                let old = client.tokens.len().saturating_sub(1);
                client.tokens.drain(..old);
                revoked = format!("{}: {old} old tokens revoked\n", self.name);
            } else {
                clients.clients.retain(|client| client.name != self.name);
                revoked = format!("{} revoked\n", self.name);
            }
            Ok(())
        })?;
        print(revoked.as_bytes())
    }
}

impl ListArgs {
    fn run(self) -> Result<(), CommandError> {
        let path = &self.file.clients;
        let file = read(path).map_err(|problem| unusable(path, &problem))?;
        let scopes = |client: &Client| match client.may_write {
            true => "read,write",
            false => "read",
        };
        let mut text = String::new();
        for client in &file.clients {
            let allowed = OrderOperation::ALL.into_iter();
            let allowed = allowed.filter(|tool| client.may_call(*tool));
            let tools: Vec<_> = allowed.map(OrderOperation::name).collect();
            if self.json {
                let line = json!({
                    "name": client.name, "tokens": client.tokens.len(),
                    "scopes": scopes(client).split(',').collect::<Vec<_>>(), "tools": tools,
                    "callsPerMinute": client.calls_a_minute,
                    "toolCallsPerMinute": client.tool_calls_a_minute, "tenant": client.tenant,
                });
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{line}");
                continue;
            }
            let (name, tokens) = (&client.name, client.tokens.len());
            let shown = match client.tools {
                None => String::from("all tools of its scopes"),
                Some(_) => tools.join(", "),
            };
            let scopes = scopes(client);
            let _ = writeln!(text, "{name}  {scopes}  {tokens} tokens  {shown}");
        }
        print(text.as_bytes())
    }
}

/// Creates a token, and returns it with its hash.
fn new_token() -> (String, TokenHash) {
    let mut bytes = [0; TOKEN_BYTES];
    OsRng.fill_bytes(&mut bytes);
    let token = URL_SAFE_NO_PAD.encode(bytes);
    let hash = TokenHash::of(&token);
    (token, hash)
}

fn print_token(token: &str) -> Result<(), CommandError> {
    print_note("this token is shown only once; the file contains its hash");
    print(format!("{token}\n").as_bytes())
}

fn find<'a>(file: &'a mut ClientsFile, name: &str) -> Result<&'a mut Client, CommandError> {
    let mut clients = file.clients.iter_mut();
    clients
        .find(|client| client.name == name)
        .ok_or_else(|| CommandError::new(format!("there is no client {name}")))
}

/// The treatment of a file that does not exist.
#[derive(PartialEq, Eq)]
enum OnMissing {
    Create,
    Fail,
}

/// Changes the file. A lock makes commands that run at the same time take turns.
fn change(
    path: &Path,
    on_missing: OnMissing,
    edit: impl FnOnce(&mut ClientsFile) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let failed = |error: &dyn std::fmt::Display| {
        CommandError::new(format!("cannot write {}: {error}", path.display()))
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The directory itself is locked, so that no lock file stays behind.
    let lock = File::open(folder).map_err(|error| failed(&error))?;
    lock.lock().map_err(|error| failed(&error))?;
    let disk = RealDisk::at(folder).map_err(|error| failed(&error))?;
    let is_new = on_missing == OnMissing::Create && !path.try_exists().unwrap_or(true);
    let mut clients = match is_new {
        true => ClientsFile::default(),
        false => read(path).map_err(|problem| unusable(path, &problem))?,
    };
    edit(&mut clients)?;
    // Never writes a file that a server would refuse.
    let text = clients.text();
    ClientsFile::parse(&text).map_err(|error| failed(&error))?;
    write_file(&disk, path, &text, FILE_MODE, true).map_err(|error| failed(&error))
}
