//! Auto-merge on the local forge: who settles the last condition merges, and the merge is on record.

use crate::fixture::local::{
    LocalFixture, branch, file, hello, reading_context, unmergeable_reason, writing_context,
};
use candor_fault::Effect;
use candor_forge::local::BranchRules;
use candor_forge::{
    AutoMerge, CheckState, DiscussionForge as _, Failure, Forge as _, MergeMethod,
    PullRequestChange, PullState, ReviewEvent, UnmergeableReason, UnmetPrecondition, WriteLog,
};
use serde_json::{Map, Value, json};
use std::io;
use std::sync::{Arc, Mutex};

/// A log of writes in memory. It fails on demand.
#[derive(Default)]
struct MemoryLog {
    lines: Mutex<Vec<Value>>,
    is_full: bool,
}

impl WriteLog for MemoryLog {
    fn append(&self, members: Map<String, Value>) -> io::Result<u64> {
        if self.is_full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let mut lines = self.lines.lock().unwrap();
        lines.push(Value::Object(members));
        Ok(lines.len() as u64)
    }
}

async fn recorded() -> (LocalFixture, Arc<MemoryLog>) {
    let fixture = LocalFixture::new().await;
    let log = Arc::new(MemoryLog::default());
    fixture.forge.record_own_writes(log.clone());
    (fixture, log)
}

impl LocalFixture {
    async fn protect_main(&self, checks: &[&str], approvals: u32) {
        let rules = BranchRules {
            required_checks: checks.iter().map(|&name| name.to_owned()).collect(),
            required_approvals: approvals,
            ..BranchRules::default()
        };
        self.forge.protect(&hello(), "main", &rules).await.unwrap();
    }

    async fn auto_merge(
        &self,
        number: u64,
        method: Option<MergeMethod>,
    ) -> Result<Option<AutoMerge>, Failure> {
        let (context, repo) = (writing_context(), hello());
        let pull = self.pull(number).await;
        let set = self
            .forge
            .set_auto_merge(&context, &repo, &pull, method)
            .await;
        if set.is_err() {
            assert_eq!(context.mark.effect(), Effect::None);
        }
        set
    }

    async fn check(&self, name: &str, at: &str, state: CheckState) {
        let (repo, at) = (hello(), branch(at));
        let set = self.forge.set_status(&repo, &at, name, state, None).await;
        set.unwrap();
    }
}

#[tokio::test]
async fn last_check_merges() {
    let (fixture, log) = recorded().await;
    fixture.protect_main(&["ci/a", "ci/b"], 0).await;
    let set = fixture.auto_merge(1, Some(MergeMethod::Squash)).await;
    let wanted = AutoMerge {
        merge_method: MergeMethod::Squash,
        enabled_by: Some("Ada".to_owned()),
    };
    assert_eq!(set, Ok(Some(wanted.clone())));
    assert_eq!(fixture.pull(1).await.attributes.auto_merge, Some(wanted));
    let before = fixture.head("main");
    fixture
        .check("ci/a", "feature/greeting", CheckState::Passed)
        .await;
    fixture
        .check("ci/b", "feature/greeting", CheckState::Failed)
        .await;
    assert!(!fixture.pull(1).await.merged);
    assert!(log.lines.lock().unwrap().is_empty());
    fixture
        .check("ci/b", "feature/greeting", CheckState::Passed)
        .await;
    let pull = fixture.pull(1).await;
    assert!(pull.merged && pull.attributes.auto_merge.is_none());
    assert_eq!(fixture.git(&["rev-parse", "main~1"]), before);
    let lines = log.lines.lock().unwrap().clone();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["tool"], "merge_pull_request");
    assert_eq!(lines[0]["client"], "auto-merge");
    assert_eq!(
        lines[0]["arguments"],
        json!({ "repo": "sample/hello", "prNumber": 1, "merge_method": "squash", "sha": pull.head_sha })
    );
    assert_eq!(
        (&lines[1]["kind"], &lines[1]["of"]),
        (&json!("outcome"), &json!(1))
    );
    assert_eq!(lines[1]["effect"], "done");
    assert_eq!(lines[1]["answer"]["sha"], fixture.head("main"));
}

#[tokio::test]
async fn last_approval_merges() {
    let (fixture, log) = recorded().await;
    fixture.protect_main(&[], 1).await;
    fixture
        .auto_merge(1, Some(MergeMethod::Merge))
        .await
        .unwrap();
    let comment = fixture.review(1, "Bob", ReviewEvent::Comment, Vec::new());
    comment.await.unwrap();
    assert!(!fixture.pull(1).await.merged);
    let approval = fixture.review(1, "Bob", ReviewEvent::Approve, Vec::new());
    approval.await.unwrap();
    assert!(fixture.pull(1).await.merged);
    assert_eq!(log.lines.lock().unwrap().len(), 2);
}

/// The conflict is the last condition.
#[tokio::test]
async fn last_commit_merges() {
    let (fixture, _) = recorded().await;
    let set = fixture.auto_merge(2, Some(MergeMethod::Squash)).await;
    assert!(set.unwrap().is_some());
    let readme = "# hello\n\nSays hello.\n";
    let same = fixture.commit("main", &[file("README.md", readme)]).await;
    same.unwrap();
    assert!(fixture.pull(2).await.merged);
}

#[tokio::test]
async fn draft_that_becomes_ready_merges() {
    let (fixture, _) = recorded().await;
    let draft = fixture.auto_merge(3, Some(MergeMethod::Merge)).await;
    assert_eq!(draft, Err(UnmetPrecondition::IsDraft(3).into()));
    fixture.protect_main(&["ci/test"], 0).await;
    let (context, repo) = (writing_context(), hello());
    let change = |draft| PullRequestChange {
        draft: Some(draft),
        ..PullRequestChange::default()
    };
    let ready = change(false);
    let made = fixture
        .forge
        .update_pull_request(&context, &repo, 3, &ready);
    made.await.unwrap();
    fixture
        .auto_merge(3, Some(MergeMethod::Merge))
        .await
        .unwrap();
    let again = change(true);
    let made = fixture
        .forge
        .update_pull_request(&context, &repo, 3, &again);
    made.await.unwrap();
    fixture
        .check("ci/test", "draft/guide", CheckState::Passed)
        .await;
    assert!(!fixture.pull(3).await.merged);
    let made = fixture
        .forge
        .update_pull_request(&context, &repo, 3, &ready);
    assert!(made.await.unwrap().merged);
}

#[tokio::test]
async fn auto_merge_is_refused_where_it_makes_no_sense() {
    let (fixture, _) = recorded().await;
    let now = fixture.auto_merge(1, Some(MergeMethod::Merge)).await;
    assert_eq!(now, Err(UnmetPrecondition::MergeableNow(1).into()));
    assert_eq!(fixture.auto_merge(1, None).await, Ok(None));
    let (context, repo) = (writing_context(), hello());
    let close = PullRequestChange {
        state: Some(PullState::Closed),
        ..PullRequestChange::default()
    };
    fixture
        .auto_merge(2, Some(MergeMethod::Merge))
        .await
        .unwrap();
    let made = fixture
        .forge
        .update_pull_request(&context, &repo, 2, &close);
    // Closing takes it back.
    assert_eq!(made.await.unwrap().attributes.auto_merge, None);
    let closed = fixture.auto_merge(2, Some(MergeMethod::Merge)).await;
    assert_eq!(closed, Err(UnmetPrecondition::NotOpen(2).into()));
}

#[tokio::test]
async fn disabled_auto_merge_does_not_merge() {
    let (fixture, log) = recorded().await;
    fixture.protect_main(&["ci/a"], 0).await;
    fixture
        .auto_merge(1, Some(MergeMethod::Merge))
        .await
        .unwrap();
    assert_eq!(fixture.auto_merge(1, None).await, Ok(None));
    fixture
        .check("ci/a", "feature/greeting", CheckState::Passed)
        .await;
    assert!(!fixture.pull(1).await.merged);
    assert!(log.lines.lock().unwrap().is_empty());
}

/// A merge that cannot be recorded is not made. The check itself is set.
#[tokio::test]
async fn merge_that_cannot_be_recorded_is_not_made() {
    for is_full in [true, false] {
        let fixture = LocalFixture::new().await;
        if is_full {
            let lines = Mutex::default();
            fixture
                .forge
                .record_own_writes(Arc::new(MemoryLog { lines, is_full }));
        }
        fixture.protect_main(&["ci/a"], 0).await;
        fixture
            .auto_merge(1, Some(MergeMethod::Merge))
            .await
            .unwrap();
        fixture
            .check("ci/a", "feature/greeting", CheckState::Passed)
            .await;
        let pull = fixture.pull(1).await;
        assert!(!pull.merged && pull.attributes.auto_merge.is_some());
        assert_eq!(pull.mergeable_state.as_deref(), Some("clean"));
    }
}

/// A rebase may conflict although a merge does not: the refusal is on record, and nothing is merged.
#[tokio::test]
async fn failed_auto_merge_is_on_record() {
    let (fixture, log) = recorded().await;
    fixture.branch("twice", "main").await;
    for text in ["# hello\n\nA\n", "# hello\n\nB\n"] {
        let made = fixture.commit("twice", &[file("README.md", text)]).await;
        made.unwrap();
    }
    let made = fixture
        .commit("main", &[file("README.md", "# hello\n\nB\n")])
        .await;
    made.unwrap();
    let number = fixture.open_pull("twice", "main").await.unwrap();
    fixture.protect_main(&["ci/a"], 0).await;
    let set = fixture.auto_merge(number, Some(MergeMethod::Rebase)).await;
    set.unwrap();
    fixture.check("ci/a", "twice", CheckState::Passed).await;
    let refused = unmergeable_reason(fixture.merge(number, MergeMethod::Rebase).await);
    assert_eq!(refused.0, UnmergeableReason::NotRebaseable);
    assert!(!fixture.pull(number).await.merged);
    let lines = log.lines.lock().unwrap().clone();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        (&lines[1]["code"], &lines[1]["effect"]),
        (&json!(-32005), &json!("none"))
    );
    let (context, repo) = (reading_context(), hello());
    let pull = fixture.forge.pull_request(&context, &repo, number).await;
    assert!(pull.unwrap().attributes.auto_merge.is_some());
}
