//! Checks that the index of a pack is undamaged and belongs to its pack.

use super::errors::OrBroken;
use super::import::READ;
use crate::Failure;
use candor_fault::Cause;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The bytes of a checksum.
const SUM: usize = 20;

/// The bytes that are read at once.
const PIECE: usize = 1 << 16;

/// Fails if the index has another checksum than its own bytes, or another pack's.
pub(super) fn check(pack: &Path, index: &Path) -> Result<(), Failure> {
    let sums = index_sums(index).or_broken(READ)?;
    let end = pack_sum(pack).or_broken(READ)?;
    let why = match sums {
        Some(sums) if sums.computed != sums.own => "is damaged",
        Some(sums) if Some(sums.pack) == end => return Ok(()),
        Some(_) => "belongs to another pack",
        None => "is too short",
    };
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    let repair = "to write it again, remove it and run `git index-pack` on the pack";
    let cause = Cause::Text(format!("the index {name} {why}; {repair}"));
    Err(Failure::Broken(READ, cause))
}

/// The checksums of an index: the two at its end, and the one of its bytes.
struct IndexSums {
    pack: [u8; SUM],
    own: [u8; SUM],
    computed: Vec<u8>,
}

fn index_sums(path: &Path) -> io::Result<Option<IndexSums>> {
    let mut file = File::open(path)?;
    let Some(mut left) = file.metadata()?.len().checked_sub(SUM as u64) else {
        return Ok(None);
    };
    let mut sum = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        file.read_exact(&mut piece[..wanted])?;
        sum.update(&piece[..wanted]);
        left -= wanted as u64;
    }
    let mut ends = [0; 2 * SUM];
    if file.seek(SeekFrom::End(0))? < ends.len() as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-(2 * SUM as i64)))?;
    file.read_exact(&mut ends)?;
    let (mut pack, mut own) = ([0; SUM], [0; SUM]);
    pack.copy_from_slice(&ends[..SUM]);
    own.copy_from_slice(&ends[SUM..]);
    Ok(Some(IndexSums {
        pack,
        own,
        computed: sum.finish().as_ref().to_vec(),
    }))
}

/// Returns the checksum at the end of a pack.
fn pack_sum(path: &Path) -> io::Result<Option<[u8; SUM]>> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() < SUM as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-(SUM as i64)))?;
    let mut sum = [0; SUM];
    file.read_exact(&mut sum)?;
    Ok(Some(sum))
}
