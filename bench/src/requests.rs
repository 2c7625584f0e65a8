//! What is asked: the cases, and their requests with room for an id.

use serde::Serialize;

/// One kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Case {
    /// A call that succeeds.
    Success,
    /// A failure of the GitHub dialect with its five answers.
    NotFound,
    /// A failure of the GitHub dialect in the form of its validation errors.
    InvalidParams,
    /// Arguments that the schema refuses, in the neutral dialect.
    Misfit,
    /// Arguments that the schema of a GitHub tool refuses.
    Invalid,
    /// A file read from a local repository.
    ReadFile,
}

impl Case {
    /// What the playground is asked.
    pub(crate) const PLAYGROUND: &[Case] = &[
        Case::Success,
        Case::NotFound,
        Case::InvalidParams,
        Case::Misfit,
    ];

    /// What the GitHub tools are asked.
    pub(crate) const GITHUB: &[Case] = &[Case::Invalid, Case::ReadFile];

    /// The case for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::Success => "success",
            Case::NotFound => "github −32002",
            Case::InvalidParams => "github −32602",
            Case::Misfit => "wrong arguments",
            Case::Invalid => "search, no query",
            Case::ReadFile => "read_file",
        }
    }

    fn params(self) -> &'static str {
        match self {
            Case::Success => r#"{"name":"echo","arguments":{"text":"What was asked comes back."}}"#,
            Case::NotFound => r#"{"name":"fail","arguments":{"dialect":"github","code":-32002}}"#,
            Case::InvalidParams => {
                r#"{"name":"fail","arguments":{"dialect":"github","code":-32602}}"#
            }
            Case::Misfit => r#"{"name":"echo","arguments":{"txt":"What was asked comes back."}}"#,
            Case::Invalid => r#"{"name":"search","arguments":{}}"#,
            Case::ReadFile => {
                r#"{"name":"read_file","arguments":{"repo":"sample/hello","path":"README.md"}}"#
            }
        }
    }

    /// What stands in every answer of candor to this case, and in no other.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Case::Success => r#","result":{"content":[{"type":"text","text":"{\"text\":\"What was"#,
            Case::NotFound => r#","error":{"code":-32002,"#,
            Case::InvalidParams => r#","error":{"code":-32602,"#,
            Case::Misfit => r#""error":{"code":"invalid_arguments","#,
            Case::Invalid => r#","error":{"code":-32602,"message":"Validation errors: must have"#,
            Case::ReadFile => r#"\"path\":\"README.md\""#,
        }
    }
}

/// What stands in every answer of the bare programs.
pub(crate) const ECHO_MARK: &str = r#","result":{"name":"#;

/// The first id. Every id has ten digits, so that all requests of a case have one length.
pub(crate) const FIRST_ID: u64 = 1_000_000_000;

const DIGITS: usize = 10;

/// How every answer begins.
const ANSWER_HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

/// A request whose id is yet to be filled in.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    id_at: usize,
}

impl Template {
    /// The message of a case, between what a transport puts around it.
    pub(crate) fn new(case: Case, before: impl Fn(usize) -> String, after: &str) -> Self {
        let head = r#"{"jsonrpc":"2.0","id":"#;
        let tail = format!(r#","method":"tools/call","params":{}}}"#, case.params());
        let before = before(head.len() + DIGITS + tail.len());
        Template {
            bytes: format!("{before}{head}{FIRST_ID}{tail}{after}").into_bytes(),
            id_at: before.len() + head.len(),
        }
    }

    /// The request with this id.
    pub(crate) fn with_id(&mut self, mut id: u64) -> &[u8] {
        for place in (self.id_at..self.id_at + DIGITS).rev() {
            self.bytes[place] = b'0' + (id % 10) as u8;
            id /= 10;
        }
        &self.bytes
    }
}

/// The id of an answer.
pub(crate) fn answered_id(answer: &[u8]) -> Option<u64> {
    let digits = answer
        .strip_prefix(ANSWER_HEAD)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |id, digit| id * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_any_id() {
        let mut template = Template::new(Case::Success, |length| format!("{length} "), "\n");
        let request = template.with_id(FIRST_ID + 42).to_owned();
        let text = String::from_utf8(request).unwrap();
        let (length, message) = text.split_once(' ').unwrap();
        assert_eq!(length.parse::<usize>().unwrap() + 1, message.len());
        let value: serde_json::Value = serde_json::from_str(message).unwrap();
        assert_eq!(value["id"], FIRST_ID + 42);
        assert_eq!(value["params"]["name"], "echo");
    }

    #[test]
    fn an_answer_names_its_request() {
        assert_eq!(
            answered_id(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#),
            Some(17)
        );
        assert_eq!(answered_id(br#"{"id":17}"#), None);
    }
}
