//! Reads the output of the suite: one folder per scenario, one `checks.json` in each.

use crate::problem::{Problem, ProblemContext};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The status of a check, ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckStatus {
    Info,
    Skipped,
    Success,
    Warning,
    Failure,
}

impl CheckStatus {
    /// Treats an unknown word as the worst status.
    fn named(name: &str) -> CheckStatus {
        match name {
            "INFO" => CheckStatus::Info,
            "SKIPPED" => CheckStatus::Skipped,
            "SUCCESS" => CheckStatus::Success,
            "WARNING" => CheckStatus::Warning,
            _ => CheckStatus::Failure,
        }
    }

    pub(crate) fn is_bad(self) -> bool {
        self >= CheckStatus::Warning
    }
}

/// A check with the worst status of its occurrences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SuiteCheck {
    pub(crate) status: CheckStatus,
    pub(crate) message: String,
}

/// The checks of a scenario by id.
pub(crate) type SuiteChecks = BTreeMap<String, SuiteCheck>;

/// The scenarios of a run by name.
pub(crate) type Scenarios = BTreeMap<String, SuiteChecks>;

/// Reads the output folder of one run.
pub(crate) fn read(folder: &Path) -> Result<Scenarios, Problem> {
    let cannot = || format!("the suite wrote nothing to {}", folder.display());
    let mut scenarios = Scenarios::new();
    for entry in fs::read_dir(folder).context(cannot)? {
        let entry = entry.context(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(scenario) = scenario_of(&name) else {
            return Err(Problem::new(format!("the suite wrote an unknown `{name}`")));
        };
        let checks = match fs::read_to_string(entry.path().join("checks.json")) {
            Ok(text) => parse(&text).context(|| format!("{name}/checks.json"))?,
            Err(_) => absent(scenario),
        };
        scenarios.insert(scenario.to_owned(), checks);
    }
    Ok(scenarios)
}

/// Returns the failed check of a scenario that threw and so wrote no file, as the suite counts it.
fn absent(scenario: &str) -> SuiteChecks {
    let check = SuiteCheck {
        status: CheckStatus::Failure,
        message: "the scenario wrote no checks".into(),
    };
    SuiteChecks::from([(scenario.to_owned(), check)])
}

fn parse(text: &str) -> Result<SuiteChecks, serde_json::Error> {
    let list: Vec<Value> = serde_json::from_str(text)?;
    let mut checks = SuiteChecks::new();
    for value in &list {
        let id = value["id"].as_str().unwrap_or_default();
        let check = SuiteCheck {
            status: CheckStatus::named(value["status"].as_str().unwrap_or_default()),
            message: value["errorMessage"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        };
        let worst = checks.entry(id.to_owned()).or_insert_with(|| check.clone());
        if check.status > worst.status {
            *worst = check;
        }
    }
    Ok(checks)
}

/// Returns `tools-list` for `server-tools-list-2026-11-15T09-38-29-118Z`.
fn scenario_of(folder: &str) -> Option<&str> {
    const TIME: &str = "-0000-00-00T00-00-00-000Z";
    let name = folder.strip_prefix("server-")?;
    let (scenario, time) = name.split_at_checked(name.len().checked_sub(TIME.len())?)?;
    let shape = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    let is_time = time.chars().map(shape).eq(TIME.chars());
    (is_time && !scenario.is_empty()).then_some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_name_is_parsed_without_its_time() {
        let of = scenario_of;
        assert_eq!(
            of("server-server-stateless-2026-11-15T09-38-29-118Z"),
            Some("server-stateless")
        );
        assert_eq!(
            of("server-json-schema-2020-12-2026-11-15T09-38-29-118Z"),
            Some("json-schema-2020-12")
        );
        assert_eq!(of("server-2026-11-15T09-38-29-118Z"), None);
        assert_eq!(of("notes"), None);
    }

    #[test]
    fn the_worst_occurrence_of_a_check_counts() {
        let text = r#"[{"id":"a","status":"SUCCESS"},{"id":"a","status":"WARNING","errorMessage":"hm"},
                       {"id":"a","status":"SKIPPED"},{"id":"b","status":"SKIPPED"},{"id":"c","status":"NEW"}]"#;
        let checks = parse(text).unwrap();
        assert_eq!(checks["a"].status, CheckStatus::Warning);
        assert_eq!(checks["a"].message, "hm");
        assert_eq!(checks["b"].status, CheckStatus::Skipped);
        assert_eq!(checks["c"].status, CheckStatus::Failure);
    }

    #[test]
    fn a_scenario_without_checks_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("server-ping-2026-11-15T09-38-29-118Z");
        fs::create_dir(scenario).unwrap();
        let scenarios = read(folder.path()).unwrap();
        assert_eq!(scenarios["ping"]["ping"].status, CheckStatus::Failure);
        assert!(read(&folder.path().join("absent")).is_err());
    }
}
