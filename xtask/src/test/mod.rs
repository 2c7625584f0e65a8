//! `cargo xtask test`: runs the steps one after another up to the first failure, and prints a summary.

mod advisories;
mod ci_script;
mod depth;
mod fuzz_corpus;
mod outcome;
mod packages;
mod postgres;
pub(crate) mod reached;
pub(crate) mod rust;
pub(crate) mod skipped;
mod steps;
mod strace;
mod weather;

pub(crate) use depth::Depth;
pub(crate) use outcome::StepOutcome;
pub(crate) use steps::TestStep;

use crate::args::TestArgs;
use crate::problem::Problem;
use crate::repo::{self, Repo};
use crate::table;
use outcome::SummaryRow;
use std::process::ExitCode;
use std::time::Instant;
use steps::RunPlan;

pub(crate) fn run(repo: &Repo, wanted: &TestArgs) -> Result<ExitCode, Problem> {
    let started = Instant::now();
    let in_ci = repo::in_ci();
    let depth = Depth::of(wanted, in_ci);
    let plan = RunPlan::new(wanted);
    reached::prepare(repo, &plan.steps)?;
    let mut rows: Vec<SummaryRow> = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let number = (index + 1, plan.steps.len());
        let row = perform(repo, *step, number, depth, in_ci);
        let failed = row.is_failure(in_ci);
        rows.push(row);
        if failed {
            break;
        }
    }
    let later = plan.steps.get(rows.len()..).unwrap_or_default();
    println!("\n{}", table::bold("summary"));
    print!("{}", outcome::summary(&rows, later, &plan.left_out, in_ci));
    for test in rows.iter().flat_map(SummaryRow::skipped) {
        println!("{} {test}", table::alarm("SKIPPED"));
    }
    let took = started.elapsed().as_secs();
    println!("total {} min {:02} s", took / 60, took % 60);
    Ok(conclude(&rows, in_ci, wanted.quick))
}

fn perform(
    repo: &Repo,
    step: TestStep,
    (number, of): (usize, usize),
    depth: Depth,
    in_ci: bool,
) -> SummaryRow {
    println!(
        "\n{} {}",
        table::bold(&format!("[{number}/{of}] {}", step.name())),
        table::dim(&step.about())
    );
    let started = Instant::now();
    let ended = step.perform(repo, depth);
    let took = started.elapsed();
    match &ended {
        Ok(outcome) => outcome.print(),
        Err(problem) => println!("{problem}"),
    }
    let row = SummaryRow { step, ended, took };
    let word = match row.result(in_ci) {
        "ok" => table::green("ok"),
        other => table::alarm(other),
    };
    println!("{}: {word} in {:.1} s", step.name(), took.as_secs_f64());
    row
}

fn conclude(rows: &[SummaryRow], in_ci: bool, quick: bool) -> ExitCode {
    let Some(failed) = rows.iter().find(|row| row.is_failure(in_ci)) else {
        if rows
            .iter()
            .any(|row| matches!(row.ended, Ok(StepOutcome::Missing(_))))
        {
            println!(
                "{}",
                table::alarm("passed IN PART: the steps marked NOT RUN fail under CI=true")
            );
        }
        return ExitCode::SUCCESS;
    };
    let name = failed.step.name();
    println!("{}", table::alarm(&format!("FAILED at {name}")));
    if matches!(failed.ended, Ok(StepOutcome::Missing(_))) {
        println!("hint: CI=true is set, and every part has to run there");
    }
    println!("hint: `cargo xtask test --only {name}` runs this step alone");
    let quick = if quick { "--quick " } else { "" };
    println!("hint: `cargo xtask test {quick}--from {name}` goes on from here");
    ExitCode::FAILURE
}
