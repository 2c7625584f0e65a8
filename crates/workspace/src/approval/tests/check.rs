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
    let elsewhere = Approval::new(plan(), "/srv/other", "anna", at(1000), at(2000)).unwrap();
    let elsewhere = approval_file("a", &sign_approval(&key(1), elsewhere).unwrap());
    let refused = check_at(at(1500), &[elsewhere]).unwrap_err();
    assert!(matches!(refused, NotApproved::OtherRoot { root, .. } if root == "/srv/other"));
    let another = Approval::new(hash("other"), ROOT, "anna", at(1000), at(2000)).unwrap();
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
    let again = Approval::new(plan(), ROOT, "anna", at(1501), at(1900)).unwrap();
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
        let approval = Approval::new(plan(), ROOT, name, at(1000), at(end)).unwrap();
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
