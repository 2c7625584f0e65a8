//! Runs the example server as a reader would, and checks that it is short.

use super::StepOutcome;
use super::rust::features;
use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use crate::repo::{Member, Repo};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const FOLDER: &str = "examples/weather";
const MOST_LINES: usize = 25;
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let Some((member, program)) = found(repo) else {
        return Ok(StepOutcome::Missing(format!(
            "there is no program in {FOLDER}"
        )));
    };
    let lines = lines_of(member)?;
    if lines > MOST_LINES {
        return Err(Problem::new(format!(
            "{FOLDER} has {lines} lines of code, but at most {MOST_LINES} are allowed"
        )));
    }
    let build = repo.cargo(["build", "--workspace", "--bin", program]);
    build.args(features(&repo.features())).run()?;

    let list = ask(
        repo,
        program,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    )?;
    let Some(tool) = list["result"]["tools"][0]["name"].as_str() else {
        return Err(Problem::new(format!(
            "{FOLDER} does not list a tool: {list}"
        )));
    };
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": tool, "arguments": {}}});
    ask(repo, program, &call)?;
    Ok(StepOutcome::Noted(format!("{lines} lines of code")))
}

fn found(repo: &Repo) -> Option<(&Member, &str)> {
    let member = repo.member_in(FOLDER)?;
    member.program().map(|program| (member, program))
}

fn lines_of(member: &Member) -> Result<usize, Problem> {
    let path = member.folder().join("src/main.rs");
    let text = fs::read_to_string(path).context(|| format!("cannot read {FOLDER}/src/main.rs"))?;
    Ok(lines_of_code(&text))
}

fn lines_of_code(text: &str) -> usize {
    let code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    text.lines().map(str::trim).filter(code).count()
}

/// Sends one request over stdio to a new server process, which has to exit afterwards.
fn ask(repo: &Repo, program: &str, request: &Value) -> Result<Value, Problem> {
    let path = repo.target.join("debug").join(program);
    let printed = Program::new(path, &repo.root).exchange(&format!("{request}\n"), LIMIT)?;
    let answer: Value = serde_json::from_str(printed.trim())
        .context(|| format!("{FOLDER} answered `{request}` with {printed:?}"))?;
    let is_answer = answer["id"] == request["id"]
        && (answer["result"].is_object() || answer["error"].is_object());
    if is_answer {
        Ok(answer)
    } else {
        Err(Problem::new(format!(
            "{FOLDER} answered `{request}` with `{answer}`"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_not_code() {
        assert_eq!(
            lines_of_code("//! What.\n\nfn main() {\n    // why\n}\n"),
            2
        );
    }
}
