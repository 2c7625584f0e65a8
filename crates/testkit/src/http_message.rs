//! HTTP/1.1 responses, complete and not interpreted.

use std::io::{self, BufRead, Read};

/// A complete response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawResponse {
    pub status: u16,
    /// The headers in order; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, with chunks joined.
    pub body: Vec<u8>,
}

impl RawResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the messages of an event stream, or the single message of a plain body.
    pub fn messages(&self) -> Vec<String> {
        let text = self.text();
        if self.header("content-type") != Some("text/event-stream") {
            return vec![text];
        }
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(String::from).collect()
    }

    /// Reads one response. Returns `None` if the connection ends before it starts.
    pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Option<RawResponse>> {
        let Some(mut response) = RawResponse::read_head(stream)? else {
            return Ok(None);
        };
        response.body = response.read_body(stream)?;
        Ok(Some(response))
    }

    /// Reads status and headers.
    pub(crate) fn read_head(stream: &mut impl BufRead) -> io::Result<Option<RawResponse>> {
        let Some(first) = head_line(stream)? else {
            return Ok(None);
        };
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| broken(&first))?;
        let mut headers = Vec::new();
        loop {
            let line = head_line(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken(&line))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Some(RawResponse {
            status,
            headers,
            body: Vec::new(),
        }))
    }

    fn read_body(&self, stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.status / 100 == 1 {
            return Ok(body);
        }
        if self.header("transfer-encoding") == Some("chunked") {
            while read_chunk(stream, &mut body)? {}
            return Ok(body);
        }
        match self.header("content-length") {
            Some(length) => {
                let length = length.parse().map_err(|_| broken(length))?;
                stream.take(length).read_to_end(&mut body)?;
                if (body.len() as u64) < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            None => drop(stream.read_to_end(&mut body)?),
        }
        Ok(body)
    }
}

/// Appends one chunk. Returns true if more may follow.
fn read_chunk(stream: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<bool> {
    let line = head_line(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let size = u64::from_str_radix(&line, 16).map_err(|_| broken(&line))?;
    stream.take(size).read_to_end(body)?;
    let end = head_line(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if !end.is_empty() {
        return Err(broken(&end));
    }
    Ok(size > 0)
}

/// Reads one line without its CRLF. Returns `None` at the end of the stream.
fn head_line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let whole = line.strip_suffix("\r\n").map(String::from);
    whole.map(Some).ok_or_else(|| broken(&line))
}

fn broken(what: &str) -> io::Error {
    io::Error::other(format!("not HTTP: {what:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read_in_sequence() {
        let mut bytes: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\
            HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
            8\r\ndata: a\n\r\n9\r\n\ndata: b\n\r\n0\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        let mut next = || RawResponse::read(&mut bytes).unwrap();
        assert_eq!(next().unwrap().text(), "hi");
        assert_eq!(next().unwrap().messages(), ["a", "b"]);
        assert_eq!(next().unwrap().status, 202);
        assert_eq!(next(), None);
    }

    #[test]
    fn truncated_responses_are_refused() {
        for mut cut in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"[..],
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        ] {
            assert!(RawResponse::read(&mut cut).is_err());
        }
    }
}
