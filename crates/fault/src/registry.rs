//! The one form of a registry of codes, and the macro that makes one from a table.

use crate::{Class, Effect, Retry};
use serde::{Serialize, Serializer};
use std::fmt;

/// A code as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum CodeValue {
    /// A word.
    Text(&'static str),
    /// A number.
    Number(i32),
}

impl CodeValue {
    /// The code where it is a word, else the empty string.
    pub const fn text(self) -> &'static str {
        match self {
            CodeValue::Text(text) => text,
            CodeValue::Number(_) => "",
        }
    }

    /// The code where it is a number, else 0.
    pub const fn number(self) -> i32 {
        match self {
            CodeValue::Text(_) => 0,
            CodeValue::Number(number) => number,
        }
    }
}

impl CodeValue {
    /// Whether this is the code that a person wrote; letters may be of either case.
    pub fn reads(self, text: &str) -> bool {
        match self {
            CodeValue::Text(own) => own.eq_ignore_ascii_case(text),
            // A number can be written in several ways, and only one of them is its own.
            CodeValue::Number(own) => text.parse() == Ok(own) && own.to_string() == text,
        }
    }
}

impl fmt::Display for CodeValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeValue::Text(text) => out.write_str(text),
            CodeValue::Number(number) => write!(out, "{number}"),
        }
    }
}

/// An answer that a row fixes for all failures of its code, or asks of each one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowValue<T> {
    /// Always this.
    Fixed(T),
    /// Every failure says it.
    PerFault,
}

impl<T: Copy> RowValue<T> {
    /// The fixed answer, or the one given.
    pub const fn or(self, given: T) -> T {
        match self {
            RowValue::Fixed(fixed) => fixed,
            RowValue::PerFault => given,
        }
    }
}

impl<T: Serialize> Serialize for RowValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RowValue::Fixed(fixed) => fixed.serialize(serializer),
            RowValue::PerFault => serializer.serialize_str("said_by_each_failure"),
        }
    }
}

/// A word below a code that is contract too: an `originalError`, an invariant id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The word on the wire.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

/// Everything that is promised about one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CodeRow {
    /// The dialect; with the code it is the key.
    pub dialect: &'static str,
    /// The code on the wire.
    pub code: CodeValue,
    /// Its name for people and for metrics.
    pub name: &'static str,
    /// What it says about the world.
    pub meaning: &'static str,
    /// The message where a failure brings no better one.
    pub message: &'static str,
    /// Who has to act.
    pub class: Class,
    /// What a retry would bring.
    pub retry: RowValue<Retry>,
    /// Whether anything happened.
    pub effect: RowValue<Effect>,
    /// What to do, one sentence.
    pub remedy: &'static str,
    /// The category of the orders dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<&'static str>,
    /// The exit code of the command line, where the dialect has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// Whether the row may never change again.
    pub frozen: bool,
    /// The words below this code.
    #[serde(skip_serializing_if = "<[Reason]>::is_empty")]
    pub reasons: &'static [Reason],
}

impl CodeRow {
    /// Whether both rows are about one code of one dialect.
    pub fn has_key_of(&self, other: &CodeRow) -> bool {
        self.code == other.code && self.dialect == other.dialect
    }
}

/// The closed set of codes of one registry.
pub trait Code: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// The table, in its order.
    fn rows() -> &'static [CodeRow];
    /// Every code, in the order of the table.
    fn all() -> &'static [Self];
    /// The row of this code.
    fn row(self) -> &'static CodeRow;
}

/// The text without the full stop at its end.
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
/// take a value, or `ask` where every failure must say it itself. `name` and `message` may be
/// left out: they are the code, and the meaning without its full stop, then.
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

        // A static of its own: the compiler may keep what a static only points to in several
        // places, and a row could not be known by its address then.
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
