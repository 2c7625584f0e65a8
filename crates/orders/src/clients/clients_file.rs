//! The file of clients: JSON that a person or `candor orders clients` writes.

use super::token::TokenHash;
use crate::OrderOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The largest file of clients, in bytes.
pub const MAX_CLIENTS_FILE: usize = 1024 * 1024;

/// The most clients of a file.
pub const MAX_CLIENTS: usize = 1000;

/// The most tokens of a client. Two at once allow a rotation.
pub const MAX_TOKENS: usize = 4;

/// The longest name of a client or a tenant.
const MAX_NAME: usize = 64;

/// The version of the format.
const VERSION: u32 = 1;

/// The clients of a server, each of them valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientsFile {
    pub clients: Vec<Client>,
}

/// A client of the order tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Owns the client's keys, limits and records.
    pub name: String,
    pub tokens: Vec<TokenHash>,
    pub may_write: bool,
    /// The tools that the client may call. `None` means all that its scopes allow.
    pub tools: Option<Vec<OrderOperation>>,
    /// The calls per minute; 0 means any number, and `None` the limit of the server.
    pub calls_a_minute: Option<u32>,
    /// The calls per minute of one tool; 0 means any number, and `None` the limit of the server.
    pub tool_calls_a_minute: Option<u32>,
    /// The name that an order system with several tenants knows.
    pub tenant: Option<String>,
}

/// The reason why a file of clients cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientsFileError {
    /// The position in the file, such as `line 3, column 7` or `clients[2].tokens[0]`.
    pub place: String,
    pub problem: String,
}

impl fmt::Display for ClientsFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for ClientsFileError {}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    version: u32,
    clients: Vec<ClientText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ClientText {
    name: String,
    tokens: Vec<String>,
    scopes: Vec<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls_per_minute: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_calls_per_minute: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Read,
    Write,
}

impl ClientsFile {
    /// Parses a file. Everything that the format does not define is refused.
    pub fn parse(text: &str) -> Result<ClientsFile, ClientsFileError> {
        if text.len() > MAX_CLIENTS_FILE {
            let problem = format!("the file has more than {MAX_CLIENTS_FILE} bytes");
            return Err(at("the file", problem));
        }
        let file: FileText = serde_json::from_str(text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            let problem = error.to_string();
            // The text of the error ends with the position.
            let problem = problem.split(" at line ").next().unwrap_or_default();
            at(place, problem)
        })?;
        if file.version != VERSION {
            let problem = format!("the version must be {VERSION}");
            return Err(at("version", problem));
        }
        if file.clients.len() > MAX_CLIENTS {
            let problem = format!("there are more than {MAX_CLIENTS} clients");
            return Err(at("clients", problem));
        }
        let (mut names, mut tokens) = (BTreeSet::new(), BTreeSet::new());
        let mut clients = Vec::with_capacity(file.clients.len());
        for (index, text) in file.clients.into_iter().enumerate() {
            let place = format!("clients[{index}]");
            let client = read_client(text, &place)?;
            if !names.insert(client.name.clone()) {
                let problem = "another client has the same name";
                return Err(at(format!("{place}.name"), problem));
            }
            for (index, token) in client.tokens.iter().enumerate() {
                if !tokens.insert(*token) {
                    let problem = "the same hash is in the file twice";
                    return Err(at(format!("{place}.tokens[{index}]"), problem));
                }
            }
            clients.push(client);
        }
        Ok(ClientsFile { clients })
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let file = FileText {
            version: VERSION,
            clients: self.clients.iter().map(write_client).collect(),
        };
        // Only strings, numbers and lists: writing them cannot fail.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Client {
    /// Returns a client that may read, and write if `may_write`. It has no token yet.
    ///
    /// Fails with the problem if the name does not have the form of one.
    pub fn new(name: &str, may_write: bool) -> Result<Client, String> {
        if !is_client_name(name) {
            return Err(String::from(NAME_RULE));
        }
        Ok(Client {
            name: name.to_owned(),
            tokens: Vec::new(),
            may_write,
            tools: None,
            calls_a_minute: None,
            tool_calls_a_minute: None,
            tenant: None,
        })
    }

    /// Limits the client to the named tools.
    ///
    /// Fails with the problem if a tool is unknown, or needs a scope that the client does not have.
    pub fn with_tools<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Client, String> {
        let tools = names
            .into_iter()
            .map(|name| read_tool(name, self.may_write));
        self.tools = Some(tools.collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Returns true if the client may call the tool.
    pub fn may_call(&self, operation: OrderOperation) -> bool {
        let is_named = |tools: &Vec<OrderOperation>| tools.contains(&operation);
        (self.may_write || !operation.changes()) && self.tools.as_ref().is_none_or(is_named)
    }
}

const NAME_RULE: &str = "a name has 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`, and begins with a letter or digit";

fn is_client_name(name: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_allowed = |byte: u8| is_alphanumeric(byte) || matches!(byte, b'.' | b'_' | b'-');
    name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(is_alphanumeric)
        && name.bytes().all(is_allowed)
}

/// Returns true if a tenant can be sent in a header.
fn is_tenant(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

fn read_client(text: ClientText, place: &str) -> Result<Client, ClientsFileError> {
    let member = |name: &str| format!("{place}.{name}");
    let may_write = match text.scopes.as_slice() {
        [Scope::Read] => false,
        [Scope::Read, Scope::Write] | [Scope::Write, Scope::Read] => true,
        _ => {
            let problem = "the scopes must be `read`, or `read` and `write`";
            return Err(at(member("scopes"), problem));
        }
    };
    let mut client =
        Client::new(&text.name, may_write).map_err(|problem| at(member("name"), problem))?;
    if !(1..=MAX_TOKENS).contains(&text.tokens.len()) {
        let problem = format!("a client has 1 to {MAX_TOKENS} tokens");
        return Err(at(member("tokens"), problem));
    }
    for (index, token) in text.tokens.iter().enumerate() {
        let hash = TokenHash::read(token).ok_or_else(|| {
            let problem = "a token is written as `sha256:` and 64 hexadecimal digits in lower case";
            at(member(&format!("tokens[{index}]")), problem)
        })?;
        client.tokens.push(hash);
    }
    if let Some(tools) = text.tools {
        if tools.is_empty() {
            return Err(at(member("tools"), "the list is empty"));
        }
        let mut named = Vec::with_capacity(tools.len());
        for (index, tool) in tools.iter().enumerate() {
            let place = || member(&format!("tools[{index}]"));
            let tool = read_tool(tool, may_write).map_err(|problem| at(place(), problem))?;
            if named.contains(&tool) {
                return Err(at(place(), "the same tool is in the list twice"));
            }
            named.push(tool);
        }
        client.tools = Some(named);
    }
    if text.tenant.as_deref().is_some_and(|name| !is_tenant(name)) {
        let problem = "a tenant has 1 to 64 letters, digits, `.`, `_` and `-`";
        return Err(at(member("tenant"), problem));
    }
    client.tenant = text.tenant;
    client.calls_a_minute = text.calls_per_minute;
    client.tool_calls_a_minute = text.tool_calls_per_minute;
    Ok(client)
}

fn read_tool(name: &str, may_write: bool) -> Result<OrderOperation, String> {
    let operation =
        OrderOperation::read(name).ok_or_else(|| String::from("there is no such tool"))?;
    match operation.changes() && !may_write {
        true => Err(format!("{} needs the scope `write`", operation.name())),
        false => Ok(operation),
    }
}

fn write_client(client: &Client) -> ClientText {
    let names =
        |tools: &Vec<OrderOperation>| tools.iter().map(|tool| tool.name().to_owned()).collect();
    ClientText {
        name: client.name.clone(),
        tokens: client.tokens.iter().map(TokenHash::to_string).collect(),
        scopes: match client.may_write {
            true => vec![Scope::Read, Scope::Write],
            false => vec![Scope::Read],
        },
        tools: client.tools.as_ref().map(names),
        calls_per_minute: client.calls_a_minute,
        tool_calls_per_minute: client.tool_calls_a_minute,
        tenant: client.tenant.clone(),
    }
}

fn at(place: impl Into<String>, problem: impl Into<String>) -> ClientsFileError {
    ClientsFileError {
        place: place.into(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn hash(token: &str) -> String {
        TokenHash::of(token).to_string()
    }

    fn good() -> Value {
        json!({"version": 1, "clients": [
            {"name": "support-bot", "tokens": [hash("a"), hash("b")], "scopes": ["read", "write"],
             "tools": ["get-orders", "update-order"], "callsPerMinute": 300, "toolCallsPerMinute": 0, "tenant": "acme"},
            {"name": "reader", "tokens": [hash("c")], "scopes": ["read"]},
        ]})
    }

    fn parse(file: &Value) -> Result<ClientsFile, String> {
        ClientsFile::parse(&file.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn written_file_is_read_again() {
        let file = parse(&good()).unwrap();
        assert_eq!(ClientsFile::parse(&file.text()), Ok(file.clone()));
        assert_eq!(serde_json::from_str::<Value>(&file.text()).unwrap(), good());
        let [bot, reader] = file.clients.as_slice() else {
            panic!("two clients");
        };
        assert!(bot.may_call(OrderOperation::UpdateOrder));
        assert!(!bot.may_call(OrderOperation::CancelOrder));
        assert!(reader.may_call(OrderOperation::GetReturns));
        assert!(!reader.may_call(OrderOperation::UpdateOrder));
    }

    #[test]
    fn wrong_file_is_refused_with_its_place() {
        let long = "x".repeat(65);
        for (pointer, value, expected) in [
            ("/version", json!(2), "version: the version must be 1"),
            (
                "/clients/0/name",
                json!("Bot"),
                "clients[0].name: a name has",
            ),
            ("/clients/0/name", json!(""), "clients[0].name: a name has"),
            (
                "/clients/0/name",
                json!("-x"),
                "clients[0].name: a name has",
            ),
            (
                "/clients/0/name",
                json!(long),
                "clients[0].name: a name has",
            ),
            (
                "/clients/1/name",
                json!("support-bot"),
                "clients[1].name: another client has the same name",
            ),
            (
                "/clients/0/tokens",
                json!([]),
                "clients[0].tokens: a client has 1 to 4 tokens",
            ),
            (
                "/clients/0/tokens",
                json!(["1", "2", "3", "4", "5"]),
                "clients[0].tokens: a client has 1 to 4 tokens",
            ),
            (
                "/clients/0/tokens/1",
                json!("plain"),
                "clients[0].tokens[1]: a token is written as",
            ),
            (
                "/clients/0/tokens/1",
                json!(hash("a")),
                "clients[0].tokens[1]: the same hash is in the file twice",
            ),
            (
                "/clients/1/tokens/0",
                json!(hash("a")),
                "clients[1].tokens[0]: the same hash is in the file twice",
            ),
            (
                "/clients/0/scopes",
                json!([]),
                "clients[0].scopes: the scopes must be",
            ),
            (
                "/clients/0/scopes",
                json!(["write"]),
                "clients[0].scopes: the scopes must be",
            ),
            (
                "/clients/0/scopes",
                json!(["read", "read"]),
                "clients[0].scopes: the scopes must be",
            ),
            (
                "/clients/0/scopes",
                json!(["read"]),
                "clients[0].tools[1]: update-order needs the scope `write`",
            ),
            ("/clients/0/scopes", json!(["admin"]), "line 1, column "),
            (
                "/clients/0/tools",
                json!([]),
                "clients[0].tools: the list is empty",
            ),
            (
                "/clients/0/tools/0",
                json!("get-order"),
                "clients[0].tools[0]: there is no such tool",
            ),
            (
                "/clients/0/tools/0",
                json!("update-order"),
                "clients[0].tools[1]: the same tool is in the list twice",
            ),
            ("/clients/0/callsPerMinute", json!(-1), "line 1, column "),
            (
                "/clients/0/tenant",
                json!("a b"),
                "clients[0].tenant: a tenant has",
            ),
            (
                "/clients/0/tenant",
                json!(""),
                "clients[0].tenant: a tenant has",
            ),
        ] {
            let mut file = good();
            *file.pointer_mut(pointer).unwrap() = value;
            let error = parse(&file).unwrap_err();
            assert!(error.starts_with(expected), "{pointer}: {error}");
        }
        let mut file = good();
        file["clients"][0]["role"] = json!("admin");
        let error = parse(&file).unwrap_err();
        assert!(error.contains("unknown field `role`"), "{error}");
    }

    #[test]
    fn file_is_bounded() {
        let client = |index: usize| json!({"name": format!("c{index}"), "tokens": [hash(&index.to_string())], "scopes": ["read"]});
        let file =
            |count| json!({"version": 1, "clients": (0..count).map(client).collect::<Vec<_>>()});
        assert!(parse(&file(MAX_CLIENTS)).is_ok());
        let error = parse(&file(MAX_CLIENTS + 1)).unwrap_err();
        assert_eq!(error, "clients: there are more than 1000 clients");
        let spaces = " ".repeat(MAX_CLIENTS_FILE);
        let error = ClientsFile::parse(&format!("{}{spaces}", good())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the file: the file has more than 1048576 bytes"
        );
    }
}
