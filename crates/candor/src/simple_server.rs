//! A server that consists of tools and codes only.

use candor_fault::dialects::Candor;
use candor_fault::{Code, Dialect, schemas};
use candor_street::{Server, Tool, Tools};
use serde_json::Value;

/// A server of the neutral dialect with tools and the codes `C`, but without gate, limits and record. A server
/// that needs one of these implements [`Server`].
#[derive(Debug)]
pub struct SimpleServer<C: Code>(Tools<Self>);

impl<C: Code> SimpleServer<C> {
    /// Makes a server without tools.
    pub fn new(name: &'static str, version: &'static str) -> Self {
        SimpleServer(Tools::new(name, version))
    }

    /// Adds a tool.
    pub fn with_tool(self, tool: Tool<Self>) -> Self {
        SimpleServer(self.0.with(tool))
    }

    /// Adds a tool whose successes fit the schema `success`. The published schema admits failures too, because
    /// they also carry `structuredContent`, which strict clients validate.
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
