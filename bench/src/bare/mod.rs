//! The baselines: the least that any program with the same task has to do. The servers read a
//! message, parse it into raw values and echo its parameters; the others check, print or write
//! files, or run a command in namespaces. They validate nothing, so that nothing can be faster.

pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod namespaces;
pub(crate) mod stdio;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: &'a RawValue,
    id: &'a RawValue,
    method: &'a RawValue,
    params: &'a RawValue,
}

/// Appends the answer to one message: its own parameters.
fn echo(message: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    let message: Message<'_> = serde_json::from_slice(message)?;
    write(&message, message.params.get(), out);
    Ok(())
}

/// Appends the answer to one message: this result.
fn reply(message: &[u8], result: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let message: Message<'_> = serde_json::from_slice(message)?;
    write(&message, result, out);
    Ok(())
}

fn write(message: &Message<'_>, result: &str, out: &mut Vec<u8>) {
    let pieces = [
        r#"{"jsonrpc":"#,
        message.jsonrpc.get(),
        r#","id":"#,
        message.id.get(),
        r#","result":"#,
        result,
        "}",
    ];
    // The method is parsed like the rest, and not used.
    let _ = message.method;
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_or_a_result_come_back() {
        let mut out = Vec::new();
        let message = br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":[1.0]}}"#;
        echo(message, &mut out).unwrap();
        assert_eq!(out, br#"{"jsonrpc":"2.0","id":7,"result":{"a":[1.0]}}"#);
        assert!(echo(b"{}", &mut out).is_err());
        out.clear();
        reply(message, "[]", &mut out).unwrap();
        assert_eq!(out, br#"{"jsonrpc":"2.0","id":7,"result":[]}"#);
    }
}
