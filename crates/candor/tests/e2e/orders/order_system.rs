//! A fake order system behind HTTP: it answers as the test wants, and keeps the requests it received.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }
}

/// Status, additional headers and body of a response.
pub(crate) type SystemResponse = (u16, &'static str, String);

/// A running order system; it runs until the test ends.
pub(crate) struct FakeOrderSystem {
    address: SocketAddr,
    received: Receiver<ReceivedRequest>,
}

impl FakeOrderSystem {
    /// Starts a system that offers these operations and keeps idempotency keys; `answer` returns every other response.
    pub(crate) fn start(
        operations: &'static [&'static str],
        answer: impl Fn(&ReceivedRequest) -> SystemResponse + Send + 'static,
    ) -> FakeOrderSystem {
        FakeOrderSystem::start_with(operations, true, answer)
    }

    /// As [`FakeOrderSystem::start`], with or without idempotency keys.
    pub(crate) fn start_with(
        operations: &'static [&'static str],
        keeps_keys: bool,
        answer: impl Fn(&ReceivedRequest) -> SystemResponse + Send + 'static,
    ) -> FakeOrderSystem {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The server under test reports a connection that breaks.
                let _ = exchange(stream.unwrap(), (operations, keeps_keys), &answer, &sender);
            }
        });
        FakeOrderSystem { address, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests received so far, without those for capabilities.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        let all = self.received.try_iter();
        all.filter(|received| !received.path.ends_with("/capabilities"))
            .collect()
    }
}

fn exchange(
    stream: TcpStream,
    (operations, keeps_keys): (&[&str], bool),
    answer: &impl Fn(&ReceivedRequest) -> SystemResponse,
    sender: &Sender<ReceivedRequest>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let Some((first, headers)) = lines.split_first() else {
        return Ok(());
    };
    let headers: Vec<_> = headers
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut received = ReceivedRequest {
        path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers,
        body: String::new(),
    };
    let length = received
        .header("content-length")
        .map(|text| text.parse().unwrap());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body)?;
    received.body = String::from_utf8(body).unwrap();
    let (status, more, body) = match received.path.ends_with("/capabilities") {
        true => {
            let offered = serde_json::json!({ "protocol": 1, "operations": operations, "keepsKeys": keeps_keys });
            (200, "", offered.to_string())
        }
        false => answer(&received),
    };
    // The receiver is gone if the test has ended.
    let _ = sender.send(received);
    let head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n",
        body.len()
    );
    stream.get_mut().write_all((head + &body).as_bytes())
}
