//! Finds PostgreSQL for the later steps, or installs it with the package manager.

// The file that the tests use too, so that both find the same programs.
#[path = "../../../crates/testkit/src/postgres/programs.rs"]
pub(super) mod programs;

use super::StepOutcome;
use super::packages::{install, may_install};
use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use crate::repo::Repo;
use std::fs;
use std::path::Path;

const PACKAGE: &str = "postgresql";

/// The file that Debian's package reads before it creates and starts a server.
const CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    if let Some(found) = found(repo)? {
        return Ok(found);
    }
    if !may_install() {
        return Ok(StepOutcome::Missing(
            "PostgreSQL was not found: install it (Debian: postgresql), \
             or put `initdb` and `postgres` on the PATH"
                .into(),
        ));
    }
    if let Err(problem) = no_cluster(Path::new(CLUSTERS)).and_then(|()| install(repo, PACKAGE)) {
        return Ok(StepOutcome::Missing(format!(
            "PostgreSQL could not be installed: {}",
            problem.message()
        )));
    }
    let missing = || StepOutcome::Missing(format!("the package {PACKAGE} brought no `initdb`"));
    Ok(found(repo)?.unwrap_or_else(missing))
}

/// Returns the PostgreSQL that the tests will use.
fn found(repo: &Repo) -> Result<Option<StepOutcome>, Problem> {
    let Some(folder) = programs::folder() else {
        return Ok(None);
    };
    let program = Program::new(folder.join("postgres"), &repo.root);
    let version = program.args(["--version"]).captured()?;
    println!("{} in {}", version.trim(), folder.display());
    Ok(Some(StepOutcome::Noted(version.trim().to_owned())))
}

/// Keeps the package from creating a server, unless its configuration exists already.
fn no_cluster(file: &Path) -> Result<(), Problem> {
    if file.exists() {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).context(|| format!("cannot make {}", folder.display()))?;
    fs::write(file, "create_main_cluster = false\n")
        .context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_cluster_configuration_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("common/createcluster.conf");
        no_cluster(&file).unwrap();
        let text = || fs::read_to_string(&file).unwrap();
        assert_eq!(text(), "create_main_cluster = false\n");
        fs::write(&file, "create_main_cluster = true\n").unwrap();
        no_cluster(&file).unwrap();
        assert_eq!(text(), "create_main_cluster = true\n");
    }
}
