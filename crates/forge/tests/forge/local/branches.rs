//! Branches that are made and deleted.

use crate::fixture::local::{
    LocalFixture, branch, effect, hello, named, reading_context, writing_context,
};
use candor_fault::Effect;
use candor_forge::local::BranchRules;
use candor_forge::{Branch, Failure, Forge as _, MissingItem, Revision, UnmetPrecondition};
use candor_street::CallStopped;

async fn make(fixture: &LocalFixture, name: &str, from: &Revision) -> Result<Branch, Failure> {
    let context = writing_context();
    let made = fixture
        .forge
        .create_branch(&context, &hello(), name, from)
        .await;
    assert_eq!(context.mark.effect(), effect(&made));
    made
}

async fn delete(fixture: &LocalFixture, name: &str) -> Result<(), Failure> {
    let context = writing_context();
    let gone = fixture.forge.delete_branch(&context, &hello(), name).await;
    assert_eq!(context.mark.effect(), effect(&gone));
    gone
}

#[tokio::test]
async fn branch_is_created_at_a_revision() {
    let fixture = LocalFixture::new().await;
    let head = fixture.head("conflict");
    let made = make(&fixture, "new/one", &named(&head[..10]))
        .await
        .unwrap();
    let expected = Branch {
        name: "new/one".to_owned(),
        protected: false,
        sha: head.clone(),
    };
    assert_eq!(made, expected);
    assert_eq!(fixture.head("new/one"), head);
    for (name, other) in [
        ("new/one", "new/one"),
        ("new", "new/one"),
        ("new/one/two", "new/one"),
        ("feature", "feature/greeting"),
    ] {
        let again = make(&fixture, name, &Revision::Default).await;
        assert_eq!(
            again,
            Err(Failure::Unmet(UnmetPrecondition::BranchExists(
                other.into()
            )))
        );
    }
    let missing = make(&fixture, "x", &named("nope")).await;
    assert_eq!(
        missing,
        Err(Failure::Missing(MissingItem::Revision("nope".into())))
    );
    let missing = make(&fixture, "x", &branch("nope")).await;
    assert_eq!(
        missing,
        Err(Failure::Missing(MissingItem::Branch("nope".into())))
    );
    // A name that is part of another's is in nobody's way.
    assert!(make(&fixture, "new/on", &Revision::Default).await.is_ok());
}

#[tokio::test]
async fn default_and_protected_branches_are_not_deleted() {
    let fixture = LocalFixture::new().await;
    let rules = BranchRules::default();
    fixture
        .forge
        .protect(&hello(), "draft/*", &rules)
        .await
        .unwrap();
    for name in ["main", "draft/guide"] {
        let protected = Failure::Unmet(UnmetPrecondition::BranchProtected(name.into()));
        assert_eq!(delete(&fixture, name).await, Err(protected));
    }
    for name in ["validation", "draft/none"] {
        let missing = Failure::Missing(MissingItem::Branch(name.into()));
        assert_eq!(delete(&fixture, name).await, Err(missing));
    }
    let head = fixture.head("conflict");
    assert_eq!(delete(&fixture, "conflict").await, Ok(()));
    assert_eq!(fixture.git(&["branch", "--list", "conflict"]), "");
    // Its pull request keeps its head, and nobody can tell any more whether it can be merged.
    let pull = fixture.pull(2).await;
    assert_eq!(
        (pull.head_sha.as_str(), pull.mergeable),
        (head.as_str(), None)
    );
    assert_eq!(pull.mergeable_state.as_deref(), Some("unknown"));
    assert_eq!(fixture.git(&["rev-parse", "refs/pull/2/head"]), head);
}

#[tokio::test]
async fn packed_branch_is_deleted_for_good() {
    let fixture = LocalFixture::new().await;
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(delete(&fixture, "conflict").await, Ok(()));
    assert_eq!(fixture.git(&["for-each-ref", "refs/heads/conflict"]), "");
    assert!(
        make(&fixture, "conflict/again", &Revision::Default)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn reading_call_changes_nothing() {
    let fixture = LocalFixture::new().await;
    let context = reading_context();
    let read_only = Failure::CallStopped(CallStopped::ReadOnly);
    let gone = fixture
        .forge
        .delete_branch(&context, &hello(), "conflict")
        .await;
    assert_eq!(gone, Err(read_only.clone()));
    let made = fixture
        .forge
        .create_branch(&context, &hello(), "x", &Revision::Default)
        .await;
    assert_eq!(made, Err(read_only.clone()));
    let files = [crate::fixture::local::file("a", "a")];
    let made = fixture
        .forge
        .commit_files(&context, &hello(), "main", "m", &files)
        .await;
    assert_eq!(made, Err(read_only));
    assert_eq!(context.mark.effect(), Effect::None);
    assert_eq!(fixture.git(&["branch", "--list", "x"]), "");
}
