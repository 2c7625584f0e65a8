//! The server for everybody who only has tools and codes.

use candor_fault::dialects::Candor;
use candor_fault::{Code, Dialect, schemas};
use candor_street::{Server, Tool, Tools};
use serde_json::Value;

/// A server of the neutral dialect that is nothing but its tools and the codes `C`: no gate, no limits,
/// no record. A server that wants any of these implements [`Server`] itself.
#[derive(Debug)]
pub struct SimpleServer<C: Code>(Tools<Self>);

impl<C: Code> SimpleServer<C> {
    /// A server with this name and version, and no tools yet.
    pub fn new(name: &'static str, version: &'static str) -> Self {
        SimpleServer(Tools::new(name, version))
    }

    /// With one more tool.
    pub fn with_tool(self, tool: Tool<Self>) -> Self {
        SimpleServer(self.0.with(tool))
    }

    /// With one more tool, whose successes fit this schema. Its failures carry `structuredContent` too,
    /// which a strict client checks: the published schema admits both.
    pub fn with_tool_returning(self, tool: Tool<Self>, success: Value) -> Self {
        let failure = schemas::candor_failure(&Candor::<C>::rows());
        self.with_tool(tool.with_output_schema(success, Some(failure)))
    }
}

impl<C: Code> Server for SimpleServer<C> {
    type Dialect = Candor<C>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.0
    }
}
