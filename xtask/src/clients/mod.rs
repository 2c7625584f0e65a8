//! Installs the official MCP clients once per lock file, for the tests that drive them.

mod install;

pub(crate) use install::{Installation, Kit};

use crate::problem::Problem;
use crate::repo::Repo;
use crate::test::StepOutcome;
use std::path::PathBuf;

/// The variables through which tests find the clients.
pub(crate) type Variables = [(&'static str, PathBuf); 3];

/// Installs the clients, unless they are installed already.
pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    match variables(repo)? {
        Installation::Ready(_) => Ok(StepOutcome::Passed),
        Installation::Unavailable(why) => Ok(StepOutcome::Missing(why)),
    }
}

/// Installs the clients and returns the variables that name them.
pub(crate) fn variables(repo: &Repo) -> Result<Installation<Variables>, Problem> {
    let kit = match Kit::prepare(repo)? {
        Installation::Ready(kit) => kit,
        Installation::Unavailable(why) => return Ok(Installation::Unavailable(why)),
    };
    match (kit.node()?, kit.python()?) {
        (Installation::Ready(node), Installation::Ready(python)) => Ok(Installation::Ready([
            ("CANDOR_CLIENTS", kit.folder().to_owned()),
            ("CANDOR_NODE", node),
            ("CANDOR_PYTHON", python),
        ])),
        (Installation::Unavailable(why), _) | (_, Installation::Unavailable(why)) => {
            Ok(Installation::Unavailable(why))
        }
    }
}
