//! Reads the body of a response up to a limit.

use crate::ExchangeError;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

/// The part of a body that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// The whole body. More bytes than this are an error.
    Whole(u64),
    /// The first bytes.
    Prefix(u64),
}

impl BodyLimit {
    /// Returns the maximum number of bytes.
    pub fn max(self) -> usize {
        let (BodyLimit::Whole(max) | BodyLimit::Prefix(max)) = self;
        usize::try_from(max).unwrap_or(usize::MAX)
    }

    /// Applies the limit to a body that is already in memory.
    pub fn apply(self, bytes: &Bytes) -> Result<BoundedBody, ExchangeError> {
        let truncated = bytes.len() > self.max();
        match self {
            BodyLimit::Whole(limit) if truncated => Err(ExchangeError::BodyTooLarge { limit }),
            _ => Ok(BoundedBody {
                bytes: bytes.slice(..bytes.len().min(self.max())),
                truncated,
            }),
        }
    }
}

/// A body within its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedBody {
    pub bytes: Bytes,
    /// True if the response had more bytes.
    pub truncated: bool,
}

/// The end of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyTail {
    pub bytes: Bytes,
    /// The length of the whole body.
    pub length: u64,
}

/// The body of a response that has not been read yet.
#[derive(Debug)]
pub struct ResponseBody(Incoming);

impl ResponseBody {
    pub(crate) fn new(incoming: Incoming) -> ResponseBody {
        ResponseBody(incoming)
    }

    /// Returns the length that the headers announce; 0 if they announce none.
    pub fn announced_length(&self) -> u64 {
        self.0.size_hint().lower()
    }

    /// Reads the body up to the limit.
    pub async fn read(mut self, limit: BodyLimit) -> Result<BoundedBody, ExchangeError> {
        let max = limit.max();
        // One byte more than the limit proves that the body is larger.
        let (mut bytes, lost) = self.read_up_to(max.saturating_add(1)).await;
        lost?;
        let truncated = bytes.len() > max;
        bytes.truncate(max);
        match limit {
            BodyLimit::Whole(limit) if truncated => Err(ExchangeError::BodyTooLarge { limit }),
            _ => Ok(BoundedBody {
                bytes: bytes.freeze(),
                truncated,
            }),
        }
    }

    /// Reads at most `max` bytes. If the connection is lost, returns the bytes that arrived before.
    pub async fn read_available(mut self, max: usize) -> Bytes {
        let (bytes, _lost) = self.read_up_to(max).await;
        bytes.freeze()
    }

    /// Reads the body to its end and keeps its last `keep` bytes. More bytes than `max` are an error.
    pub async fn read_tail(mut self, keep: usize, max: u64) -> Result<BodyTail, ExchangeError> {
        let mut tail = BytesMut::new();
        let mut length = 0;
        while let Some(frame) = self.0.frame().await {
            let frame = frame.map_err(|error| ExchangeError::after_connect(error.into()))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            length += data.len() as u64;
            if length > max {
                return Err(ExchangeError::BodyTooLarge { limit: max });
            }
            tail.extend_from_slice(&data);
            // Twice as much as is kept, so that bytes are moved seldom.
            if tail.len() > 2 * keep {
                tail = BytesMut::from(&tail[tail.len() - keep..]);
            }
        }
        let start = tail.len().saturating_sub(keep);
        Ok(BodyTail {
            bytes: tail.freeze().slice(start..),
            length,
        })
    }

    /// Reads at most `max` bytes, and returns the error that ended the body early beside them.
    async fn read_up_to(&mut self, max: usize) -> (BytesMut, Result<(), ExchangeError>) {
        let mut bytes = BytesMut::new();
        while bytes.len() < max {
            let frame = match self.0.frame().await {
                None => break,
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    return (bytes, Err(ExchangeError::after_connect(error.into())));
                }
            };
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            data.truncate(max - bytes.len());
            bytes.extend_from_slice(&data);
        }
        (bytes, Ok(()))
    }
}
