//! The messages between the caller and the helper processes: JSON after its length, on a socket, so that
//! no part of them is visible in a list of processes. Open files travel with a message.

use crate::error::SetupStep;
use crate::level::{Held, Level, Missing, Namespace};
use crate::spec::{Limits, Network};
use crate::tree::TreePlan;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: u32 = 64 << 20;
/// The memory that is reserved for a message before it arrives, in bytes.
const MAX_RESERVED: usize = 64 << 10;
/// The maximum number of open files that travel with a message.
const MAX_FILES: usize = 3;

/// A process to start, as the helper gets it. Stdin, stdout and stderr of the process travel with it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The process id of the server.
    pub(crate) server: i32,
    /// The process id of the warden; 0 until the warden fills it in.
    pub(crate) warden: i32,
    /// The arguments before the name of the next stage.
    pub(crate) first_args: Vec<String>,
    /// `None` if only the set-up is tried.
    pub(crate) program: Option<OsText>,
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, OsText)>,
    pub(crate) cwd: OsText,
    pub(crate) least: Level,
    /// The level that is being set up.
    pub(crate) level: Level,
    /// The parts that the machine could not give at higher levels.
    pub(crate) missing: Vec<Missing>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) tree: TreePlan,
    pub(crate) network: Network,
    /// The port of the proxy, once there is one.
    pub(crate) proxy_port: Option<u16>,
    pub(crate) limits: Limits,
    /// The number of threads that the user has on the machine.
    pub(crate) tasks: u64,
    /// True if the kernel confines signals to the warden's own processes.
    pub(crate) signals_confined: bool,
}

/// A path and the right that the process has there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Grant {
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

/// A message of the warden to the caller.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WardenMessage {
    Started(Held),
    NotStarted(StartFailure),
    Ended {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        stopped: bool,
        descendants_ended: bool,
        connections: u64,
        refused: u64,
    },
}

/// A message of entry, process 1 or cell to the warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StageMessage {
    /// The set-up is done. From the cell: the command follows if the socket is closed next. From process 1:
    /// the command runs; the socket of the proxy travels with it.
    Ready {
        namespaces: Vec<Namespace>,
    },
    Failed(StartFailure),
    Ended {
        exit_code: Option<i32>,
        signal: Option<i32>,
        /// True if process 1 has no child left, so that nothing but itself is in its namespace.
        is_alone: bool,
    },
}

/// The reason why the process was not started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StartFailure {
    /// The machine lacks a part of the level that was tried.
    Missing(Missing),
    /// The machine offers less than the caller accepts.
    Weaker {
        level: Level,
        landlock: Option<u8>,
        missing: Vec<Missing>,
        seccomp: bool,
    },
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

    /// Returns a function for `map_err` that names the step.
    pub(crate) fn at<E: Into<io::Error>>(step: SetupStep) -> impl Fn(E) -> StartFailure {
        move |error| StartFailure::io(step, &error.into())
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

impl OsText {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.0)
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

/// Sends one message.
pub(crate) fn send<T: Serialize>(socket: &UnixStream, message: &T) -> io::Result<()> {
    send_with(socket, message, &[])
}

/// Sends one message and open files. The files travel with the length.
pub(crate) fn send_with<T: Serialize>(
    mut socket: &UnixStream,
    message: &T,
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let header = length.to_le_bytes();
    // The other side may be gone: that is an error, not a signal.
    let sent = sendmsg(
        socket,
        &[IoSlice::new(&header)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    socket.write_all(&header[sent..])?;
    socket.write_all(&body)
}

/// Receives one message without files. Returns `None` if the other side closed without one.
pub(crate) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<Option<T>> {
    Ok(receive_with(socket)?.map(|(message, _)| message))
}

/// Receives one message and the files that travel with it.
pub(crate) fn receive_with<T: DeserializeOwned>(
    mut socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut header = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [IoSliceMut::new(&mut header)];
        match recvmsg(socket, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    socket.read_exact(&mut header[received.bytes..])?;
    let length = u32::from_le_bytes(header);
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // The sender is trusted no further than this: a longer body grows as it arrives.
    let expected = usize::try_from(length).map_or(0, |length| length.min(MAX_RESERVED));
    let mut body = Vec::with_capacity(expected);
    socket.take(u64::from(length)).read_to_end(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, files)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    proptest! {
        #[test]
        fn any_path_survives_the_socket(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let raw = OsText(OsString::from_vec(bytes));
            let (here, there) = UnixStream::pair().unwrap();
            send(&here, &raw).unwrap();
            prop_assert_eq!(receive::<OsText>(&there).unwrap(), Some(raw));
        }
    }

    #[test]
    fn files_travel_with_their_message() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&here, &1).unwrap();
        send_with(&here, &2, &[writer.as_fd(), writer.as_fd()]).unwrap();
        drop(writer);
        assert_eq!(receive::<i32>(&there).unwrap(), Some(1));
        let (message, files) = receive_with::<i32>(&there).unwrap().unwrap();
        assert_eq!((message, files.len()), (2, 2));
        for file in files {
            File::from(file).write_all(b"x").unwrap();
        }
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "xx");
    }

    #[test]
    fn an_incomplete_message_is_an_error() {
        let received = |bytes: &[u8]| {
            let (mut here, there) = UnixStream::pair().unwrap();
            here.write_all(bytes).unwrap();
            drop(here);
            receive::<OsText>(&there)
        };
        assert_eq!(received(b"").unwrap(), None);
        assert!(received(b"\x05\0\0\0\"a").is_err());
        assert!(received(b"\xff\xff\xff\xff").is_err());
        assert!(received("\u{6}\0\0\0\"\u{100}\"".as_bytes()).is_err());
    }
}
