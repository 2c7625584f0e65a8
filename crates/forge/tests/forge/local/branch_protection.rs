//! Statuses and protection rules, and what they make of a pull request.

use crate::fixture::local::{
    ALL, LocalFixture, branch, hello, reading_context, repo, unmergeable_reason,
};
use candor_forge::local::{BranchProtection, BranchRules, LocalForgeError};
use candor_forge::{
    CheckState, CommitCheck, CommitChecks, Failure, Forge as _, MergeMethod, MissingItem, Revision,
    UnmergeableReason,
};
use std::collections::BTreeSet;

fn checks(names: &[&str]) -> BranchRules {
    BranchRules {
        required_checks: names.iter().map(|&name| name.to_owned()).collect(),
        ..BranchRules::default()
    }
}

async fn set(fixture: &LocalFixture, name: &str, state: CheckState) {
    let at = branch("feature/greeting");
    fixture
        .forge
        .set_status(&hello(), &at, name, state, None)
        .await
        .unwrap();
}

#[tokio::test]
async fn latest_state_of_each_status_is_returned() {
    let fixture = LocalFixture::new().await;
    let head = fixture.head("feature/greeting");
    set(&fixture, "not found", CheckState::Failed).await;
    set(&fixture, "Zed", CheckState::Passed).await;
    set(&fixture, "not found", CheckState::Pending).await;
    let (context, hello) = (reading_context(), hello());
    let found = fixture
        .forge
        .checks(&context, &hello, &head[..7])
        .await
        .unwrap();
    let check = |name: &str, state, conclusion: &str| CommitCheck {
        name: name.into(),
        state,
        conclusion: conclusion.into(),
        url: None,
    };
    let expected = CommitChecks {
        sha: head,
        checks: vec![
            check("Zed", CheckState::Passed, "success"),
            check("ci/test", CheckState::Passed, "success"),
            check("not found", CheckState::Pending, "pending"),
        ],
        unavailable: Vec::new(),
        truncated: false,
    };
    assert_eq!(found, expected);
    let none = fixture
        .forge
        .checks(&context, &hello, &fixture.head("main"))
        .await
        .unwrap();
    assert_eq!(none.checks, []);
    let missing = fixture.forge.checks(&context, &hello, "deadbeef").await;
    assert_eq!(
        missing,
        Err(Failure::Missing(MissingItem::Revision("deadbeef".into())))
    );
}

#[tokio::test]
async fn checks_make_a_pull_request_unstable_or_blocked() {
    let fixture = LocalFixture::new().await;
    set(&fixture, "lint", CheckState::Pending).await;
    assert_eq!(fixture.state(1).await, (Some(true), "unstable".to_owned()));
    let required = checks(&["ci/test", "lint", "other"]);
    fixture
        .forge
        .protect(&hello(), "main", &required)
        .await
        .unwrap();
    assert_eq!(fixture.state(1).await, (Some(true), "blocked".to_owned()));
    let merged = fixture.merge(1, MergeMethod::Merge).await;
    let failing = vec!["lint".to_owned(), "other".to_owned()];
    assert_eq!(
        unmergeable_reason(merged),
        (UnmergeableReason::Blocked, "blocked".into(), failing)
    );
    // A conflict is reported before the rules.
    assert_eq!(
        unmergeable_reason(fixture.merge(2, MergeMethod::Merge).await).0,
        UnmergeableReason::Conflict
    );
    set(&fixture, "lint", CheckState::Passed).await;
    set(&fixture, "other", CheckState::Passed).await;
    assert_eq!(fixture.state(1).await, (Some(true), "clean".to_owned()));
    assert!(fixture.merge(1, MergeMethod::Merge).await.is_ok());
}

#[tokio::test]
async fn locked_branch_cannot_be_merged_into() {
    let fixture = LocalFixture::new().await;
    let locked = BranchRules {
        locked: true,
        ..BranchRules::default()
    };
    fixture
        .forge
        .protect(&hello(), "m*", &locked)
        .await
        .unwrap();
    assert_eq!(fixture.state(1).await.1, "blocked");
    let merged = fixture.merge(1, MergeMethod::Rebase).await;
    assert_eq!(
        unmergeable_reason(merged),
        (UnmergeableReason::Blocked, "blocked".into(), vec![])
    );
}

#[tokio::test]
async fn branch_for_pull_requests_only_accepts_a_merge() {
    let fixture = LocalFixture::new().await;
    let rules = BranchRules {
        require_pull_request: true,
        ..BranchRules::default()
    };
    fixture
        .forge
        .protect(&hello(), "main", &rules)
        .await
        .unwrap();
    assert_eq!(fixture.state(1).await.1, "clean");
    assert!(fixture.merge(1, MergeMethod::Squash).await.is_ok());
}

#[tokio::test]
async fn rules_are_stored_replaced_and_removed() {
    let fixture = LocalFixture::new().await;
    let hello = hello();
    fixture
        .forge
        .protect(&hello, "main", &checks(&["a"]))
        .await
        .unwrap();
    fixture
        .forge
        .protect(&hello, "main", &checks(&["b", "\"quoted\""]))
        .await
        .unwrap();
    fixture
        .forge
        .protect(&hello, "draft/*", &checks(&[]))
        .await
        .unwrap();
    let kept = fixture
        .forge
        .protections(&repo("Sample/Hello"))
        .await
        .unwrap();
    let expected = |branch: &str, rules| BranchProtection {
        branch: branch.into(),
        rules,
    };
    assert_eq!(
        kept,
        [
            expected("draft/*", checks(&[])),
            expected("main", checks(&["\"quoted\"", "b"]))
        ]
    );
    let listed = fixture
        .forge
        .branches(&reading_context(), &hello, ALL)
        .await
        .unwrap();
    let protected = listed
        .branches
        .into_iter()
        .filter(|branch| branch.protected);
    let protected: BTreeSet<String> = protected.map(|branch| branch.name).collect();
    assert_eq!(
        protected,
        ["draft/guide".to_owned(), "main".to_owned()].into()
    );
    assert!(fixture.forge.unprotect(&hello, "main").await.unwrap());
    assert!(!fixture.forge.unprotect(&hello, "main").await.unwrap());
    for bad in ["", "a b", "..", "-x/", "a//b", "x.lock"] {
        let refused = fixture.forge.protect(&hello, bad, &checks(&[])).await;
        assert!(
            matches!(refused, Err(LocalForgeError::BadPattern(_))),
            "{bad}: {refused:?}"
        );
    }
    let nowhere = fixture
        .forge
        .protect(&repo("a/b"), "main", &checks(&[]))
        .await;
    assert!(
        matches!(nowhere, Err(LocalForgeError::Failed(failure)) if *failure == Failure::Missing(MissingItem::Repository))
    );
    let nowhere = fixture
        .forge
        .set_status(&hello, &branch("nope"), "x", CheckState::Passed, None)
        .await;
    assert!(
        matches!(nowhere, Err(LocalForgeError::Failed(failure)) if *failure == Failure::Missing(MissingItem::Branch("nope".into())))
    );
    let sha = fixture
        .forge
        .set_status(
            &hello,
            &Revision::Default,
            "x",
            CheckState::Passed,
            Some("y"),
        )
        .await
        .unwrap();
    assert_eq!(sha, fixture.head("main"));
}
