//! `search_code` on real repositories.

use crate::fixture::local::{LocalFixture, file, git_with_input, hello, reading_context};
use candor_forge::{CodePage, CodeQuery, Failure, HistoryForge as _, Paging};
use std::fmt::Write as _;

async fn search(fixture: &LocalFixture, text: &str, path: Option<&str>, page: u32) -> CodePage {
    let (context, hello) = (reading_context(), hello());
    let query = CodeQuery {
        text: text.to_owned(),
        path: path.map(String::from),
    };
    let paging = Paging { page, per_page: 2 };
    fixture
        .forge
        .search_code(&context, &hello, &query, paging)
        .await
        .unwrap()
}

fn paths(page: &CodePage) -> Vec<&str> {
    page.results.iter().map(|one| one.path.as_str()).collect()
}

#[tokio::test]
async fn files_with_every_word_are_found_in_path_order() {
    let fixture = LocalFixture::new().await;
    let files = [
        file("src/b.rs", "fn Alpha() {}\nlet beta = 1;\n"),
        file("src.rs", "alpha beta\n"),
        file("src/a/c.rs", "beta\n\n\nalpha\n"),
        file("src/only.rs", "alpha\n"),
    ];
    fixture.commit("main", &files).await.unwrap();
    let clone = fixture.clone_repository("sample/hello");
    std::fs::write(clone.path().join("binary"), b"alpha beta\0").unwrap();
    crate::fixture::local::git(clone.path(), &["add", "."]);
    crate::fixture::local::git(clone.path(), &["commit", "-q", "-m", "Binary"]);
    crate::fixture::local::git(clone.path(), &["push", "-q", "origin", "main"]);
    let first = search(&fixture, "ALPHA beta", None, 1).await;
    assert_eq!(paths(&first), ["src.rs", "src/a/c.rs"]);
    assert_eq!(
        (first.total_count, first.more, first.incomplete),
        (3, true, false)
    );
    assert_eq!(first.at, "main");
    let lines: Vec<_> = first.results[1]
        .matches
        .iter()
        .map(|one| one.line)
        .collect();
    assert_eq!(lines, [Some(1), Some(4)]);
    assert_eq!(
        first.results[1].url,
        "candor:///sample/hello/blob/main/src/a/c.rs"
    );
    let second = search(&fixture, "ALPHA beta", None, 2).await;
    assert_eq!((paths(&second), second.more), (vec!["src/b.rs"], false));
    assert_eq!(
        paths(&search(&fixture, "alpha", Some("src/a"), 1).await),
        ["src/a/c.rs"]
    );
    assert_eq!(
        paths(&search(&fixture, "\"beta = 1\"", None, 1).await),
        ["src/b.rs"]
    );
    assert_eq!(search(&fixture, "\"\"", None, 1).await.total_count, 0);
}

#[tokio::test]
async fn search_ends_at_its_bounds() {
    let fixture = LocalFixture::new().await;
    let mut text = String::from(
        "commit refs/heads/main\ncommitter a <a@b> 1800000000 +0000\ndata 1\nm\nfrom refs/heads/main^0\n",
    );
    for number in 0..250 {
        let content = "needle\n".repeat(9);
        writeln!(
            text,
            "M 100644 inline f{number:03}\ndata {}\n{content}",
            content.len()
        )
        .unwrap();
    }
    let large = "needle\n".repeat(200 * 1024);
    writeln!(text, "M 100644 inline a\ndata {}\n{large}", large.len()).unwrap();
    git_with_input(
        &fixture.path("sample/hello"),
        &["fast-import", "--quiet"],
        &text,
    );
    let found = search(&fixture, "needle", None, 1).await;
    // A file of more than a mebibyte is not searched; 200 files have a thousand matches.
    assert_eq!(paths(&found), ["f000", "f001"]);
    assert_eq!((found.total_count, found.incomplete), (200, true));
    assert_eq!(found.results[0].matches.len(), 5);
}

#[tokio::test]
async fn empty_repository_is_named() {
    let fixture = LocalFixture::new().await;
    let path = fixture.path("me/empty");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let init = ["init", "-q", "--bare", path.to_str().unwrap()];
    crate::fixture::local::git(fixture.dir.path(), &init);
    let context = reading_context();
    let query = CodeQuery {
        text: String::from("a"),
        path: None,
    };
    let paging = Paging {
        page: 1,
        per_page: 1,
    };
    let empty = crate::fixture::local::repo("me/empty");
    let found = fixture
        .forge
        .search_code(&context, &empty, &query, paging)
        .await;
    assert_eq!(found, Err(Failure::Empty));
}
