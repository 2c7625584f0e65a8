//! Reads directories and files at a revision.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_LISTING_ENTRIES;
use super::raw_types::{RawContent, RawEntry, RawItem, RawPath, RawTree};
use super::requests::{GithubRead, OBJECT, RAW};
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, Directory, DirectoryItem, Failure, File, GithubErrorResponse, ItemKind,
    MissingItem, RepoName, Revision, UnmetPrecondition,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_http_client::BodyLimit;

pub(super) async fn directory(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    path: &str,
    at: &Revision,
) -> Result<Directory, Failure> {
    let name = revisions::name(api, context, repo, at).await?;
    let found = content(api, context, repo, path, at).await?;
    let entries = match (found.kind.as_str(), found.entries) {
        ("dir", Some(entries)) => entries,
        ("dir", None) => {
            return Err(ExchangeFailure::nonsense("a directory without entries").into());
        }
        _ => return Err(UnmetPrecondition::NotADirectory(path.to_owned()).into()),
    };
    let mut items = match entries.len() < MAX_LISTING_ENTRIES {
        true => entries
            .into_iter()
            .map(listed)
            .collect::<Result<Vec<_>, Failure>>()?,
        false => {
            let url = found.html_url.unwrap_or_default();
            whole_directory(api, context, repo, path, &found.sha, &url).await?
        }
    };
    items.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(Directory { at: name, items })
}

pub(super) async fn file(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    path: &str,
    at: &Revision,
    most: u64,
) -> Result<File, Failure> {
    let name = revisions::name(api, context, repo, at).await?;
    let found = content(api, context, repo, path, at).await;
    let found = found.map_err(|failure| unloadable(failure, path, most))?;
    let too_large = |size| {
        Failure::from(UnmetPrecondition::TooLarge {
            path: path.to_owned(),
            size,
            most,
        })
    };
    let bytes = match found.kind.as_str() {
        "dir" => return Err(UnmetPrecondition::IsDirectory(path.to_owned()).into()),
        "submodule" => return Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into()),
        _ if found.submodule_git_url.is_some() => {
            return Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into());
        }
        // GitHub returns the target of a link to a file. Of any other link it returns the path.
        "symlink" => found.target.unwrap_or_default().into_bytes(),
        "file" if found.size > most => return Err(too_large(Some(found.size))),
        "file" => match (found.encoding.as_deref(), found.content) {
            (Some("base64"), Some(text)) => api.redactor.without_own(&decoded(text)?).into_owned(),
            _ => raw(api, context, repo, path, at, most).await?,
        },
        _ => return Err(ExchangeFailure::nonsense("a content of an unknown type").into()),
    };
    if bytes.len() as u64 > most {
        return Err(too_large(Some(bytes.len() as u64)));
    }
    Ok(File {
        at: name,
        sha: found.sha,
        bytes,
        url: found.html_url.unwrap_or_default(),
    })
}

fn route(repo: &RepoName, path: &str, at: &Revision) -> Route {
    let route = Route::of(repo).then("contents");
    let route = match path {
        "" => route.then(""),
        path => route.names(path),
    };
    match revisions::parameter(at) {
        Some(value) => route.query("ref", &value),
        None => route,
    }
}

async fn content(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    path: &str,
    at: &Revision,
) -> Result<RawContent, Failure> {
    let missing = MissingItem::Path(path.to_owned());
    let request = GithubRead::new(route(repo, path, at), missing).with_accept(OBJECT);
    match api
        .read_json::<RawPath>(context, request)
        .await
        .map(RawContent::from)
    {
        Err(Failure::GithubErrorResponse(response)) if response.status == 404 => {
            let missing = misplaced(api, context, repo, at, response).await;
            // The root of a revision that exists is missing only if there is no commit.
            Err(match missing {
                Failure::GithubErrorResponse(GithubErrorResponse {
                    missing: MissingItem::Path(path),
                    ..
                }) if path.is_empty() => Failure::Empty,
                other => other,
            })
        }
        other => other,
    }
}

/// Finds out whether a 404 for a path refers to the revision.
async fn misplaced(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    at: &Revision,
    mut response: GithubErrorResponse,
) -> Failure {
    let given = !matches!(at, Revision::Default);
    if given && response.missing != MissingItem::Repository {
        let name = revisions::parameter(at).unwrap_or_default();
        let name = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let found = revisions::resolve(api, context, repo, at, name).await;
        if let Err(
            Failure::Missing(_)
            | Failure::GithubErrorResponse(GithubErrorResponse { status: 404, .. }),
        ) = found
        {
            response.missing = revisions::missing(at);
        }
    }
    Failure::GithubErrorResponse(response)
}

/// Maps GitHub's code for a file that is too large to be read.
fn unloadable(failure: Failure, path: &str, most: u64) -> Failure {
    let Failure::GithubErrorResponse(response) = &failure else {
        return failure;
    };
    let errors = response
        .errors
        .as_ref()
        .and_then(|errors| errors.as_array());
    let mut codes = errors.into_iter().flatten().map(|error| &error["code"]);
    match response.status == 403 && codes.any(|code| code == "too_large") {
        false => failure,
        true => Failure::from(UnmetPrecondition::TooLarge {
            path: path.to_owned(),
            size: None,
            most,
        }),
    }
}

async fn raw(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    path: &str,
    at: &Revision,
    most: u64,
) -> Result<Vec<u8>, Failure> {
    let missing = MissingItem::Path(path.to_owned());
    let request = GithubRead::new(route(repo, path, at), missing)
        .with_accept(RAW)
        .with_limit(BodyLimit::Whole(most));
    Ok(api.read(context, request).await?.bytes.to_vec())
}

/// Decodes Base64 with line breaks, as GitHub writes it.
pub(super) fn decoded(text: String) -> Result<Vec<u8>, Failure> {
    let lines = text.split_ascii_whitespace();
    let joined: String = lines.collect();
    STANDARD
        .decode(joined)
        .map_err(|error| ExchangeFailure::garbled("Base64Error", &error).into())
}

fn listed(raw: RawItem) -> Result<DirectoryItem, Failure> {
    let kind = match raw.kind.as_str() {
        "dir" => ItemKind::Dir,
        "symlink" => ItemKind::Symlink,
        "submodule" => ItemKind::Submodule,
        // In a listing GitHub calls a submodule a file, but its git object is a tree.
        "file" if raw.git_url.as_deref().is_some_and(is_tree) => ItemKind::Submodule,
        "file" => ItemKind::File,
        _ => return Err(ExchangeFailure::nonsense("an entry of an unknown type").into()),
    };
    Ok(DirectoryItem {
        name: raw.name,
        kind,
        path: raw.path,
        size: raw.size,
        url: raw.html_url.unwrap_or_default(),
    })
}

fn is_tree(git_url: &str) -> bool {
    let mut parts = git_url.rsplit('/').skip(1);
    (parts.next(), parts.next()) == (Some("trees"), Some("git"))
}

/// Reads a directory with more entries than its listing has.
async fn whole_directory(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    path: &str,
    sha: &str,
    url: &str,
) -> Result<Vec<DirectoryItem>, Failure> {
    let route = Route::of(repo).then("git/trees").name(sha);
    let request = GithubRead::new(route, MissingItem::Path(path.to_owned()));
    let tree: RawTree = api.read_json(context, request).await?;
    if tree.truncated {
        return Err(ExchangeFailure::large().into());
    }
    let entries = tree.tree.into_iter();
    Ok(entries.map(|entry| unlisted(entry, path, url)).collect())
}

fn unlisted(entry: RawEntry, path: &str, url: &str) -> DirectoryItem {
    let kind = match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => ItemKind::Dir,
        ("commit", _) => ItemKind::Submodule,
        (_, "120000") => ItemKind::Symlink,
        _ => ItemKind::File,
    };
    let below = |above: &str| match above {
        "" => entry.path.clone(),
        above => format!("{}/{}", above.trim_end_matches('/'), entry.path),
    };
    DirectoryItem {
        kind,
        path: below(path),
        size: entry.size.unwrap_or_default(),
        url: match kind {
            ItemKind::Dir => below(&shown_as("tree", url)),
            _ => below(&shown_as("blob", url)),
        },
        name: entry.path,
    }
}

/// Replaces the kind in the URL of a page, `https://HOST/OWNER/NAME/KIND/…`.
fn shown_as(kind: &str, url: &str) -> String {
    let parts = url.split('/').enumerate();
    let parts = parts.map(|(place, part)| if place == 5 { kind } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodule_in_a_listing_is_recognised_by_its_git_object() {
        let api = "https://api.github.com/repos/jquery/qunit/git";
        assert!(is_tree(&format!(
            "{api}/trees/6ca3721222109997540bd6d9ccd396902e0ad2f9"
        )));
        assert!(!is_tree(&format!(
            "{api}/blobs/6ca3721222109997540bd6d9ccd396902e0ad2f9"
        )));
        assert!(!is_tree(""));
    }

    #[test]
    fn page_is_shown_as_its_kind() {
        let page = "https://github.com/tree/tree/tree/v1/tree";
        assert_eq!(
            shown_as("blob", page),
            "https://github.com/tree/tree/blob/v1/tree"
        );
        assert_eq!(shown_as("blob", ""), "");
    }

    #[test]
    fn base64_in_lines_is_decoded() {
        assert_eq!(decoded("aGVs\nbG8=\n".to_owned()), Ok(b"hello".to_vec()));
        assert_eq!(decoded(String::new()), Ok(Vec::new()));
        assert!(decoded("a".to_owned()).is_err());
    }
}
