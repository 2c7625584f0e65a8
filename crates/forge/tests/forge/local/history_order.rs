//! The order of histories, page by page, beside `git log`.

use crate::fixture::local::{LocalFixture, branch, git_with_input, hello, reading_context};
use candor_forge::{Forge as _, Paging};
use candor_testkit::is_long;
use std::fmt::Write as _;

/// Returns the number of random histories.
fn histories() -> u64 {
    if is_long() { 200 } else { 12 }
}

/// Returns random commits for `git fast-import`: merges, several roots, equal dates, skewed clocks.
fn random_history(random: &mut fastrand::Rng, name: &str) -> String {
    let mut below = |end: u64| random.u64(..end);
    let mut text = String::new();
    let commits = 5 + below(60);
    let skew = [1, 3, 86_400 * 3][below(3) as usize];
    let mut tips: Vec<u64> = Vec::new();
    for number in 1..=commits {
        let date = 1_700_000_000 + number * below(3) + below(skew);
        let is_root = tips.is_empty() || below(12) == 0;
        writeln!(text, "commit refs/side/{name}/{number}\nmark :{number}").unwrap();
        writeln!(text, "committer a <a@b> {date} +0000\ndata 1\nm").unwrap();
        if !is_root {
            let from = tips[below(tips.len() as u64) as usize];
            writeln!(text, "from :{from}").unwrap();
            for _ in 0..below(3) {
                let other = tips[below(tips.len() as u64) as usize];
                if other != from {
                    writeln!(text, "merge :{other}").unwrap();
                    break;
                }
            }
        }
        tips.push(number);
    }
    // One commit joins all of them.
    writeln!(
        text,
        "commit refs/heads/{name}\nmark :9999\ncommitter a <a@b> 1700000100 +0000"
    )
    .unwrap();
    writeln!(text, "data 1\nm\nfrom :{}", tips[tips.len() - 1]).unwrap();
    for tip in tips.iter().take(tips.len() - 1).rev().take(14) {
        writeln!(text, "merge :{tip}").unwrap();
    }
    text
}

async fn pages(fixture: &LocalFixture, name: &str, per_page: u32) -> Vec<String> {
    let mut listed = Vec::new();
    for page in 1.. {
        let paging = Paging { page, per_page };
        let (context, hello, from) = (reading_context(), hello(), branch(name));
        let found = fixture
            .forge
            .commits(&context, &hello, &from, paging)
            .await
            .unwrap();
        listed.extend(found.commits.into_iter().map(|commit| commit.sha));
        if !found.more {
            break;
        }
    }
    listed
}

#[tokio::test]
async fn pages_have_the_order_of_git_log() {
    let fixture = LocalFixture::new().await;
    let mut random = fastrand::Rng::with_seed(17);
    for number in 0..histories() {
        let name = format!("random-{number}");
        let text = random_history(&mut random, &name);
        git_with_input(
            &fixture.path("sample/hello"),
            &["fast-import", "--quiet"],
            &text,
        );
        let log = fixture.git(&["log", "--format=%H", &format!("refs/heads/{name}")]);
        let log: Vec<_> = log.lines().map(str::to_owned).collect();
        assert_eq!(pages(&fixture, &name, 7).await, log, "{text}");
    }
}

/// Commits of one second come after their children.
#[tokio::test]
async fn commits_of_one_second_are_in_order() {
    let fixture = LocalFixture::new().await;
    let mut text = String::new();
    for number in 1..=4 {
        writeln!(
            text,
            "commit refs/heads/second\ncommitter a <a@b> 1700000000 +0000"
        )
        .unwrap();
        writeln!(text, "data 2\nm{number}").unwrap();
    }
    git_with_input(
        &fixture.path("sample/hello"),
        &["fast-import", "--quiet"],
        &text,
    );
    let log = fixture.git(&["log", "--format=%H", "second"]);
    assert_eq!(
        pages(&fixture, "second", 3).await,
        log.lines().collect::<Vec<_>>()
    );
}
