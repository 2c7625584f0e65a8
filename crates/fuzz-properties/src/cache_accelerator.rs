//! Changed files of the accelerator never change an answer. If their checksums are forged too,
//! nothing panics.

use super::cache::CacheFixture;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const FILES: [&str; 3] = ["accelerator.idx", "passages.idx", "accelerator.sig"];

/// The length of the footer of an index.
const FOOTER: usize = 136;

thread_local! {
    static CACHE: CacheFixture = CacheFixture::new(&sources(), &FILES);
}

/// Returns enough documents that a list is stored outside the dictionary.
fn sources() -> Vec<(String, String)> {
    (0..14)
        .map(|number: u32| {
            let content = format!("# All\n\nall w{} beta{number}", number % 4);
            (format!("{number}.md"), content)
        })
        .collect()
}

/// Changes one file of a cache. The first byte chooses the file and the kind of change, the others
/// are its content.
///
/// # Panics
///
/// Panics if an answer changes.
pub fn cache_accelerator(bytes: &[u8]) {
    let Some((&how, rest)) = bytes.split_first() else {
        return;
    };
    let name = FILES[usize::from(how) % FILES.len()];
    CACHE.with(|cache| {
        let built = cache.built(name);
        match usize::from(how) / FILES.len() {
            0 => cache.put(name, rest),
            1 => cache.put(name, &changed(built, rest)),
            2 => cache.put(name, &replace_tail(built, rest)),
            _ => {
                let changed = changed(built, rest);
                cache.put(name, &forged(name, built, changed));
                cache.ask();
                cache.put(name, built);
                return;
            }
        }
        cache.answers_as_built();
        cache.put(name, built);
    });
}

/// Changes single bytes: two bytes are the offset, the third is the mask.
fn changed(built: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = built.to_vec();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let count = bytes.len();
        bytes[place % count] ^= change[2];
    }
    bytes
}

/// Truncates the bytes and appends others.
fn replace_tail(built: &[u8], rest: &[u8]) -> Vec<u8> {
    let (length, rest) = match rest {
        [low, high, rest @ ..] => (u16::from_le_bytes([*low, *high]), rest),
        short => (0, short),
    };
    let kept = usize::from(length) % (built.len() + 1);
    [&built[..kept], rest].concat()
}

/// Makes every checksum valid again, at the offsets of the built file.
fn forged(name: &str, built: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
    let number = |at: usize| {
        let bytes = built[at..at + 8].first_chunk::<8>();
        u64::from_le_bytes(*bytes.expect("a number has eight bytes"))
    };
    if name == "accelerator.sig" {
        let end = bytes.len();
        seal(&mut bytes, number(12), 0, end, 0);
        return bytes;
    }
    let footer = built.len() - FOOTER;
    let seed = number(footer + 24);
    let [dictionary, blocks, facts, end] =
        [88, 96, 104, 112].map(|at| number(footer + at) as usize);
    seal(&mut bytes, seed, dictionary, blocks, 0);
    seal(&mut bytes, seed, blocks, facts, blocks as u64);
    seal(&mut bytes, seed, facts, end, facts as u64);
    seal(&mut bytes, seed, footer, built.len(), end as u64);
    bytes
}

/// Writes the checksum of a section into its last eight bytes.
fn seal(bytes: &mut [u8], seed: u64, from: usize, to: usize, offset: u64) {
    let (body, sum) = bytes[from..to].split_at_mut(to - from - 8);
    let right = xxh3_64_with_seed(body, seed ^ offset.rotate_left(32));
    sum.copy_from_slice(&right.to_le_bytes());
}
