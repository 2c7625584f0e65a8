//! Installs the official MCP clients once per lock file, and runs the tests that drive them.

mod install;

pub(crate) use install::{Installation, Kit};

use crate::problem::Problem;
use crate::repo::{EXTERNAL, Repo};
use crate::test::{Depth, StepOutcome, reached, rust};

const PACKAGE: &str = "candor";
const TEST: &str = "e2e";

/// The prefix of the tests that drive the clients.
const FILTER: &str = "clients::external";

/// The folder that collects the codes which these tests saw.
const STEP: &str = "clients";

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let seen = reached::fresh(repo, STEP)?;
    let exists = repo
        .member(PACKAGE)
        .is_some_and(|member| member.has("test", TEST));
    if !exists {
        return Ok(StepOutcome::Missing(format!(
            "package {PACKAGE} has no test target `{TEST}`"
        )));
    }
    let kit = match Kit::prepare(repo)? {
        Installation::Ready(kit) => kit,
        Installation::Unavailable(why) => return Ok(StepOutcome::Missing(why)),
    };
    let (node, python) = match (kit.node()?, kit.python()?) {
        (Installation::Ready(node), Installation::Ready(python)) => (node, python),
        (Installation::Unavailable(why), _) | (_, Installation::Unavailable(why)) => {
            return Ok(StepOutcome::Missing(why));
        }
    };
    let mut features = repo.features();
    features.push(format!("{PACKAGE}/{EXTERNAL}"));
    let (program, note) = rust::runner(repo, Depth::Plain, &features, &["--test", TEST, FILTER]);
    program
        .env("CANDOR_CLIENTS", kit.folder())
        .env("CANDOR_NODE", node)
        .env("CANDOR_PYTHON", python)
        .env(reached::FOLDER, seen)
        .run()?;
    Ok(note)
}
