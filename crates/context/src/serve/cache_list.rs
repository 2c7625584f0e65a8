//! Lists the caches directly below a root.

use crate::failure::Failure;
use crate::files::dir_handle::kind;
use crate::files::location::Location;
use crate::format::manifest::MANIFEST;
use rustix::fs::FileType;
use serde::Serialize;

/// The response of `list_caches`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheList {
    caches: Vec<CacheListEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CacheListEntry {
    path: String,
    has_manifest: bool,
}

/// Lists the directories below the root, sorted by bytes. Links, hidden directories and names that are
/// not UTF-8, which no caller could send, are left out.
pub fn list_caches(location: &Location) -> Result<CacheList, Failure> {
    let Location::Below(root) = location else {
        return Err(Failure::Bug("caches are listed below a root"));
    };
    let failed = || Failure::system("list the root");
    let directory = root.open_dir().map_err(failed())?;
    let mut caches = Vec::new();
    for (name, of_kind) in directory.list().map_err(failed())? {
        let Some(path) = name.to_str().filter(|name| !name.starts_with('.')) else {
            continue;
        };
        if of_kind != FileType::Directory {
            continue;
        }
        let manifest = directory.stat(format!("{path}/{MANIFEST}"));
        let has_manifest = manifest.is_ok_and(|stat| kind(&stat) == FileType::RegularFile);
        caches.push(CacheListEntry {
            path: path.to_owned(),
            has_manifest,
        });
    }
    Ok(CacheList { caches })
}
