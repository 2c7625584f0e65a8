//! Checks that `.ci/run` is executable and does nothing but call this program.

use super::StepOutcome;
use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const FILE: &str = ".ci/run";

/// Compares line by line, without comments and empty lines, so that CI cannot have a step of its own.
const LINES: [&str; 3] = [
    "set -euo pipefail",
    r#"cd "$(dirname "$0")/..""#,
    "exec cargo xtask test",
];

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let path = repo.root.join(FILE);
    let text = fs::read_to_string(&path).context(|| format!("cannot read {FILE}"))?;
    let metadata = fs::metadata(&path).context(|| format!("cannot read {FILE}"))?;
    if metadata.permissions().mode() & 0o111 != 0o111 {
        return Err(Problem::new(format!("{FILE} is not executable"))
            .hint(format!("run this, then commit:\n  chmod +x {FILE}")));
    }
    if is_exactly_the_call(&text) {
        return Ok(StepOutcome::Passed);
    }
    Err(
        Problem::new(format!("{FILE} must contain only the call of this program"))
            .hint(format!("write exactly these lines: {}", LINES.join("; ")))
            .hint("anything else that CI needs belongs in a step of xtask"),
    )
}

fn is_exactly_the_call(text: &str) -> bool {
    let code = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.starts_with("#!/usr/bin/env bash\n") && text.lines().map(str::trim).filter(code).eq(LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_free_and_commands_are_not() {
        let script = |body: &str| format!("#!/usr/bin/env bash\n# why\n{body}\n");
        let good = LINES.join("\n");
        assert!(is_exactly_the_call(&script(&good)));
        assert!(!is_exactly_the_call(&script(&format!("{good} --quick"))));
        assert!(!is_exactly_the_call(&script(&format!("npm ci\n{good}"))));
        assert!(!is_exactly_the_call(&good));
    }
}
