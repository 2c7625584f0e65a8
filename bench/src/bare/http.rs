//! The bare HTTP handlers: axum as its documentation shows it, parsing and echoing, or answering with fixed
//! bytes.

use super::{echo, reply};
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Echoes until it is killed.
pub(crate) fn run() -> io::Result<()> {
    serve(post(answer))
}

/// Answers with the content of a file until it is killed.
pub(crate) fn run_with_answer(file: &Path) -> io::Result<()> {
    let result = std::fs::read_to_string(file)?;
    let result: Arc<str> = Arc::from(result);
    serve(post(move |body| fixed_answer(body, Arc::clone(&result))))
}

fn serve(handler: MethodRouter) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(listen(handler))
}

async fn listen(handler: MethodRouter) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("bare listening on http://{}/mcp", listener.local_addr()?);
    // Without it a small answer could be delayed by the network stack.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, Router::new().route("/mcp", handler)).await
}

async fn answer(body: Bytes) -> Response {
    let mut answer = Vec::with_capacity(512);
    match echo(&body, &mut answer) {
        Ok(()) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn fixed_answer(body: Bytes, result: Arc<str>) -> Response {
    let mut answer = Vec::with_capacity(result.len() + 64);
    match reply(&body, &result, &mut answer) {
        Ok(()) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
