//! Checks that every fuzz target has committed inputs, which ordinary tests replay.

use super::StepOutcome;
use crate::fuzz;
use crate::problem::Problem;
use crate::repo::Repo;
use std::fs;

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let targets = fuzz::targets(repo)?;
    if targets.is_empty() {
        return Ok(StepOutcome::Missing(format!(
            "no fuzz target in {}",
            fuzz::TARGETS
        )));
    }
    let has_input = |target: &&String| {
        let folder = repo.root.join(fuzz::CORPUS).join(target);
        fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
    };
    let without: Vec<&String> = targets.iter().filter(|target| !has_input(target)).collect();
    match without.as_slice() {
        [] => Ok(StepOutcome::Noted(format!("{} targets", targets.len()))),
        names => Err(
            Problem::new(format!("fuzz targets without a corpus: {names:?}")).hint(format!(
                "commit at least one input in {}/TARGET/",
                fuzz::CORPUS
            )),
        ),
    }
}
