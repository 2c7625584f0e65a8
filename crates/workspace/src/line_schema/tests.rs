use super::*;
use crate::audit_line::{
    Actor, call_line, command_recovery_line, command_start_line, settlement_line, torn_log_line,
};
use crate::command_starts::CommandStart;
use crate::dialect::Workspace;
use crate::failure::{BrokenInvariant, Failure, PlanFailure};
use crate::notes::{ApprovedBy, CommandRecord, Notes, Subject};
use crate::sandbox_record::describe_sandbox;
use crate::write::{ChangeOrigin, Settlement};
use candor_audit::{Hash, Log, LogOptions, TornBytes};
use candor_disk::RealDisk;
use candor_fault::dialects::Wire;
use candor_fault::{Fault, Timestamp, ToolOutput};
use candor_sandbox::{Held, HeldNetwork, Level, Missing, Namespace, Part};
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
        mode: Some("100644"),
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
    let commands = Notes {
        commands: Some(vec![CommandRecord {
            argv: vec![String::from("true")],
            ..CommandRecord::default()
        }]),
        sandbox: Some(describe_sandbox(
            &Held {
                level: Level::Landlock,
                namespaces: vec![Namespace::User],
                landlock: Some(3),
                seccomp: true,
                network: HeldNetwork::Machine,
                missing: vec![Missing {
                    part: Part::Mount,
                    why: String::from("EPERM"),
                }],
            },
            1,
            2,
        )),
        ..Notes::default()
    };
    let start = command_start_line(&actor(), "a session", at, &call(), &commands);
    let found = CommandStart {
        seq: 1,
        session_id: String::from("a session"),
        request_id: String::from("7"),
        line: Value::Object(start.clone()),
    };
    let mut entries = vec![
        start,
        command_recovery_line(&actor(), at, &found),
        line(CallOutcome::Done(&done), vec![]),
        line(CallOutcome::Done(&done), vec![subject("a")]),
        line(CallOutcome::Done(&done), vec![subject("a"), subject("b")]),
        line(CallOutcome::Refused(&unknown), vec![]),
        torn_log_line(&actor(), at, &torn),
        settlement_line(&actor(), at, &settled, Some(3)),
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
    let schema = jsonschema::validator_for(&line_schema_v2()).unwrap();
    let lines = lines();
    assert_eq!(lines.len(), 11);
    for line in lines {
        let wrong: Vec<_> = schema.iter_errors(&line).map(|e| e.to_string()).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn missing_and_extra_members_do_not_fit() {
    let schema = jsonschema::validator_for(&line_schema_v2()).unwrap();
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
    let schema = jsonschema::validator_for(&line_schema_v2()).unwrap();
    for line in lines() {
        let mut other = line.clone();
        other["result"] = match line["result"].as_str() {
            Some("ok") => json!("error"),
            _ => json!("ok"),
        };
        assert!(!schema.is_valid(&other), "{line}");
    }
}

/// A line as version 1 of this program wrote it.
const OLD_LINE: &str = r#"{"actor":{"candor":"0.1.0","client":null,"client_version":null,"os_user":"anna"},"approval":null,"args_hash":null,"cause":null,"duration_us":5,"effect":"none","envelope":null,"error_code":null,"hash":"0000000000000000000000000000000000000000000000000000000000000000","invariant_id":null,"phase_id":null,"plan_hash":null,"prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","request_id":"7","result":"ok","role":"WINDSURF","seq":1,"session_id":"a session","subject":{"after":null,"before":null,"bytes":3,"path":"a"},"timestamp":"2026-01-31T12:00:00.000Z","tool_name":"read_file","v":1}"#;

#[test]
fn lines_of_version_1_fit_their_own_schema_only() {
    let old: Value = serde_json::from_str(OLD_LINE).unwrap();
    let first = jsonschema::validator_for(&line_schema()).unwrap();
    let second = jsonschema::validator_for(&line_schema_v2()).unwrap();
    assert!(first.is_valid(&old) && !second.is_valid(&old));
    for line in lines() {
        assert!(!first.is_valid(&line), "{line}");
    }
}
