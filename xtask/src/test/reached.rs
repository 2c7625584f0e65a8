//! Checks that the tests have seen every code of the registries on the wire.
//!
//! For each code that it sees, a test writes a line `dialect code` into a file in the folder
//! that `CANDOR_REACHED` names. Each step has its own folder, so that running a step again replaces
//! only its own lines.

use super::{StepOutcome, TestStep};
use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The variable that names the folder.
pub(crate) const FOLDER: &str = "CANDOR_REACHED";
const REGISTRY: &str = "registry.json";

/// Dialects whose codes their own server has to raise too, from a real cause, because the playground
/// can raise every code. Their tests write those as `DIALECT-serve`.
const SERVED: [&str; 2] = ["orders", "workspace"];

/// Deletes the lines of earlier runs if this run has all steps.
pub(crate) fn prepare(repo: &Repo, steps: &[TestStep]) -> Result<(), Problem> {
    if steps.contains(&TestStep::Tests) && steps.contains(&TestStep::Reached) {
        empty(&root(repo))?;
    }
    Ok(())
}

/// Empties and returns the folder of one step.
pub(crate) fn fresh(repo: &Repo, step: &str) -> Result<PathBuf, Problem> {
    let folder = root(repo).join(step);
    empty(&folder)?;
    Ok(folder)
}

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let Ok(text) = fs::read_to_string(repo.root.join(REGISTRY)) else {
        return Ok(StepOutcome::Missing(format!("there is no {REGISTRY}")));
    };
    let wanted = codes(&text)?;
    let seen = seen(&root(repo))?;
    let unreached: Vec<&String> = wanted.difference(&seen).collect();
    if unreached.is_empty() {
        return Ok(StepOutcome::Noted(format!("{} codes", wanted.len())));
    }
    for code in &unreached {
        println!("  {code}");
    }
    Err(Problem::new(format!(
        "{} of {} codes were not seen on the wire by any test",
        unreached.len(),
        wanted.len()
    ))
    .hint(format!(
        "a test that sees a code writes `dialect code` into a file in ${FOLDER}"
    ))
    .hint("after a run of single steps, count again with:\n  cargo xtask test --from tests"))
}

/// Returns `dialect code` for every row of every section.
fn codes(registry: &str) -> Result<BTreeSet<String>, Problem> {
    let value: Value =
        serde_json::from_str(registry).context(|| format!("{REGISTRY} is not JSON"))?;
    let sections = value["sections"].as_object().into_iter().flatten();
    let rows = sections.flat_map(|(_, rows)| rows.as_array().into_iter().flatten());
    let mut found: BTreeSet<String> = rows.map(code_of).collect::<Result<_, _>>()?;
    let served: Vec<String> = found.iter().filter_map(|line| served(line)).collect();
    found.extend(served);
    if found.is_empty() {
        return Err(Problem::new(format!(
            "{REGISTRY} has no rows in `sections`"
        )));
    }
    Ok(found)
}

/// Returns the line that the code's own server has to write, if it has to.
fn served(line: &str) -> Option<String> {
    let (dialect, code) = line.split_once(' ')?;
    SERVED
        .contains(&dialect)
        .then(|| format!("{dialect}-serve {code}"))
}

fn code_of(row: &Value) -> Result<String, Problem> {
    match (&row["dialect"], &row["code"]) {
        (Value::String(dialect), Value::String(word)) => Ok(format!("{dialect} {word}")),
        (Value::String(dialect), Value::Number(number)) => Ok(format!("{dialect} {number}")),
        _ => Err(Problem::new(format!(
            "{REGISTRY} has a row without dialect or code: {row}"
        ))),
    }
}

/// Returns all lines of all files below a folder.
fn seen(folder: &Path) -> Result<BTreeSet<String>, Problem> {
    let mut found = BTreeSet::new();
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        files => files.context(|| format!("cannot read {folder:?}"))?,
    };
    for file in files {
        let path = file.context(|| format!("cannot read {folder:?}"))?.path();
        if path.is_dir() {
            found.extend(seen(&path)?);
        } else {
            let text = fs::read_to_string(&path).context(|| format!("cannot read {path:?}"))?;
            found.extend(text.lines().map(|line| line.trim().to_owned()));
        }
    }
    Ok(found)
}

fn root(repo: &Repo) -> PathBuf {
    repo.target.join("reached")
}

fn empty(folder: &Path) -> Result<(), Problem> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).context(|| format!("cannot empty {folder:?}"))
        }
        _ => fs::create_dir_all(folder).context(|| format!("cannot make {folder:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words_or_numbers_with_their_dialect() {
        let registry = r#"{"version":1,"sections":{
            "wire":[{"dialect":"wire","code":-32700,"name":"PARSE_ERROR"}],
            "context":[{"dialect":"context","code":"not_found"}],
            "orders":[{"dialect":"orders","code":3001}],
            "workspace":[{"dialect":"workspace","code":"INVALID_PATH"}]}}"#;
        let found: Vec<String> = codes(registry).unwrap().into_iter().collect();
        let wanted = [
            "context not_found",
            "orders 3001",
            "orders-serve 3001",
            "wire -32700",
            "workspace INVALID_PATH",
            "workspace-serve INVALID_PATH",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn empty_registry_is_refused() {
        assert!(codes("{}").is_err());
        assert!(codes(r#"{"sections":{"a":[{"code":1}]}}"#).is_err());
    }

    #[test]
    fn lines_are_gathered_from_all_steps() {
        let folder = tempfile::tempdir().unwrap();
        assert!(seen(&folder.path().join("absent")).unwrap().is_empty());
        for (step, line) in [("tests", "wire -32700\n"), ("clients", "orders 3001")] {
            fs::create_dir(folder.path().join(step)).unwrap();
            fs::write(folder.path().join(step).join("1"), line).unwrap();
        }
        let found: Vec<String> = seen(folder.path()).unwrap().into_iter().collect();
        assert_eq!(found, ["orders 3001", "wire -32700"]);
    }
}
