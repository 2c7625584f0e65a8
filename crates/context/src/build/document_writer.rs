//! Writes documents into a draft: new and changed sources are read and written, and every document
//! gets its name.

use crate::build::reuse::PreviousCache;
use crate::build::sources::{SourceDirectory, SourceFile, content_of};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::disk_steps;
use crate::files::file_stamp::FileStamp;
use crate::format::digest::Digest;
use crate::format::document;
use crate::index::writing::IndexGatherer;
use crate::parallel::{self, lock};
use crate::proof::check::Now;
use crate::tokenizer::Tokenizer;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rustix::fs::RenameFlags;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One document of the new cache.
pub(crate) struct PreparedDocument {
    pub(crate) version: Digest,
    pub(crate) name: String,
    pub(crate) origin: Option<FileStamp>,
    /// Its number in the previous cache, if it is reused.
    pub(crate) reused: Option<u32>,
    /// True if it was reused by copying instead of linking.
    copied: AtomicBool,
}

impl PreparedDocument {
    /// Records that it was reused by copying.
    pub(crate) fn is_copied(&self) {
        self.copied.store(true, Ordering::Relaxed);
    }

    /// Returns its number in the previous cache if both caches share the file.
    pub(crate) fn shared(&self) -> Option<u32> {
        self.reused.filter(|_| !self.copied.load(Ordering::Relaxed))
    }
}

/// Writes the documents of a source listing into the directory of a draft.
pub(crate) struct DocumentWriter<'a> {
    pub(crate) sources: &'a SourceDirectory,
    pub(crate) list: &'a [SourceFile],
    pub(crate) into: &'a DirHandle,
    pub(crate) before: Option<&'a PreviousCache>,
    pub(crate) passages: Option<Tokenizer>,
    pub(crate) now: Now<'a>,
    /// Called for every document.
    pub(crate) step: &'a (dyn Fn() + Sync),
}

/// The results of one worker.
struct WriteWorker {
    gatherer: IndexGatherer,
    content: Vec<u8>,
    prepared: Vec<(usize, PreparedDocument)>,
}

/// The state that all workers share.
struct WriteQueue<'a> {
    taken: Mutex<BTreeSet<String>>,
    /// Documents that wait to be written.
    waiting: Mutex<Vec<PendingFile>>,
    /// Held by the one worker that writes: a directory takes one new name at a time, and a worker
    /// that waited for it would do no other work.
    writing: Mutex<()>,
    into: &'a DirHandle,
    /// The first failure.
    failed: Mutex<Option<(usize, Failure)>>,
    /// The number of the first failing document. Later documents are skipped; an earlier one may still
    /// fail.
    limit: AtomicUsize,
}

/// A document's file before it is written.
struct PendingFile {
    number: usize,
    name: String,
    bytes: Vec<u8>,
}

/// The most documents that wait to be written before a worker waits for its turn.
const MOST_WAITING: usize = 64;

impl WriteQueue<'_> {
    fn fail(&self, number: usize, failure: Failure) {
        self.limit.fetch_min(number, Ordering::Relaxed);
        let mut failed = lock(&self.failed);
        match failed.as_ref() {
            Some((before, _)) if *before <= number => {}
            _ => *failed = Some((number, failure)),
        }
    }

    /// Queues a document, and writes the queue unless another worker does.
    fn hand_over(&self, file: PendingFile) {
        let waiting = {
            let mut waiting = lock(&self.waiting);
            waiting.push(file);
            waiting.len()
        };
        if waiting > MOST_WAITING {
            let _turn = lock(&self.writing);
            self.write_waiting();
        } else if let Ok(_turn) = self.writing.try_lock() {
            self.write_waiting();
        }
    }

    fn write_waiting(&self) {
        loop {
            let files = std::mem::take(&mut *lock(&self.waiting));
            if files.is_empty() {
                return;
            }
            for file in files {
                if let Err(error) = disk_steps::write_new(self.into, &file.name, &file.bytes) {
                    self.fail(file.number, Failure::unwritten(error));
                }
            }
        }
    }
}

impl DocumentWriter<'_> {
    /// Writes every document whose source is new or changed. Returns all documents in the order of
    /// ids, and the index entries of the written ones.
    pub(crate) fn run(&self) -> Result<(Vec<PreparedDocument>, Vec<IndexGatherer>), Failure> {
        let shared = WriteQueue {
            taken: Mutex::default(),
            waiting: Mutex::default(),
            writing: Mutex::default(),
            into: self.into,
            failed: Mutex::default(),
            limit: AtomicUsize::new(usize::MAX),
        };
        let make = || WriteWorker {
            gatherer: IndexGatherer::new(self.passages),
            content: Vec::new(),
            prepared: Vec::new(),
        };
        let workers = parallel::over(self.list.len(), make, |worker, number| {
            if number >= shared.limit.load(Ordering::Relaxed) {
                return;
            }
            match self.prepare(worker, number, &shared) {
                Ok(prepared) => worker.prepared.push((number, prepared)),
                Err(failure) => shared.fail(number, failure),
            }
            (self.step)();
        });
        shared.write_waiting();
        if let Some((_, failure)) = lock(&shared.failed).take() {
            return Err(failure);
        }
        let (mut prepared, mut gathered) = (Vec::new(), Vec::new());
        for worker in workers {
            prepared.extend(worker.prepared);
            gathered.push(worker.gatherer);
        }
        prepared.sort_unstable_by_key(|(number, _)| *number);
        let prepared = prepared.into_iter().map(|(_, prepared)| prepared).collect();
        Ok((prepared, gathered))
    }

    fn prepare(
        &self,
        worker: &mut WriteWorker,
        number: usize,
        shared: &WriteQueue<'_>,
    ) -> Result<PreparedDocument, Failure> {
        let source = &self.list[number];
        let found = self.before.and_then(|before| before.find(source));
        if let Some((old, version, origin)) = found {
            return Ok(PreparedDocument {
                version,
                name: String::new(),
                origin: Some(origin),
                reused: Some(old),
                copied: AtomicBool::new(false),
            });
        }
        let content = &mut worker.content;
        let origin = self.sources.read(&source.path, content, self.now)?;
        let content = content_of(&source.path, content);
        let content = content.map_err(|flaw| Failure::Sources(vec![flaw]))?;
        let version = Digest::of(content.as_bytes());
        let name = match self.before {
            // Final names may belong to documents that are reused.
            Some(_) => aside(number),
            None => temporary_name(version, number, &shared.taken),
        };
        let mut bytes = Vec::with_capacity(content.len() + content.len() / 16 + 256);
        document::write(&mut bytes, &source.id, version, &source.path, content);
        shared.hand_over(PendingFile {
            number,
            name: name.clone(),
            bytes,
        });
        worker.gatherer.add(number as u32, &source.id, content);
        Ok(PreparedDocument {
            version,
            name,
            origin,
            reused: None,
            copied: AtomicBool::new(false),
        })
    }
}

/// Returns the name of the version, or a temporary one if that name is taken.
fn temporary_name(version: Digest, number: usize, taken: &Mutex<BTreeSet<String>>) -> String {
    let short = version.short();
    match lock(taken).insert(short.clone()) {
        true => format!("{short}.json"),
        false => format!("{short}~{number}.json"),
    }
}

/// Returns the name of a written document before its final name is free.
fn aside(number: usize) -> String {
    format!("~{number}")
}

/// Renames of written documents: the temporary name, one aside, and the final name.
pub(crate) struct PendingRenames(Vec<(String, String, String)>);

/// Assigns final names: of several documents whose digests start alike, the first by id has the name
/// without a number.
pub(crate) fn assign_final_names(prepared: &mut [PreparedDocument]) -> PendingRenames {
    let mut seen: HashMap<u64, u32, FixedState> =
        HashMap::with_capacity_and_hasher(prepared.len(), FixedState::default());
    let mut moves = Vec::new();
    for (number, one) in prepared.iter_mut().enumerate() {
        let times = seen.entry(one.version.short_number()).or_default();
        *times += 1;
        let mut name = one.version.short();
        if *times > 1 {
            name.push_str(&format!("-{times}"));
        }
        name.push_str(".json");
        let temporary = std::mem::replace(&mut one.name, name);
        if one.reused.is_none() && one.name != temporary {
            moves.push((temporary, aside(number), one.name.clone()));
        }
    }
    PendingRenames(moves)
}

impl PendingRenames {
    /// Renames the documents. Names may collide with each other, so all of them move aside first.
    pub(crate) fn run(&self, documents: &DirHandle) -> Result<(), Failure> {
        let rename = |from: &str, to: &str| {
            let renamed = disk_steps::rename(documents, from, to, RenameFlags::empty());
            renamed.map_err(Failure::unwritten)
        };
        for (from, aside, _) in &self.0 {
            if from != aside {
                rename(from, aside)?;
            }
        }
        for (_, aside, to) in &self.0 {
            rename(aside, to)?;
        }
        Ok(())
    }
}
