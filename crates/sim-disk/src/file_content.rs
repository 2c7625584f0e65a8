//! The content of one file: as readers see it, as it is on the platter, and the pending changes.

use crate::seeded_random::SeededRandom;
use crate::survival::{ChangeOutcome, Survival, SurvivalChoices};

/// The bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// The unit in which space is allocated.
pub(crate) const BLOCK: u64 = 4096;

#[derive(Debug, Clone, Default)]
pub(crate) struct FileData {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
    /// The end of the allocated space, which starts at offset 0.
    pub(crate) room: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum ContentChange {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
    Reserve(u64),
    Mode(u32),
}

impl FileData {
    fn apply(&mut self, change: &ContentChange) {
        match change {
            ContentChange::Write { offset, bytes } => {
                self.write(*offset, bytes.len(), |data| data.copy_from_slice(bytes));
            }
            ContentChange::SetLen(len) => {
                if *len <= self.bytes.len() {
                    self.room = blocks(*len as u64);
                }
                self.bytes.resize(*len, 0);
            }
            ContentChange::Reserve(up_to) => self.room = self.room.max(blocks(*up_to)),
            ContentChange::Mode(mode) => self.mode = *mode,
        }
    }

    fn write(&mut self, offset: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        let end = offset + len;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.room = self.room.max(blocks(end as u64));
        if let Some(range) = self.bytes.get_mut(offset..end) {
            fill(range);
        }
    }

    /// Writes a part: a prefix that ends at any byte, or any of the sectors. Old bytes remain where
    /// the file was longer before. Beyond, there is nothing, or zeros, or the earlier content of
    /// the blocks.
    fn tear(&mut self, offset: usize, bytes: &[u8], random: &mut SeededRandom) {
        let cut = random.below(bytes.len());
        let sectors = random.next();
        let by_sector = random.coin();
        let kept = |at: usize| match by_sector {
            true => sectors >> (((offset + at) / SECTOR - offset / SECTOR) % 64) & 1 == 1,
            false => at < cut,
        };
        let reaches = match random.coin() {
            true => bytes.len(),
            false => (0..bytes.len())
                .rev()
                .find(|at| kept(*at))
                .map_or(0, |at| at + 1),
        };
        if reaches == 0 {
            return;
        }
        let (before, garbage) = (self.bytes.len(), random.coin());
        self.write(offset, reaches, |range| {
            for (at, byte) in range.iter_mut().enumerate() {
                match (bytes.get(at), offset + at >= before && garbage) {
                    (Some(new), _) if kept(at) => *byte = *new,
                    (_, true) => *byte = random.next() as u8,
                    (_, false) => {}
                }
            }
        });
    }
}

/// Rounds a length up to whole blocks.
pub(crate) fn blocks(len: u64) -> u64 {
    len.div_ceil(BLOCK) * BLOCK
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FileContent {
    pub(crate) live: FileData,
    durable: FileData,
    pending: Vec<ContentChange>,
}

impl FileContent {
    pub(crate) fn new(mode: u32) -> FileContent {
        let data = FileData {
            mode,
            ..FileData::default()
        };
        // A new inode is written with its mode; only later changes of the mode are pending.
        FileContent {
            live: data.clone(),
            durable: data,
            pending: Vec::new(),
        }
    }

    pub(crate) fn change(&mut self, change: ContentChange) {
        self.live.apply(&change);
        self.pending.push(change);
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.pending.is_empty()
    }

    /// Makes everything durable, or everything except the mode.
    pub(crate) fn sync(&mut self, mode_too: bool) {
        let FileContent {
            durable, pending, ..
        } = self;
        pending.retain(|change| {
            let stays = !mode_too && matches!(change, ContentChange::Mode(_));
            if !stays {
                durable.apply(change);
            }
            stays
        });
    }

    /// Simulates a failed sync, as on Linux: some changes have reached the platter, the others
    /// never will, because they are marked clean. Readers may or may not see them afterwards.
    pub(crate) fn fail_sync(&mut self, random: &mut SeededRandom) {
        for change in self.pending.drain(..) {
            match (random.below(3), &change) {
                (0, _) => self.durable.apply(&change),
                (1, ContentChange::Write { offset, bytes }) => {
                    self.durable.tear(*offset, bytes, random)
                }
                _ => {}
            }
        }
        if random.coin() {
            let len = self.live.bytes.len();
            self.live.bytes = self.durable.bytes.clone();
            self.live.bytes.resize(len, 0);
        }
    }

    pub(crate) fn after(&self, survival: Survival, choices: &mut SurvivalChoices) -> FileContent {
        let mut data = self.durable.clone();
        match survival {
            Survival::Everything => return self.clone(),
            Survival::Synced => {}
            Survival::Chance(_) => {
                for change in &self.pending {
                    match (choices.fate(), change) {
                        (ChangeOutcome::Kept, _) => data.apply(change),
                        (ChangeOutcome::Torn, ContentChange::Write { offset, bytes }) => {
                            data.tear(*offset, bytes, &mut choices.random);
                        }
                        (ChangeOutcome::Torn | ChangeOutcome::Lost, _) => {}
                    }
                }
            }
        }
        FileContent {
            live: data.clone(),
            durable: data,
            pending: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(old: &[u8], offset: usize, new: &[u8]) -> FileContent {
        let mut content = FileContent::new(0o600);
        let write = |offset, bytes: &[u8]| ContentChange::Write {
            offset,
            bytes: bytes.to_vec(),
        };
        content.change(write(0, old));
        content.sync(true);
        content.change(write(offset, new));
        content
    }

    fn images(content: &FileContent) -> Vec<Vec<u8>> {
        let image = |seed| {
            let after = content.after(Survival::Chance(seed), &mut SurvivalChoices::new(seed));
            after.live.bytes
        };
        (0..4000).map(image).collect()
    }

    #[test]
    fn torn_append_leaves_every_prefix_with_and_without_padding() {
        let images = images(&written(b"old\n", 4, b"new line\n"));
        let seen = |wanted: &[u8]| images.iter().any(|image| image == wanted);
        for cut in 0..=9 {
            let mut image = [b"old\n", &b"new line\n"[..cut]].concat();
            assert!(seen(&image), "bare prefix of {cut}");
            image.resize(13, 0);
            assert!(seen(&image), "prefix of {cut} and zeros");
        }
        assert!(images.iter().all(|image| image.starts_with(b"old\n")));
        let whole = images.iter().filter(|image| image.len() == 13);
        let mut last = whole.map(|image| image[12]);
        assert!(last.any(|byte| byte != 0 && byte != b'\n'), "garbage");
    }

    #[test]
    fn sectors_of_one_write_survive_independently() {
        let images = images(&written(&[b'o'; 2048], 0, &[b'n'; 2048]));
        for sectors in 0..16 {
            let wanted: Vec<u8> = (0..2048)
                .map(|at| {
                    if sectors >> (at / 512) & 1 == 1 {
                        b'n'
                    } else {
                        b'o'
                    }
                })
                .collect();
            assert!(images.contains(&wanted), "sectors {sectors:04b}");
        }
    }

    #[test]
    fn torn_overwrite_keeps_old_bytes() {
        for image in images(&written(b"0123456789", 2, b"abc")) {
            assert_eq!(image.len(), 10);
            assert!(image.starts_with(b"01") && image.ends_with(b"56789"));
        }
    }

    #[test]
    fn mode_is_durable_only_after_a_full_sync() {
        let mut content = FileContent::new(0o600);
        content.change(ContentChange::Mode(0o755));
        let mode = |content: &FileContent| {
            let after = content.after(Survival::Synced, &mut SurvivalChoices::new(0));
            after.live.mode
        };
        content.sync(false);
        assert_eq!((content.live.mode, mode(&content)), (0o755, 0o600));
        content.sync(true);
        assert_eq!(mode(&content), 0o755);
    }

    #[test]
    fn data_lost_by_a_failed_sync_stays_lost() {
        let (mut lost, mut unseen) = (0, 0);
        for seed in 0..100 {
            let mut content = written(b"old", 3, b"new");
            content.fail_sync(&mut SeededRandom::new(seed));
            unseen += u32::from(content.live.bytes != b"oldnew");
            assert_eq!(content.live.bytes.len(), 6);
            content.sync(true);
            let after = content.after(Survival::Synced, &mut SurvivalChoices::new(0));
            lost += u32::from(after.live.bytes != b"oldnew");
        }
        assert!((20..=90).contains(&lost) && (10..=80).contains(&unseen));
    }
}
