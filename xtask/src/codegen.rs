//! `cargo xtask codegen`: writes the files that are generated from the code.

use crate::problem::Problem;
use crate::repo::Repo;
use crate::test::StepOutcome;

/// Each has an example `export` that writes below the folder it is given, or checks with `--check`.
const EXPORTERS: [(&str, &str); 2] = [
    ("candor-fault", "schemas, pages of the codes, registry.json"),
    (
        "candor",
        "docs/limits.md, docs/cli.md, the schema of the audit log",
    ),
];
const EXAMPLE: &str = "export";

pub(crate) fn run(repo: &Repo, check: bool) -> Result<StepOutcome, Problem> {
    let mut absent = Vec::new();
    for (package, writes) in EXPORTERS {
        let exists = repo
            .member(package)
            .is_some_and(|member| member.has("example", EXAMPLE));
        if exists {
            export(repo, package, check)?;
        } else {
            absent.push(format!("{writes}: {package} has no example `{EXAMPLE}`"));
        }
    }
    match absent.as_slice() {
        [] => Ok(StepOutcome::Passed),
        _ => Ok(StepOutcome::Missing(absent.join("; "))),
    }
}

fn export(repo: &Repo, package: &str, check: bool) -> Result<(), Problem> {
    let arguments = ["run", "--quiet", "--package", package, "--example", EXAMPLE];
    let program = repo.cargo(arguments).args(["--", "."]);
    if !check {
        return program.run();
    }
    let checked = program.args(["--check"]).run();
    checked
        .map_err(|problem| problem.hint("`cargo xtask codegen` writes the files anew; commit them"))
}
