//! Making an index of documents as they pass by, into a file of the cache or into memory.

use crate::check::Visitor;
use crate::codec::Broken;
use crate::digest::Digest;
use crate::document::Document;
use crate::failure::Failure;
use crate::index::{self, DocumentIndex, Facts};
use crate::inverted::{About, Kind, Shard, Terms, Unwritten, Writer};
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Where the index of documents is kept in a cache.
pub(crate) const INDEX_FILE: &str = "accelerator.idx";

/// Gathers what the index needs of each document.
pub(crate) struct Gatherer {
    shard: Shard,
    facts: Vec<(u32, Facts)>,
}

impl Gatherer {
    pub(crate) fn new() -> Gatherer {
        Gatherer {
            shard: Shard::new(),
            facts: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, number: u32, content: &str) {
        let facts = index::gather(&mut self.shard, number, content);
        self.facts.push((number, facts));
    }
}

impl Visitor for Gatherer {
    fn document(&mut self, number: u32, document: &Document) {
        self.add(number, &document.content);
    }
}

/// Documents that are taken over from an index that is already there.
pub(crate) struct Kept<'a> {
    pub(crate) index: &'a DocumentIndex,
    /// The new number of each document that is kept; the order of the kept ones is the same.
    pub(crate) renumbered: &'a [Option<u32>],
}

/// Writes the index of `count` documents.
pub(crate) fn write_index(
    out: impl Write,
    cache_version: Digest,
    count: u32,
    gathered: Vec<Gatherer>,
    kept: Option<Kept<'_>>,
) -> Result<(), Unwritten> {
    let mut facts = vec![Facts::default(); count as usize];
    let mut sources: Vec<(Box<dyn Terms + '_>, Box<dyn Fn(u64) -> Option<u32> + '_>)> = Vec::new();
    for gatherer in gathered {
        for (number, one) in gatherer.facts {
            facts[number as usize] = one;
        }
        let same = |key| u32::try_from(key).ok();
        sources.push((Box::new(gatherer.shard.sorted()), Box::new(same)));
    }
    if let Some(Kept { index, renumbered }) = &kept {
        let old = index::read_facts(index.terms().facts(), index.terms().units())?;
        for (one, number) in old.into_iter().zip(*renumbered) {
            if let Some(number) = number {
                facts[*number as usize] = one;
            }
        }
        let renumber = |key: u64| {
            renumbered
                .get(usize::try_from(key).ok()?)
                .copied()
                .flatten()
        };
        sources.push((Box::new(index.terms().stream()?), Box::new(renumber)));
    }
    let mut writer = Writer::new(out, cache_version);
    writer.merge(&mut sources)?;
    writer.finish(&About {
        kind: Kind::Documents,
        maker: index::MAKER,
        cache_version,
        units: count,
        facts: &index::write_facts(&facts),
    })?;
    Ok(())
}

/// An index that lives in memory only.
pub(crate) fn in_memory(
    cache_version: Digest,
    count: u32,
    gathered: Vec<Gatherer>,
) -> Result<DocumentIndex, Failure> {
    let made = rustix::fs::memfd_create("context-index", MemfdFlags::CLOEXEC);
    let file = File::from(made.map_err(Failure::system("make an index in memory"))?);
    let out = BufWriter::with_capacity(1 << 20, &file);
    write_index(out, cache_version, count, gathered, None).map_err(unwritten)?;
    DocumentIndex::open(file, cache_version)
        .map_err(|Broken| Failure::Bug("an index just made cannot be read"))
}

pub(crate) fn unwritten(why: Unwritten) -> Failure {
    match why {
        Unwritten::Broken => Failure::Bug("what was gathered cannot be merged"),
        Unwritten::System(error) => Failure::System {
            doing: String::from("write the index"),
            error,
        },
    }
}
