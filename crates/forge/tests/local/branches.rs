//! Branches that are made and deleted.

use crate::ground::{Ground, branch, effect, hello, named, reading, writing};
use candor_fault::Effect;
use candor_forge::local::Rules;
use candor_forge::{Branch, Failure, Forge as _, Missing, Revision, Unmet};
use candor_street::CallStopped;

async fn make(ground: &Ground, name: &str, from: &Revision) -> Result<Branch, Failure> {
    let turn = writing();
    let made = ground
        .forge
        .create_branch(&turn, &hello(), name, from)
        .await;
    assert_eq!(turn.mark.effect(), effect(&made));
    made
}

async fn delete(ground: &Ground, name: &str) -> Result<(), Failure> {
    let turn = writing();
    let gone = ground.forge.delete_branch(&turn, &hello(), name).await;
    assert_eq!(turn.mark.effect(), effect(&gone));
    gone
}

#[tokio::test]
async fn a_branch_is_made_at_a_revision() {
    let ground = Ground::new().await;
    let head = ground.head("conflict");
    let made = make(&ground, "new/one", &named(&head[..10])).await.unwrap();
    let wanted = Branch {
        name: "new/one".to_owned(),
        protected: false,
        sha: head.clone(),
    };
    assert_eq!(made, wanted);
    assert_eq!(ground.head("new/one"), head);
    for (name, other) in [
        ("new/one", "new/one"),
        ("new", "new/one"),
        ("new/one/two", "new/one"),
        ("feature", "feature/greeting"),
    ] {
        let again = make(&ground, name, &Revision::Default).await;
        assert_eq!(
            again,
            Err(Failure::Unmet(Unmet::BranchExists(other.into())))
        );
    }
    let missing = make(&ground, "x", &named("nope")).await;
    assert_eq!(
        missing,
        Err(Failure::Missing(Missing::Revision("nope".into())))
    );
    let missing = make(&ground, "x", &branch("nope")).await;
    assert_eq!(
        missing,
        Err(Failure::Missing(Missing::Branch("nope".into())))
    );
    // A name that is part of another's is in nobody's way.
    assert!(make(&ground, "new/on", &Revision::Default).await.is_ok());
}

#[tokio::test]
async fn a_branch_is_deleted_but_for_the_default_and_the_protected() {
    let ground = Ground::new().await;
    let rules = Rules::default();
    ground
        .forge
        .protect(&hello(), "draft/*", &rules)
        .await
        .unwrap();
    for name in ["main", "draft/guide"] {
        let protected = Failure::Unmet(Unmet::BranchProtected(name.into()));
        assert_eq!(delete(&ground, name).await, Err(protected));
    }
    for name in ["validation", "draft/none"] {
        let missing = Failure::Missing(Missing::Branch(name.into()));
        assert_eq!(delete(&ground, name).await, Err(missing));
    }
    let head = ground.head("conflict");
    assert_eq!(delete(&ground, "conflict").await, Ok(()));
    assert_eq!(ground.git(&["branch", "--list", "conflict"]), "");
    // Its pull request keeps its head, and nobody can tell any more whether it can be merged.
    let pull = ground.pull(2).await;
    assert_eq!(
        (pull.head_sha.as_str(), pull.mergeable),
        (head.as_str(), None)
    );
    assert_eq!(pull.mergeable_state.as_deref(), Some("unknown"));
    assert_eq!(ground.git(&["rev-parse", "refs/pull/2/head"]), head);
}

#[tokio::test]
async fn a_packed_branch_is_deleted_for_good() {
    let ground = Ground::new().await;
    ground.git(&["pack-refs", "--all"]);
    assert_eq!(delete(&ground, "conflict").await, Ok(()));
    assert_eq!(ground.git(&["for-each-ref", "refs/heads/conflict"]), "");
    assert!(
        make(&ground, "conflict/again", &Revision::Default)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn who_may_not_write_changes_nothing() {
    let ground = Ground::new().await;
    let turn = reading();
    let read_only = Failure::CallStopped(CallStopped::ReadOnly);
    let gone = ground
        .forge
        .delete_branch(&turn, &hello(), "conflict")
        .await;
    assert_eq!(gone, Err(read_only.clone()));
    let made = ground
        .forge
        .create_branch(&turn, &hello(), "x", &Revision::Default)
        .await;
    assert_eq!(made, Err(read_only.clone()));
    let files = [crate::ground::file("a", "a")];
    let made = ground
        .forge
        .commit_files(&turn, &hello(), "main", "m", &files)
        .await;
    assert_eq!(made, Err(read_only));
    assert_eq!(turn.mark.effect(), Effect::None);
    assert_eq!(ground.git(&["branch", "--list", "x"]), "");
}
