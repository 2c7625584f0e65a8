//! The files of approvals and revocations.

use super::*;
use crate::plan::Plan;
use crate::plan::store::{PLANS_DIR, save};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_sim_disk::{SimDisk, Trials};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::LazyLock;

/// Creates a root in which a plan is stored.
fn root() -> (tempfile::TempDir, RealDisk, PlanHash) {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::at(dir.path()).unwrap();
    let phase = json!({"id": "A", "allow": ["a"], "operations": ["create"]});
    let plan = json!({"title": "t", "objective": "o", "phase": [phase]});
    let (hash, _) = save(&disk, &Plan::from_value(&plan).unwrap()).unwrap();
    (dir, disk, hash)
}

fn signed(plan: &PlanHash, seed: u8, name: &str, end: i64) -> SignedStatement<Approval> {
    let approval = Approval::new(
        plan.clone(),
        ApprovalBinding::root(ROOT),
        name,
        at(1000),
        at(end),
    )
    .unwrap();
    sign_approval(&key(seed), approval).unwrap()
}

fn write_file(disk: &impl Disk, path: &str, bytes: &[u8]) {
    let file = disk.open(path, Open::Create(0o600)).unwrap();
    file.set_len(0).unwrap();
    file.append_all(bytes).unwrap();
}

#[test]
fn each_key_has_one_approval_of_a_plan() {
    let (dir, disk, plan) = root();
    let first = save_approval(&disk, &signed(&plan, 1, "anna", 2000)).unwrap();
    save_approval(&disk, &signed(&plan, 2, "bo", 2000)).unwrap();
    let again = save_approval(&disk, &signed(&plan, 1, "anna", 3000)).unwrap();
    assert_eq!(first, again);
    let all = find_approvals(&disk, &plan).unwrap();
    assert_eq!(all.len(), 2);
    let anna = all.iter().find(|entry| entry.file == first).unwrap();
    let anna = anna.approval.as_ref().unwrap();
    assert_eq!(anna.statement().not_after, StatementTime::at(at(3000)));
    assert_eq!(find_approvals(&disk, &hash("other")).unwrap(), []);

    let plans = dir.path().join(PLANS_DIR);
    let name = |text: &str| plans.join(format!("{plan}.{text}.approval.json"));
    fs::write(name("a"), "x".repeat(MAX_STATEMENT_BYTES + 1)).unwrap();
    fs::write(name("b"), "[]").unwrap();
    fs::write(name("c"), "{}").unwrap();
    fs::create_dir(name("d")).unwrap();
    symlink("nowhere", name("e")).unwrap();
    fs::write(name("f"), "[".repeat(MAX_STATEMENT_BYTES)).unwrap();
    let bad = find_approvals(&disk, &plan).unwrap().into_iter();
    let bad: Vec<_> = bad.filter_map(|entry| entry.approval.err()).collect();
    let no_key = SignedError::Members("there is no key_id".to_owned());
    assert_eq!(
        bad,
        [
            SignedError::TooLarge,
            SignedError::NotJson,
            no_key,
            SignedError::NotJson,
            SignedError::NotJson,
            SignedError::NotJson,
        ]
    );
    for number in 0..100 {
        fs::write(name(&format!("x{number}")), "").unwrap();
    }
    assert_eq!(find_approvals(&disk, &plan).unwrap().len(), MAX_APPROVALS);
}

#[test]
fn invalid_file_among_revocations_is_an_error() {
    let state = SimDisk::new(0);
    assert_eq!(load_revocations(&state).unwrap(), Revocations::default());
    let revocation = Revocation::new(RevocationTarget::Plan(plan()), ROOT, "bo", at(1500)).unwrap();
    let signed = revoke(&state, &key(2), revocation).unwrap();
    let all = load_revocations(&state).unwrap();
    assert_eq!(all.all(), std::slice::from_ref(&signed));
    let name = state.list(REVOCATIONS_DIR).unwrap()[0].clone();
    let name = format!("{REVOCATIONS_DIR}/{}", name.to_str().unwrap());

    let changed = signed.to_file().replace("00:25:00", "00:05:00");
    write_file(&state, &name, changed.as_bytes());
    let unsound = load_revocations(&state).unwrap_err();
    let bad = SignedError::BadSignature;
    assert!(matches!(unsound, RevocationError::Unsound { why, .. } if why == bad));
    write_file(&state, &name, b"");
    assert!(matches!(
        load_revocations(&state),
        Err(RevocationError::Unsound { .. })
    ));
    write_file(&state, &name, signed.to_file().as_bytes());
    assert!(load_revocations(&state).is_ok());

    write_file(&state, "revocations/.half.json.0.tmp", b"half");
    assert!(load_revocations(&state).is_ok());
    let other = "revocations/other.json";
    write_file(&state, other, signed.to_file().as_bytes());
    assert!(matches!(
        load_revocations(&state),
        Err(RevocationError::Misnamed { .. })
    ));
    write_file(&state, other, b"x");
    assert!(matches!(
        load_revocations(&state),
        Err(RevocationError::Unsound { .. })
    ));
    state.unlink(other).unwrap();
    state.create_dir("revocations/dir", 0o700).unwrap();
    assert!(load_revocations(&state).is_err());
}

#[test]
fn too_many_revocations_are_refused() {
    let state = SimDisk::new(0);
    state.create_dir(REVOCATIONS_DIR, 0o700).unwrap();
    for number in 0..=MAX_REVOCATIONS {
        let name = format!("{REVOCATIONS_DIR}/{number}");
        state.open(name, Open::CreateNew(0o600)).unwrap();
    }
    assert!(matches!(
        load_revocations(&state),
        Err(RevocationError::TooMany)
    ));
}

#[test]
fn saved_revocation_survives_any_fault() {
    let revocation = Revocation::new(RevocationTarget::Plan(plan()), ROOT, "bo", at(1500)).unwrap();
    let signed = SignedStatement::sign(&key(2), revocation).unwrap();
    let workload = |disk: &SimDisk| {
        if save_revocation(disk, &signed).is_ok() {
            disk.mark("revoked");
        }
    };
    let check = |disk: &SimDisk, promised: &[String]| {
        let all = load_revocations(disk).unwrap();
        assert!(all.all().len() >= promised.len());
    };
    Trials::new()
        .images(4)
        .crash_after_faults()
        .run(workload, check)
        .unwrap();
}

#[test]
fn file_contains_everything_for_its_check() {
    let binding = ApprovalBinding {
        root: Some(ROOT.to_owned()),
        repository: Some(roots(&["a", "b"])),
    };
    let approval = Approval::new(plan(), binding, "Anna é", at(1000), at(2000)).unwrap();
    let text = sign_approval(&key(1), approval.clone()).unwrap().to_file();
    let mut lines: Vec<_> = text.lines().collect();
    let signature = lines.remove(13);
    assert!(signature.starts_with("  \"signature\": \"-----BEGIN SSH SIGNATURE-----\\n"));
    let (plan, a, b) = (plan(), "a".repeat(40), "b".repeat(40));
    let expected = format!(
        r#"{{
  "v": 2,
  "kind": "approval",
  "plan_hash": "{plan}",
  "root": "/srv/project",
  "repository": [
    "{a}",
    "{b}"
  ],
  "approver": "Anna é",
  "approved_at": "1970-01-01T00:16:40.000Z",
  "not_after": "1970-01-01T00:33:20.000Z",
  "key_id": "{}",
}}"#,
        key(1).key_id()
    );
    assert_eq!(lines.join("\n"), expected);
    let message = String::from_utf8(SignedStatement::message(&approval)).unwrap();
    let expected = format!(
        "{{\"approved_at\":\"1970-01-01T00:16:40.000Z\",\"approver\":\"Anna é\",\
         \"kind\":\"approval\",\"not_after\":\"1970-01-01T00:33:20.000Z\",\
         \"plan_hash\":\"{plan}\",\"repository\":[\"{a}\",\"{b}\"],\"root\":\"/srv/project\",\"v\":2}}"
    );
    assert_eq!(message, expected);
}

/// An approval of version 1, signed with key 1 by `ssh-keygen`.
const VERSION_1: &str = include_str!("approval_v1.json");

#[test]
fn approval_of_version_1_keeps_its_bytes() {
    let signed = SignedStatement::<Approval>::read(VERSION_1.as_bytes()).unwrap();
    assert_eq!(signed.to_file(), VERSION_1);
    assert_eq!(signed.key_id(), key(1).key_id());
    assert_eq!(signed.statement().binding, ApprovalBinding::root(ROOT));
    let message = String::from_utf8(SignedStatement::message(signed.statement())).unwrap();
    let plan = plan();
    let expected = format!(
        "{{\"approved_at\":\"1970-01-01T00:16:40.000Z\",\"approver\":\"anna\",\
         \"kind\":\"approval\",\"not_after\":\"1970-01-01T00:33:20.000Z\",\
         \"plan_hash\":\"{plan}\",\"root\":\"/srv/project\",\"v\":1}}"
    );
    assert_eq!(message, expected);
    // An Ed25519 key makes the same signature of the same bytes.
    let again = sign_approval(&key(1), signed.statement().clone()).unwrap();
    assert_eq!(again, signed);
    for changed in [
        VERSION_1.replace("\"v\": 1", "\"v\": 2"),
        VERSION_1.replace("\"root\"", "\"repository\": null,\n  \"root\""),
    ] {
        let refused = SignedStatement::<Approval>::read(changed.as_bytes());
        assert_eq!(refused, Err(SignedError::BadSignature));
    }
}

#[test]
fn signed_but_forged_members_are_refused() {
    let (root, list) = (json!(ROOT), json!(["a".repeat(40)]));
    let sign = |version: u32, root: Option<&Value>, repository: Option<&Value>| {
        let mut members = json!({
            "v": version,
            "kind": "approval",
            "plan_hash": plan(),
            "approver": "anna",
            "approved_at": "1970-01-01T00:16:40.000Z",
            "not_after": "1970-01-01T00:33:20.000Z",
        });
        if let Some(root) = root {
            members["root"] = root.clone();
        }
        if let Some(repository) = repository {
            members["repository"] = repository.clone();
        }
        let message = candor_audit::canonical(members.as_object().unwrap()).unwrap();
        members["key_id"] = json!(key(1).key_id().to_string());
        members["signature"] = json!(key(1).sign(NAMESPACE, &message).unwrap());
        SignedStatement::<Approval>::read(members.to_string().as_bytes())
    };
    assert!(sign(1, Some(&root), None).is_ok());
    assert!(sign(2, Some(&root), Some(&list)).is_ok());
    assert!(sign(2, Some(&Value::Null), Some(&list)).is_ok());
    assert!(sign(2, Some(&root), Some(&Value::Null)).is_ok());
    let neither = sign(2, Some(&Value::Null), Some(&Value::Null));
    assert_eq!(
        neither,
        Err(SignedError::Statement(StatementError::Binding))
    );
    let upper = json!(["A".repeat(40)]);
    let unsorted = json!(["b".repeat(40), "a".repeat(40)]);
    for (version, root, repository) in [
        (1, Some(&root), Some(&list)),
        (1, Some(&root), Some(&Value::Null)),
        (1, Some(&Value::Null), None),
        (1, None, None),
        (2, Some(&root), None),
        (2, None, Some(&list)),
        (2, None, None),
        (2, Some(&Value::Null), Some(&json!([]))),
        (2, Some(&root), Some(&json!([]))),
        (2, Some(&Value::Null), Some(&upper)),
        (2, Some(&Value::Null), Some(&unsorted)),
        (3, Some(&root), Some(&list)),
        (0, Some(&root), None),
    ] {
        let refused = sign(version, root, repository);
        let is_refused = matches!(refused, Err(SignedError::Members(_)));
        assert!(is_refused, "{version} {root:?} {repository:?}: {refused:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_files_are_refused(
        name in "[a-z_]{0,9}|key_id|signature|kind|v",
        value in "[\\[\\]{}\",:a-z0-9.-]{0,20}",
    ) {
        let file = signed_once().to_file();
        let added = file.replacen('{', &format!("{{\"{name}\":{value},"), 1);
        if let Ok(read) = SignedStatement::<Approval>::read(added.as_bytes()) {
            prop_assert_eq!(&read, signed_once());
        }
        prop_assert!(SignedStatement::<Approval>::read(value.as_bytes()).is_err());
    }
}

/// Returns one shared approval, because signing takes a while.
fn signed_once() -> &'static SignedStatement<Approval> {
    static SIGNED: LazyLock<SignedStatement<Approval>> =
        LazyLock::new(|| signed(&plan(), 1, "anna", 2000));
    &SIGNED
}
