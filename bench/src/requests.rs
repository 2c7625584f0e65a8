//! The cases, and their requests with room for an id.

use serde::Serialize;
use std::ops::Range;

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
    /// A file of 4 KiB.
    ReadFile4K,
    /// A tree of 300 files.
    GetTree,
    /// One order by its id.
    GetOrder,
    /// An order of two lines, made.
    CreateOrder,
    /// An order of products that are out of stock.
    RefusedOrder,
    /// An order of one popular product.
    CreateHot,
    /// The cancellation of an order that does not exist.
    RefusedCancel,
    /// The first page of all orders.
    PageOfAll,
    /// The first page of those in one state.
    PageByStatus,
    /// The first page of a customer's.
    PageByCustomer,
    /// The first page from some time on.
    PageByDate,
    /// The first page of those that were updated from some time on.
    PageUpdatedSince,
    /// The first page of those that were updated in a short time.
    PageUpdatedWithin,
    /// The first page of those that were updated from some time on, in the order of their updates.
    PageSortedByUpdate,
    /// The first page of the orders with a phone number.
    FindByPhone,
    /// The first page of the orders of a person.
    FindByPerson,
    /// The order with a name.
    FindByName,
    /// The order with a number.
    FindByNumber,
    /// The order with a tracking number.
    FindByTracking,
}

impl Case {
    /// The cases of the playground.
    pub(crate) const PLAYGROUND: &[Case] = &[
        Case::Success,
        Case::NotFound,
        Case::InvalidParams,
        Case::Misfit,
    ];

    /// The cases of the GitHub tools.
    pub(crate) const GITHUB: &[Case] = &[Case::Invalid, Case::ReadFile];

    /// The cases of the GitHub tools that are compared with a handler that answers the same bytes.
    pub(crate) const SAME_BYTES: &[Case] = &[Case::ReadFile4K, Case::GetTree];

    /// The cases of the order tools that are compared with a bare handler.
    pub(crate) const ORDERS: &[Case] = &[Case::GetOrder, Case::CreateOrder, Case::RefusedOrder];

    /// The cases of the order tools in a small and in a large store.
    pub(crate) const PAGES: &[Case] = &[
        Case::PageOfAll,
        Case::PageByStatus,
        Case::PageByCustomer,
        Case::PageByDate,
    ];

    /// The cases of pages with bounds on the update time.
    pub(crate) const UPDATES: &[Case] = &[Case::PageUpdatedSince, Case::PageUpdatedWithin];

    /// The cases of the order tools that look orders up, and the page in the order of updates.
    pub(crate) const LOOKUPS: &[Case] = &[
        Case::PageSortedByUpdate,
        Case::FindByPhone,
        Case::FindByPerson,
        Case::FindByName,
        Case::FindByNumber,
        Case::FindByTracking,
    ];

    /// Returns the name for the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::Success => "success",
            Case::NotFound => "github −32002",
            Case::InvalidParams => "github −32602",
            Case::Misfit => "wrong arguments",
            Case::Invalid => "search, no query",
            Case::ReadFile => "read_file",
            Case::ReadFile4K => "read_file of 4 KiB",
            Case::GetTree => "get_tree of 300 entries",
            Case::GetOrder => "get-orders by id",
            Case::CreateOrder => "create-sales-order",
            Case::RefusedOrder => "create, nothing in stock",
            Case::CreateHot => "create-sales-order of one SKU",
            Case::RefusedCancel => "cancel-order, refused",
            Case::PageOfAll => "page, no filter",
            Case::PageByStatus => "page by status",
            Case::PageByCustomer => "page by customer",
            Case::PageByDate => "page by date",
            Case::PageUpdatedSince => "page by updatedAtMin",
            Case::PageUpdatedWithin => "page by updatedAtMin and updatedAtMax",
            Case::PageSortedByUpdate => "page by updatedAtMin, sorted by updatedAt",
            Case::FindByPhone => "lookup by phone",
            Case::FindByPerson => "lookup by customer name",
            Case::FindByName => "lookup by order name",
            Case::FindByNumber => "lookup by order number",
            Case::FindByTracking => "lookup by tracking number",
        }
    }

    /// Returns the parameters; a run of `#` takes as many of the last digits of the request's id.
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
            Case::ReadFile4K => {
                r#"{"name":"read_file","arguments":{"repo":"bench/read","path":"file-000.txt"}}"#
            }
            Case::GetTree => r#"{"name":"get_tree","arguments":{"repo":"bench/read"}}"#,
            Case::GetOrder => {
                r#"{"name":"get-orders","arguments":{"ids":["ord_000000000000000000000####"]}}"#
            }
            Case::CreateOrder => {
                r#"{"name":"create-sales-order","arguments":{"idempotencyKey":"made-##########","order":{"customer":{"email":"c000000####@example.org"},"lineItems":[{"sku":"SKU-##","quantity":1},{"sku":"SKV-##","quantity":2}],"shippingAddress":{"address1":"1 Long Road","city":"Springfield","zipCodeOrPostalCode":"12345","country":"US"}}}}"#
            }
            Case::RefusedOrder => {
                r#"{"name":"create-sales-order","arguments":{"idempotencyKey":"none-##########","order":{"customer":{"email":"c000000####@example.org"},"lineItems":[{"sku":"SKU-##","quantity":1},{"sku":"NIL-##","quantity":2}],"shippingAddress":{"address1":"1 Long Road","city":"Springfield","zipCodeOrPostalCode":"12345","country":"US"}}}}"#
            }
            Case::CreateHot => {
                r#"{"name":"create-sales-order","arguments":{"idempotencyKey":"hot-##########","order":{"lineItems":[{"sku":"SKU-17","quantity":1}]}}}"#
            }
            Case::RefusedCancel => {
                r#"{"name":"cancel-order","arguments":{"idempotencyKey":"gone-##########","orderId":"ord_none"}}"#
            }
            Case::PageOfAll => r#"{"name":"get-orders","arguments":{}}"#,
            Case::PageByStatus => {
                r#"{"name":"get-orders","arguments":{"statuses":["processing"]}}"#
            }
            Case::PageByCustomer => {
                r#"{"name":"get-orders","arguments":{"emails":["c0000000###@example.org"]}}"#
            }
            Case::PageByDate => {
                r#"{"name":"get-orders","arguments":{"createdAtMin":"2025-06-1#T0#:1#:2#Z","createdAtMax":"2025-11-01T00:00:00Z"}}"#
            }
            Case::PageUpdatedSince => {
                r#"{"name":"get-orders","arguments":{"updatedAtMin":"2025-11-1#T0#:1#:2#Z"}}"#
            }
            Case::PageUpdatedWithin => {
                r#"{"name":"get-orders","arguments":{"updatedAtMin":"2025-11-1#T00:00:00Z","updatedAtMax":"2025-11-20T0#:1#:2#Z"}}"#
            }
            Case::PageSortedByUpdate => {
                r#"{"name":"get-orders","arguments":{"sort":"updatedAt","updatedAtMin":"2025-11-1#T0#:1#:2#Z"}}"#
            }
            Case::FindByPhone => {
                r#"{"name":"get-orders","arguments":{"phones":["+1 555 0000###"]}}"#
            }
            Case::FindByPerson => {
                r#"{"name":"get-orders","arguments":{"customerNames":["Byron0000###"]}}"#
            }
            Case::FindByName => r##"{"name":"get-orders","arguments":{"names":["N000####"]}}"##,
            Case::FindByNumber => r#"{"name":"get-orders","arguments":{"orderNumbers":["5####"]}}"#,
            Case::FindByTracking => {
                r#"{"name":"get-orders","arguments":{"trackingNumbers":["T000####"]}}"#
            }
        }
    }

    /// Returns the text that every answer of candor to this case contains, and no other.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Case::Success => r#","result":{"content":[{"type":"text","text":"{\"text\":\"What was"#,
            Case::NotFound => r#","error":{"code":-32002,"#,
            Case::InvalidParams => r#","error":{"code":-32602,"#,
            Case::Misfit => r#""error":{"code":"invalid_arguments","#,
            Case::Invalid => r#","error":{"code":-32602,"message":"Validation errors: must have"#,
            Case::ReadFile => r#"\"path\":\"README.md\""#,
            Case::ReadFile4K => r#"\"path\":\"file-000.txt\""#,
            Case::GetTree => r#"\"total\":300,\"truncated\":false"#,
            Case::GetOrder => r#""structuredContent":{"orders":[{"id":"ord_0"#,
            Case::CreateOrder => r#""structuredContent":{"order":{"id":"ord_"#,
            Case::RefusedOrder => r#""originalError":"INSUFFICIENT_INVENTORY""#,
            Case::CreateHot => r#""structuredContent":{"order":{"id":"ord_"#,
            Case::RefusedCancel => r#""originalError":"ORDER_NOT_FOUND""#,
            // A full page has a next one.
            Case::PageOfAll
            | Case::PageByStatus
            | Case::PageByCustomer
            | Case::PageByDate
            | Case::PageUpdatedSince
            | Case::PageUpdatedWithin
            | Case::PageSortedByUpdate
            | Case::FindByPhone
            | Case::FindByPerson => r#","nextCursor":""#,
            Case::FindByName | Case::FindByNumber | Case::FindByTracking => {
                r#""structuredContent":{"orders":[{"id":"ord_0"#
            }
        }
    }

    /// Returns the text that every answer of the bare programs to this case contains.
    pub(crate) fn bare_mark(self) -> &'static str {
        match self {
            Case::GetOrder => r#","result":{"rows":[[["ord_0"#,
            Case::CreateOrder => r#","result":{"order":"ord_"#,
            Case::RefusedOrder => r#","result":{"order":null}"#,
            Case::ReadFile4K | Case::GetTree => self.mark(),
            _ => ECHO_MARK,
        }
    }
}

/// The text that every echo contains.
const ECHO_MARK: &str = r#","result":{"name":"#;

/// The first id. Every id has ten digits, so that all requests of a case have one length.
pub(crate) const FIRST_ID: u64 = 1_000_000_000;

const DIGITS: usize = 10;

/// The start of every answer.
const ANSWER_HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

/// A request whose id is filled in later.
#[derive(Debug, Clone)]
pub(crate) struct RequestTemplate {
    bytes: Vec<u8>,
    holes: Vec<Range<usize>>,
}

impl RequestTemplate {
    /// Returns the message of a case, with the bytes that a transport puts around it.
    pub(crate) fn new(case: Case, before: impl Fn(usize) -> String, after: &str) -> Self {
        let id = "#".repeat(DIGITS);
        let params = case.params();
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let bytes = format!("{}{message}{after}", before(message.len())).into_bytes();
        RequestTemplate {
            holes: holes(&bytes),
            bytes,
        }
    }

    /// Returns the request with this id.
    pub(crate) fn with_id(&mut self, id: u64) -> &[u8] {
        for hole in &self.holes {
            let mut left = id;
            for place in hole.clone().rev() {
                self.bytes[place] = b'0' + (left % 10) as u8;
                left /= 10;
            }
        }
        &self.bytes
    }
}

/// Returns the runs of `#`.
fn holes(text: &[u8]) -> Vec<Range<usize>> {
    let mut holes: Vec<Range<usize>> = Vec::new();
    for place in memchr::memchr_iter(b'#', text) {
        match holes.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => holes.push(place..place + 1),
        }
    }
    holes
}

/// Returns the id of an answer.
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
    fn template_accepts_any_id() {
        let mut template = RequestTemplate::new(Case::Success, |length| format!("{length} "), "\n");
        let request = template.with_id(FIRST_ID + 42).to_owned();
        let text = String::from_utf8(request).unwrap();
        let (length, message) = text.split_once(' ').unwrap();
        assert_eq!(length.parse::<usize>().unwrap() + 1, message.len());
        let value: serde_json::Value = serde_json::from_str(message).unwrap();
        assert_eq!(value["id"], FIRST_ID + 42);
        assert_eq!(value["params"]["name"], "echo");
    }

    #[test]
    fn every_hole_gets_the_last_digits() {
        let mut template = RequestTemplate::new(Case::CreateOrder, |_| String::new(), "");
        let request = template.with_id(FIRST_ID + 1234).to_owned();
        let value: serde_json::Value = serde_json::from_slice(&request).unwrap();
        let asked = &value["params"]["arguments"];
        assert_eq!(asked["idempotencyKey"], "made-1000001234");
        assert_eq!(
            asked["order"]["customer"]["email"],
            "c0000001234@example.org"
        );
        assert_eq!(asked["order"]["lineItems"][1]["sku"], "SKV-34");
    }

    #[test]
    fn id_of_an_answer_is_parsed() {
        assert_eq!(
            answered_id(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#),
            Some(17)
        );
        assert_eq!(answered_id(br#"{"id":17}"#), None);
    }
}
