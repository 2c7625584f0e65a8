use super::*;
use crate::audit_line::{Actor, call_line, settlement_line, torn_log_line};
use crate::dialect::Workspace;
use crate::failure::{BrokenInvariant, Failure, PlanFailure};
use crate::notes::{ApprovedBy, Notes, Subject};
use crate::write::{ChangeOrigin, Settlement};
use candor_audit::{Hash, Log, LogOptions, TornBytes};
use candor_disk::RealDisk;
use candor_fault::dialects::Wire;
use candor_fault::{Fault, Timestamp, ToolOutput};
use candor_street::{Call, CallOutcome, CallRecord};
use std::time::Duration;

fn actor() -> Actor {
    Actor {
        role: Some(Role::Executor),
        os_user: String::from("anna"),
        version: "0.1.0",
    }
}

fn call() -> Call {
    Call {
        id: String::from("7"),
        ..candor_call_fixtures::call("write_file", r#"{"path":"a"}"#)
    }
}

fn subject(path: &str) -> Subject {
    Subject {
        path: path.to_owned(),
        before: None,
        after: Some("0".repeat(64)),
        bytes: Some(1),
    }
}

fn line(outcome: CallOutcome<'_, Workspace>, subjects: Vec<Subject>) -> Map<String, Value> {
    let call = call();
    let tool = (!matches!(outcome, CallOutcome::Refused(_))).then_some("write_file");
    let entry = CallRecord {
        call: Some(&call),
        number: Some(1),
        notes: None,
        tool,
        outcome,
        effect: Effect::None,
        at: Timestamp::UNIX_EPOCH,
        took: Duration::from_micros(5),
        follows: None,
    };
    let notes = Notes {
        plan_hash: Some("0".repeat(64)),
        phase_id: Some(String::from("A")),
        subjects,
        approval: Some(ApprovedBy {
            approver: String::from("anna"),
            key_id: String::from("SHA256:x"),
        }),
        ..Notes::default()
    };
    call_line(&actor(), Some("a session"), &entry, &notes)
}

/// Returns lines of every kind, as the log has them.
fn lines() -> Vec<Value> {
    let done = ToolOutput::Text(String::from("done"));
    let failures = [
        Failure::ReadOnly,
        Failure::BrokenInvariant(BrokenInvariant::Root),
        Failure::Plan(PlanFailure::None),
    ];
    let faults: Vec<Fault<Workspace>> = failures.iter().map(Failure::fault).collect();
    let unknown = Wire::unknown_tool("write_fiel", Some("write_file"));
    let settled = Settlement {
        about: ChangeOrigin {
            session_id: String::from("a session"),
            request_id: String::from("7"),
            tool_name: String::from("write_file"),
            args_hash: "0".repeat(64),
            after_seq: 0,
        },
        paths: vec![String::from("a")],
        finished: false,
        left: 0,
    };
    let torn = TornBytes {
        bytes: 3,
        hash: Hash::NONE,
    };
    let at = Timestamp::UNIX_EPOCH;
    let mut entries = vec![
        line(CallOutcome::Done(&done), vec![]),
        line(CallOutcome::Done(&done), vec![subject("a")]),
        line(CallOutcome::Done(&done), vec![subject("a"), subject("b")]),
        line(CallOutcome::Refused(&unknown), vec![]),
        torn_log_line(&actor(), at, &torn),
        settlement_line(&actor(), at, &settled),
    ];
    entries.extend(
        faults
            .iter()
            .map(|fault| line(CallOutcome::Failed(fault), vec![])),
    );
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(
        RealDisk::at(dir.path()).unwrap(),
        "log",
        LogOptions::default(),
    )
    .unwrap();
    for line in entries {
        log.append_blocking(line).unwrap();
    }
    drop(log);
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let complete = text.lines().filter(|line| line.starts_with('{'));
    complete
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_written_line_fits_the_schema() {
    let schema = jsonschema::validator_for(&line_schema()).unwrap();
    let lines = lines();
    assert_eq!(lines.len(), 9);
    for line in lines {
        let wrong: Vec<_> = schema.iter_errors(&line).map(|e| e.to_string()).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn missing_and_extra_members_do_not_fit() {
    let schema = jsonschema::validator_for(&line_schema()).unwrap();
    for line in lines() {
        let names: Vec<_> = line.as_object().unwrap().keys().cloned().collect();
        for name in names {
            let mut less = line.clone();
            less.as_object_mut().unwrap().shift_remove(&name);
            assert!(!schema.is_valid(&less), "without {name}: {line}");
        }
        let mut more = line.clone();
        more["content"] = json!("secret");
        assert!(!schema.is_valid(&more));
    }
}

#[test]
fn contradictory_results_do_not_fit() {
    let schema = jsonschema::validator_for(&line_schema()).unwrap();
    for line in lines() {
        let mut other = line.clone();
        other["result"] = match line["result"].as_str() {
            Some("ok") => json!("error"),
            _ => json!("ok"),
        };
        assert!(!schema.is_valid(&other), "{line}");
    }
}
