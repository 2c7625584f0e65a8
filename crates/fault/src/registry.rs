//! Registries: the macro that makes one from a table, and the description of a dialect as data.

use crate::schemas::parts::DRAFT;
use crate::{
    AnyFault, ArgumentPath, CodeRow, Form, PathStep, Receipt, ReplayAnswers, Violation, excerpt,
};
use serde_json::{Map, Value, json};

/// A dialect as data: its codes, the schemas of its failing answers, and the text of its page in
/// `docs/errors`.
///
/// A server crate exports one; `candor explain`, the playground and the code generator read it.
#[derive(Debug)]
pub struct Registry {
    /// The section in `registry.json`, and the part before the slash in `orders/3001`.
    pub name: &'static str,
    /// One line for the tables of `candor explain`.
    pub summary: &'static str,
    pub rows: &'static [CodeRow],
    /// The schemas of failing answers, in the order of the documentation.
    pub schemas: fn() -> Vec<SchemaFile>,
    /// Makes a failure on demand: [`AnyFault::replay`] of the dialect.
    pub replay: fn(code: &str, answers: &ReplayAnswers) -> Option<AnyFault>,
    pub page: ErrorPage,
    /// The failures that the page shows as they are on the wire.
    pub examples: fn() -> Vec<PageExample>,
}

/// A published schema: a complete JSON Schema document.
#[derive(Debug, Clone)]
pub struct SchemaFile {
    /// The name of the file in `schemas/`, without `.schema.json`.
    pub name: &'static str,
    pub schema: Value,
}

impl SchemaFile {
    /// Adds the address and the title that a document has to a schema.
    pub fn new(name: &'static str, title: &str, schema: Value) -> Self {
        let mut document = Map::new();
        document.insert("$schema".into(), DRAFT.into());
        document.insert(
            "$id".into(),
            format!("https://candor.dev/schemas/{name}.schema.json").into(),
        );
        document.insert("title".into(), title.into());
        if let Value::Object(members) = schema {
            document.extend(members);
        }
        SchemaFile {
            name,
            schema: Value::Object(document),
        }
    }
}

/// The text of a page in `docs/errors` that no table contains.
#[derive(Debug)]
pub struct ErrorPage {
    pub title: &'static str,
    /// The purpose of the dialect.
    pub purpose: &'static str,
    /// The form of a failure on the wire.
    pub form: &'static str,
    pub open_answers: OpenAnswers,
}

/// The members in which a client finds the answers that a row leaves open. Empty if the dialect
/// does not send them.
#[derive(Debug)]
pub struct OpenAnswers {
    pub retry: &'static str,
    pub wait: &'static str,
    pub effect: &'static str,
}

impl OpenAnswers {
    /// For dialects that do not send the five answers.
    pub const NOT_SENT: OpenAnswers = OpenAnswers {
        retry: "",
        wait: "",
        effect: "",
    };
}

/// A failure that a page in `docs/errors` shows.
#[derive(Debug)]
pub struct PageExample {
    pub title: &'static str,
    /// The tool that was called.
    pub tool: &'static str,
    pub form: Form,
    /// The receipt of the call, if it was recorded.
    pub receipt: Option<Receipt>,
    pub fault: AnyFault,
}

impl PageExample {
    /// Creates an example of a call that was not recorded.
    pub fn new(
        title: &'static str,
        tool: &'static str,
        form: Form,
        fault: impl Into<AnyFault>,
    ) -> Self {
        PageExample {
            title,
            tool,
            form,
            receipt: None,
            fault: fault.into(),
        }
    }
}

/// Returns the violation of a missing argument, for examples.
pub fn missing_argument(name: &str) -> Violation {
    Violation {
        path: ArgumentPath::default(),
        keyword: "required",
        message: format!("must have required property '{name}'").into(),
        params: json!({ "missingProperty": name }).into(),
        value: excerpt(&json!({})),
        expected: format!("an object with '{name}'").into(),
        hint: None,
    }
}

/// Returns the violation of an integer that is 0 and must be at least 1, for examples.
pub fn argument_below_one(name: &str) -> Violation {
    Violation {
        path: ArgumentPath(vec![PathStep::Member(name.to_owned())]),
        keyword: "minimum",
        message: "must be >= 1".into(),
        params: json!({ "comparison": ">=", "limit": 1 }).into(),
        value: excerpt(&json!(0)),
        expected: "an integer of at least 1".into(),
        hint: None,
    }
}

/// Returns the text without the full stop at its end.
#[doc(hidden)]
pub const fn without_stop(text: &'static str) -> &'static str {
    match text.as_bytes() {
        [rest @ .., b'.'] => match std::str::from_utf8(rest) {
            Ok(rest) => rest,
            Err(_) => text,
        },
        _ => text,
    }
}

/// Makes a registry from a table: `Code` (an enum), its rows, and one raisable constant a row.
///
/// A code is a word (`code:`) or a number (`number:`, which needs a `name:`). `retry` and `effect`
/// take a value, or `ask` if every failure has to give the answer. `name` and `message` may be left
/// out: they default to the code, and to the meaning without its full stop.
#[macro_export]
macro_rules! registry {
    (
        $dialect:ty, $section:literal;
        $( $variant:ident {
            $(code: $code:literal,)?
            $(number: $number:literal,)?
            $(name: $name:literal,)?
            meaning: $meaning:literal,
            $(message: $message:literal,)?
            class: $class:ident, retry: $retry:ident, effect: $effect:ident,
            remedy: $remedy:literal
            $(, category: $category:literal)?
            $(, exit: $exit:literal)?
            $(, frozen: $frozen:literal)?
            $(, reasons: $reasons:expr)?
            $(,)?
        } )*
    ) => {
        /// The closed set of codes of this registry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $( #[doc = $meaning] $variant ),* }

        // A separate static: the compiler may copy data that a static only points to, and then a
        // row could not be identified by its address.
        static TABLE: [$crate::CodeRow; [ $( Code::$variant ),* ].len()] = [ $( $crate::CodeRow {
            dialect: $section,
            code: $crate::registry!(@code ($($code)?) ($($number)?)),
            name: $crate::registry!(@or ($($name)?) ($($code)?)),
            meaning: $meaning,
            message: $crate::registry!(@or ($($message)?) ($crate::without_stop($meaning))),
            class: $crate::Class::$class,
            retry: $crate::registry!(@ruled Retry $retry),
            effect: $crate::registry!(@ruled Effect $effect),
            remedy: $remedy,
            category: $crate::registry!(@option $($category)?),
            exit: $crate::registry!(@option $($exit)?),
            frozen: $crate::registry!(@or ($($frozen)?) (false)),
            reasons: $crate::registry!(@or ($($reasons)?) (&[])),
        } ),* ];

        /// The table of this registry.
        pub static ROWS: &[$crate::CodeRow] = &TABLE;

        impl $crate::Code for Code {
            fn rows() -> &'static [$crate::CodeRow] { ROWS }
            fn all() -> &'static [Self] { &[ $( Code::$variant ),* ] }
            fn row(self) -> &'static $crate::CodeRow { &TABLE[self as usize] }
        }

        $(
            #[doc = $meaning]
            #[allow(non_upper_case_globals)]
            pub const $variant: $crate::Raise<
                $dialect, $crate::registry!(@axis $retry), $crate::registry!(@axis $effect),
            > = $crate::Raise::of_row(&TABLE[Code::$variant as usize]);
        )*
    };
    (@code ($code:literal) ()) => { $crate::CodeValue::Text($code) };
    (@code () ($number:literal)) => { $crate::CodeValue::Number($number) };
    (@or () ($fallback:expr)) => { $fallback };
    (@or ($given:expr) ($($fallback:expr)?)) => { $given };
    (@option) => { None };
    (@option $given:expr) => { Some($given) };
    (@axis ask) => { $crate::PerFault };
    (@axis $fixed:ident) => { $crate::Fixed };
    (@ruled $axis:ident ask) => { $crate::RowValue::PerFault };
    (@ruled $axis:ident $fixed:ident) => { $crate::RowValue::Fixed($crate::$axis::$fixed) };
}
