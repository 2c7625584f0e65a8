//! Without faults, the simulated disk and the real disk behave like a map from paths to bytes.

use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_sim_disk::{SimDisk, Survival};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const PATHS: [&str; 9] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "a/b"];

#[derive(Debug, Clone)]
enum DiskStep {
    Open(&'static str, Open),
    CreateDir(&'static str),
    Rename(&'static str, &'static str, bool),
    Exchange(&'static str, &'static str),
    Unlink(&'static str),
    RemoveDir(&'static str),
    List(&'static str),
    SyncDir(&'static str),
    Write(usize, Vec<u8>, u64),
    Append(usize, Vec<u8>),
    SetLen(usize, u64),
    SetMode(usize, u32),
    Reserve(usize, u64),
    Sync(usize, bool),
    Close(usize),
}

fn step() -> impl Strategy<Value = DiskStep> {
    let path = || prop::sample::select(PATHS.to_vec());
    let dir = || prop::sample::select([&PATHS[..], &["", "."]].concat());
    let how = prop::sample::select(vec![
        Open::Read,
        Open::Edit,
        Open::Create(0o600),
        Open::CreateNew(0o640),
    ]);
    let bytes = || prop::collection::vec(any::<u8>(), 0..2000);
    let file = || 0..8usize;
    prop_oneof![
        8 => (path(), how).prop_map(|(path, how)| DiskStep::Open(path, how)),
        4 => path().prop_map(DiskStep::CreateDir),
        6 => (path(), path(), any::<bool>()).prop_map(|(a, b, r)| DiskStep::Rename(a, b, r)),
        4 => (path(), path()).prop_map(|(a, b)| DiskStep::Exchange(a, b)),
        2 => path().prop_map(DiskStep::Unlink),
        2 => path().prop_map(DiskStep::RemoveDir),
        2 => dir().prop_map(DiskStep::List),
        1 => dir().prop_map(DiskStep::SyncDir),
        4 => (file(), bytes(), 0..5000u64).prop_map(|(f, b, at)| DiskStep::Write(f, b, at)),
        4 => (file(), bytes()).prop_map(|(f, b)| DiskStep::Append(f, b)),
        2 => (file(), 0..5000u64).prop_map(|(f, len)| DiskStep::SetLen(f, len)),
        1 => (file(), 0..0o1000u32).prop_map(|(f, mode)| DiskStep::SetMode(f, mode | 0o600)),
        1 => (file(), 0..9000u64).prop_map(|(f, len)| DiskStep::Reserve(f, len)),
        1 => (file(), any::<bool>()).prop_map(|(f, all)| DiskStep::Sync(f, all)),
        1 => file().prop_map(DiskStep::Close),
    ]
}

/// A result with the error code of the operating system.
type OsResult<T> = Result<T, i32>;

fn os_result<T>(result: io::Result<T>) -> OsResult<T> {
    result.map_err(|error| error.raw_os_error().unwrap())
}

const ENOENT: i32 = 2;
const EBADF: i32 = 9;
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EISDIR: i32 = 21;
const EINVAL: i32 = 22;
const ENOTEMPTY: i32 = 39;

#[derive(Debug, Clone, Copy, PartialEq)]
enum ModelEntry {
    File(usize),
    Dir,
}

/// A model with whole paths, independent of any disk.
#[derive(Debug, Default)]
struct ModelDisk {
    entries: BTreeMap<PathBuf, ModelEntry>,
    files: Vec<(Vec<u8>, u32)>,
}

impl ModelDisk {
    fn entry(&self, path: &Path) -> Option<ModelEntry> {
        match path.components().next() {
            None => Some(ModelEntry::Dir),
            Some(_) => self.entries.get(path).copied(),
        }
    }

    /// Fails unless everything above a path is a directory.
    fn reachable(&self, path: &Path) -> OsResult<()> {
        let mut above: Vec<_> = path.ancestors().skip(1).collect();
        above.reverse();
        above.into_iter().try_for_each(|dir| self.is_dir(dir))
    }

    fn is_dir(&self, path: &Path) -> OsResult<()> {
        match self.entry(path) {
            Some(ModelEntry::Dir) => Ok(()),
            Some(ModelEntry::File(_)) => Err(ENOTDIR),
            None => Err(ENOENT),
        }
    }

    fn open(&mut self, path: &Path, how: Open) -> OsResult<usize> {
        self.reachable(path)?;
        match (self.entry(path), how) {
            (Some(_), Open::CreateNew(_)) => Err(EEXIST),
            (Some(ModelEntry::Dir), _) => Err(EISDIR),
            (Some(ModelEntry::File(file)), _) => Ok(file),
            (None, Open::Create(mode) | Open::CreateNew(mode)) => {
                self.files.push((Vec::new(), mode));
                let file = self.files.len() - 1;
                self.entries
                    .insert(path.to_path_buf(), ModelEntry::File(file));
                Ok(file)
            }
            (None, _) => Err(ENOENT),
        }
    }

    fn create_dir(&mut self, path: &Path) -> OsResult<()> {
        self.reachable(path)?;
        if self.entry(path).is_some() {
            return Err(EEXIST);
        }
        self.entries.insert(path.to_path_buf(), ModelEntry::Dir);
        Ok(())
    }

    fn unlink(&mut self, path: &Path) -> OsResult<()> {
        self.reachable(path)?;
        match self.entry(path).ok_or(ENOENT)? {
            ModelEntry::Dir => Err(EISDIR),
            ModelEntry::File(_) => {
                self.entries.remove(path);
                Ok(())
            }
        }
    }

    fn remove_dir(&mut self, path: &Path) -> OsResult<()> {
        self.reachable(path)?;
        match self.entry(path).ok_or(ENOENT)? {
            ModelEntry::File(_) => Err(ENOTDIR),
            ModelEntry::Dir if !self.list(path)?.is_empty() => Err(ENOTEMPTY),
            ModelEntry::Dir => {
                self.entries.remove(path);
                Ok(())
            }
        }
    }

    fn rename(&mut self, from: &Path, to: &Path, replace: bool) -> OsResult<()> {
        self.reachable(from)?;
        self.reachable(to)?;
        let entry = self.entry(from).ok_or(ENOENT)?;
        let replaced = self.entry(to);
        if replaced.is_some() && !replace {
            return Err(EEXIST);
        }
        if to != from && to.starts_with(from) {
            return Err(EINVAL);
        }
        if to != from && from.starts_with(to) {
            return Err(ENOTEMPTY);
        }
        match (entry, replaced) {
            _ if from == to => return Ok(()),
            (ModelEntry::Dir, Some(ModelEntry::File(_))) => return Err(ENOTDIR),
            (ModelEntry::File(_), Some(ModelEntry::Dir)) => return Err(EISDIR),
            (_, Some(ModelEntry::Dir)) if !self.list(to)?.is_empty() => return Err(ENOTEMPTY),
            _ => {}
        }
        self.entries.remove(to);
        let moved = self.take(from);
        self.put(to, moved);
        Ok(())
    }

    fn exchange(&mut self, one: &Path, other: &Path) -> OsResult<()> {
        self.reachable(one)?;
        self.reachable(other)?;
        self.entry(one).ok_or(ENOENT)?;
        self.entry(other).ok_or(ENOENT)?;
        if one != other && (one.starts_with(other) || other.starts_with(one)) {
            return Err(EINVAL);
        }
        if one != other {
            let (first, second) = (self.take(one), self.take(other));
            self.put(one, second);
            self.put(other, first);
        }
        Ok(())
    }

    /// Removes everything at and below a path. Returns each entry with its path relative to it.
    fn take(&mut self, from: &Path) -> Vec<(PathBuf, ModelEntry)> {
        let inside = self.entries.keys().filter(|path| path.starts_with(from));
        let inside: Vec<_> = inside.cloned().collect();
        let taken = inside.into_iter().map(|old| {
            let below = old.strip_prefix(from).unwrap().to_path_buf();
            (below, self.entries.remove(&old).unwrap())
        });
        taken.collect()
    }

    fn put(&mut self, to: &Path, taken: Vec<(PathBuf, ModelEntry)>) {
        for (below, entry) in taken {
            let new: PathBuf = to.join(below).components().collect();
            self.entries.insert(new, entry);
        }
    }

    fn list(&self, path: &Path) -> OsResult<Vec<OsString>> {
        let path: PathBuf = path.components().filter(|c| c.as_os_str() != ".").collect();
        self.reachable(&path)?;
        self.is_dir(&path)?;
        let inside = self.entries.keys();
        let inside = inside.filter(|entry| entry.parent() == Some(path.as_path()));
        let mut names: Vec<_> = inside.map(|e| e.file_name().unwrap().to_owned()).collect();
        names.sort();
        Ok(names)
    }
}

/// A handle on the disk, with the file of the model.
struct Handle<F> {
    file: F,
    model: usize,
    writable: bool,
}

impl<F: DiskFile> Handle<F> {
    /// Applies a step to the file and to the model. Returns both results.
    fn act(
        &self,
        step: &DiskStep,
        model: &mut (Vec<u8>, u32),
    ) -> (OsResult<usize>, OsResult<usize>) {
        let (bytes, mode) = model;
        let refused = |code| Err(code).filter_ok(self.writable);
        match step {
            DiskStep::Write(_, new, offset) => {
                let done = self.file.write_all_at(new, *offset).map(|()| new.len());
                if self.writable && !new.is_empty() {
                    overwrite(bytes, *offset as usize, new);
                }
                let expected = if new.is_empty() {
                    Ok(0)
                } else {
                    refused(EBADF)
                };
                (os_result(done), expected.map(|_| new.len()))
            }
            DiskStep::Append(_, new) => {
                let done = self.file.append(new);
                if self.writable {
                    bytes.extend(new);
                }
                (os_result(done), refused(EBADF).map(|_| new.len()))
            }
            DiskStep::SetLen(_, len) => {
                let done = self.file.set_len(*len).map(|()| 0);
                if self.writable {
                    bytes.resize(*len as usize, 0);
                }
                (os_result(done), refused(EINVAL))
            }
            DiskStep::Reserve(_, up_to) => {
                let done = self.file.reserve(*up_to).map(|()| 0);
                let expected = if *up_to == 0 {
                    Err(EINVAL)
                } else {
                    refused(EBADF)
                };
                (os_result(done), expected)
            }
            DiskStep::SetMode(_, new) => {
                *mode = *new;
                (os_result(self.file.set_mode(*new)).map(|()| 0), Ok(0))
            }
            DiskStep::Sync(_, true) => (os_result(self.file.sync_all()).map(|()| 0), Ok(0)),
            _ => (os_result(self.file.sync_data()).map(|()| 0), Ok(0)),
        }
    }
}

trait FilterOk {
    fn filter_ok(self, ok: bool) -> OsResult<usize>;
}

impl FilterOk for OsResult<usize> {
    fn filter_ok(self, ok: bool) -> OsResult<usize> {
        if ok { Ok(0) } else { self }
    }
}

fn overwrite(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    let end = offset + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(new);
}

struct Compared<D: Disk> {
    disk: D,
    model: ModelDisk,
    handles: Vec<Handle<D::File>>,
}

impl<D: Disk> Compared<D> {
    fn run(disk: D, steps: &[DiskStep]) -> Result<Compared<D>, TestCaseError> {
        let mut both = Compared {
            disk,
            model: ModelDisk::default(),
            handles: Vec::new(),
        };
        for step in steps {
            both.step(step)?;
        }
        matches_model(&both.disk, &both.model)?;
        Ok(both)
    }

    fn step(&mut self, step: &DiskStep) -> Result<(), TestCaseError> {
        let Compared { disk, model, .. } = self;
        let (done, expected) = match step {
            DiskStep::Open(path, how) => return self.open(path, *how),
            DiskStep::CreateDir(path) => (
                disk.create_dir(path, 0o700),
                model.create_dir(Path::new(path)),
            ),
            DiskStep::Rename(from, to, replace) => {
                let done = match replace {
                    true => disk.rename(from, to),
                    false => disk.rename_new(from, to),
                };
                let (from, to) = (Path::new(from), Path::new(to));
                (done, model.rename(from, to, *replace))
            }
            DiskStep::Exchange(one, other) => (
                disk.exchange(one, other),
                model.exchange(Path::new(one), Path::new(other)),
            ),
            DiskStep::Unlink(path) => (disk.unlink(path), model.unlink(Path::new(path))),
            DiskStep::RemoveDir(path) => (disk.remove_dir(path), model.remove_dir(Path::new(path))),
            DiskStep::SyncDir(path) => (disk.sync_dir(path), model.list(Path::new(path)).map(drop)),
            DiskStep::List(path) => {
                let (listed, expected) = (os_result(disk.list(path)), model.list(Path::new(path)));
                prop_assert_eq!(listed, expected, "{:?}", step);
                return Ok(());
            }
            DiskStep::Close(at) if *at < self.handles.len() => {
                self.handles.remove(*at);
                return Ok(());
            }
            other => return self.act(other),
        };
        prop_assert_eq!(os_result(done), expected, "{:?}", step);
        Ok(())
    }

    fn open(&mut self, path: &str, how: Open) -> Result<(), TestCaseError> {
        let opened = os_result(self.disk.open(path, how));
        let expected = self.model.open(Path::new(path), how);
        match (opened, expected) {
            (Ok(file), Ok(model)) => self.handles.push(Handle {
                file,
                model,
                writable: how != Open::Read,
            }),
            (opened, expected) => {
                prop_assert_eq!(opened.map(|_| 0), expected, "{} {:?}", path, how);
            }
        }
        Ok(())
    }

    fn act(&mut self, step: &DiskStep) -> Result<(), TestCaseError> {
        let (DiskStep::Write(at, ..)
        | DiskStep::Append(at, ..)
        | DiskStep::SetLen(at, ..)
        | DiskStep::SetMode(at, ..)
        | DiskStep::Reserve(at, ..)
        | DiskStep::Sync(at, ..)) = step
        else {
            return Ok(());
        };
        let Some(handle) = self.handles.get(*at) else {
            return Ok(());
        };
        let model = &mut self.model.files[handle.model];
        let (done, expected) = handle.act(step, model);
        prop_assert_eq!(done, expected, "{:?}", step);
        prop_assert_eq!(&handle.file.read_all(1 << 20).unwrap(), &model.0);
        prop_assert_eq!(handle.file.len().unwrap(), model.0.len() as u64);
        prop_assert_eq!(handle.file.mode().unwrap(), model.1);
        Ok(())
    }
}

/// Fails unless the disk contains exactly what the model contains.
fn matches_model(disk: &impl Disk, model: &ModelDisk) -> Result<(), TestCaseError> {
    prop_assert_eq!(os_result(disk.list("")), model.list(Path::new("")));
    for (path, entry) in &model.entries {
        match entry {
            ModelEntry::Dir => prop_assert_eq!(os_result(disk.list(path)), model.list(path)),
            ModelEntry::File(file) => {
                let file = &model.files[*file];
                let found = disk.open(path, Open::Read).unwrap();
                prop_assert_eq!(&found.read_all(1 << 20).unwrap(), &file.0, "{:?}", path);
                prop_assert_eq!(found.mode().unwrap(), file.1);
            }
        }
    }
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<DiskStep>> {
    prop::collection::vec(step(), 1..60)
}

proptest! {
    #[test]
    fn simulated_disk_matches_the_model(steps in steps(), seed in any::<u64>()) {
        let both = Compared::run(SimDisk::new(seed), &steps)?;
        matches_model(&both.disk.after(Survival::Everything), &both.model)?;
    }

    #[test]
    fn synced_data_survives_any_crash(steps in steps(), seed in any::<u64>()) {
        let both = Compared::run(SimDisk::new(seed), &steps)?;
        both.disk.sync_dir("").unwrap();
        for (path, entry) in &both.model.entries {
            match entry {
                ModelEntry::Dir => both.disk.sync_dir(path).unwrap(),
                ModelEntry::File(_) => {
                    let file = both.disk.open(path, Open::Edit).unwrap();
                    file.sync_all().unwrap();
                }
            }
        }
        prop_assert!(both.disk.is_synced());
        matches_model(&both.disk.after(Survival::Synced), &both.model)?;
        matches_model(&both.disk.after(Survival::Chance(seed)), &both.model)?;
        matches_model(&both.disk.crash(), &both.model)?;
    }

    #[test]
    fn disk_works_after_any_crash(steps in steps(), seed in any::<u64>()) {
        let both = Compared::run(SimDisk::new(seed), &steps)?;
        let found = both.disk.crash();
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            prop_assert!(dir.components().count() < 10, "no directory is in itself");
            for name in found.list(&dir).unwrap() {
                let path = dir.join(name);
                match found.open(&path, Open::Edit) {
                    Ok(file) => file.append_all(b"!").unwrap(),
                    Err(_) => dirs.push(path),
                }
            }
        }
    }
}

#[test]
fn real_disk_matches_the_model() {
    // Real syncs are slow: fewer cases than for the simulated disk.
    let mut runner = TestRunner::new(ProptestConfig::with_cases(100));
    let agrees = |steps: Vec<DiskStep>| {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::at(dir.path()).unwrap();
        Compared::run(disk, &steps).map(drop)
    };
    runner.run(&steps(), agrees).unwrap();
}
