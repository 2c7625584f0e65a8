//! The messages between server, warden and cell: JSON after its length, on a pipe, so that no part of
//! them is visible in a list of processes.

use crate::outcome::SetupStep;
use crate::spec::Limits;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: u32 = 64 << 20;

/// A command with its grants, as the helper gets it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The process id of the server.
    pub(crate) server: i32,
    /// The process id of the warden; 0 until the warden fills it in.
    pub(crate) warden: i32,
    /// The arguments before the name of the next stage.
    pub(crate) first_args: Vec<String>,
    pub(crate) program: OsText,
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, OsText)>,
    pub(crate) root: OsText,
    /// `None` without a sandbox.
    pub(crate) grants: Option<Vec<Grant>>,
    pub(crate) network: bool,
    pub(crate) limits: Limits,
    /// True if the kernel confines signals to the warden's own processes.
    pub(crate) signals_confined: bool,
}

/// A path and the right that the command has there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// Relative to the root, or absolute.
    pub(crate) path: OsText,
    pub(crate) right: Right,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Right {
    /// Read, list and execute the path and everything below it.
    Read,
    /// List the path and everything below it.
    List,
    /// Do everything with the path and everything below it, except for making devices.
    Write,
    /// Read and write a device, without `ioctl`.
    Device,
}

/// The report of the warden at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WardenReport {
    Ended {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        descendants_ended: bool,
    },
    NotStarted(StartFailure),
}

/// The reason why the command was not started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StartFailure {
    /// The system refused to execute it.
    Exec { code: i32 },
    /// A step before that failed.
    Setup {
        step: SetupStep,
        message: String,
        code: Option<i32>,
    },
}

impl StartFailure {
    pub(crate) fn io(step: SetupStep, error: &io::Error) -> StartFailure {
        StartFailure::Setup {
            step,
            message: error.to_string(),
            code: error.raw_os_error(),
        }
    }
}

/// A string that need not be UTF-8, such as a path. In JSON each byte is the character of that number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OsText(pub(crate) OsString);

impl From<PathBuf> for OsText {
    fn from(path: PathBuf) -> Self {
        OsText(path.into_os_string())
    }
}

impl From<&str> for OsText {
    fn from(text: &str) -> Self {
        OsText(text.into())
    }
}

impl Serialize for OsText {
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

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: Result<Vec<u8>, _> = String::deserialize(deserializer)?
            .chars()
            .map(u8::try_from)
            .collect();
        match bytes {
            Ok(bytes) => Ok(OsText(OsString::from_vec(bytes))),
            Err(_) => Err(serde::de::Error::custom("a character above U+00FF")),
        }
    }
}

/// Writes one message.
pub(crate) fn send<T: Serialize>(mut writer: impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&body)?;
    writer.flush()
}

/// Reads one message. Returns `None` if the other side closed without one.
pub(crate) fn receive<T: DeserializeOwned>(mut reader: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match reader.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = Vec::new();
    reader.take(u64::from(length)).read_to_end(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_path_survives_the_pipe(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let raw = OsText(OsString::from_vec(bytes));
            let mut pipe = Vec::new();
            send(&mut pipe, &raw).unwrap();
            prop_assert_eq!(receive::<OsText>(pipe.as_slice()).unwrap(), Some(raw));
        }
    }

    #[test]
    fn an_incomplete_message_is_an_error() {
        assert_eq!(receive::<OsText>(&b""[..]).unwrap(), None);
        assert!(receive::<OsText>(&b"\x05\0\0\0\"a"[..]).is_err());
        assert!(receive::<OsText>(&b"\xff\xff\xff\xff"[..]).is_err());
        assert!(receive::<OsText>("\u{6}\0\0\0\"\u{100}\"".as_bytes()).is_err());
    }
}
