//! Searches the files of one repository with GitHub's code search.

use super::api::Api;
use super::raw_types::RawRepositoryName;
use super::requests::{GithubRead, TEXT_MATCH};
use super::revisions;
use super::route::Route;
use crate::search_model::shown_match;
use crate::{
    BackendContext, CodeMatch, CodePage, CodeQuery, CodeResult, Failure, MAX_FILE_MATCHES,
    MissingItem, Paging, RepoName, Revision,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct RawCodePage {
    total_count: u64,
    incomplete_results: bool,
    items: Vec<RawCode>,
}

#[derive(Debug, Deserialize)]
struct RawCode {
    path: String,
    html_url: String,
    repository: RawRepositoryName,
    #[serde(default)]
    text_matches: Vec<RawTextMatch>,
}

#[derive(Debug, Deserialize)]
struct RawTextMatch {
    #[serde(default)]
    fragment: String,
    #[serde(default)]
    matches: Vec<RawMatch>,
}

#[derive(Debug, Deserialize)]
struct RawMatch {
    #[serde(default)]
    text: String,
}

/// Returns the line of a fragment with its first match.
fn line(found: &RawTextMatch) -> String {
    let wanted = found.matches.first().map_or("", |one| one.text.as_str());
    let mut lines = found.fragment.lines();
    let line = lines
        .find(|line| line.contains(wanted))
        .unwrap_or(&found.fragment);
    let at = line.find(wanted).unwrap_or_default();
    shown_match(line, line[..at].chars().count())
}

pub(super) async fn search(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    query: &CodeQuery,
    paging: Paging,
) -> Result<CodePage, Failure> {
    let at = revisions::name(api, context, repo, &Revision::Default).await?;
    let mut wanted = format!("{} repo:{repo}", query.text);
    // A path with a quote cannot be a qualifier, so it is only applied to the results.
    let path = query.path.as_deref().unwrap_or_default();
    let is_sent = !path.is_empty() && !path.contains('"');
    if is_sent {
        wanted.push_str(&format!(" path:\"{path}\""));
    }
    let route = Route::root("search/code").query("q", &wanted);
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository).with_accept(TEXT_MATCH);
    let found: RawCodePage = api.read_json(context, request).await?;
    let shown = u64::from(paging.page) * u64::from(paging.per_page);
    let is_inside = |code: &RawCode| {
        let name = RepoName::parse(&code.repository.full_name);
        name.as_ref() == Some(repo) && code.path.starts_with(path)
    };
    let items = found.items.into_iter().filter(is_inside);
    let results = items.map(|code| {
        let matches = code.text_matches.iter().take(MAX_FILE_MATCHES);
        let matches = matches.map(|one| CodeMatch {
            line: None,
            text: line(one),
        });
        CodeResult {
            matches: matches.collect(),
            path: code.path,
            url: code.html_url,
        }
    });
    Ok(CodePage {
        results: results.collect(),
        total_count: found.total_count,
        incomplete: found.incomplete_results || (!path.is_empty() && !is_sent),
        at,
        more: found.total_count > shown,
    })
}
