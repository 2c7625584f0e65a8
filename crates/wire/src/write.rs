//! Writes answers: one line, a fixed order of members, the caller's id unchanged.

use candor_fault::{Answer, ErrorBody};
use candor_street::Era;

/// Appends the answer to `out` and returns its HTTP status.
pub fn write(out: &mut Vec<u8>, id: &str, era: Era, answer: &Answer) -> u16 {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    let status = match answer {
        Answer::Result(result) => {
            write_result(out, era, result);
            200
        }
        Answer::Error(error) => {
            write_error(out, error);
            error.status
        }
    };
    out.push(b'}');
    status
}

/// Returns the length of an answer, or a little more, unless its message needs many escapes.
pub(crate) fn written_len(id: &str, answer: &Answer) -> usize {
    let members = match answer {
        Answer::Result(result) => result.len(),
        Answer::Error(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
    };
    128 + id.len() + members
}

fn write_result(out: &mut Vec<u8>, era: Era, result: &str) {
    out.extend_from_slice(br#","result":"#);
    let members = match era {
        Era::Handshake => None,
        Era::Stateless => result.strip_prefix('{'),
    };
    let Some(members) = members else {
        out.extend_from_slice(result.as_bytes());
        return;
    };
    out.extend_from_slice(br#"{"resultType":"complete""#);
    if members != "}" {
        out.push(b',');
    }
    out.extend_from_slice(members.as_bytes());
}

fn write_error(out: &mut Vec<u8>, error: &ErrorBody) {
    out.extend_from_slice(br#","error":{"code":"#);
    // Numbers and texts can always be written into memory.
    let _ = serde_json::to_writer(&mut *out, &error.code);
    out.extend_from_slice(br#","message":"#);
    let _ = serde_json::to_writer(&mut *out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data.as_bytes());
    }
    out.push(b'}');
}

/// Appends a notification with these parameters.
pub fn write_notification(out: &mut Vec<u8>, method: &str, params: &str) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":""#);
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(br#"","params":"#);
    out.extend_from_slice(params.as_bytes());
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_to_text(era: Era, answer: &Answer) -> (String, u16) {
        let mut out = Vec::new();
        let status = write(&mut out, "\"a\"", era, answer);
        (String::from_utf8(out).unwrap(), status)
    }

    #[test]
    fn stateless_results_are_marked_as_complete() {
        let full = Answer::Result("{\"a\":1}".into());
        let empty = Answer::Result("{}".into());
        assert_eq!(
            write_to_text(Era::Handshake, &full).0,
            r#"{"jsonrpc":"2.0","id":"a","result":{"a":1}}"#
        );
        assert_eq!(
            write_to_text(Era::Stateless, &full).0,
            r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","a":1}}"#
        );
        assert_eq!(
            write_to_text(Era::Stateless, &empty).0,
            r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete"}}"#
        );
    }

    #[test]
    fn errors_have_a_fixed_member_order_and_a_status() {
        let answer = Answer::Error(Box::new(ErrorBody {
            code: -32602,
            message: "a \"b\"".into(),
            data: Some("[1]".into()),
            status: 400,
        }));
        let expected =
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"a \"b\"","data":[1]}}"#;
        assert_eq!(
            write_to_text(Era::Stateless, &answer),
            (expected.to_owned(), 400)
        );
    }
}
