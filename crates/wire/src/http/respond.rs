//! Answers as HTTP responses: plain JSON, or an event stream for a call that sends progress.

use crate::write::{write, written_len};
use axum::body::Body;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, CallFacts, Dialect, Fault, Form, Timestamp};
use candor_street::{Era, HeldUntilWritten};
use futures_util::Stream;
use http_body_util::{Either, Full};
use hyper::StatusCode;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use std::convert::Infallible;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A response. Most bodies are whole, and need no box.
pub(super) type HttpResponse = hyper::Response<Either<Full<Bytes>, Body>>;

/// An answer to a request.
pub(super) fn json(id: &str, era: Era, answer: &Answer) -> HttpResponse {
    json_holding(id, era, answer, HeldUntilWritten::default())
}

/// The answer to a call, and what its server holds until it is written.
pub(super) fn json_holding(
    id: &str,
    era: Era,
    answer: &Answer,
    held: HeldUntilWritten,
) -> HttpResponse {
    let mut body = Vec::with_capacity(written_len(id, answer));
    let status = write(&mut body, id, era, answer);
    with_status(status, holding(body, held))
}

/// Returns bytes that hold something until they are written or no longer needed.
fn holding(bytes: Vec<u8>, held: HeldUntilWritten) -> Bytes {
    struct HoldingBytes {
        bytes: Vec<u8>,
        _held: HeldUntilWritten,
    }

    impl AsRef<[u8]> for HoldingBytes {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    match held.is_empty() {
        true => bytes.into(),
        false => Bytes::from_owner(HoldingBytes { bytes, _held: held }),
    }
}

fn with_status(status: u16, body: impl Into<Bytes>) -> HttpResponse {
    let mut response = with_full_body(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    match status {
        401 => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        405 => drop(headers.insert(ALLOW, HeaderValue::from_static("POST"))),
        // The rest of such a request is not read.
        408 | 414 => drop(headers.insert(CONNECTION, HeaderValue::from_static("close"))),
        503 => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => {}
    }
    response
}

fn with_full_body(body: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::new(Either::Left(Full::new(body.into())))
}

/// A refusal before any server was asked.
pub(super) fn refusal(fault: &Fault<Wire>) -> HttpResponse {
    json("null", Era::Handshake, &encode_refusal(fault))
}

fn encode_refusal(fault: &Fault<Wire>) -> Answer {
    let no_call = CallFacts {
        tool: None,
        form: Form::Protocol,
        receipt: None,
    };
    Wire::encode_failure(fault, &no_call, Timestamp::UNIX_EPOCH)
}

/// The refusal of a head, as bytes: the HTTP library does not answer such a request.
pub(super) fn raw_refusal(fault: &Fault<Wire>) -> (StatusCode, Vec<u8>) {
    let mut body = Vec::new();
    let status = write(&mut body, "null", Era::Handshake, &encode_refusal(fault));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        status.as_str(),
        status.canonical_reason().unwrap_or_default(),
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(&body);
    (status, bytes)
}

/// The response to a message that has no answer.
pub(super) fn accepted() -> HttpResponse {
    let mut response = with_full_body(Bytes::new());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A text for people or for a scraper.
pub(super) fn text(kind: &'static str, body: String) -> HttpResponse {
    let mut response = with_full_body(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An event stream.
pub(super) fn events(
    stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> HttpResponse {
    let mut response = HttpResponse::new(Either::Right(Body::from_stream(stream)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// One message as an event.
pub(super) fn event(message: &[u8]) -> Bytes {
    event_holding(message, HeldUntilWritten::default())
}

/// The answer to a call as an event, and what its server holds until it is written.
pub(super) fn event_holding(message: &[u8], held: HeldUntilWritten) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 24);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(message);
    event.extend_from_slice(b"\n\n");
    holding(event, held)
}
