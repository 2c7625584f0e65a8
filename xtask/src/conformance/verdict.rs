//! Compares the suite's findings with the baseline and with the required scenarios.

use super::checks::{CheckStatus, Scenarios, SuiteCheck};
use super::required::Required;
use crate::ledger::LedgerEntry;

/// The committed list of checks that may fail.
pub(crate) const BASELINE: &str = "tests/conformance/baseline.txt";

/// Returns everything that is wrong with one run, one sentence each.
pub(crate) fn wrong(
    scenarios: &Scenarios,
    baseline: &[&LedgerEntry],
    required: &[&Required],
) -> Vec<String> {
    let mut wrong: Vec<String> = required
        .iter()
        .flat_map(|required| unmet(scenarios, required))
        .collect();
    wrong.extend(unlisted(scenarios, baseline, required));
    wrong.extend(outdated(scenarios, baseline));
    wrong
}

/// Returns true if the baseline allows a check to fail.
pub(crate) fn is_listed(baseline: &[&LedgerEntry], scenario: &str, id: &str) -> bool {
    let mut subjects = baseline.iter().map(|entry| entry.subject.split_once(':'));
    subjects.any(|subject| subject == Some((scenario, id)))
}

/// Returns the failures without an entry in the baseline, except required ones, which are reported separately.
fn unlisted(
    scenarios: &Scenarios,
    baseline: &[&LedgerEntry],
    required: &[&Required],
) -> Vec<String> {
    let is_required = |scenario: &str, id: &str| {
        let mut required = required.iter();
        required.any(|required| required.scenario == scenario && !required.except.contains(&id))
    };
    let checks = scenarios
        .iter()
        .flat_map(|(scenario, checks)| checks.iter().map(move |(id, check)| (scenario, id, check)));
    checks
        .filter(|(_, _, check)| check.status.is_bad())
        .filter(|(scenario, id, _)| {
            !is_listed(baseline, scenario, id) && !is_required(scenario, id)
        })
        .map(|(scenario, id, check)| format!("{scenario}:{id} {}", told(check)))
        .collect()
}

fn outdated(scenarios: &Scenarios, baseline: &[&LedgerEntry]) -> Vec<String> {
    let why = |entry: &LedgerEntry| {
        let Some((scenario, id)) = entry.subject.split_once(':') else {
            return Some("is not `scenario:check-id`");
        };
        match scenarios.get(scenario).and_then(|checks| checks.get(id)) {
            None => Some("never occurs"),
            Some(check) if check.status == CheckStatus::Success => Some("passes"),
            Some(check) if !check.status.is_bad() => Some("is not a failure"),
            Some(_) => None,
        }
    };
    let line = |entry: &&LedgerEntry| {
        let why = why(entry)?;
        Some(format!(
            "{BASELINE}:{}: `{}` {why}: remove the line",
            entry.line, entry.subject
        ))
    };
    baseline.iter().filter_map(line).collect()
}

fn unmet(scenarios: &Scenarios, required: &Required) -> Vec<String> {
    let Required { scenario, except } = required;
    let Some(checks) = scenarios.get(*scenario) else {
        return vec![format!("{scenario} is required and was not run")];
    };
    let counted = checks
        .iter()
        .filter(|(id, check)| check.status != CheckStatus::Info && !except.contains(&id.as_str()));
    let failed: Vec<String> = counted
        .filter(|(_, check)| check.status != CheckStatus::Success)
        .map(|(id, check)| format!("{scenario}:{id} is required and {}", told(check)))
        .collect();
    let any_success = checks
        .values()
        .any(|check| check.status == CheckStatus::Success);
    let any_excepted = checks.keys().any(|id| except.contains(&id.as_str()));
    if failed.is_empty() && !any_success && !any_excepted {
        return vec![format!("{scenario} is required and checked nothing")];
    }
    failed
}

fn told(check: &SuiteCheck) -> String {
    let word = match check.status {
        CheckStatus::Info => "only informs",
        CheckStatus::Skipped => "was skipped",
        CheckStatus::Success => "passes",
        CheckStatus::Warning => "warns",
        CheckStatus::Failure => "fails",
    };
    match check.message.lines().next() {
        Some(message) => format!("{word}: {message}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::checks::SuiteChecks;

    fn scenarios(list: &[(&str, &str, CheckStatus)]) -> Scenarios {
        let mut scenarios = Scenarios::new();
        for (scenario, id, status) in list {
            let check = SuiteCheck {
                status: *status,
                message: String::new(),
            };
            let checks: &mut SuiteChecks = scenarios.entry((*scenario).to_owned()).or_default();
            checks.insert((*id).to_owned(), check);
        }
        scenarios
    }

    fn judged(
        list: &[(&str, &str, CheckStatus)],
        baseline: &[&str],
        required: &[Required],
    ) -> Vec<String> {
        let entry = |(index, subject): (usize, &&str)| LedgerEntry {
            section: "2026-07-28".into(),
            subject: (**subject).to_owned(),
            line: index + 1,
        };
        let entries: Vec<LedgerEntry> = baseline.iter().enumerate().map(entry).collect();
        wrong(
            &scenarios(list),
            &entries.iter().collect::<Vec<_>>(),
            &required.iter().collect::<Vec<_>>(),
        )
    }

    const PING: Required = Required {
        scenario: "ping",
        except: &["extra"],
    };

    #[test]
    fn failures_and_warnings_need_an_entry_of_their_own() {
        let list = [
            ("a", "x", CheckStatus::Failure),
            ("a", "y", CheckStatus::Warning),
            ("a", "z", CheckStatus::Skipped),
            ("b", "x", CheckStatus::Failure),
        ];
        assert_eq!(judged(&list, &["a:x"], &[]), ["a:y warns", "b:x fails"]);
        assert!(judged(&list, &["a:x", "a:y", "b:x"], &[]).is_empty());
    }

    #[test]
    fn unused_baseline_entry_is_refused() {
        let list = [
            ("a", "x", CheckStatus::Success),
            ("a", "y", CheckStatus::Skipped),
        ];
        let found = judged(&list, &["a:x", "a:y", "a:gone", "a"], &[]);
        let reasons: Vec<&str> = found
            .iter()
            .filter_map(|line| line.split('`').nth(2))
            .collect();
        assert_eq!(
            reasons,
            [
                " passes: remove the line",
                " is not a failure: remove the line",
                " never occurs: remove the line",
                " is not "
            ]
        );
    }

    #[test]
    fn baseline_cannot_excuse_required_scenarios() {
        let list = [("ping", "ping", CheckStatus::Failure)];
        assert_eq!(
            judged(&list, &["ping:ping"], &[PING]),
            ["ping:ping is required and fails"]
        );
        assert_eq!(
            judged(&list, &[], &[PING]),
            ["ping:ping is required and fails"]
        );
        let list = [("ping", "ping", CheckStatus::Skipped)];
        assert_eq!(
            judged(&list, &[], &[PING]),
            ["ping:ping is required and was skipped"]
        );
    }

    #[test]
    fn required_scenario_without_checks_is_refused() {
        assert_eq!(
            judged(&[], &[], &[PING]),
            ["ping is required and was not run"]
        );
        assert_eq!(
            judged(&[("ping", "note", CheckStatus::Info)], &[], &[PING]),
            ["ping is required and checked nothing"]
        );
    }

    #[test]
    fn excepted_checks_are_left_to_the_baseline() {
        let list = [
            ("ping", "ping", CheckStatus::Success),
            ("ping", "extra", CheckStatus::Warning),
        ];
        assert_eq!(judged(&list, &[], &[PING]), ["ping:extra warns"]);
        assert!(judged(&list, &["ping:extra"], &[PING]).is_empty());
    }
}
