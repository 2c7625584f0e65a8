//! What crosses from the server to warden and cell, and what comes back: JSON behind its length, on
//! a pipe, so that nothing of it shows in a list of processes.

use super::order::Limits;
use super::outcome::Step;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The longest message that is read.
const MAX_MESSAGE: u32 = 64 << 20;

/// The order as the helper carries it out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// The server's process.
    pub(super) server: i32,
    /// The warden's process, once it is known.
    pub(super) warden: i32,
    /// The command line of the next stage, without its name.
    pub(super) first_args: Vec<String>,
    pub(super) program: Raw,
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, Raw)>,
    pub(super) root: Raw,
    /// None: no sandbox.
    pub(super) grants: Option<Vec<Grant>>,
    pub(super) network: bool,
    pub(super) limits: Limits,
    /// Whether the kernel keeps signals within the warden's own processes.
    pub(super) scoped: bool,
}

/// One path and what may be done there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Grant {
    /// Relative to the root, or absolute.
    pub(super) path: Raw,
    pub(super) right: Right,
}

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Right {
    /// Read, list and execute, there and below.
    Read,
    /// List, there and below.
    List,
    /// Everything but devices, there and below.
    Write,
    /// Read and write a device, without its controls.
    Device,
}

/// What the warden says at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    Ended {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        swept: bool,
    },
    NotStarted(Failure),
}

/// Why the command was not started.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    /// The system refused to execute it.
    Exec { code: i32 },
    /// Something before that failed.
    Setup {
        step: Step,
        message: String,
        code: Option<i32>,
    },
}

impl Failure {
    pub(super) fn io(step: Step, error: &io::Error) -> Failure {
        Failure::Setup {
            step,
            message: error.to_string(),
            code: error.raw_os_error(),
        }
    }
}

/// Bytes that need not be UTF-8, such as a path. In JSON each byte is the character of that number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Raw(pub(super) OsString);

impl From<PathBuf> for Raw {
    fn from(path: PathBuf) -> Self {
        Raw(path.into_os_string())
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Self {
        Raw(text.into())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = self
            .0
            .as_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: Result<Vec<u8>, _> = String::deserialize(deserializer)?
            .chars()
            .map(u8::try_from)
            .collect();
        match bytes {
            Ok(bytes) => Ok(Raw(OsString::from_vec(bytes))),
            Err(_) => Err(serde::de::Error::custom("a character above U+00FF")),
        }
    }
}

/// Writes one message.
pub(super) fn send<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&body)?;
    to.flush()
}

/// Reads one message; none where the other side closed without one.
pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_survives_the_pipe(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let raw = Raw(OsString::from_vec(bytes));
            let mut pipe = Vec::new();
            send(&mut pipe, &raw).unwrap();
            prop_assert_eq!(receive::<Raw>(pipe.as_slice()).unwrap(), Some(raw));
        }
    }

    #[test]
    fn nothing_is_no_message_and_half_of_one_is_an_error() {
        assert_eq!(receive::<Raw>(&b""[..]).unwrap(), None);
        assert!(receive::<Raw>(&b"\x05\0\0\0\"a"[..]).is_err());
        assert!(receive::<Raw>(&b"\xff\xff\xff\xff"[..]).is_err());
        assert!(receive::<Raw>("\u{6}\0\0\0\"\u{100}\"".as_bytes()).is_err());
    }
}
