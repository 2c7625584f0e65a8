//! Tags and releases.

use super::GithubForge;
use super::api::Api;
use super::raw_types::Sha;
use super::requests::{GithubRead, GithubWrite};
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, BackendFuture, CreatedTag, Failure, GithubErrorResponse, MissingItem,
    NewRelease, NewTag, Paging, Release, ReleaseForge, ReleasePage, RepoName, RequestKind,
    Revision, Tag, TagPage, UnmetPrecondition,
};
use candor_http_client::Method;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
struct RawTag {
    name: String,
    commit: Sha,
}

#[derive(Debug, Deserialize)]
struct RawAuthor {
    login: String,
}

#[derive(Debug, Deserialize)]
struct RawRelease {
    id: u64,
    tag_name: String,
    name: Option<String>,
    body: Option<String>,
    draft: bool,
    prerelease: bool,
    author: Option<RawAuthor>,
    created_at: String,
    published_at: Option<String>,
    html_url: String,
}

impl RawRelease {
    fn into_model(self) -> Release {
        Release {
            id: self.id,
            tag: self.tag_name,
            title: self.name,
            body: self.body,
            draft: self.draft,
            prerelease: self.prerelease,
            author: self.author.map(|author| author.login),
            created_at: self.created_at,
            published_at: self.published_at,
            url: self.html_url,
        }
    }
}

async fn tags(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    paging: Paging,
) -> Result<TagPage, Failure> {
    let route = Route::of(repo).then("tags");
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let reply = api.read(context, request).await?;
    let tags: Vec<RawTag> = reply.json()?;
    let tags = tags.into_iter().map(|raw| Tag {
        name: raw.name,
        sha: raw.commit.sha,
    });
    Ok(TagPage {
        tags: tags.collect(),
        more: reply.more,
    })
}

/// Returns the commit of a tag, and `None` if there is no such tag.
async fn commit_of_tag(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    tag: &str,
) -> Result<Option<String>, Failure> {
    let full = format!("tags/{tag}");
    let at = Revision::Named(full.clone());
    match revisions::resolve(api, context, repo, &at, &full).await {
        Ok(found) => Ok(Some(found.sha)),
        Err(Failure::Missing(MissingItem::Revision(_))) => Ok(None),
        Err(Failure::GithubErrorResponse(response))
            if response.status == 404 && response.missing != MissingItem::Repository =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

async fn create_tag(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    new: &NewTag,
) -> Result<CreatedTag, Failure> {
    let name = revisions::name(api, context, repo, &new.at).await?;
    let commit = revisions::resolve(api, context, repo, &new.at, &name).await?;
    let elsewhere = || Failure::from(UnmetPrecondition::TagExists(new.name.clone()));
    if let Some(there) = commit_of_tag(api, context, repo, &new.name).await? {
        return match there == commit.sha {
            true => Ok(CreatedTag {
                sha: there,
                created: false,
            }),
            false => Err(elsewhere()),
        };
    }
    let write = |route: &'static str, body| GithubWrite {
        method: Method::POST,
        route: Route::of(repo).then(route),
        body: Some(body),
        step: RequestKind::Write,
        missing: MissingItem::Repository,
    };
    context.mark.begins()?;
    let target = match &new.message {
        None => commit.sha.clone(),
        Some(message) => {
            let body = json!({ "tag": new.name, "message": message, "object": commit.sha, "type": "commit" });
            // The object alone changes nothing that anybody sees.
            let made = api.send(context, write("git/tags", body)).await;
            let made = made.map_err(|failed| failed.into_failure(context))?;
            let made: Sha = made.json().inspect_err(|_| context.mark.undone())?;
            made.sha
        }
    };
    let body = json!({ "ref": format!("refs/tags/{}", new.name), "sha": target });
    match api.send(context, write("git/refs", body)).await {
        Ok(_) => {
            context.mark.done();
            Ok(CreatedTag {
                sha: commit.sha,
                created: true,
            })
        }
        Err(failed) => match failed.into_failure(context) {
            failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. }) => {
                match commit_of_tag(api, context, repo, &new.name).await {
                    Ok(Some(_)) => Err(elsewhere()),
                    _ => Err(failure),
                }
            }
            failure => Err(failure),
        },
    }
}

async fn releases(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    paging: Paging,
) -> Result<ReleasePage, Failure> {
    let route = Route::of(repo).then("releases");
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let reply = api.read(context, request).await?;
    let releases: Vec<RawRelease> = reply.json()?;
    Ok(ReleasePage {
        releases: releases.into_iter().map(RawRelease::into_model).collect(),
        more: reply.more,
    })
}

/// Makes a release. GitHub would make a missing tag too, so the tag is looked up first.
async fn create_release(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    new: &NewRelease,
) -> Result<Release, Failure> {
    let tag = commit_of_tag(api, context, repo, &new.tag).await?;
    tag.ok_or_else(|| MissingItem::Tag(new.tag.clone()))?;
    let mut body = json!({
        "tag_name": new.tag, "draft": new.draft, "prerelease": new.prerelease,
    });
    if let Some(title) = &new.title {
        body["name"] = json!(title);
    }
    if let Some(text) = &new.body {
        body["body"] = json!(text);
    }
    let change = GithubWrite {
        method: Method::POST,
        route: Route::of(repo).then("releases"),
        body: Some(body),
        step: RequestKind::Write,
        missing: MissingItem::Repository,
    };
    match api.change(context, change).await {
        Ok(reply) => Ok(reply.json::<RawRelease>()?.into_model()),
        Err(failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. })) => {
            let route = Route::of(repo).then("releases/tags").names(&new.tag);
            let request = GithubRead::new(route, MissingItem::Tag(new.tag.clone()));
            match api.read(context, request).await {
                Ok(_) => Err(UnmetPrecondition::ReleaseExists(new.tag.clone()).into()),
                Err(_) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

impl ReleaseForge for GithubForge {
    fn tags<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, TagPage> {
        self.filtered(tags(&self.0, context, repo, paging))
    }

    fn create_tag<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewTag,
    ) -> BackendFuture<'a, CreatedTag> {
        self.filtered(create_tag(&self.0, context, repo, new))
    }

    fn releases<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, ReleasePage> {
        self.filtered(releases(&self.0, context, repo, paging))
    }

    fn create_release<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRelease,
    ) -> BackendFuture<'a, Release> {
        self.filtered(create_release(&self.0, context, repo, new))
    }
}
