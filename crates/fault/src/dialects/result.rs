//! The MCP result object, its members in their fixed order.

use crate::json::to_json_of_length;
use crate::{Answer, Receipt, ToolOutput};
use serde::Serialize;
use serde_json::value::RawValue;

/// The members of a result that this program ever sends.
#[derive(Serialize)]
pub(super) struct ToolResult<'a, S: Serialize, E: Serialize> {
    content: [TextBlock<'a>; 1],
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub(super) structured: Option<S>,
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<E>,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    pub(super) meta: Meta<'a, E>,
}

#[derive(Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// What stands in `_meta`, under names of ours.
#[derive(Serialize)]
pub(super) struct Meta<'a, E: Serialize> {
    #[serde(rename = "dev.candor/error", skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<E>,
    #[serde(rename = "dev.candor/fault", skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<crate::FiveAnswers<'a>>,
    #[serde(rename = "dev.candor/receipt", skip_serializing_if = "Option::is_none")]
    pub(super) receipt: Option<&'a Receipt>,
}

impl<E: Serialize> Meta<'_, E> {
    fn is_empty(&self) -> bool {
        self.error.is_none() && self.fault.is_none() && self.receipt.is_none()
    }
}

impl<'a, S: Serialize, E: Serialize> ToolResult<'a, S, E> {
    /// A result with one text block.
    pub(super) fn text(text: &'a str) -> Self {
        ToolResult {
            content: [TextBlock {
                r#type: "text",
                text,
            }],
            structured: None,
            is_error: false,
            error: None,
            meta: Meta {
                error: None,
                fault: None,
                receipt: None,
            },
        }
    }

    pub(super) fn answer(self) -> Answer {
        // Escaped, and as an object in up to two more places.
        let length = 3 * self.content[0].text.len() + 256;
        Answer::Result(to_json_of_length(&self, length).into())
    }
}

/// Success as most dialects say it: one text block of compact JSON, the same object as
/// `structuredContent`, and the receipt where there is one.
pub(super) fn success(output: &ToolOutput, receipt: Option<&Receipt>) -> Answer {
    let (text, structured) = match output {
        ToolOutput::Whole(whole) => return Answer::Result(whole.get().into()),
        ToolOutput::Text(text) => (text.as_str(), None),
        ToolOutput::Json(json) => {
            let is_object = json.get().starts_with('{');
            (json.get(), is_object.then_some(json.as_ref()))
        }
    };
    let mut result = ToolResult::<&RawValue, ()>::text(text);
    result.structured = structured;
    result.meta.receipt = receipt;
    result.answer()
}
