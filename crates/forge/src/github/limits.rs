//! Every bound that the backend keeps towards GitHub.

/// The most bytes of an answer that are read.
pub const ANSWER_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The most bytes of an unsuccessful answer that are looked at.
pub const REFUSAL_MAX_BYTES: u64 = 64 * 1024;

/// The most characters of GitHub's own words that are kept.
pub const WORDS_MAX_CHARS: usize = 1000;

/// How many redirects are followed.
pub const REDIRECTS_MAX: usize = 5;

/// How many pages are read where an answer promises all of them.
pub const PAGES_MAX: u32 = 30;

/// How many entries one page has at most; GitHub's own bound.
pub const PAGE_MAX_ENTRIES: u32 = 100;

/// How many pages of reviews, and how many of files, are read.
pub const DETAIL_PAGES_MAX: u32 = 10;

/// How many answers are remembered with their ETags.
pub const REMEMBERED_MAX: usize = 512;

/// The most bytes of answers that are remembered in all.
pub const REMEMBERED_MAX_BYTES: usize = 16 * 1024 * 1024;

/// The most bytes of one answer that is remembered.
pub const REMEMBERED_ONE_MAX_BYTES: usize = 1024 * 1024;

/// From how many entries on a directory may be cut: GitHub lists no more of it in one answer.
pub const LISTING_MAX_ENTRIES: usize = 1000;

/// The longest wait that is computed from the instant at which a limit ends, in seconds: GitHub's
/// windows are an hour, and a later instant is a disagreement about the time.
pub const RESET_MAX_SECONDS: u64 = 3600;
