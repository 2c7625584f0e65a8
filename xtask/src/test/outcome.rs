//! Outcomes of steps, and the summary of a run.

use super::TestStep;
use crate::problem::Problem;
use crate::table;
use std::time::Duration;

/// The outcome of a step that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    Passed,
    /// Passed, with a remark for the summary.
    Noted(String),
    /// It was not done, for the given reason. This is never a failure.
    NotChecked(String),
    /// Passed, except for these tests, which could not run.
    Skipped(Vec<String>),
    /// Something it needs is missing. This is a failure under `CI=true`.
    Missing(String),
}

impl StepOutcome {
    pub(crate) fn print(&self) {
        match self {
            StepOutcome::Passed | StepOutcome::Noted(_) | StepOutcome::Skipped(_) => {}
            StepOutcome::NotChecked(why) => println!("NOT checked: {why}"),
            StepOutcome::Missing(what) => println!("{}", table::alarm(&format!("NOT RUN: {what}"))),
        }
    }
}

/// One row of the summary.
pub(crate) struct SummaryRow {
    pub(crate) step: TestStep,
    pub(crate) ended: Result<StepOutcome, Problem>,
    pub(crate) took: Duration,
}

impl SummaryRow {
    pub(crate) fn is_failure(&self, in_ci: bool) -> bool {
        match &self.ended {
            Ok(StepOutcome::Missing(_)) => in_ci,
            Ok(_) => false,
            Err(_) => true,
        }
    }

    pub(crate) fn result(&self, in_ci: bool) -> &'static str {
        match &self.ended {
            Ok(StepOutcome::Passed | StepOutcome::Noted(_)) => "ok",
            Ok(StepOutcome::Skipped(_)) => "ok in part",
            Ok(StepOutcome::NotChecked(_)) => "NOT CHECKED",
            Ok(StepOutcome::Missing(_)) if in_ci => "FAILED",
            Ok(StepOutcome::Missing(_)) => "NOT RUN",
            Err(_) => "FAILED",
        }
    }

    /// Returns the tests of this step that could not run, each with its reason.
    pub(crate) fn skipped(&self) -> &[String] {
        match &self.ended {
            Ok(StepOutcome::Skipped(tests)) => tests,
            _ => &[],
        }
    }

    fn remark(&self) -> String {
        let remark = match &self.ended {
            Ok(StepOutcome::Passed) => "",
            Ok(StepOutcome::Skipped(tests)) => return format!("{} tests skipped", tests.len()),
            Ok(
                StepOutcome::Noted(text)
                | StepOutcome::NotChecked(text)
                | StepOutcome::Missing(text),
            ) => text,
            Err(problem) => problem.message(),
        };
        remark.lines().next().unwrap_or_default().to_owned()
    }
}

/// Returns the table at the end of a run: first the steps that ran, then the others.
pub(crate) fn summary(
    rows: &[SummaryRow],
    later: &[TestStep],
    left_out: &[TestStep],
    in_ci: bool,
) -> String {
    let cells = |cells: [String; 4]| cells.to_vec();
    let mut lines = vec![cells(["step", "result", "seconds", ""].map(String::from))];
    for row in rows {
        lines.push(cells([
            row.step.name(),
            row.result(in_ci).to_owned(),
            format!("{:>7.1}", row.took.as_secs_f64()),
            row.remark(),
        ]));
    }
    for step in later {
        lines.push(cells([
            step.name(),
            "not started".into(),
            String::new(),
            String::new(),
        ]));
    }
    for step in left_out {
        lines.push(cells([
            step.name(),
            "left out".into(),
            String::new(),
            "--quick".into(),
        ]));
    }
    table::aligned(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: TestStep, ended: Result<StepOutcome, Problem>) -> SummaryRow {
        SummaryRow {
            step,
            ended,
            took: Duration::from_millis(1234),
        }
    }

    #[test]
    fn missing_parts_fail_only_in_ci() {
        let missing = row(TestStep::Clients, Ok(StepOutcome::Missing("no npm".into())));
        assert!(!missing.is_failure(false));
        assert!(missing.is_failure(true));
        let unchecked = row(
            TestStep::Advisories,
            Ok(StepOutcome::NotChecked("no list".into())),
        );
        assert!(!unchecked.is_failure(true));
        assert!(row(TestStep::Fmt, Err(Problem::new("x"))).is_failure(false));
    }

    #[test]
    fn the_summary_names_every_step() {
        let rows = [
            row(TestStep::Fmt, Ok(StepOutcome::Passed)),
            row(
                TestStep::Clients,
                Ok(StepOutcome::Missing("no npm\ndetails".into())),
            ),
            row(
                TestStep::Tests,
                Ok(StepOutcome::Skipped(vec!["a: no b".into()])),
            ),
            row(TestStep::Docs, Err(Problem::new("broken link"))),
        ];
        let text = summary(&rows, &[TestStep::Weather], &[TestStep::Reached], false);
        assert_eq!(
            text,
            "  step     result       seconds\n\
             \x20 fmt      ok               1.2\n\
             \x20 clients  NOT RUN          1.2  no npm\n\
             \x20 tests    ok in part       1.2  1 tests skipped\n\
             \x20 docs     FAILED           1.2  broken link\n\
             \x20 weather  not started\n\
             \x20 reached  left out              --quick\n"
        );
    }
}
