//! A server type for tests that need tools and never call them.

use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_street::{Server, Tools};

pub(crate) struct NoServer(Tools<NoServer>);

impl Server for NoServer {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.0
    }
}
