//! Issues on the local forge.

use crate::fixture::local::{ALL, LocalFixture, hello, reading_context, repo, writing_context};
use candor_fault::Effect;
use candor_forge::{
    DiscussionForge as _, Failure, Issue, IssueChange, IssueForge as _, IssueKind, IssueQuery,
    MissingItem, NewIssue, Paging, PullFilter, PullState, StateReason, UnmetPrecondition,
};

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl LocalFixture {
    async fn open_issue(&self, title: &str, labels: &[&str], assignees: &[&str]) -> Issue {
        let (context, repo) = (writing_context(), hello());
        let new = NewIssue {
            title: title.to_owned(),
            body: Some(format!("About {title}")),
            labels: texts(labels),
            assignees: texts(assignees),
        };
        let made = self.forge.create_issue(&context, &repo, &new).await;
        assert_eq!(context.mark.effect(), Effect::Done);
        made.unwrap()
    }

    async fn change_issue(&self, number: u64, change: IssueChange) -> Result<Issue, Failure> {
        let (context, repo) = (writing_context(), hello());
        let made = self.forge.update_issue(&context, &repo, number, &change);
        let made = made.await;
        let effect = if made.is_ok() {
            Effect::Done
        } else {
            Effect::None
        };
        assert_eq!(context.mark.effect(), effect);
        made
    }

    async fn issues(&self, query: IssueQuery) -> Vec<u64> {
        let (context, repo) = (reading_context(), hello());
        let page = self.forge.issues(&context, &repo, &query, ALL).await;
        let issues = page.unwrap().issues.into_iter();
        issues.map(|issue| issue.number).collect()
    }

    async fn search_issues(&self, query: &str) -> Vec<(u64, IssueKind)> {
        let (context, repo) = (reading_context(), hello());
        let found = self.forge.search_issues(&context, &repo, query, ALL).await;
        let found = found.unwrap();
        assert_eq!(found.total_count, found.results.len() as u64);
        let results = found.results.into_iter();
        results.map(|one| (one.number, one.kind)).collect()
    }
}

#[tokio::test]
async fn issues_and_pull_requests_share_their_numbers() {
    let fixture = LocalFixture::new().await;
    let issue = fixture.open_issue("First", &["b", "a"], &["Bob"]).await;
    assert_eq!(
        issue,
        Issue {
            number: 4,
            title: "First".to_owned(),
            body: Some("About First".to_owned()),
            state: PullState::Open,
            state_reason: None,
            author: Some("Ada".to_owned()),
            labels: texts(&["a", "b"]),
            assignees: texts(&["Bob"]),
            comment_count: 0,
            created_at: issue.created_at.clone(),
            updated_at: issue.created_at.clone(),
            closed_at: None,
            url: "candor:///sample/hello/issues/4".to_owned(),
        }
    );
    fixture.branch("mine", "feature/greeting").await;
    assert_eq!(fixture.open_pull("mine", "main").await, Ok(5));
    assert_eq!(fixture.open_issue("Second", &[], &[]).await.number, 6);
    // An issue is no pull request, and the reverse.
    let (context, repo) = (reading_context(), hello());
    let missing = fixture.forge.comments(&context, &repo, 4, ALL).await;
    assert_eq!(missing, Err(MissingItem::PullRequest(4).into()));
    let pull = fixture.forge.issue(&context, &repo, 5).await;
    assert_eq!(pull, Err(UnmetPrecondition::IsPullRequest(5).into()));
    let missing = fixture.forge.issue(&context, &repo, 7).await;
    assert_eq!(missing, Err(MissingItem::Issue(7).into()));
    let pull = fixture.change_issue(5, IssueChange::default()).await;
    assert_eq!(pull, Err(UnmetPrecondition::IsPullRequest(5).into()));
}

#[tokio::test]
async fn last_thirty_comments_are_shown() {
    let fixture = LocalFixture::new().await;
    let number = fixture.open_issue("Talk", &[], &[]).await.number;
    let (context, repo) = (writing_context(), hello());
    for count in 1..=32 {
        let body = format!("{count}");
        let made = fixture.forge.add_comment(&context, &repo, number, &body);
        let made = made.await.unwrap();
        assert!(made.url.starts_with("candor:///sample/hello/issues/4#"));
    }
    let found = fixture.forge.issue(&context, &repo, number).await.unwrap();
    assert_eq!(found.issue.comment_count, 32);
    let bodies: Vec<_> = found.comments.iter().map(|one| one.body.as_str()).collect();
    assert_eq!((bodies.len(), bodies[0], bodies[29]), (30, "3", "32"));
}

#[tokio::test]
async fn issues_are_closed_with_a_reason() {
    let fixture = LocalFixture::new().await;
    fixture.open_issue("One", &["a"], &["Bob"]).await;
    let state = |state, state_reason| IssueChange {
        state: Some(state),
        state_reason,
        ..IssueChange::default()
    };
    let (open, closed) = (PullState::Open, PullState::Closed);
    let reason = async |change| {
        let issue = fixture.change_issue(4, change).await.unwrap();
        assert_eq!(issue.closed_at.is_some(), issue.state == PullState::Closed);
        issue.state_reason
    };
    assert_eq!(
        reason(state(closed, None)).await.as_deref(),
        Some("completed")
    );
    assert_eq!(reason(state(open, None)).await, None);
    let planned = Some(StateReason::NotPlanned);
    assert_eq!(
        reason(state(closed, planned)).await.as_deref(),
        Some("not_planned")
    );
    // Members that are absent stay as they are, and lists are replaced.
    let lists = IssueChange {
        title: Some("Two".to_owned()),
        labels: Some(Vec::new()),
        assignees: Some(texts(&["Carol", "Dan"])),
        ..IssueChange::default()
    };
    let issue = fixture.change_issue(4, lists).await.unwrap();
    assert_eq!((issue.title.as_str(), issue.state), ("Two", closed));
    assert_eq!(issue.body.as_deref(), Some("About One"));
    assert_eq!(issue.state_reason.as_deref(), Some("not_planned"));
    assert_eq!(
        (issue.labels, issue.assignees),
        (vec![], texts(&["Carol", "Dan"]))
    );
    let missing = fixture.change_issue(9, IssueChange::default()).await;
    assert_eq!(missing, Err(MissingItem::Issue(9).into()));
}

#[tokio::test]
async fn issues_are_filtered() {
    let fixture = LocalFixture::new().await;
    let first = fixture.open_issue("One", &["Bug", "ui"], &["Bob"]).await;
    fixture.open_issue("Two", &["bug"], &[]).await;
    let third = fixture.open_issue("Three", &[], &["carol", "Dan"]).await;
    let close = IssueChange {
        state: Some(PullState::Closed),
        ..IssueChange::default()
    };
    fixture.change_issue(5, close).await.unwrap();
    let query = IssueQuery::default;
    assert_eq!(fixture.issues(query()).await, [6, 4]);
    let state = |state| IssueQuery { state, ..query() };
    assert_eq!(fixture.issues(state(PullFilter::Closed)).await, [5]);
    assert_eq!(fixture.issues(state(PullFilter::All)).await, [6, 5, 4]);
    let labels = |names: &[&str]| IssueQuery {
        labels: texts(names),
        ..state(PullFilter::All)
    };
    assert_eq!(fixture.issues(labels(&["BUG"])).await, [5, 4]);
    assert_eq!(fixture.issues(labels(&["bug", "ui", "Bug"])).await, [4]);
    assert_eq!(fixture.issues(labels(&["bug", "none"])).await, [0; 0]);
    let assignee = |name: &str| IssueQuery {
        assignee: Some(name.to_owned()),
        ..state(PullFilter::All)
    };
    assert_eq!(fixture.issues(assignee("CAROL")).await, [6]);
    assert_eq!(fixture.issues(assignee("*")).await, [6, 4]);
    assert_eq!(fixture.issues(assignee("none")).await, [5]);
    let since = |at: &str| IssueQuery {
        since: Some(at.to_owned()),
        ..query()
    };
    assert_eq!(fixture.issues(since(&third.updated_at)).await, [6]);
    assert_eq!(fixture.issues(since(&first.updated_at)).await, [6, 4]);
    assert_eq!(
        fixture.issues(since("2030-01-01T00:00:00+02:00")).await,
        [0; 0]
    );
    let page = Paging {
        page: 1,
        per_page: 1,
    };
    let (context, hello) = (reading_context(), hello());
    let found = fixture.forge.issues(&context, &hello, &query(), page).await;
    let found = found.unwrap();
    assert_eq!((found.issues[0].number, found.more), (6, true));
}

/// The oldest pull request is the last that would be read.
#[tokio::test]
async fn search_of_issues_ends_at_its_bound() {
    let fixture = LocalFixture::new().await;
    let insert = "WITH RECURSIVE n (i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 10002)
        INSERT INTO issues (repo, number, title, state, created_at, updated_at)
        SELECT 'sample/hello', i, 'Many', 'open', 0, 0 FROM n";
    crate::local::import_and_statuses::execute(fixture.dir.path(), insert).await;
    let (context, hello) = (reading_context(), hello());
    let search = async |query: &'static str| {
        let found = fixture.forge.search_issues(&context, &hello, query, ALL);
        let found = found.await.unwrap();
        (
            found.total_count,
            found.results.len(),
            found.incomplete,
            found.more,
        )
    };
    assert_eq!(search("many").await, (9_999, 100, true, true));
    assert_eq!(search("is:pr").await, (1, 1, true, false));
}

#[tokio::test]
async fn words_are_found_in_issues_and_pull_requests() {
    let fixture = LocalFixture::new().await;
    fixture.open_issue("Greet LOUDLY", &[], &[]).await;
    let (issue, pull) = (IssueKind::Issue, IssueKind::PullRequest);
    assert_eq!(
        fixture.search_issues("greet").await,
        [(4, issue), (2, pull), (1, pull)]
    );
    assert_eq!(
        fixture.search_issues("\"greet loudly\"").await,
        [(4, issue)]
    );
    assert_eq!(
        fixture.search_issues("greet is:pr").await,
        [(2, pull), (1, pull)]
    );
    assert_eq!(
        fixture.search_issues("is:issue is:open").await,
        [(4, issue)]
    );
    assert_eq!(fixture.search_issues("is:closed").await, []);
    assert_eq!(fixture.search_issues("somebody").await, [(1, pull)]);
    assert_eq!(fixture.search_issues("100% _").await, []);
    let (context, hello) = (reading_context(), hello());
    let page = Paging {
        page: 2,
        per_page: 2,
    };
    let found = fixture.forge.search_issues(&context, &hello, "greet", page);
    let found = found.await.unwrap();
    assert_eq!((found.results.len(), found.total_count), (1, 3));
    assert!(!found.more && !found.incomplete);
    let none = repo("sample/none");
    let missing = fixture.forge.search_issues(&context, &none, "x", page);
    assert_eq!(missing.await, Err(MissingItem::Repository.into()));
}
