//! Runs the MCP conformance suite against the playground, for both revisions.

mod checks;
mod playground;
mod required;
mod verdict;

use crate::clients::{Installation, Kit};
use crate::ledger::{self, LedgerEntry};
use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use crate::repo::Repo;
use crate::table;
use crate::test::StepOutcome;
use checks::{Scenarios, SuiteChecks};
use playground::PlaygroundProcess;
use required::{REVISIONS, Required, SuiteRevision};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use verdict::BASELINE;

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let kit = match Kit::prepare(repo)? {
        Installation::Ready(kit) => kit,
        Installation::Unavailable(why) => return Ok(StepOutcome::Missing(why)),
    };
    let node = match kit.node()? {
        Installation::Ready(node) => node,
        Installation::Unavailable(why) => return Ok(StepOutcome::Missing(why)),
    };
    let baseline = fs::read_to_string(repo.root.join(BASELINE))
        .context(|| format!("cannot read {BASELINE}"))?;
    let baseline = ledger::read(BASELINE, &baseline)?;
    known_sections(&baseline)?;
    let output = fresh_output(repo)?;
    let suite = Suite {
        node,
        script: kit.folder().join(SUITE),
        output: &output,
    };
    let program = PlaygroundProcess::build(repo)?;
    let runs = suite.run_all(&program)?;
    judge(&runs, &baseline, &repo.shown(&output))
}

struct Suite<'a> {
    node: PathBuf,
    script: PathBuf,
    output: &'a Path,
}

impl Suite<'_> {
    fn run_all(&self, program: &Path) -> Result<Vec<Scenarios>, Problem> {
        let playground = PlaygroundProcess::start(program, &self.output.join("playground.log"))?;
        let run = |revision: &SuiteRevision| self.run(&playground.url, revision.name);
        REVISIONS.iter().map(run).collect()
    }

    /// Ignores the suite's exit code: its files show which checks failed.
    fn run(&self, url: &str, revision: &str) -> Result<Scenarios, Problem> {
        let folder = self.output.join(revision);
        let log = self.output.join(format!("{revision}.log"));
        Program::new(&self.node, self.output)
            .args([&self.script])
            .args(["server", "--url", url, "--requirements", revision, "-o"])
            .args([&folder])
            .logged(&log)?;
        checks::read(&folder).map_err(|problem| {
            let printed = fs::read_to_string(&log).unwrap_or_default();
            Problem::new(format!("{}\n{}", problem.message(), printed.trim_end()))
        })
    }
}

fn fresh_output(repo: &Repo) -> Result<PathBuf, Problem> {
    let folder = repo.target.join("conformance");
    if folder.exists() {
        fs::remove_dir_all(&folder).context(|| format!("cannot empty {folder:?}"))?;
    }
    fs::create_dir_all(&folder).context(|| format!("cannot make {folder:?}"))?;
    Ok(folder)
}

fn known_sections(baseline: &[LedgerEntry]) -> Result<(), Problem> {
    let unknown = baseline
        .iter()
        .find(|entry| REVISIONS.iter().all(|known| known.name != entry.section));
    match unknown {
        None => Ok(()),
        Some(entry) => Err(Problem::new(format!(
            "{BASELINE}:{}: the suite is not run for [{}]",
            entry.line, entry.section
        ))),
    }
}

fn judge(
    runs: &[Scenarios],
    baseline: &[LedgerEntry],
    output: &str,
) -> Result<StepOutcome, Problem> {
    print!("{}", table::aligned(&overview(runs, baseline)));
    let mut count = 0;
    for (revision, scenarios) in REVISIONS.iter().zip(runs) {
        let listed = ledger::section(baseline, revision.name);
        let required: Vec<&Required> = revision.required().collect();
        for sentence in verdict::wrong(scenarios, &listed, &required) {
            println!("  {}: {sentence}", revision.name);
            count += 1;
        }
    }
    if count == 0 {
        let checks: usize = runs
            .iter()
            .flat_map(|run| run.values())
            .map(SuiteChecks::len)
            .sum();
        return Ok(StepOutcome::Noted(format!(
            "{checks} checks, {} left out by the baseline",
            baseline.len()
        )));
    }
    Err(Problem::new(format!(
        "{count} differences between the results of the suite and {BASELINE}"
    ))
    .hint(format!("{output} contains every check with its details")))
}

/// Returns a table with a row per scenario and a column per revision.
fn overview(runs: &[Scenarios], baseline: &[LedgerEntry]) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["scenario".to_owned()]];
    if let Some(header) = rows.first_mut() {
        header.extend(REVISIONS.iter().map(|revision| revision.name.to_owned()));
    }
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.keys()).collect();
    for name in names {
        let mut row = vec![name.clone()];
        for (revision, run) in REVISIONS.iter().zip(runs) {
            let listed = ledger::section(baseline, revision.name);
            let counts = run.get(name).map(|checks| counts(name, checks, &listed));
            row.push(counts.unwrap_or_else(|| "-".into()));
        }
        rows.push(row);
    }
    rows
}

/// Returns a text such as `3 ok, 1 left out`.
fn counts(scenario: &str, checks: &SuiteChecks, baseline: &[&LedgerEntry]) -> String {
    let (mut good, mut listed, mut bad) = (0, 0, 0);
    for (id, check) in checks {
        match check.status {
            status if !status.is_bad() => {
                good += usize::from(status == checks::CheckStatus::Success);
            }
            _ if verdict::is_listed(baseline, scenario, id) => listed += 1,
            _ => bad += 1,
        }
    }
    let words = [(good, "ok"), (listed, "left out"), (bad, "BAD")];
    let some: Vec<String> = words
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if some.is_empty() {
        return "nothing checked".into();
    }
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use checks::{CheckStatus, SuiteCheck};

    const COMMITTED: &str = include_str!("../../../tests/conformance/baseline.txt");

    fn entries(text: &str) -> Vec<LedgerEntry> {
        ledger::read(BASELINE, text).unwrap()
    }

    #[test]
    fn the_committed_baseline_can_be_read_and_excuses_nothing_required() {
        let baseline = entries(COMMITTED);
        known_sections(&baseline).unwrap();
        for revision in &REVISIONS {
            for entry in ledger::section(&baseline, revision.name) {
                let (scenario, id) = entry.subject.split_once(':').unwrap();
                let required = revision
                    .required()
                    .find(|required| required.scenario == scenario);
                let excused = required.is_none_or(|required| required.except.contains(&id));
                assert!(excused, "{} of {}", entry.subject, revision.name);
            }
        }
    }

    #[test]
    fn section_of_unknown_revision_is_refused() {
        assert!(known_sections(&entries("[2024-11-05]\na:b  c\n")).is_err());
    }

    #[test]
    fn cells_count_what_counts() {
        let check = |status| SuiteCheck {
            status,
            message: String::new(),
        };
        let checks = SuiteChecks::from([
            ("a".to_owned(), check(CheckStatus::Success)),
            ("b".to_owned(), check(CheckStatus::Failure)),
            ("c".to_owned(), check(CheckStatus::Warning)),
            ("d".to_owned(), check(CheckStatus::Info)),
        ]);
        let baseline = entries("[2026-07-28]\ns:b  why\n");
        let listed = ledger::section(&baseline, "2026-07-28");
        assert_eq!(counts("s", &checks, &listed), "1 ok, 1 left out, 1 BAD");
        assert_eq!(counts("s", &SuiteChecks::new(), &listed), "nothing checked");
    }
}
