//! Checks of valid and invalid approvals.

use super::*;
use crate::approval::revocation::Revocations;
use candor_sim_disk::SimDisk;

fn check_at(now: Timestamp, approvals: &[ApprovalFile]) -> Result<ValidApproval, NotApproved> {
    check_with_revocations(now, approvals, &Revocations::default())
}

fn check_with_revocations(
    now: Timestamp,
    approvals: &[ApprovalFile],
    revocations: &Revocations,
) -> Result<ValidApproval, NotApproved> {
    check(&ApprovalQuery {
        plan: &plan(),
        root: ROOT,
        repository: &|| panic!("no approval is bound to a repository"),
        now,
        signers: &signers(),
        approvals,
        revocations,
    })
}

/// Returns revocations of these targets, signed by bo.
fn revocations_of(subjects: &[(RevocationTarget, i64)]) -> Revocations {
    let state = SimDisk::new(0);
    for (subject, second) in subjects {
        let revocation = Revocation::new(subject.clone(), ROOT, "bo", at(*second)).unwrap();
        revoke(&state, &key(2), revocation).unwrap();
    }
    load_revocations(&state).unwrap()
}

#[test]
fn approval_holds_from_its_first_instant_to_its_last() {
    let signed = sign_approval(&key(1), approval("anna")).unwrap();
    let all = [approval_file("a", &signed)];
    let expected = ValidApproval {
        id: signed.id(),
        approver: "anna".to_owned(),
        key_id: key(1).key_id(),
        not_after: StatementTime::at(at(2000)),
        binding: ApprovalBinding::root(ROOT),
    };
    assert_eq!(check_at(at(1000), &all), Ok(expected.clone()));
    assert_eq!(check_at(at(2000), &all), Ok(expected));
    let after = Timestamp::from_nanosecond(2_000_000_000_001).unwrap();
    let message = check_at(after, &all).unwrap_err().to_string();
    assert_eq!(
        message,
        "the approval of \"anna\" ended at 1970-01-01T00:33:20.000Z"
    );
    let before = Timestamp::from_nanosecond(999_999_999_999).unwrap();
    assert!(matches!(
        check_at(before, &all),
        Err(NotApproved::NotYet { .. })
    ));
    assert_eq!(check_at(at(1500), &[]), Err(NotApproved::Draft));
}

#[test]
fn only_the_key_of_the_approver_counts() {
    let sign = |seed, name| approval_file("a", &sign_approval(&key(seed), approval(name)).unwrap());
    let foreign = check_at(at(1500), &[sign(9, "anna")]).unwrap_err();
    assert!(matches!(foreign, NotApproved::Foreign { key_id, .. } if key_id == key(9).key_id()));
    let other = check_at(at(1500), &[sign(2, "anna")]).unwrap_err();
    assert!(matches!(other, NotApproved::OtherName { .. }));
    let elsewhere = Approval::new(
        plan(),
        ApprovalBinding::root("/srv/other"),
        "anna",
        at(1000),
        at(2000),
    )
    .unwrap();
    let elsewhere = approval_file("a", &sign_approval(&key(1), elsewhere).unwrap());
    let refused = check_at(at(1500), &[elsewhere]).unwrap_err();
    assert!(matches!(refused, NotApproved::OtherRoot { root, .. } if root == "/srv/other"));
    let another = Approval::new(
        hash("other"),
        ApprovalBinding::root(ROOT),
        "anna",
        at(1000),
        at(2000),
    )
    .unwrap();
    let another = approval_file("a", &sign_approval(&key(1), another).unwrap());
    let refused = check_at(at(1500), &[another]).unwrap_err();
    assert!(matches!(refused, NotApproved::OtherPlan { plan, .. } if plan == hash("other")));
}

#[test]
fn key_must_be_valid_at_signing_and_now() {
    let line = key(1).public_line();
    let all = [approval_file(
        "a",
        &sign_approval(&key(1), approval("anna")).unwrap(),
    )];
    let check_at = |options: &str, now| {
        let signers = Signers::parse(&format!("anna {options} {line}")).unwrap();
        check(&ApprovalQuery {
            plan: &plan(),
            root: ROOT,
            repository: &|| panic!("no approval is bound to a repository"),
            now: at(now),
            signers: &signers,
            approvals: &all,
            revocations: &Revocations::default(),
        })
    };
    let invalid = |answer| matches!(answer, Err(NotApproved::KeyNotValid { .. }));
    let before = "valid-before=\"19700101002500Z\"";
    assert!(check_at(before, 1500).is_ok());
    assert!(invalid(check_at(before, 1501)));
    let after = "valid-after=\"19700101001640Z\"";
    assert!(check_at(after, 1500).is_ok());
    assert!(invalid(check_at("valid-after=\"19700101001641Z\"", 1500)));
    assert!(invalid(check_at("namespaces=\"git\"", 1500)));
}

#[test]
fn changed_byte_invalidates_an_approval() {
    let signed = sign_approval(&key(1), approval("anna")).unwrap();
    let file = signed.to_file();
    // Every fourth byte, because each check is slow.
    for (index, byte) in file.bytes().enumerate().step_by(4) {
        let mut bytes = file.clone().into_bytes();
        bytes[index] ^= 1;
        // White space between members has no meaning.
        if !byte.is_ascii_whitespace() {
            assert!(
                SignedStatement::<Approval>::read(&bytes).is_err(),
                "{index}"
            );
        }
    }
    let crlf = file.replace('\n', "\r\n");
    assert_eq!(SignedStatement::read(crlf.as_bytes()), Ok(signed));
    let longer = file.replace("00:33:20", "23:33:20");
    let longer = ApprovalFile {
        file: "a".to_owned(),
        approval: SignedStatement::read(longer.as_bytes()),
    };
    let refused = check_at(at(1500), &[longer]).unwrap_err();
    assert_eq!(
        refused,
        NotApproved::BadSignature {
            file: "a".to_owned()
        }
    );
}

#[test]
fn approval_and_revocation_are_not_interchangeable() {
    let revocation = Revocation::new(RevocationTarget::Plan(plan()), ROOT, "anna", at(1)).unwrap();
    let signed = SignedStatement::sign(&key(1), revocation).unwrap();
    let read = SignedStatement::<Approval>::read(signed.to_file().as_bytes());
    assert!(matches!(read, Err(SignedError::Members(_))), "{read:?}");
    let signed = sign_approval(&key(1), approval("anna")).unwrap();
    let read = SignedStatement::<Revocation>::read(signed.to_file().as_bytes());
    assert!(matches!(read, Err(SignedError::Members(_))), "{read:?}");
}

#[test]
fn revocation_covers_approvals_signed_before_it() {
    let old = approval_file("a", &sign_approval(&key(1), approval("anna")).unwrap());
    let by_plan = |second| revocations_of(&[(RevocationTarget::Plan(plan()), second)]);
    let refused =
        check_with_revocations(at(1600), std::slice::from_ref(&old), &by_plan(1500)).unwrap_err();
    let expected = "the approval was revoked by \"bo\" at 1970-01-01T00:25:00.000Z";
    assert_eq!(refused.to_string(), expected);
    assert!(check_with_revocations(at(1600), std::slice::from_ref(&old), &by_plan(1000)).is_err());
    assert!(check_with_revocations(at(1600), std::slice::from_ref(&old), &by_plan(999)).is_ok());
    // A revoked approval is reported as revoked even after its end.
    let late =
        check_with_revocations(at(9000), std::slice::from_ref(&old), &by_plan(1500)).unwrap_err();
    assert!(matches!(late, NotApproved::Revoked { .. }));
    let other = revocations_of(&[(RevocationTarget::Plan(hash("other")), 1500)]);
    assert!(check_with_revocations(at(1600), std::slice::from_ref(&old), &other).is_ok());

    // An approval after the revocation is a new one; the old file restores nothing.
    let again = Approval::new(
        plan(),
        ApprovalBinding::root(ROOT),
        "anna",
        at(1501),
        at(1900),
    )
    .unwrap();
    let again = approval_file("b", &sign_approval(&key(1), again).unwrap());
    let approved = check_with_revocations(at(1600), &[old, again], &by_plan(1500)).unwrap();
    assert_eq!(approved.not_after, StatementTime::at(at(1900)));
}

#[test]
fn revoked_key_approves_nothing() {
    let anna = revocations_of(&[(RevocationTarget::Key(key(1).key_id()), 500)]);
    let one = approval_file("a", &sign_approval(&key(1), approval("anna")).unwrap());
    let two = approval_file("b", &sign_approval(&key(2), approval("bo")).unwrap());
    let refused = check_with_revocations(at(1500), std::slice::from_ref(&one), &anna).unwrap_err();
    assert!(matches!(refused, NotApproved::Revoked { .. }));
    assert_eq!(
        check_with_revocations(at(1500), &[one, two], &anna)
            .unwrap()
            .approver,
        "bo"
    );
}

#[test]
fn order_of_the_files_does_not_matter() {
    let sign = |file: &str, seed, name, end| {
        let approval =
            Approval::new(plan(), ApprovalBinding::root(ROOT), name, at(1000), at(end)).unwrap();
        approval_file(file, &sign_approval(&key(seed), approval).unwrap())
    };
    let mut all = vec![
        sign("a", 1, "anna", 1400),
        sign("b", 2, "bo", 1600),
        sign("c", 1, "anna", 1700),
        sign("d", 2, "bo", 1700),
        sign("e", 9, "bo", 1800),
    ];
    let first = key(1).key_id().min(key(2).key_id());
    let forward = check_at(at(1500), &all).unwrap();
    assert_eq!(forward.not_after, StatementTime::at(at(1700)));
    assert_eq!(forward.key_id, first);
    for _ in 0..all.len() {
        all.rotate_left(1);
        assert_eq!(check_at(at(1500), &all), Ok(forward.clone()));
        let late = check_at(at(1900), &all).unwrap_err();
        assert!(matches!(late, NotApproved::Expired { .. }), "{late:?}");
    }
}

/// The root and the repository of an approval, and the expected answer of each lookup.
type BindingRow = (
    Option<&'static str>,
    Option<&'static [&'static str]>,
    [&'static str; 4],
);

#[test]
fn approval_holds_at_its_root_and_in_its_repository() {
    const OTHER: &str = "/srv/other";
    let here = || Ok(roots(&["1", "5"]));
    let shallow = || Err(RepositoryError::Shallow);
    let elsewhere = || Ok(roots(&["7"]));
    let more = || Ok(roots(&["1", "3", "5"]));
    type Lookup = fn() -> Result<RootCommits, RepositoryError>;
    let lookups: [Lookup; 4] = [here, more, elsewhere, shallow];
    let none: Option<&[&str]> = None;
    let table: [BindingRow; 9] = [
        (Some(ROOT), none, ["holds"; 4]),
        (Some(OTHER), none, ["root"; 4]),
        (
            Some(ROOT),
            Some(&["1", "5"]),
            ["holds", "holds", "repository", "unknown"],
        ),
        (
            Some(ROOT),
            Some(&["1"]),
            ["holds", "holds", "repository", "unknown"],
        ),
        (
            Some(ROOT),
            Some(&["7"]),
            ["repository", "repository", "holds", "unknown"],
        ),
        (Some(OTHER), Some(&["1"]), ["root"; 4]),
        (
            None,
            Some(&["5"]),
            ["holds", "holds", "repository", "unknown"],
        ),
        (
            None,
            Some(&["1", "3"]),
            ["repository", "holds", "repository", "unknown"],
        ),
        (
            None,
            Some(&["1", "7"]),
            ["repository", "repository", "repository", "unknown"],
        ),
    ];
    for (root, repository, expected) in table {
        let binding = ApprovalBinding {
            root: root.map(str::to_owned),
            repository: repository.map(roots),
        };
        let approval = Approval::new(plan(), binding.clone(), "anna", at(1000), at(2000)).unwrap();
        let approvals = [approval_file(
            "a",
            &sign_approval(&key(1), approval).unwrap(),
        )];
        for (lookup, expected) in lookups.iter().zip(expected) {
            let answer = check(&ApprovalQuery {
                plan: &plan(),
                root: ROOT,
                repository: lookup,
                now: at(1500),
                signers: &signers(),
                approvals: &approvals,
                revocations: &Revocations::default(),
            });
            let name = match &answer {
                Ok(valid) => {
                    assert_eq!(valid.binding, binding);
                    "holds"
                }
                Err(NotApproved::OtherRoot { .. }) => "root",
                Err(NotApproved::OtherRepository { .. }) => "repository",
                Err(NotApproved::UnknownRepository { .. }) => "unknown",
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(name, expected, "{binding:?} in {:?}", lookup());
        }
    }
}

/// Returns an approval by anna, made at 1000, that is bound to a repository only.
fn repository_approval(digits: &[&str]) -> ApprovalFile {
    let binding = ApprovalBinding {
        root: None,
        repository: Some(roots(digits)),
    };
    let approval = Approval::new(plan(), binding, "anna", at(1000), at(2000)).unwrap();
    approval_file("a", &sign_approval(&key(1), approval).unwrap())
}

#[test]
fn messages_name_the_repository() {
    let ask = |lookup: &dyn Fn() -> Result<RootCommits, RepositoryError>| {
        let approvals = [repository_approval(&["1", "5"])];
        let refused = check(&ApprovalQuery {
            plan: &plan(),
            root: ROOT,
            repository: lookup,
            now: at(1500),
            signers: &signers(),
            approvals: &approvals,
            revocations: &Revocations::default(),
        });
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        ask(&|| Ok(roots(&["7"]))),
        "\"anna\" approved the plan for the repository 111111111111 and 1 more root commit only, and HEAD of this workspace belongs to 777777777777"
    );
    assert_eq!(
        ask(&|| Err(RepositoryError::Shallow)),
        "\"anna\" approved the plan for the repository 111111111111 and 1 more root commit only, and that of this workspace is not known: the repository is a shallow clone, without its root commits"
    );
}

#[test]
fn repository_is_looked_up_only_for_approvals_that_hold_otherwise() {
    let bound = repository_approval(&["1"]);
    let foreign = {
        let signed = bound.approval.as_ref().unwrap().statement().clone();
        approval_file("b", &sign_approval(&key(9), signed).unwrap())
    };
    let revoked = revocations_of(&[(RevocationTarget::Plan(plan()), 1200)]);
    let none = Revocations::default();
    let cases: [(&ApprovalFile, i64, &Revocations); 4] = [
        (&foreign, 1500, &none),
        (&bound, 900, &none),
        (&bound, 2001, &none),
        (&bound, 1500, &revoked),
    ];
    for (approval, now, revocations) in cases {
        let answer = check_with_revocations(at(now), std::slice::from_ref(approval), revocations);
        assert!(answer.is_err());
    }
}

#[test]
fn revocation_of_another_clone_covers_approvals_without_a_root() {
    let shared = |subjects: &[(RevocationTarget, i64)]| {
        Revocations::default().with_shared(revocations_of(subjects))
    };
    let of_plan = shared(&[(RevocationTarget::Plan(plan()), 1200)]);
    let of_key = shared(&[(RevocationTarget::Key(key(1).key_id()), 1200)]);
    let own_key = revocations_of(&[(RevocationTarget::Key(key(1).key_id()), 1200)]);
    let ask = |file: &ApprovalFile, revocations: &Revocations| {
        check(&ApprovalQuery {
            plan: &plan(),
            root: ROOT,
            repository: &|| Ok(roots(&["1"])),
            now: at(1500),
            signers: &signers(),
            approvals: std::slice::from_ref(file),
            revocations,
        })
    };
    let bound = repository_approval(&["1"]);
    let refused = ask(&bound, &of_plan).unwrap_err();
    assert!(matches!(refused, NotApproved::Revoked { .. }), "{refused}");
    // A key is revoked for one workspace.
    assert!(ask(&bound, &of_key).is_ok());
    assert!(ask(&bound, &own_key).is_err());
    let own = revocations_of(&[(RevocationTarget::Plan(plan()), 1200)]);
    assert!(ask(&bound, &own).is_err());
    // An approval for this path is revoked here.
    let here = approval_file("a", &sign_approval(&key(1), approval("anna")).unwrap());
    assert!(ask(&here, &of_plan).is_ok());
    assert!(ask(&here, &own).is_err());
}
