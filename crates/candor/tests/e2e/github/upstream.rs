//! A stand-in for GitHub that repeats every header it receives in what it answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers the request with this line and these headers by a status and a body.
pub(crate) type Respond = fn(line: &str, headers: &str) -> (u16, String);

pub(crate) struct Upstream {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// Starts the server. It ends with the test's process.
    pub(crate) fn start(respond: Respond) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || answer(stream, respond, &shared));
            }
        });
        Upstream { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests: each line with its headers.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, respond: Respond, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
        match line.trim_end() {
            "" => break,
            line => head += &format!("{line}\n"),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.lock().unwrap().push(head.clone());
    let (line, headers) = head.split_once('\n')?;
    let (status, body) = respond(line, headers);
    let response = format!(
        "HTTP/1.1 {status} Echo\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    reader.get_mut().write_all(response.as_bytes()).ok()
}
