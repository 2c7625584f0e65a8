//! The bounds of the backend `github`.

/// The maximum number of bytes of a response.
pub const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// The maximum number of bytes of an error response.
pub const MAX_REFUSAL_BYTES: u64 = 64 * 1024;

/// The maximum number of characters of GitHub's message.
pub const MAX_MESSAGE_CHARS: usize = 1000;

/// The maximum number of redirects.
pub const MAX_REDIRECTS: usize = 5;

/// The maximum number of pages of an answer that promises all entries.
pub const MAX_PAGES: u32 = 30;

/// The maximum number of entries of a page; GitHub's own bound.
pub const MAX_PAGE_ENTRIES: u32 = 100;

/// The maximum number of pages of reviews, and of files.
pub const MAX_DETAIL_PAGES: u32 = 10;

/// The maximum number of pages of comments of each kind.
pub const MAX_COMMENT_PAGES: u32 = 10;

/// The maximum number of cached responses.
pub const MAX_CACHED_RESPONSES: usize = 512;

/// The maximum number of bytes of all cached responses.
pub const MAX_CACHED_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of bytes of one cached response.
pub const MAX_CACHED_RESPONSE_BYTES: usize = 1024 * 1024;

/// The maximum number of bytes of a log, of which the end is kept.
pub const MAX_LOG_BYTES: u64 = 512 * 1024 * 1024;

/// The number of entries from which a directory may be truncated: GitHub lists no more in one response.
pub const MAX_LISTING_ENTRIES: usize = 1000;

/// The maximum wait until the reset of a limit, in seconds: GitHub's windows are an hour, and a later
/// reset means that the clocks disagree.
pub const MAX_RESET_SECONDS: u64 = 3600;
