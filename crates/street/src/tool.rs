//! Tools: what is listed, what is enforced, and what is run.

use crate::header_argument::{HeaderArgument, HeaderMarkError, header_arguments};
use crate::{Call, EffectMark, Progress, Reply, Server};
use candor_fault::{Cause, Dialect, Effect, Fault, Refusal, Violations};
use candor_json::{IndexedText, JsonRef};
use candor_schema::{Schema, SchemaError};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The context that a tool receives beside its arguments.
#[derive(Debug)]
pub struct CallContext<N = ()> {
    pub call: Arc<Call>,
    /// The number of the call in this process.
    pub number: u64,
    /// The server's notes about the call.
    pub notes: Arc<N>,
    /// The mark that a tool sets around every change.
    pub mark: EffectMark,
    /// Cancelled when the call is no longer wanted.
    pub cancel: CancellationToken,
}

impl<N> Clone for CallContext<N> {
    fn clone(&self) -> Self {
        CallContext {
            call: Arc::clone(&self.call),
            number: self.number,
            notes: Arc::clone(&self.notes),
            mark: self.mark.clone(),
            cancel: self.cancel.clone(),
        }
    }
}

impl<N> CallContext<N> {
    pub fn progress(&self) -> &Progress {
        &self.call.progress
    }
}

/// The published description of a tool's effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    #[serde(rename = "readOnlyHint")]
    read_only: bool,
    #[serde(rename = "destructiveHint")]
    destructive: bool,
    #[serde(rename = "idempotentHint")]
    idempotent: bool,
    #[serde(rename = "openWorldHint")]
    open_world: bool,
}

type ToolFuture<S> = BoxFuture<'static, Result<Reply, Fault<<S as Server>::Dialect>>>;

/// The work of one call, which owns the arguments of the call in the tool's own type.
pub(crate) type Work<S> =
    Box<dyn FnOnce(Arc<S>, CallContext<<S as Server>::Notes>) -> ToolFuture<S> + Send>;

/// Decodes arguments that have been accepted.
type Decode<S> = dyn Fn(JsonRef<'_>) -> Result<Work<S>, serde_json::Error> + Send + Sync;

/// Parses arguments that may be wrong in every way, and applies rules that no schema can state.
type Parse<S> = dyn Fn(JsonRef<'_>) -> Result<Option<Work<S>>, Violations> + Send + Sync;

/// The way in which the arguments of a tool become its own type.
enum ArgumentReader<S: Server> {
    Decode(Box<Decode<S>>),
    Parse(Box<Parse<S>>),
}

/// One tool of server `S`.
pub struct Tool<S: Server> {
    name: &'static str,
    description: &'static str,
    input: Result<Schema, SchemaError>,
    headers: Result<Vec<HeaderArgument>, HeaderMarkError>,
    output: Option<Value>,
    annotations: Annotations,
    listed: bool,
    rules: Option<Box<ArgumentRules>>,
    reader: ArgumentReader<S>,
}

/// Rules about arguments that no schema can state.
type ArgumentRules = dyn Fn(JsonRef<'_>) -> Violations + Send + Sync;

impl<S: Server> Tool<S> {
    /// A tool that changes nothing. `schema` is published and enforced; `T` must take whatever it
    /// admits. `serde_json::Value` does not take every object:
    /// [`JsonTree`](candor_json::JsonTree) does.
    pub fn read_only<T, F>(
        name: &'static str,
        description: &'static str,
        schema: Value,
        run: impl Fn(Arc<S>, T, CallContext<S::Notes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        F: Future<Output = Result<Reply, Fault<S::Dialect>>> + Send + 'static,
    {
        let run = Arc::new(run);
        let decode = move |arguments: JsonRef<'_>| {
            let arguments = T::deserialize(arguments)?;
            Ok(work_of(&run, arguments))
        };
        let reader = ArgumentReader::Decode(Box::new(decode));
        Tool::new(name, description, schema, reader)
    }

    /// As [`Tool::read_only`], for arguments with rules that no schema can state and that must be
    /// parsed to be checked: `parse` runs together with the schema, and the tool gets what it returns.
    ///
    /// The arguments may be wrong in every other way too. `parse` returns `None` if their form is
    /// wrong; the schema reports that.
    pub fn read_only_with_parser<T, F>(
        name: &'static str,
        description: &'static str,
        schema: Value,
        parse: impl Fn(JsonRef<'_>) -> Result<Option<T>, Violations> + Send + Sync + 'static,
        run: impl Fn(Arc<S>, T, CallContext<S::Notes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + 'static,
        F: Future<Output = Result<Reply, Fault<S::Dialect>>> + Send + 'static,
    {
        let run = Arc::new(run);
        let parse = move |arguments: JsonRef<'_>| {
            let arguments = parse(arguments)?;
            Ok(arguments.map(|arguments| work_of(&run, arguments)))
        };
        let reader = ArgumentReader::Parse(Box::new(parse));
        Tool::new(name, description, schema, reader)
    }

    fn new(
        name: &'static str,
        description: &'static str,
        schema: Value,
        reader: ArgumentReader<S>,
    ) -> Self {
        Tool {
            name,
            description,
            headers: header_arguments(&schema),
            input: Schema::new(schema),
            output: None,
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
            listed: true,
            rules: None,
            reader,
        }
    }

    /// A tool that changes something: it sets its mark before it does.
    pub fn mutating<T, F>(
        name: &'static str,
        description: &'static str,
        schema: Value,
        run: impl Fn(Arc<S>, T, CallContext<S::Notes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        F: Future<Output = Result<Reply, Fault<S::Dialect>>> + Send + 'static,
    {
        Tool::read_only(name, description, schema, run).changing()
    }

    /// As [`Tool::mutating`], with the parser of [`Tool::read_only_with_parser`].
    pub fn mutating_with_parser<T, F>(
        name: &'static str,
        description: &'static str,
        schema: Value,
        parse: impl Fn(JsonRef<'_>) -> Result<Option<T>, Violations> + Send + Sync + 'static,
        run: impl Fn(Arc<S>, T, CallContext<S::Notes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + 'static,
        F: Future<Output = Result<Reply, Fault<S::Dialect>>> + Send + 'static,
    {
        Tool::read_only_with_parser(name, description, schema, parse, run).changing()
    }

    fn changing(mut self) -> Self {
        self.annotations.read_only = false;
        self.annotations.destructive = true;
        self.annotations.idempotent = false;
        self
    }

    /// With the schema of a success. What failures carry is admitted by the dialect's own schema,
    /// which the server gives here too if a failing result has `structuredContent`.
    pub fn with_output_schema(mut self, success: Value, failure: Option<Value>) -> Self {
        self.output = Some(match failure {
            Some(failure) => serde_json::json!({ "type": "object", "anyOf": [success, failure] }),
            None => success,
        });
        self
    }

    /// The tool only adds; it destroys nothing.
    pub fn additive(mut self) -> Self {
        self.annotations.destructive = false;
        self
    }

    /// The same call twice has the effect of one.
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// The tool reaches systems outside this machine.
    pub fn open_world(mut self) -> Self {
        self.annotations.open_world = true;
        self
    }

    /// With rules that no schema can state and that parse nothing which the tool needs. They are
    /// checked together with the schema; the arguments may be wrong in every other way too.
    pub fn with_argument_rules(
        mut self,
        rules: impl Fn(JsonRef<'_>) -> Violations + Send + Sync + 'static,
    ) -> Self {
        self.rules = Some(Box::new(rules));
        self
    }

    /// Leaves the tool out of the list; a call of it is still refused by the gate, not as unknown.
    pub fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn is_listed(&self) -> bool {
        self.listed
    }

    pub fn writes(&self) -> bool {
        !self.annotations.read_only
    }

    /// The schema of the arguments.
    pub fn input_schema(&self) -> Result<&Schema, &SchemaError> {
        self.input.as_ref()
    }

    /// Returns the arguments that clients of the stateless era repeat in headers.
    pub fn header_arguments(&self) -> &[HeaderArgument] {
        self.headers.as_deref().unwrap_or_default()
    }

    /// Returns true if the tool's own type takes these arguments, whether or not the schema admits them.
    /// Tests compare the two.
    ///
    /// Fails if the arguments break a rule that no schema can state.
    pub fn takes(&self, arguments: &Value) -> Result<bool, Violations> {
        let arguments = IndexedText::unbounded(arguments);
        let parsed = self.parse(arguments.root())?;
        Ok(match &self.reader {
            ArgumentReader::Decode(decode) => decode(arguments.root()).is_ok(),
            ArgumentReader::Parse(_) => parsed.is_some(),
        })
    }

    /// Checks the arguments. Returns the work of the call if the tool has a parser, and fails with
    /// everything that is wrong about the arguments.
    pub(crate) fn check(&self, arguments: JsonRef<'_>) -> Result<Option<Work<S>>, Refusal> {
        let schema = self.input.as_ref().map_err(|error| Refusal::Panicked {
            cause: Cause::error("SchemaError", error),
            effect: Effect::None,
        })?;
        let parsed = self.parse(arguments);
        both(schema.check_indexed(arguments), parsed).map_err(Refusal::Arguments)
    }

    /// Applies the rules that no schema can state, and the parser if there is one.
    fn parse(&self, arguments: JsonRef<'_>) -> Result<Option<Work<S>>, Violations> {
        let broken = self.rules.as_ref().map(|rules| rules(arguments));
        let checked = broken
            .filter(|broken| !broken.is_empty())
            .map_or(Ok(()), Err);
        let parsed = match &self.reader {
            ArgumentReader::Decode(_) => Ok(None),
            ArgumentReader::Parse(parse) => parse(arguments),
        };
        both(checked, parsed)
    }

    /// Starts the work of a call whose arguments were accepted; `parsed` is what [`Tool::check`] has
    /// returned. A type that does not take what its schema admits is a bug of the server.
    pub(crate) fn run(
        &self,
        server: Arc<S>,
        arguments: JsonRef<'_>,
        parsed: Option<Work<S>>,
        cx: CallContext<S::Notes>,
    ) -> Result<ToolFuture<S>, Fault<S::Dialect>> {
        let disagreement = |cause| {
            let effect = Effect::None;
            S::Dialect::adopt(Refusal::Panicked { cause, effect })
        };
        let work = match (parsed, &self.reader) {
            (Some(work), _) => work,
            (None, ArgumentReader::Decode(decode)) => decode(arguments)
                .map_err(|error| disagreement(Cause::error("SchemaDisagreement", &error)))?,
            (None, ArgumentReader::Parse(_)) => {
                return Err(disagreement(Cause::from("SchemaDisagreement")));
            }
        };
        Ok(work(server, cx))
    }
}

/// Returns what was parsed, or the violations of both checks.
fn both<T>(
    checked: Result<(), Violations>,
    parsed: Result<T, Violations>,
) -> Result<T, Violations> {
    match (checked, parsed) {
        (Ok(()), parsed) => parsed,
        (Err(violations), Ok(_)) => Err(violations),
        (Err(mut violations), Err(more)) => {
            more.all_kinds()
                .for_each(|violation| violations.push(violation.clone()));
            Err(violations)
        }
    }
}

/// Returns the work of a call with these arguments.
fn work_of<S, T, F, R>(run: &Arc<R>, arguments: T) -> Work<S>
where
    S: Server,
    T: Send + 'static,
    F: Future<Output = Result<Reply, Fault<S::Dialect>>> + Send + 'static,
    R: Fn(Arc<S>, T, CallContext<S::Notes>) -> F + Send + Sync + 'static,
{
    let run = Arc::clone(run);
    Box::new(move |server, cx| Box::pin(run(server, arguments, cx)))
}

impl<S: Server> fmt::Debug for Tool<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The reason why a list of tools cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The name does not match `^[a-zA-Z0-9_.-]{1,64}$`.
    Name(String),
    /// Two tools have one name, `.` and `_` taken as equal.
    Twice(String),
    /// The schema of the arguments cannot be used.
    Schema(String, String),
    /// A property is marked with `x-mcp-header` and cannot be repeated in a header.
    Header(String, HeaderMarkError),
}

impl fmt::Display for ToolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::Name(name) => write!(out, "the tool name `{name}` is not allowed"),
            ToolError::Twice(name) => write!(out, "two tools are called `{name}`"),
            ToolError::Schema(name, why) => write!(out, "the schema of `{name}`: {why}"),
            ToolError::Header(name, why) => write!(out, "the schema of `{name}`: {why}"),
        }
    }
}

impl std::error::Error for ToolError {}

/// The style of names with a dot in the list; calls may use both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// With the dot.
    #[default]
    Own,
    /// With `_` for `.`, for clients that refuse dots.
    Underscore,
}

/// The tools of one server, with its name and version.
pub struct Tools<S: Server> {
    name: &'static str,
    version: &'static str,
    names: ToolNames,
    tools: Vec<Tool<S>>,
}

impl<S: Server> Tools<S> {
    /// No tools yet.
    pub fn new(name: &'static str, version: &'static str) -> Self {
        Tools {
            name,
            version,
            names: ToolNames::Own,
            tools: Vec::new(),
        }
    }

    /// Adds a tool.
    pub fn with(mut self, tool: Tool<S>) -> Self {
        self.tools.push(tool);
        self.tools.sort_by_key(|tool| tool.name);
        self
    }

    /// With another way of listing names.
    pub fn with_name_style(mut self, names: ToolNames) -> Self {
        self.names = names;
        self
    }

    /// The server's name.
    pub fn server_name(&self) -> &'static str {
        self.name
    }

    /// The server's version.
    pub fn server_version(&self) -> &'static str {
        self.version
    }

    /// Returns every tool, sorted by name.
    pub fn all(&self) -> &[Tool<S>] {
        &self.tools
    }

    /// Returns the tool of this name; `_` for `.` is accepted.
    pub fn get(&self, name: &str) -> Option<&Tool<S>> {
        self.find(name).map(|index| &self.tools[index])
    }

    /// Returns the index of a tool; `_` for `.` is accepted.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        if let Ok(index) = self.tools.binary_search_by_key(&name, |tool| tool.name) {
            return Some(index);
        }
        let spelled =
            |tool: &Tool<S>| tool.name.contains('.') && tool.name.replace('.', "_") == name;
        self.tools.iter().position(spelled)
    }

    /// Returns the listed name that is most similar to `name`, if one is similar. Case, `-`, `_` and `.`
    /// make no difference.
    pub(crate) fn near(&self, name: &str) -> Option<String> {
        let with_underscores = |name: &str| listed_name(name, ToolNames::Underscore);
        let listed = self.tools.iter().filter(|tool| tool.listed);
        let known: Vec<_> = listed
            .map(|tool| (with_underscores(tool.name), tool.name))
            .collect();
        let spelled = known.iter().map(|(spelled, _)| spelled.as_str());
        let near = candor_schema::nearest(&with_underscores(name), spelled)?;
        let (_, own) = known.iter().find(|(spelled, _)| spelled == near)?;
        Some(listed_name(own, self.names))
    }

    /// Checks names and schemas.
    pub fn verify(&self) -> Result<(), ToolError> {
        for (index, tool) in self.tools.iter().enumerate() {
            let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            if tool.name.is_empty() || tool.name.len() > 64 || !tool.name.chars().all(fine) {
                return Err(ToolError::Name(tool.name.to_owned()));
            }
            let spelled = tool.name.replace('.', "_");
            let others = &self.tools[index + 1..];
            if others
                .iter()
                .any(|other| other.name.replace('.', "_") == spelled)
            {
                return Err(ToolError::Twice(tool.name.to_owned()));
            }
            if let Err(error) = &tool.input {
                return Err(ToolError::Schema(tool.name.to_owned(), error.to_string()));
            }
            if let Err(error) = &tool.headers {
                return Err(ToolError::Header(tool.name.to_owned(), error.clone()));
            }
        }
        Ok(())
    }

    /// The array of `tools/list`: sorted, the same bytes every time.
    pub fn list(&self) -> String {
        self.list_where(|_| true)
    }

    /// As [`Tools::list`], with the named tools only.
    pub fn list_only(&self, names: &[&str]) -> String {
        self.list_where(|tool| names.contains(&tool.name))
    }

    fn list_where(&self, is_wanted: impl Fn(&Tool<S>) -> bool) -> String {
        #[derive(Serialize)]
        struct Listed<'a> {
            name: &'a str,
            description: &'a str,
            #[serde(rename = "inputSchema")]
            input: &'a RawValue,
            #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
            output: Option<&'a Value>,
            annotations: Annotations,
        }
        let texts: Vec<_> = self
            .tools
            .iter()
            .filter(|tool| tool.listed && is_wanted(tool))
            .map(|tool| (tool, listed_schema(tool)))
            .collect();
        let named: Vec<_> = texts
            .iter()
            .map(|(tool, input)| (listed_name(tool.name, self.names), tool, input))
            .collect();
        let listed: Vec<_> = named
            .iter()
            .map(|(name, tool, input)| Listed {
                name,
                description: tool.description,
                input,
                output: tool.output.as_ref(),
                annotations: tool.annotations,
            })
            .collect();
        candor_fault::to_json(&listed)
    }
}

fn listed_name(name: &str, names: ToolNames) -> String {
    match names {
        ToolNames::Own => name.to_owned(),
        ToolNames::Underscore => name.replace('.', "_"),
    }
}

fn listed_schema<S: Server>(tool: &Tool<S>) -> Box<RawValue> {
    let text = tool.input.as_ref().map_or("{}", Schema::text);
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl<S: Server> fmt::Debug for Tools<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tools")
            .field("server", &self.name)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
