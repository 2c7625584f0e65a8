//! `cargo xtask fuzz`: runs every target for its share of the time, then keeps findings and corpus.

use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use crate::repo::Repo;
use crate::table;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

pub(crate) const TARGETS: &str = "fuzz/fuzz_targets";
pub(crate) const CORPUS: &str = "fuzz/corpus";
/// The number of inputs that are committed for each target.
const CORPUS_KEPT: usize = 400;
const FINDINGS: &str = "fuzz/findings";
const ARTIFACTS: &str = "fuzz/artifacts";

/// The prefixes of libFuzzer's files for inputs that broke a target. Slow inputs do not count.
const BREAKS: [&str; 4] = ["crash-", "leak-", "oom-", "timeout-"];

pub(crate) fn run(repo: &Repo, seconds: u64, only: Option<&str>) -> Result<ExitCode, Problem> {
    let chosen = chosen(targets(repo)?, only)?;
    require_tools(repo)?;
    let share = (seconds / chosen.len().max(1) as u64).max(1);
    let mut found = Vec::new();
    for target in &chosen {
        println!("\n{}", table::bold(&format!("{target}, {share} s")));
        let broke = fuzz(repo, target, share);
        let kept = keep_findings(repo, target)?;
        if kept.is_empty() {
            broke.map_err(|problem| {
                problem.hint(format!(
                    "there is no new finding: the target could not run, or an input in {FINDINGS}/{target} still fails"
                ))
            })?;
        }
        found.extend(kept);
        minimise(repo, target)?;
    }
    if found.is_empty() {
        println!("\nnothing found in {seconds} s");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\n{}", table::alarm("new findings"));
    for finding in &found {
        println!("  {finding}");
    }
    println!("hint: they are replayed by the ordinary tests: fix the cause and commit both");
    Ok(ExitCode::FAILURE)
}

/// Returns the names of all targets, sorted.
pub(crate) fn targets(repo: &Repo) -> Result<Vec<String>, Problem> {
    let mut names: Vec<String> = files(&repo.root.join(TARGETS))?
        .iter()
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn chosen(all: Vec<String>, only: Option<&str>) -> Result<Vec<String>, Problem> {
    if all.is_empty() {
        return Err(Problem::new(format!(
            "there is no fuzz target in {TARGETS}"
        )));
    }
    let Some(only) = only else {
        return Ok(all);
    };
    if all.iter().any(|name| name == only) {
        return Ok(vec![only.to_owned()]);
    }
    let names = all.join(", ");
    Err(Problem::new(format!("there is no fuzz target `{only}`")).hint(format!("one of: {names}")))
}

fn require_tools(repo: &Repo) -> Result<(), Problem> {
    if nightly(repo).args(["--version"]).captured().is_err() {
        return Err(Problem::new("fuzzing needs a nightly toolchain")
            .hint("to install it, run:\n  rustup toolchain install nightly --profile minimal"));
    }
    if nightly(repo)
        .args(["fuzz", "--version"])
        .captured()
        .is_err()
    {
        return Err(Problem::new("fuzzing needs cargo-fuzz")
            .hint("to install it, run:\n  cargo install cargo-fuzz"));
    }
    Ok(())
}

/// Goes through rustup, because `cargo xtask` fixes the toolchain of its child processes.
fn nightly(repo: &Repo) -> Program {
    Program::new("rustup", &repo.root).args(["run", "nightly", "cargo"])
}

/// Fuzzes one target. libFuzzer writes new inputs to the first folder, and tries earlier findings again
/// in every run.
fn fuzz(repo: &Repo, target: &str, seconds: u64) -> Result<(), Problem> {
    for folder in [CORPUS, FINDINGS] {
        let folder = repo.root.join(folder).join(target);
        fs::create_dir_all(&folder).context(|| format!("cannot make {folder:?}"))?;
    }
    let folders = [CORPUS, FINDINGS].map(|folder| format!("{folder}/{target}"));
    nightly(repo)
        .args(["fuzz", "run", target])
        .args(folders)
        .args(["--", &format!("-max_total_time={seconds}")])
        .run()
}

/// Minimises the corpus, then keeps some inputs of every size: they are committed and replayed.
fn minimise(repo: &Repo, target: &str) -> Result<(), Problem> {
    nightly(repo).args(["fuzz", "cmin", target]).run()?;
    let folder = repo.root.join(CORPUS).join(target);
    let mut sized = Vec::new();
    for name in files(&folder)? {
        let path = folder.join(name);
        let size = fs::metadata(&path)
            .context(|| format!("cannot read {path:?}"))?
            .len();
        sized.push((size, path));
    }
    sized.sort();
    for (place, (_, path)) in sized.iter().enumerate() {
        let is_kept = place * CORPUS_KEPT / sized.len() != (place + 1) * CORPUS_KEPT / sized.len();
        if sized.len() > CORPUS_KEPT && !is_kept {
            fs::remove_file(path).context(|| format!("cannot remove {path:?}"))?;
        }
    }
    Ok(())
}

/// Copies the inputs that broke the target to the committed folder. Returns the new ones.
fn keep_findings(repo: &Repo, target: &str) -> Result<Vec<String>, Problem> {
    let from = repo.root.join(ARTIFACTS).join(target);
    let to = repo.root.join(FINDINGS).join(target);
    let mut kept = Vec::new();
    for name in files(&from)? {
        let breaks = BREAKS.iter().any(|start| name.starts_with(start));
        if !breaks || to.join(&name).exists() {
            continue;
        }
        fs::copy(from.join(&name), to.join(&name)).context(|| format!("cannot keep {name}"))?;
        kept.push(format!("{FINDINGS}/{target}/{name}"));
    }
    kept.sort();
    Ok(kept)
}

fn files(folder: &Path) -> Result<Vec<String>, Problem> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.context(|| format!("cannot read {folder:?}"))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.context(|| format!("cannot read {folder:?}"))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(root: &Path) -> Repo {
        Repo {
            root: root.to_owned(),
            target: root.join("target"),
            members: Vec::new(),
        }
    }

    #[test]
    fn targets_are_the_rust_files() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repo(folder.path());
        assert_eq!(targets(&repo).unwrap(), Vec::<String>::new());
        fs::create_dir_all(folder.path().join(TARGETS)).unwrap();
        for name in ["write.rs", "read.rs", "README.md"] {
            fs::write(folder.path().join(TARGETS).join(name), "").unwrap();
        }
        assert_eq!(targets(&repo).unwrap(), ["read", "write"]);
    }

    #[test]
    fn unknown_target_lists_the_known_ones() {
        let all = vec!["read".to_owned(), "write".to_owned()];
        assert_eq!(chosen(all.clone(), Some("read")).unwrap(), ["read"]);
        assert_eq!(chosen(all.clone(), None).unwrap(), all);
        let problem = chosen(all, Some("reed")).unwrap_err().to_string();
        assert!(problem.contains("hint: one of: read, write"), "{problem}");
        assert!(chosen(Vec::new(), None).is_err());
    }

    #[test]
    fn only_new_findings_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repo(folder.path());
        let from = folder.path().join(ARTIFACTS).join("read");
        let to = folder.path().join(FINDINGS).join("read");
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(&to).unwrap();
        for name in ["crash-1", "crash-2", "slow-unit-3"] {
            fs::write(from.join(name), name).unwrap();
        }
        fs::write(to.join("crash-1"), "known").unwrap();
        let kept = keep_findings(&repo, "read").unwrap();
        assert_eq!(kept, ["fuzz/findings/read/crash-2"]);
        assert_eq!(fs::read_to_string(to.join("crash-1")).unwrap(), "known");
    }
}
