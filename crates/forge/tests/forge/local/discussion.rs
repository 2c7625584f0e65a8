//! Comments, reviews, required approvals, requested reviewers and queries on the local forge.

use crate::fixture::local::{
    ALL, LocalFixture, effect, file, hello, reading_context, unmergeable_reason, writing_context,
};
use candor_fault::Effect;
use candor_forge::local::{BranchRules, LocalForgeError};
use candor_forge::{
    Comment, CommentKind, DiffSide, DiscussionForge as _, Failure, Forge as _, LineComment,
    MergeMethod, MissingItem, NewReview, Paging, PullFilter, PullQuery, RequestedReviewers,
    ReviewDecision, ReviewEvent, UnmergeableReason, UnmetPrecondition,
};

fn on_line(path: &str, line: u64, side: DiffSide) -> LineComment {
    LineComment {
        path: path.to_owned(),
        line,
        start_line: None,
        side,
        body: format!("line {line}"),
    }
}

impl LocalFixture {
    pub(crate) async fn review(
        &self,
        number: u64,
        name: &str,
        event: ReviewEvent,
        comments: Vec<LineComment>,
    ) -> Result<u64, Failure> {
        let repo = hello();
        let body = Some("Text".to_owned());
        let made = self
            .forge
            .review_as(&repo, number, name, event, body, comments);
        match made.await {
            Ok(review) => Ok(review.id),
            Err(LocalForgeError::Failed(failure)) => Err(*failure),
            Err(other) => panic!("{other}"),
        }
    }

    async fn comments(&self, number: u64) -> Vec<Comment> {
        let (context, repo) = (reading_context(), hello());
        let page = self.forge.comments(&context, &repo, number, ALL).await;
        page.unwrap().comments
    }

    async fn decision(&self, number: u64) -> Option<ReviewDecision> {
        let (context, repo) = (reading_context(), hello());
        let pull = self.pull(number).await;
        let details = self.forge.details(&context, &repo, &pull, 1000).await;
        details.unwrap().review_decision
    }

    pub(crate) async fn require_approvals(&self, number: u32) {
        let rules = BranchRules {
            required_approvals: number,
            ..BranchRules::default()
        };
        self.forge.protect(&hello(), "main", &rules).await.unwrap();
    }
}

#[tokio::test]
async fn comments_are_listed_oldest_first_by_page() {
    let fixture = LocalFixture::new().await;
    let (context, repo) = (writing_context(), hello());
    let made = fixture.forge.add_comment(&context, &repo, 1, "One\n").await;
    let made = made.unwrap();
    assert_eq!(context.mark.effect(), Effect::Done);
    assert_eq!(made.url, "candor:///sample/hello/pull/1#comment-1");
    assert_eq!(
        (made.author.as_deref(), made.body.as_str()),
        (Some("Ada"), "One\n")
    );
    fixture
        .forge
        .comment_as(&repo, 1, "Bob", "Two")
        .await
        .unwrap();
    fixture
        .forge
        .comment_as(&repo, 2, "Bob", "Other")
        .await
        .unwrap();
    let line = on_line("src/main.rs", 2, DiffSide::Right);
    let review = fixture.review(1, "Bob", ReviewEvent::Comment, vec![line]);
    review.await.unwrap();
    let all = fixture.comments(1).await;
    let shown: Vec<_> = all
        .iter()
        .map(|one| (one.id, one.kind, one.author.clone().unwrap(), one.line))
        .collect();
    assert_eq!(
        shown,
        [
            (1, CommentKind::Comment, "Ada".to_owned(), None),
            (2, CommentKind::Comment, "Bob".to_owned(), None),
            (4, CommentKind::Review, "Bob".to_owned(), Some(2)),
        ]
    );
    let second = Paging {
        page: 2,
        per_page: 2,
    };
    let page = fixture.forge.comments(&context, &repo, 1, second).await;
    let page = page.unwrap();
    assert_eq!((page.comments.len(), page.more), (1, false));
    assert_eq!(page.comments[0], all[2]);
    assert!(fixture.pull(1).await.updated_at.starts_with("2026"));
}

#[tokio::test]
async fn missing_numbers_and_comments_are_named() {
    let fixture = LocalFixture::new().await;
    let (context, repo) = (writing_context(), hello());
    let missing = fixture.forge.add_comment(&context, &repo, 9, "x").await;
    assert_eq!(missing, Err(MissingItem::IssueOrPull(9).into()));
    assert_eq!(context.mark.effect(), Effect::None);
    let missing = fixture.forge.comments(&context, &repo, 9, ALL).await;
    assert_eq!(missing, Err(MissingItem::PullRequest(9).into()));
    let other = crate::fixture::local::repo("sample/none");
    let missing = fixture.forge.add_comment(&context, &other, 1, "x").await;
    assert_eq!(missing, Err(MissingItem::Repository.into()));
    fixture
        .forge
        .comment_as(&repo, 1, "Bob", "x")
        .await
        .unwrap();
    let line = on_line("src/main.rs", 2, DiffSide::Right);
    let review = fixture.review(1, "Bob", ReviewEvent::Comment, vec![line]);
    review.await.unwrap();
    // A comment without a line, one of another pull request, and none.
    for (number, comment) in [(1, 1), (2, 2), (1, 99)] {
        let reply = fixture.forge.reply(&context, &repo, number, comment, "y");
        let reply = reply.await;
        assert_eq!(reply, Err(MissingItem::LineComment(comment).into()));
    }
    assert_eq!(context.mark.effect(), Effect::None);
}

#[tokio::test]
async fn replies_belong_to_the_first_comment() {
    let fixture = LocalFixture::new().await;
    let (context, repo) = (writing_context(), hello());
    let line = on_line("src/main.rs", 2, DiffSide::Left);
    let review = fixture.review(1, "Bob", ReviewEvent::Comment, vec![line]);
    review.await.unwrap();
    let first = fixture.forge.reply(&context, &repo, 1, 1, "Because").await;
    let first = first.unwrap();
    assert_eq!((first.id, first.in_reply_to), (2, Some(1)));
    assert_eq!((first.line, first.side), (Some(2), Some(DiffSide::Left)));
    let second = fixture.forge.reply(&context, &repo, 1, 2, "Still").await;
    assert_eq!(second.unwrap().in_reply_to, Some(1));
    assert_eq!(fixture.comments(1).await.len(), 3);
}

#[tokio::test]
async fn lines_outside_the_difference_are_refused() {
    let fixture = LocalFixture::new().await;
    for (path, line, side) in [
        ("src/main.rs", 5, DiffSide::Right),
        ("src/main.rs", 4, DiffSide::Left),
        ("src/main.rs", u64::MAX, DiffSide::Right),
        ("README.md", 1, DiffSide::Right),
        ("nowhere", 1, DiffSide::Left),
    ] {
        let comments = vec![
            on_line("src/main.rs", 1, DiffSide::Right),
            on_line(path, line, side),
        ];
        let refused = fixture.review(1, "Bob", ReviewEvent::Comment, comments);
        let path = path.to_owned();
        let outside = UnmetPrecondition::LineOutsideDiff { path, line, side };
        assert_eq!(refused.await, Err(outside.into()));
    }
    // All comments or none.
    assert_eq!(fixture.comments(1).await, []);
    let mut several = on_line("src/main.rs", 2, DiffSide::Right);
    several.start_line = Some(3);
    let refused = fixture.review(1, "Bob", ReviewEvent::Comment, vec![several.clone()]);
    assert!(matches!(refused.await, Err(Failure::Unmet(_))));
    several.start_line = Some(1);
    let comments = vec![several, on_line("src/main.rs", 2, DiffSide::Left)];
    let made = fixture.review(1, "Bob", ReviewEvent::Comment, comments);
    made.await.unwrap();
}

#[tokio::test]
async fn commented_line_is_followed_until_it_changes() {
    let fixture = LocalFixture::new().await;
    let head = fixture.head("feature/greeting");
    let comments = vec![
        on_line("src/main.rs", 3, DiffSide::Right),
        on_line("src/main.rs", 2, DiffSide::Left),
    ];
    let made = fixture.review(1, "Bob", ReviewEvent::Comment, comments);
    made.await.unwrap();
    let lines = async || {
        let all = fixture.comments(1).await;
        let shown = all.iter().map(|one| (one.line, one.outdated));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(lines().await, [(Some(3), false), (Some(2), false)]);
    let longer =
        "// new\nfn main() {\n    let name = \"you\";\n    println!(\"hello, {name}\");\n}\n";
    let commit = fixture
        .commit("feature/greeting", &[file("src/main.rs", longer)])
        .await;
    commit.unwrap();
    assert_eq!(lines().await, [(Some(4), false), (Some(2), false)]);
    let changed = "// new\nfn main() {\n}\n";
    let commit = fixture
        .commit("feature/greeting", &[file("src/main.rs", changed)])
        .await;
    commit.unwrap();
    assert_eq!(lines().await, [(Some(3), true), (Some(2), false)]);
    assert_eq!(fixture.comments(1).await[0].commit_sha, Some(head));
    // The discussion is still read after the merge and after the branch is gone.
    fixture.merge(1, MergeMethod::Squash).await.unwrap();
    fixture.git(&["branch", "-D", "feature/greeting"]);
    assert_eq!(lines().await, [(Some(3), true), (Some(2), false)]);
}

#[tokio::test]
async fn review_of_another_head_is_refused() {
    let fixture = LocalFixture::new().await;
    let (context, repo) = (writing_context(), hello());
    let expected = fixture.head("main");
    let review = NewReview {
        event: ReviewEvent::Approve,
        body: None,
        comments: Vec::new(),
        head_sha: expected.clone(),
    };
    let refused = fixture
        .forge
        .submit_review(&context, &repo, 1, &review)
        .await;
    assert_eq!(effect(&refused), context.mark.effect());
    let actual = Some(fixture.head("feature/greeting"));
    let moved = Failure::HeadMoved {
        expected,
        actual,
        state: None,
    };
    assert_eq!(refused, Err(moved));
}

#[tokio::test]
async fn nobody_approves_their_own_pull_request() {
    let fixture = LocalFixture::new().await;
    for event in [ReviewEvent::Approve, ReviewEvent::RequestChanges] {
        let own = fixture.review(1, "sample", event, Vec::new()).await;
        assert_eq!(own, Err(UnmetPrecondition::OwnPull(1).into()));
    }
    let comment = fixture.review(1, "sample", ReviewEvent::Comment, Vec::new());
    comment.await.unwrap();
    let repo = hello();
    let empty = fixture
        .forge
        .review_as(&repo, 1, "Bob", ReviewEvent::Comment, None, Vec::new());
    let empty = empty.await;
    assert!(matches!(empty, Err(LocalForgeError::Failed(failure))
            if *failure == UnmetPrecondition::EmptyReview.into()));
}

#[tokio::test]
async fn merge_needs_approvals_of_the_present_head() {
    let fixture = LocalFixture::new().await;
    assert_eq!(fixture.decision(1).await, None);
    fixture.require_approvals(2).await;
    let required = Some(ReviewDecision::ReviewRequired);
    assert_eq!(fixture.decision(1).await, required);
    let blocked = (UnmergeableReason::Blocked, "blocked".to_owned(), vec![]);
    let refused = unmergeable_reason(fixture.merge(1, MergeMethod::Merge).await);
    assert_eq!(refused, blocked);
    let approve = async |name: &str| {
        let made = fixture.review(1, name, ReviewEvent::Approve, Vec::new());
        made.await.unwrap();
    };
    approve("Bob").await;
    approve("bob").await;
    assert_eq!(fixture.state(1).await, (Some(true), "blocked".to_owned()));
    approve("Carol").await;
    assert_eq!(fixture.state(1).await, (Some(true), "clean".to_owned()));
    assert_eq!(fixture.decision(1).await, Some(ReviewDecision::Approved));
    // A new head needs new approvals.
    let commit = fixture
        .commit("feature/greeting", &[file("new", "x")])
        .await;
    commit.unwrap();
    assert_eq!(fixture.decision(1).await, required);
    approve("Bob").await;
    approve("Carol").await;
    let refuse = fixture.review(1, "Dan", ReviewEvent::RequestChanges, Vec::new());
    refuse.await.unwrap();
    assert_eq!(
        fixture.decision(1).await,
        Some(ReviewDecision::ChangesRequested)
    );
    let refused = unmergeable_reason(fixture.merge(1, MergeMethod::Merge).await);
    assert_eq!(refused, blocked);
    approve("Dan").await;
    fixture.merge(1, MergeMethod::Merge).await.unwrap();
}

#[tokio::test]
async fn requests_are_answered_by_reviews() {
    let fixture = LocalFixture::new().await;
    let (context, repo) = (writing_context(), hello());
    let wanted = |people: &[&str], teams: &[&str]| RequestedReviewers {
        requested_reviewers: people.iter().map(|&name| name.to_owned()).collect(),
        requested_teams: teams.iter().map(|&name| name.to_owned()).collect(),
    };
    let request = async |wanted: RequestedReviewers| {
        let made = fixture.forge.request_reviewers(&context, &repo, 1, &wanted);
        made.await
    };
    let made = request(wanted(&["Carol", "Bob"], &["cats"])).await.unwrap();
    assert_eq!(made, wanted(&["Bob", "Carol"], &["cats"]));
    // Asked twice is asked once.
    let made = request(wanted(&["bob"], &[])).await.unwrap();
    assert_eq!(made, wanted(&["Bob", "Carol"], &["cats"]));
    let own = request(wanted(&["SAMPLE"], &[])).await;
    let author = UnmetPrecondition::ReviewerIsAuthor("SAMPLE".to_owned());
    assert_eq!(own, Err(author.into()));
    let review = fixture.review(1, "bob", ReviewEvent::Comment, Vec::new());
    review.await.unwrap();
    let attributes = fixture.pull(1).await.attributes;
    assert_eq!(attributes.requested_reviewers, ["Carol"]);
    assert_eq!(attributes.requested_teams, ["cats"]);
}

#[tokio::test]
async fn pull_requests_are_found_by_branch_author_and_label() {
    let fixture = LocalFixture::new().await;
    fixture.branch("mine", "feature/greeting").await;
    assert_eq!(fixture.open_pull("mine", "main").await, Ok(4));
    let labels = ["Bug".to_owned(), "ui".to_owned()];
    fixture
        .forge
        .set_labels(&hello(), 2, &labels)
        .await
        .unwrap();
    let (context, repo) = (reading_context(), hello());
    let find = async |query: PullQuery| {
        let found = fixture.forge.find_pulls(&context, &repo, &query, ALL).await;
        let pulls = found.unwrap().pulls.into_iter();
        pulls.map(|pull| pull.number).collect::<Vec<_>>()
    };
    let query = PullQuery::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(find(query()).await, [4, 3, 2, 1]);
    let author = |name: &str| PullQuery {
        author: text(name),
        ..query()
    };
    assert_eq!(find(author("ada")).await, [4]);
    assert_eq!(find(author("nobody")).await, [0; 0]);
    let label = |name: &str| PullQuery {
        label: text(name),
        ..query()
    };
    assert_eq!(find(label("bug")).await, [2]);
    assert_eq!(find(label("bu")).await, [0; 0]);
    let head = |owner: Option<&str>, name: &str| PullQuery {
        head_owner: owner.map(str::to_owned),
        head: text(name),
        ..query()
    };
    assert_eq!(find(head(None, "mine")).await, [4]);
    assert_eq!(find(head(Some("Sample"), "mine")).await, [4]);
    assert_eq!(find(head(Some("other"), "mine")).await, [0; 0]);
    let base = |name: &str| PullQuery {
        base: text(name),
        ..query()
    };
    assert_eq!(find(base("main")).await.len(), 4);
    assert_eq!(find(base("mine")).await, [0; 0]);
    let closed = PullQuery {
        state: PullFilter::Closed,
        ..query()
    };
    assert_eq!(find(closed).await, [0; 0]);
    let page = Paging {
        page: 2,
        per_page: 2,
    };
    let found = fixture
        .forge
        .find_pulls(&context, &repo, &query(), page)
        .await;
    let found = found.unwrap();
    assert_eq!((found.pulls[0].number, found.more), (2, false));
    assert!(!found.incomplete);
}

#[tokio::test]
async fn many_reviews_are_cut() {
    let fixture = LocalFixture::new().await;
    let insert = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
        INSERT INTO reviews (repo, number, author, state, body, sha, created_at)
        SELECT 'sample/hello', 1, 'a' || i, 'COMMENTED', i, 'x', 0 FROM n";
    crate::local::import_and_statuses::execute(fixture.dir.path(), insert).await;
    let (context, repo) = (reading_context(), hello());
    let pull = fixture.pull(1).await;
    let details = fixture.forge.details(&context, &repo, &pull, 1000).await;
    let details = details.unwrap();
    assert_eq!((details.reviews.len(), details.truncated), (1000, true));
    assert_eq!(details.reviews[0].body, "2");
}

#[tokio::test]
async fn labels_of_missing_numbers_are_refused() {
    let fixture = LocalFixture::new().await;
    let missing = fixture.forge.set_labels(&hello(), 9, &[]).await;
    assert!(matches!(missing, Err(LocalForgeError::Failed(failure))
        if *failure == MissingItem::IssueOrPull(9).into()));
}
