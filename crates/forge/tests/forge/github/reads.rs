//! Tests of reads with documented responses.

use crate::fixture::github::{GithubFixture, expect_error_response, expect_failure, repo};
use crate::github::openapi::{example, examples};
use crate::github::recorded_answers::{REPOSITORY, Recorded, STATUS, pull, with};
use candor_forge::{
    Branch, CheckSource, CheckState, CommitCheck, Failure, Forge as _, ItemKind, MissingItem,
    Paging, PullFilter, PullState, RepoName, Revision, UnmetPrecondition, UnreachableReason,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const PAGING: Paging = Paging {
    page: 2,
    per_page: 30,
};

fn next() -> (&'static str, &'static str) {
    let link = "<https://api.github.com/x?a=1,2;b&page=1>; rel=\"prev\", <https://api.github.com/x?page=3>; rel=\"next\"";
    ("link", link)
}

fn last() -> (&'static str, &'static str) {
    (
        "link",
        "<https://api.github.com/x?rel=\"next\"&page=1>; rel=\"prev\"",
    )
}

fn list(headers: &[(&str, &str)], body: &Value) -> ScriptedResponse {
    ScriptedResponse::new(200, headers, body.to_string().as_bytes())
}

fn repository() -> ScriptedResponse {
    ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body())
}

#[tokio::test]
async fn recorded_repository_is_read() {
    let fixture = GithubFixture::reading().await;
    let recorded = Recorded::of(REPOSITORY, 0);
    fixture.respond(
        "GET /repos/octo/hello",
        recorded.respond(&fixture.server.url()),
    );
    let found = fixture
        .forge
        .repository(&fixture.context, &repo())
        .await
        .unwrap();
    assert_eq!(found.name.to_string(), "octokit-fixture-org/hello-world");
    assert_eq!((found.stars, found.language), (42, None));
    assert_eq!(found.default_branch, "master");
    assert_eq!(
        found.url,
        "https://github.com/octokit-fixture-org/hello-world"
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn query_is_sent_unchanged() {
    let fixture = GithubFixture::reading().await;
    let found = example("GET", "/search/repositories");
    let line =
        "GET /search/repositories?q=stars%3A%3E100%20a%2Bb%26page%3D9%20%C3%BC&per_page=30&page=2";
    fixture.respond(line, ScriptedResponse::json(200, &found));
    let query = "stars:>100 a+b&page=9 ü";
    let found = fixture
        .forge
        .search(&fixture.context, query, PAGING)
        .await
        .unwrap();
    assert_eq!((found.total_count, found.incomplete), (40, false));
    assert_eq!(found.repositories[0].name.to_string(), "dtrupenn/Tetris");
    fixture.assert_complete();
}

#[tokio::test]
async fn readme_is_truncated_and_may_be_absent() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/readme";
    fixture.respond(line, ScriptedResponse::new(200, &[], b"0123456789"));
    fixture.respond(line, ScriptedResponse::new(200, &[], b"01234"));
    fixture.respond(
        line,
        ScriptedResponse::json(404, &json!({ "message": "Not Found" })),
    );
    fixture.respond(
        line,
        ScriptedResponse::json(403, &json!({ "message": "No" })),
    );
    let readme = || async { fixture.forge.readme(&fixture.context, &repo(), 5).await };
    assert_eq!(readme().await, Ok(Some((b"01234".to_vec(), true))));
    assert_eq!(readme().await, Ok(Some((b"01234".to_vec(), false))));
    assert_eq!(readme().await, Ok(None));
    assert_eq!(expect_error_response(readme().await).status, 403);
    let accept = fixture.server.seen()[0]
        .header("accept")
        .unwrap()
        .to_owned();
    assert_eq!(accept, "application/vnd.github.raw+json");
    fixture.assert_complete();
}

#[tokio::test]
async fn directory_is_listed_by_name() {
    let fixture = GithubFixture::reading().await;
    let directory = json!({ "type": "dir", "size": 0, "sha": "1", "entries": [
        { "type": "file", "name": "b", "path": "d/b", "size": 3, "html_url": "u/b", "git_url": "https://a/repos/o/r/git/blobs/1" },
        { "type": "file", "name": "a", "path": "d/a", "size": 0, "html_url": null, "git_url": "https://a/repos/x/y/git/trees/2" },
        { "type": "dir", "name": "B", "path": "d/B", "size": 0, "html_url": "u/B" },
        { "type": "symlink", "name": "l", "path": "d/l", "size": 1, "html_url": "u/l" },
    ] });
    let line = "GET /repos/octo/hello/contents/d?ref=refs%2Fheads%2Ff%2Fx";
    fixture.respond(line, ScriptedResponse::json(200, &directory));
    let at = Revision::Branch("f/x".to_owned());
    let found = fixture
        .forge
        .directory(&fixture.context, &repo(), "d", &at)
        .await
        .unwrap();
    assert_eq!(found.at, "f/x");
    let items: Vec<_> = found
        .items
        .iter()
        .map(|item| (item.name.as_str(), item.kind, item.size))
        .collect();
    assert_eq!(
        items,
        [
            ("B", ItemKind::Dir, 0),
            ("a", ItemKind::Submodule, 0),
            ("b", ItemKind::File, 3),
            ("l", ItemKind::Symlink, 1),
        ]
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn documented_directory_and_file_are_read() {
    let fixture = GithubFixture::reading().await;
    let path = "/repos/{owner}/{repo}/contents/{path}";
    let all = examples("GET", path);
    let directory = &all["response-if-content-is-a-directory-github-object"];
    fixture.respond("GET /repos/octo/hello", repository());
    fixture.respond(
        "GET /repos/octo/hello/contents/",
        ScriptedResponse::json(200, directory),
    );
    let root = fixture
        .forge
        .directory(&fixture.context, &repo(), "", &Revision::Default)
        .await
        .unwrap();
    assert_eq!(root.at, "master");
    assert!(!root.items.is_empty());
    // The content there is itself no Base64: its line ends are spelled out.
    let content = json!({ "content": "IyBoZWxsby13\nb3JsZA==\n", "size": 13 });
    let file = &all["response-if-content-is-a-file-github-object"];
    let file = with(file.clone(), content);
    fixture.respond(
        "GET /repos/octo/hello/contents/README.md?ref=v1",
        ScriptedResponse::json(200, &file),
    );
    let at = Revision::Named("v1".to_owned());
    let file = fixture
        .forge
        .file(&fixture.context, &repo(), "README.md", &at, 1000)
        .await
        .unwrap();
    assert_eq!(
        (file.at.as_str(), file.bytes.as_slice()),
        ("v1", &b"# hello-world"[..])
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn directory_beyond_the_listing_is_read_from_its_tree() {
    let fixture = GithubFixture::reading().await;
    let entries: Vec<Value> = (0..1000)
        .map(|number| json!({ "type": "file", "name": number.to_string(), "path": format!("d/{number}") }))
        .collect();
    let url = "https://github.com/octo/hello/tree/v1/d";
    let listing = json!({ "type": "dir", "sha": "abc", "html_url": url, "entries": entries });
    let tree = json!({ "sha": "abc", "truncated": false, "tree": [
        { "path": "z", "mode": "100644", "type": "blob", "size": 7, "sha": "1" },
        { "path": "s", "mode": "040000", "type": "tree", "sha": "2" },
        { "path": "l", "mode": "120000", "type": "blob", "size": 1, "sha": "3" },
        { "path": "m", "mode": "160000", "type": "commit", "sha": "4" },
    ] });
    fixture.respond(
        "GET /repos/octo/hello/contents/d?ref=v1",
        ScriptedResponse::json(200, &listing),
    );
    fixture.respond(
        "GET /repos/octo/hello/git/trees/abc",
        ScriptedResponse::json(200, &tree),
    );
    let at = Revision::Named("v1".to_owned());
    let found = fixture
        .forge
        .directory(&fixture.context, &repo(), "d", &at)
        .await
        .unwrap();
    let items: Vec<_> = found
        .items
        .iter()
        .map(|item| (item.path.as_str(), item.kind, item.size))
        .collect();
    assert_eq!(
        items,
        [
            ("d/l", ItemKind::Symlink, 1),
            ("d/m", ItemKind::Submodule, 0),
            ("d/s", ItemKind::Dir, 0),
            ("d/z", ItemKind::File, 7),
        ]
    );
    assert_eq!(
        found.items[2].url,
        "https://github.com/octo/hello/tree/v1/d/s"
    );
    assert_eq!(
        found.items[3].url,
        "https://github.com/octo/hello/blob/v1/d/z"
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn file_directory_and_submodule_are_distinguished() {
    let fixture = GithubFixture::reading().await;
    let at = Revision::Commit("0123abc".to_owned());
    let line = "GET /repos/octo/hello/contents/p?ref=0123abc";
    let kinds = [
        json!({ "type": "file", "size": 1, "encoding": "base64", "content": "eA==" }),
        json!({ "type": "dir", "entries": [] }),
        json!({ "type": "submodule", "submodule_git_url": "git://x" }),
        json!({ "type": "symlink", "target": "../elsewhere" }),
        json!({ "type": "file", "size": 5000, "encoding": "base64", "content": "eA==" }),
    ];
    fixture.respond(line, ScriptedResponse::json(200, &kinds[0]));
    let directory = fixture
        .forge
        .directory(&fixture.context, &repo(), "p", &at)
        .await;
    assert_eq!(
        expect_failure(directory),
        UnmetPrecondition::NotADirectory("p".to_owned()).into()
    );
    for kind in &kinds {
        fixture.respond(line, ScriptedResponse::json(200, kind));
    }
    let file = || async {
        fixture
            .forge
            .file(&fixture.context, &repo(), "p", &at, 4999)
            .await
    };
    assert_eq!(file().await.unwrap().bytes, b"x");
    assert_eq!(
        expect_failure(file().await),
        UnmetPrecondition::IsDirectory("p".to_owned()).into()
    );
    assert_eq!(
        expect_failure(file().await),
        UnmetPrecondition::IsSubmodule("p".to_owned()).into()
    );
    assert_eq!(file().await.unwrap().bytes, b"../elsewhere");
    let large = |size| {
        Failure::from(UnmetPrecondition::TooLarge {
            path: "p".to_owned(),
            size,
            most: 4999,
        })
    };
    assert_eq!(expect_failure(file().await), large(Some(5000)));
    let beyond = json!({ "message": "m", "errors": [{ "resource": "Blob", "field": "data", "code": "too_large" }] });
    fixture.respond(line, ScriptedResponse::json(403, &beyond));
    assert_eq!(expect_failure(file().await), large(None));
    fixture.assert_complete();
}

#[tokio::test]
async fn file_without_its_content_is_loaded_raw() {
    let fixture = GithubFixture::reading().await;
    let at = Revision::Named("v1".to_owned());
    let line = "GET /repos/octo/hello/contents/p?ref=v1";
    let meta =
        json!({ "type": "file", "size": 3, "encoding": "none", "content": "", "html_url": "u" });
    fixture.respond(line, ScriptedResponse::json(200, &meta));
    fixture.respond(line, ScriptedResponse::new(200, &[], &[0xff, 0, 1]));
    let file = fixture
        .forge
        .file(&fixture.context, &repo(), "p", &at, 3)
        .await
        .unwrap();
    assert_eq!((file.bytes, file.url.as_str()), (vec![0xff, 0, 1], "u"));
    fixture.assert_complete();
}

#[tokio::test]
async fn status_404_names_the_missing_item() {
    let gone = || ScriptedResponse::json(404, &json!({ "message": "Not Found" }));
    let at = Revision::Branch("b".to_owned());
    for (repository_there, branch, missing) in [
        (true, Some(200), MissingItem::Path("p".to_owned())),
        (true, Some(422), MissingItem::Branch("b".to_owned())),
        (false, None, MissingItem::Repository),
    ] {
        let fixture = GithubFixture::reading().await;
        fixture.respond(
            "GET /repos/octo/hello/contents/p?ref=refs%2Fheads%2Fb",
            gone(),
        );
        fixture.respond(
            "GET /repos/octo/hello",
            if repository_there {
                repository()
            } else {
                gone()
            },
        );
        let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
        if let Some(status) = branch {
            let line = "GET /repos/octo/hello/commits/heads/b?per_page=1&page=1";
            fixture.respond(line, ScriptedResponse::json(status, &commit));
        }
        let found = fixture
            .forge
            .file(&fixture.context, &repo(), "p", &at, 10)
            .await;
        let refusal = expect_error_response(found);
        assert_eq!((refusal.status, refusal.missing), (404, missing));
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn tree_is_read_through_its_commit() {
    let fixture = GithubFixture::reading().await;
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    let tree_sha = commit["commit"]["tree"]["sha"].as_str().unwrap();
    let all = examples("GET", "/repos/{owner}/{repo}/git/trees/{tree_sha}");
    let tree = &all["default-response"];
    fixture.respond(
        "GET /repos/octo/hello/commits/v1.0/rc?per_page=1&page=1",
        ScriptedResponse::json(200, &commit),
    );
    let line = format!("GET /repos/octo/hello/git/trees/{tree_sha}?recursive=1");
    fixture.respond(&line, ScriptedResponse::json(200, tree));
    let at = Revision::Named("v1.0/rc".to_owned());
    let found = fixture
        .forge
        .tree(&fixture.context, &repo(), &at, 2)
        .await
        .unwrap();
    assert_eq!(
        (found.at.as_str(), found.total, found.truncated),
        ("v1.0/rc", 3, true)
    );
    assert_eq!((found.entries.len(), found.entries[0].kind), (2, "blob"));
    fixture.assert_complete();
}

#[tokio::test]
async fn revision_that_is_not_there_is_missing() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/commits/nowhere?per_page=1&page=1";
    fixture.respond(
        line,
        ScriptedResponse::json(422, &json!({ "message": "No commit found" })),
    );
    let at = Revision::Named("nowhere".to_owned());
    let found = fixture.forge.tree(&fixture.context, &repo(), &at, 10).await;
    assert_eq!(
        expect_failure(found),
        MissingItem::Revision("nowhere".to_owned()).into()
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn empty_repository_stays_a_409() {
    let fixture = GithubFixture::reading().await;
    fixture.respond(
        "GET /repos/octo/hello/commits?per_page=30&page=2",
        ScriptedResponse::json(409, &json!({ "message": "Git Repository is empty." })),
    );
    let found = fixture
        .forge
        .commits(&fixture.context, &repo(), &Revision::Default, PAGING)
        .await;
    assert_eq!(expect_error_response(found).status, 409);
    fixture.assert_complete();
}

#[tokio::test]
async fn commits_keep_what_is_null() {
    let fixture = GithubFixture::reading().await;
    let mut commits = example("GET", "/repos/{owner}/{repo}/commits");
    let mut nobody = commits[0].clone();
    nobody["author"] = Value::Null;
    nobody["commit"]["author"] = Value::Null;
    nobody["commit"]["committer"] = json!({ "name": null });
    commits.as_array_mut().unwrap().push(nobody);
    fixture.respond(
        "GET /repos/octo/hello/commits?sha=refs%2Fheads%2Fmain&per_page=30&page=2",
        list(&[next()], &commits),
    );
    let from = Revision::Branch("main".to_owned());
    let found = fixture
        .forge
        .commits(&fixture.context, &repo(), &from, PAGING)
        .await
        .unwrap();
    assert!(found.more);
    assert_eq!(
        found.commits[0].sha,
        "6dcb09b5b57875f334f61aebed695e2e4193db5e"
    );
    assert_eq!(
        found.commits[0].author.as_ref().unwrap().name.as_deref(),
        Some("Monalisa Octocat")
    );
    assert_eq!(found.commits[1].author, None);
    assert_eq!(found.commits[1].committer, Some(Default::default()));
    fixture.assert_complete();
}

#[tokio::test]
async fn branches_come_with_the_default() {
    let fixture = GithubFixture::reading().await;
    let branches = example("GET", "/repos/{owner}/{repo}/branches");
    fixture.respond("GET /repos/octo/hello", repository());
    fixture.respond(
        "GET /repos/octo/hello/branches?per_page=30&page=2",
        list(&[last()], &branches),
    );
    let found = fixture
        .forge
        .branches(&fixture.context, &repo(), PAGING)
        .await
        .unwrap();
    assert_eq!((found.default.as_str(), found.more), ("master", false));
    let sha = "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc".to_owned();
    let master = Branch {
        name: "master".to_owned(),
        protected: true,
        sha,
    };
    assert_eq!(found.branches, [master]);
    fixture.assert_complete();
}

#[tokio::test]
async fn pull_requests_survive_deleted_accounts_and_forks() {
    let fixture = GithubFixture::reading().await;
    let mut pulls = example("GET", "/repos/{owner}/{repo}/pulls");
    let mut bare = pulls[0].clone();
    bare["user"] = Value::Null;
    bare["head"]["repo"] = Value::Null;
    bare["body"] = Value::Null;
    bare["merged_at"] = Value::Null;
    bare["state"] = json!("closed");
    pulls.as_array_mut().unwrap().push(bare);
    fixture.respond(
        "GET /repos/octo/hello/pulls?state=all&sort=created&direction=desc&per_page=30&page=2",
        list(&[], &pulls),
    );
    let found = fixture
        .forge
        .pull_requests(&fixture.context, &repo(), PullFilter::All, PAGING)
        .await
        .unwrap();
    assert!(!found.more);
    let [whole, bare] = found.pulls.as_slice() else {
        panic!("two")
    };
    assert_eq!(whole.author.as_deref(), Some("octocat"));
    assert_eq!(whole.head_repo, RepoName::parse("octocat/Hello-World"));
    assert!(whole.merged, "merged_at tells it in a list");
    assert_eq!(
        (&bare.author, &bare.head_repo, &bare.body),
        (&None, &None, &None)
    );
    assert_eq!((bare.merged, bare.state), (false, PullState::Closed));
    fixture.assert_complete();
}

#[tokio::test]
async fn single_pull_request_has_its_mergeability() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/pulls/1347";
    fixture.respond(
        line,
        ScriptedResponse::json(
            200,
            &pull(json!({ "mergeable": null, "mergeable_state": "unknown" })),
        ),
    );
    fixture.respond(
        line,
        ScriptedResponse::json(
            200,
            &pull(json!({ "mergeable": true, "mergeable_state": "clean" })),
        ),
    );
    let pull = || async {
        fixture
            .forge
            .pull_request(&fixture.context, &repo(), 1347)
            .await
            .unwrap()
    };
    let first = pull().await;
    assert_eq!(
        (first.mergeable, first.mergeable_state.as_deref()),
        (None, Some("unknown"))
    );
    let second = pull().await;
    assert_eq!(
        (second.mergeable, second.mergeable_state.as_deref()),
        (Some(true), Some("clean"))
    );
    assert_eq!(second.node_id.as_deref(), Some("MDExOlB1bGxSZXF1ZXN0MQ=="));
    fixture.assert_complete();
}

#[tokio::test]
async fn checks_are_all_pages_of_both_kinds() {
    let fixture = GithubFixture::reading().await;
    let sha = "0000000000000000000000000000000000000001";
    let first = Recorded::of(STATUS, 0).body().clone();
    let second = json!({ "sha": sha, "statuses": [{ "context": "a", "state": "pending", "target_url": null }] });
    let run = |name: &str, status: &str, conclusion: Value| json!({ "name": name, "status": status, "conclusion": conclusion, "html_url": "u" });
    let runs = json!({ "total_count": 3, "check_runs": [run("z", "completed", json!("skipped")), run("b", "queued", json!(null))] });
    let more =
        json!({ "total_count": 3, "check_runs": [run("c", "completed", json!("timed_out"))] });
    let page = |what: &str, sha: &str, page: u32| {
        format!("GET /repos/octo/hello/commits/{sha}/{what}per_page=100&page={page}")
    };
    fixture.respond(&page("status?", "0000000", 1), list(&[next()], &first));
    fixture.respond(&page("status?", "0000000", 2), list(&[last()], &second));
    fixture.respond(
        &page("check-runs?filter=latest&", sha, 1),
        list(&[next()], &runs),
    );
    fixture.respond(&page("check-runs?filter=latest&", sha, 2), list(&[], &more));
    let found = fixture
        .forge
        .checks(&fixture.context, &repo(), "0000000")
        .await
        .unwrap();
    assert_eq!(found.sha, sha);
    let check = |name: &str, state, conclusion: &str, url: Option<&str>| CommitCheck {
        name: name.to_owned(),
        state,
        conclusion: conclusion.to_owned(),
        url: url.map(str::to_owned),
    };
    assert_eq!(
        found.checks,
        [
            check("a", CheckState::Pending, "pending", None),
            check("b", CheckState::Pending, "queued", Some("u")),
            check("c", CheckState::Failed, "timed_out", Some("u")),
            check(
                "example/1",
                CheckState::Failed,
                "failure",
                Some("https://example.com")
            ),
            check(
                "example/2",
                CheckState::Passed,
                "success",
                Some("https://example.com")
            ),
            check("z", CheckState::Passed, "skipped", Some("u")),
        ]
    );
    fixture.assert_complete();
}

const PAGE_OF_STATUSES: &str = "GET /repos/octo/hello/commits/1234567/status?per_page=100&page=1";
const PAGE_OF_RUNS: &str =
    "GET /repos/octo/hello/commits/1234567/check-runs?filter=latest&per_page=100&page=";

#[tokio::test]
async fn refused_source_of_checks_does_not_hide_the_other() {
    let refusal = || ScriptedResponse::json(403, &json!({ "message": "Resource not accessible" }));
    let statuses = json!({ "sha": "1234567", "total_count": 1, "statuses": [{ "context": "a", "state": "success", "target_url": null }] });
    let fixture = GithubFixture::reading().await;
    fixture.respond(PAGE_OF_STATUSES, ScriptedResponse::json(200, &statuses));
    fixture.respond(&format!("{PAGE_OF_RUNS}1"), refusal());
    let found = fixture
        .forge
        .checks(&fixture.context, &repo(), "1234567")
        .await
        .unwrap();
    assert_eq!(
        (found.checks.len(), found.unavailable),
        (1, vec![CheckSource::CheckRuns])
    );
    // Without any source there is no answer.
    fixture.respond(PAGE_OF_STATUSES, refusal());
    fixture.respond(&format!("{PAGE_OF_RUNS}1"), refusal());
    let refused = fixture
        .forge
        .checks(&fixture.context, &repo(), "1234567")
        .await;
    assert_eq!(expect_error_response(refused).status, 403);
    fixture.assert_complete();
}

#[tokio::test]
async fn check_runs_are_read_to_their_total_without_links() {
    let fixture = GithubFixture::reading().await;
    let statuses = json!({ "sha": "1234567", "total_count": 0, "statuses": [] });
    let runs = |count: usize| {
        let run = json!({ "name": "r", "status": "completed", "conclusion": "success", "html_url": null });
        json!({ "total_count": 150, "check_runs": vec![run; count] })
    };
    for second in [50, 40] {
        fixture.respond(PAGE_OF_STATUSES, ScriptedResponse::json(200, &statuses));
        for (page, count) in [(1, 100), (2, second)] {
            let line = format!("{PAGE_OF_RUNS}{page}");
            fixture.respond(&line, ScriptedResponse::json(200, &runs(count)));
        }
        let found = fixture
            .forge
            .checks(&fixture.context, &repo(), "1234567")
            .await
            .unwrap();
        assert_eq!(
            (found.checks.len(), found.truncated),
            (100 + second, second < 50)
        );
    }
    fixture.assert_complete();
}

/// Older Enterprise servers list a directory although one object was requested.
#[tokio::test]
async fn directory_is_accepted_as_a_list() {
    let fixture = GithubFixture::reading().await;
    let list =
        json!([{ "type": "file", "name": "b", "path": "d/b", "size": 3, "html_url": "u/b" }]);
    fixture.respond(
        "GET /repos/octo/hello/contents/d?ref=v1",
        ScriptedResponse::json(200, &list),
    );
    let at = Revision::Named("v1".to_owned());
    let found = fixture
        .forge
        .directory(&fixture.context, &repo(), "d", &at)
        .await
        .unwrap();
    assert_eq!(found.items.len(), 1);
    fixture.assert_complete();
}

#[tokio::test]
async fn root_of_an_empty_repository_is_empty() {
    let fixture = GithubFixture::reading().await;
    fixture.respond("GET /repos/octo/hello", repository());
    let missing = ScriptedResponse::json(404, &json!({ "message": "This repository is empty." }));
    fixture.respond("GET /repos/octo/hello/contents/", missing);
    fixture.respond("GET /repos/octo/hello", repository());
    let found = fixture
        .forge
        .directory(&fixture.context, &repo(), "", &Revision::Default)
        .await;
    assert_eq!(found, Err(Failure::Empty));
    fixture.assert_complete();
}

#[tokio::test]
async fn too_many_checks_are_a_failure() {
    let fixture = GithubFixture::reading().await;
    let page = json!({ "sha": "1234567", "statuses": [] });
    for number in 1..=30 {
        let line =
            format!("GET /repos/octo/hello/commits/1234567/status?per_page=100&page={number}");
        fixture.respond(&line, list(&[next()], &page));
    }
    let found = fixture
        .forge
        .checks(&fixture.context, &repo(), "1234567")
        .await;
    assert!(matches!(
        expect_failure(found),
        Failure::Unreachable(UnreachableReason::TooLarge, _)
    ));
    fixture.assert_complete();
}

#[tokio::test]
async fn details_are_bounded() {
    let fixture = GithubFixture::reading().await;
    let pull_path = "/repos/{owner}/{repo}/pulls/{pull_number}";
    let reviews = example("GET", &format!("{pull_path}/reviews"));
    let mut reviews = reviews.as_array().unwrap().clone();
    reviews.push(with(
        reviews[0].clone(),
        json!({ "user": null, "body": "" }),
    ));
    let files = example("GET", &format!("{pull_path}/files"));
    fixture.respond(
        "GET /repos/octo/hello/pulls/1347",
        ScriptedResponse::json(200, &pull(json!({}))),
    );
    fixture.respond(
        "GET /repos/octo/hello/pulls/1347/reviews?per_page=100&page=1",
        list(&[], &json!(reviews)),
    );
    fixture.respond(
        "GET /repos/octo/hello/pulls/1347/files?per_page=100&page=1",
        list(&[], &files),
    );
    let pull = fixture
        .forge
        .pull_request(&fixture.context, &repo(), 1347)
        .await
        .unwrap();
    let found = fixture
        .forge
        .details(&fixture.context, &repo(), &pull, 10)
        .await
        .unwrap();
    assert_eq!(found.reviews.len(), 2);
    assert_eq!(found.reviews[0].author.as_deref(), Some("octocat"));
    assert_eq!(found.reviews[1].author, None);
    assert_eq!(
        (found.files[0].path.as_str(), &found.files[0].patch),
        ("file1.txt", &None)
    );
    assert!(found.truncated);
    fixture.assert_complete();
}

#[tokio::test]
async fn commit_that_is_not_there_has_no_checks() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/commits/1234567/status?per_page=100&page=1";
    fixture.respond(
        line,
        ScriptedResponse::json(422, &json!({ "message": "No commit" })),
    );
    let found = fixture
        .forge
        .checks(&fixture.context, &repo(), "1234567")
        .await;
    let missing = MissingItem::Revision("1234567".to_owned());
    assert_eq!(expect_failure(found), missing.into());
    fixture.assert_complete();
}

#[tokio::test]
async fn branch_named_like_a_commit_is_not_that_commit() {
    let fixture = GithubFixture::reading().await;
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    let line = "GET /repos/octo/hello/commits/1234567?per_page=1&page=1";
    fixture.respond(line, ScriptedResponse::json(200, &commit));
    let at = Revision::Commit("1234567".to_owned());
    let found = fixture.forge.tree(&fixture.context, &repo(), &at, 10).await;
    let missing = MissingItem::Revision("1234567".to_owned());
    assert_eq!(expect_failure(found), missing.into());
    fixture.assert_complete();
}
