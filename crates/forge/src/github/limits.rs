//! The bounds of the backend `github`.

/// The maximum number of bytes of a response.
pub const ANSWER_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The maximum number of bytes of an error response.
pub const REFUSAL_MAX_BYTES: u64 = 64 * 1024;

/// The maximum number of characters of GitHub's message.
pub const WORDS_MAX_CHARS: usize = 1000;

/// The maximum number of redirects.
pub const REDIRECTS_MAX: usize = 5;

/// The maximum number of pages of an answer that promises all entries.
pub const PAGES_MAX: u32 = 30;

/// The maximum number of entries of a page; GitHub's own bound.
pub const PAGE_MAX_ENTRIES: u32 = 100;

/// The maximum number of pages of reviews, and of files.
pub const DETAIL_PAGES_MAX: u32 = 10;

/// The maximum number of cached responses.
pub const REMEMBERED_MAX: usize = 512;

/// The maximum number of bytes of all cached responses.
pub const REMEMBERED_MAX_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of bytes of one cached response.
pub const REMEMBERED_ONE_MAX_BYTES: usize = 1024 * 1024;

/// The number of entries from which a directory may be truncated: GitHub lists no more in one response.
pub const LISTING_MAX_ENTRIES: usize = 1000;

/// The maximum wait until the reset of a limit, in seconds: GitHub's windows are an hour, and a later
/// reset means that the clocks disagree.
pub const RESET_MAX_SECONDS: u64 = 3600;
