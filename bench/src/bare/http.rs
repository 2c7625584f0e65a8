//! The bare HTTP handler: axum as its documentation shows it, parsing and echoing.

use super::echo;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use std::io;
use tokio::net::TcpListener;

/// Serves until it is killed.
pub(crate) fn run() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("bare listening on http://{}/mcp", listener.local_addr()?);
    // Without it a small answer could be delayed by the network stack.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, Router::new().route("/mcp", post(answer))).await
}

async fn answer(body: Bytes) -> Response {
    let mut answer = Vec::with_capacity(512);
    match echo(&body, &mut answer) {
        Ok(()) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
