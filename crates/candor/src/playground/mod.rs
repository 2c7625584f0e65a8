//! A server that fails on demand, for our tests and for authors of clients who test how theirs handles failures.

mod all_dialects;
mod conformance;
mod resources;
mod script;
mod tools;

use all_dialects::AllDialects;
use candor_fault::Form;
use candor_street::{Era, FailureForm, Resources, Server, Tool, Tools};
use script::Scripts;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Playground {
    tools: Tools<Self>,
    resources: Option<Arc<Resources<Self>>>,
    failures: FailureForm,
    deadline: Option<Duration>,
    scripts: Scripts,
}

impl Playground {
    /// Makes a playground, with the tools and resources of the conformance suite if `conformance` is true.
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
            resources: conformance.then(|| Arc::new(resources::fixtures())),
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

    fn resources(&self) -> Option<&Arc<Resources<Self>>> {
        self.resources.as_ref()
    }

    fn form(&self, era: Era) -> Form {
        self.failures.form(era)
    }

    fn deadline(&self, _tool: &Tool<Self>) -> Option<Duration> {
        self.deadline
    }
}
