//! Reads pull requests, their reviews and their files.

use super::api::Api;
use super::limits::{MAX_DETAIL_PAGES, MAX_PAGE_ENTRIES};
use super::raw_types::{RawFile, RawPull, RawReview};
use super::requests::GithubRead;
use super::route::Route;
use crate::discussion_model::decision;
use crate::{
    BackendContext, Failure, MissingItem, Paging, PullDetails, PullFileChange, PullFilter,
    PullPage, PullRequest, RepoName, Review,
};
use serde::de::DeserializeOwned;

pub(super) async fn list(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    wanted: PullFilter,
    paging: Paging,
) -> Result<PullPage, Failure> {
    let route = Route::of(repo)
        .then("pulls")
        .query("state", state_word(wanted))
        .query("sort", "created")
        .query("direction", "desc")
        .page(paging.page, paging.per_page);
    let reply = api
        .read(context, GithubRead::new(route, MissingItem::Repository))
        .await?;
    let pulls: Vec<RawPull> = reply.json()?;
    let pulls = pulls.into_iter().map(RawPull::into_model);
    Ok(PullPage {
        pulls: pulls.collect::<Result<_, _>>()?,
        more: reply.more,
    })
}

pub(super) fn state_word(wanted: PullFilter) -> &'static str {
    match wanted {
        PullFilter::Open => "open",
        PullFilter::Closed => "closed",
        PullFilter::All => "all",
    }
}

pub(super) fn route(repo: &RepoName, number: u64) -> Route {
    Route::of(repo).then("pulls").number(number)
}

pub(super) async fn one(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
) -> Result<PullRequest, Failure> {
    let request = GithubRead::new(route(repo, number), MissingItem::PullRequest(number));
    let found: RawPull = api.read_json(context, request).await?;
    found.into_model()
}

pub(super) async fn details(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
    most: usize,
) -> Result<PullDetails, Failure> {
    let number = pull.number;
    let (reviews, more_reviews) = pages::<RawReview>(api, context, repo, number, "reviews").await?;
    let (files, more_files) = pages::<RawFile>(api, context, repo, number, "files").await?;
    let (files, cut) = fitted(files, most);
    let reviews: Vec<_> = reviews.into_iter().map(Review::from).collect();
    Ok(PullDetails {
        review_decision: decision(&reviews),
        reviews,
        files,
        truncated: more_reviews || more_files || cut,
    })
}

/// Reads all pages up to the bound, and whether there are more.
async fn pages<T: DeserializeOwned>(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    what: &'static str,
) -> Result<(Vec<T>, bool), Failure> {
    let mut all = Vec::new();
    for page in 1..=MAX_DETAIL_PAGES {
        let route = route(repo, number).then(what).page(page, MAX_PAGE_ENTRIES);
        let request = GithubRead::new(route, MissingItem::PullRequest(number));
        let reply = api.read(context, request).await?;
        all.extend(reply.json::<Vec<T>>()?);
        if !reply.more {
            return Ok((all, false));
        }
    }
    Ok((all, true))
}

/// Returns the files in the order of their paths, with whole patches as long as they fit, and whether a
/// patch is left out. GitHub itself leaves out the patches of large changes.
fn fitted(mut files: Vec<RawFile>, most: usize) -> (Vec<PullFileChange>, bool) {
    files.sort_by(|left, right| left.filename.cmp(&right.filename));
    let (mut room, mut cut) = (most, false);
    let changes = files.into_iter().map(|file| {
        let withheld = file.patch.is_none() && file.additions + file.deletions > 0;
        let patch = file
            .patch
            .filter(|patch| match room.checked_sub(patch.len()) {
                Some(rest) => {
                    room = rest;
                    true
                }
                None => {
                    cut = true;
                    false
                }
            });
        cut |= withheld;
        PullFileChange {
            path: file.filename,
            status: file.status,
            additions: file.additions,
            deletions: file.deletions,
            patch,
        }
    });
    let changes = changes.collect();
    (changes, cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, lines: u64, patch: Option<&str>) -> RawFile {
        RawFile {
            filename: name.to_owned(),
            previous_filename: None,
            status: "modified".to_owned(),
            additions: lines,
            deletions: 0,
            patch: patch.map(str::to_owned),
        }
    }

    #[test]
    fn patches_are_whole_or_left_out() {
        let files = || vec![file("b", 1, Some("12345")), file("a", 1, Some("123"))];
        let patches = |most: usize| {
            let (changes, cut) = fitted(files(), most);
            let patches = changes.into_iter().map(|change| change.patch);
            (patches.collect::<Vec<_>>(), cut)
        };
        let (a, b) = (Some("123".to_owned()), Some("12345".to_owned()));
        assert_eq!(patches(8), (vec![a.clone(), b.clone()], false));
        assert_eq!(patches(7), (vec![a, None], true));
        assert_eq!(patches(0), (vec![None, None], true));
    }

    #[test]
    fn patch_that_github_withholds_is_left_out_too() {
        assert!(fitted(vec![file("large", 9000, None)], 10).1);
        assert!(!fitted(vec![file("binary", 0, None)], 10).1);
    }
}
