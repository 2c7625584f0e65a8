//! A server that fails on demand, for our tests and for authors of clients who test how theirs handles failures.

mod all_dialects;
mod conformance;
mod script;
mod tools;

use all_dialects::AllDialects;
use candor_fault::Form;
use candor_street::{Era, FailureForm, Server, Tool, Tools};
use script::Scripts;
use std::time::Duration;

pub(crate) struct Playground {
    tools: Tools<Self>,
    failures: FailureForm,
    deadline: Option<Duration>,
    scripts: Scripts,
}

impl Playground {
    /// Makes a playground, with the tools of the conformance suite if `conformance` is true.
    pub(crate) fn new(
        failures: FailureForm,
        deadline: Option<Duration>,
        conformance: bool,
    ) -> Self {
        let tools = Tools::new("candor-playground", env!("CARGO_PKG_VERSION"));
        let tools = tools::all().into_iter().fold(tools, Tools::with);
        let more = if conformance {
            conformance::all()
        } else {
            Vec::new()
        };
        Playground {
            tools: more.into_iter().fold(tools, Tools::with),
            failures,
            deadline,
            scripts: Scripts::default(),
        }
    }
}

impl Server for Playground {
    type Dialect = AllDialects;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn form(&self, era: Era) -> Form {
        self.failures.form(era)
    }

    fn deadline(&self, _tool: &Tool<Self>) -> Option<Duration> {
        self.deadline
    }
}
