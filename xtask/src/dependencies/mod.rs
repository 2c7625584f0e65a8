//! Checks third-party packages: licences, second versions, and a written reason for each.

mod allowed;
mod listed;
mod lock;
mod spdx;

use crate::ledger;
use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use crate::test::StepOutcome;
use allowed::PackageLicence;
use serde_json::Value;
use std::fs;

/// Reports every difference at once, so that one round of edits is enough.
pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let metadata = metadata(repo)?;
    let manifest = listed::in_manifest(&read(repo, "Cargo.toml")?);
    let entries = ledger::read(allowed::FILE, &read(repo, allowed::FILE)?)?;
    let packages = from_outside(&metadata);
    let older = lock::older(&read(repo, "Cargo.lock")?);

    let mut wrong = allowed::licences(&entries, &packages);
    wrong.extend(allowed::duplicates(&entries, &older));
    let page = read(repo, listed::PAGE)?;
    let direct = direct(&metadata);
    wrong.extend(listed::differences(&manifest, &listed::on_page(&page)));
    wrong.extend(listed::wrong_users(&page, &direct));
    wrong.extend(listed::past_the_list(&manifest, &direct));
    if wrong.is_empty() {
        return Ok(StepOutcome::Noted(format!("{} packages", packages.len())));
    }
    for sentence in &wrong {
        println!("  {sentence}");
    }
    Err(Problem::new(format!(
        "{} differences between the dependencies and their documentation",
        wrong.len()
    )))
}

fn metadata(repo: &Repo) -> Result<Value, Problem> {
    let arguments = ["metadata", "--format-version", "1", "--all-features"];
    let text = repo.cargo(arguments).captured().map_err(|problem| {
        problem.hint("cargo must be able to download every locked package, for all platforms")
    })?;
    serde_json::from_str(&text).context(|| "`cargo metadata` did not print JSON".to_owned())
}

fn read(repo: &Repo, file: &str) -> Result<String, Problem> {
    fs::read_to_string(repo.root.join(file)).context(|| format!("cannot read {file}"))
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn from_outside(metadata: &Value) -> Vec<PackageLicence> {
    let outside = packages(metadata).filter(|package| !package["source"].is_null());
    outside
        .map(|package| PackageLicence {
            package: format!("{} {}", word(&package["name"]), word(&package["version"])),
            licence: package["license"].as_str().map(str::to_owned),
        })
        .collect()
}

/// A third-party package that a member of the workspace declares.
pub(crate) struct DirectDependency {
    member: String,
    name: String,
    for_tests: bool,
    optional: bool,
}

fn direct(metadata: &Value) -> Vec<DirectDependency> {
    let members = packages(metadata).filter(|package| package["source"].is_null());
    let of = |member: &Value| {
        let dependencies = member["dependencies"].as_array().into_iter().flatten();
        let outside = dependencies.filter(|dependency| !dependency["source"].is_null());
        outside
            .map(|dependency| DirectDependency {
                member: word(&member["name"]),
                name: word(&dependency["name"]),
                for_tests: dependency["kind"] == "dev",
                optional: dependency["optional"] == true,
            })
            .collect::<Vec<_>>()
    };
    members.flat_map(of).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
