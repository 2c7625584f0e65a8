//! Statuses and protection rules, and what they make of a pull request.

use crate::ground::{ALL, Ground, branch, hello, reading, repo, why};
use candor_forge::local::{Protection, Refused, Rules};
use candor_forge::{
    Check, CheckState, Checks, Failure, Forge as _, MergeMethod, Missing, Revision, Why,
};
use std::collections::BTreeSet;

fn checks(names: &[&str]) -> Rules {
    Rules {
        required_checks: names.iter().map(|&name| name.to_owned()).collect(),
        ..Rules::default()
    }
}

async fn set(ground: &Ground, name: &str, state: CheckState) {
    let at = branch("feature/greeting");
    ground
        .forge
        .set_status(&hello(), &at, name, state, None)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_last_word_of_each_status_is_told() {
    let ground = Ground::new().await;
    let head = ground.head("feature/greeting");
    set(&ground, "not found", CheckState::Failed).await;
    set(&ground, "Zed", CheckState::Passed).await;
    set(&ground, "not found", CheckState::Pending).await;
    let (turn, hello) = (reading(), hello());
    let found = ground
        .forge
        .checks(&turn, &hello, &head[..7])
        .await
        .unwrap();
    let check = |name: &str, state, conclusion: &str| Check {
        name: name.into(),
        state,
        conclusion: conclusion.into(),
        url: None,
    };
    let wanted = Checks {
        sha: head,
        checks: vec![
            check("Zed", CheckState::Passed, "success"),
            check("ci/test", CheckState::Passed, "success"),
            check("not found", CheckState::Pending, "pending"),
        ],
    };
    assert_eq!(found, wanted);
    let none = ground
        .forge
        .checks(&turn, &hello, &ground.head("main"))
        .await
        .unwrap();
    assert_eq!(none.checks, []);
    let missing = ground.forge.checks(&turn, &hello, "deadbeef").await;
    assert_eq!(
        missing,
        Err(Failure::Missing(Missing::Revision("deadbeef".into())))
    );
}

#[tokio::test]
async fn checks_make_a_pull_request_unstable_or_blocked() {
    let ground = Ground::new().await;
    set(&ground, "lint", CheckState::Pending).await;
    assert_eq!(ground.state(1).await, (Some(true), "unstable".to_owned()));
    let required = checks(&["ci/test", "lint", "other"]);
    ground
        .forge
        .protect(&hello(), "main", &required)
        .await
        .unwrap();
    assert_eq!(ground.state(1).await, (Some(true), "blocked".to_owned()));
    let merged = ground.merge(1, MergeMethod::Merge).await;
    let failing = vec!["lint".to_owned(), "other".to_owned()];
    assert_eq!(why(merged), (Why::Blocked, "blocked".into(), failing));
    // A conflict is told before the rules.
    assert_eq!(
        why(ground.merge(2, MergeMethod::Merge).await).0,
        Why::Conflict
    );
    set(&ground, "lint", CheckState::Passed).await;
    set(&ground, "other", CheckState::Passed).await;
    assert_eq!(ground.state(1).await, (Some(true), "clean".to_owned()));
    assert!(ground.merge(1, MergeMethod::Merge).await.is_ok());
}

#[tokio::test]
async fn nobody_merges_into_a_locked_branch() {
    let ground = Ground::new().await;
    let locked = Rules {
        locked: true,
        ..Rules::default()
    };
    ground.forge.protect(&hello(), "m*", &locked).await.unwrap();
    assert_eq!(ground.state(1).await.1, "blocked");
    let merged = ground.merge(1, MergeMethod::Rebase).await;
    assert_eq!(why(merged), (Why::Blocked, "blocked".into(), vec![]));
}

#[tokio::test]
async fn a_branch_that_takes_pull_requests_only_takes_them() {
    let ground = Ground::new().await;
    let rules = Rules {
        require_pull_request: true,
        ..Rules::default()
    };
    ground
        .forge
        .protect(&hello(), "main", &rules)
        .await
        .unwrap();
    assert_eq!(ground.state(1).await.1, "clean");
    assert!(ground.merge(1, MergeMethod::Squash).await.is_ok());
}

#[tokio::test]
async fn rules_are_kept_replaced_and_taken_away() {
    let ground = Ground::new().await;
    let hello = hello();
    ground
        .forge
        .protect(&hello, "main", &checks(&["a"]))
        .await
        .unwrap();
    ground
        .forge
        .protect(&hello, "main", &checks(&["b", "\"quoted\""]))
        .await
        .unwrap();
    ground
        .forge
        .protect(&hello, "draft/*", &checks(&[]))
        .await
        .unwrap();
    let kept = ground
        .forge
        .protections(&repo("Sample/Hello"))
        .await
        .unwrap();
    let wanted = |branch: &str, rules| Protection {
        branch: branch.into(),
        rules,
    };
    assert_eq!(
        kept,
        [
            wanted("draft/*", checks(&[])),
            wanted("main", checks(&["\"quoted\"", "b"]))
        ]
    );
    let listed = ground
        .forge
        .branches(&reading(), &hello, ALL)
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
    assert!(ground.forge.unprotect(&hello, "main").await.unwrap());
    assert!(!ground.forge.unprotect(&hello, "main").await.unwrap());
    for bad in ["", "a b", "..", "-x/", "a//b", "x.lock"] {
        let refused = ground.forge.protect(&hello, bad, &checks(&[])).await;
        assert!(
            matches!(refused, Err(Refused::BadPattern(_))),
            "{bad}: {refused:?}"
        );
    }
    let nowhere = ground
        .forge
        .protect(&repo("a/b"), "main", &checks(&[]))
        .await;
    assert!(
        matches!(nowhere, Err(Refused::Failed(failure)) if *failure == Failure::Missing(Missing::Repository))
    );
    let nowhere = ground
        .forge
        .set_status(&hello, &branch("nope"), "x", CheckState::Passed, None)
        .await;
    assert!(
        matches!(nowhere, Err(Refused::Failed(failure)) if *failure == Failure::Missing(Missing::Branch("nope".into())))
    );
    let sha = ground
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
    assert_eq!(sha, ground.head("main"));
}
