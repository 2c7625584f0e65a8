//! An order system of a test's own behind HTTP: it answers as it is told, and remembers what it heard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Status, further headers and body of an answer.
pub(crate) type Said = (u16, &'static str, String);

/// A running order system; it goes on until the test ends.
pub(crate) struct System {
    address: SocketAddr,
    heard: Receiver<Heard>,
}

impl System {
    /// One that offers these operations and keeps keys; `answer` is asked for everything else.
    pub(crate) fn start(
        operations: &'static [&'static str],
        answer: impl Fn(&Heard) -> Said + Send + 'static,
    ) -> System {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, heard) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // A connection that breaks is the server's to tell of.
                let _ = exchange(stream.unwrap(), operations, &answer, &sender);
            }
        });
        System { address, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, but for what it can do.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        let all = self.heard.try_iter();
        all.filter(|heard| !heard.path.ends_with("/capabilities"))
            .collect()
    }
}

fn exchange(
    stream: TcpStream,
    operations: &[&str],
    answer: &impl Fn(&Heard) -> Said,
    sender: &Sender<Heard>,
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
    let mut heard = Heard {
        path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers,
        body: String::new(),
    };
    let length = heard
        .header("content-length")
        .map(|text| text.parse().unwrap());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body)?;
    heard.body = String::from_utf8(body).unwrap();
    let (status, more, body) = match heard.path.ends_with("/capabilities") {
        true => {
            let offered =
                serde_json::json!({ "protocol": 1, "operations": operations, "keepsKeys": true });
            (200, "", offered.to_string())
        }
        false => answer(&heard),
    };
    // Nobody listens any more where the test is over.
    let _ = sender.send(heard);
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n",
        body.len()
    );
    stream.get_mut().write_all((head + &body).as_bytes())
}
