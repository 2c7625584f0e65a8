//! All dialects in one: a failure keeps the dialect it was raised in, and is encoded in it.

use crate::registries::REGISTRIES;
use candor_fault::codes::candor as core;
use candor_fault::dialects::Candor;
use candor_fault::{
    Answer, AnyFault, CallFacts, Code, CodeRow, CodeValue, Dialect, Fault, Refusal, ReplayAnswers,
    Timestamp, ToolOutput,
};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The neutral dialect without codes of a server.
pub(super) type Neutral = Candor<core::Code>;

/// The dialect of the playground.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllDialects;

/// Every row of every registry.
static ROWS: LazyLock<Vec<CodeRow>> = LazyLock::new(|| {
    let rows = REGISTRIES.into_iter().flat_map(|registry| registry.rows);
    rows.copied().collect()
});

static CODES: LazyLock<Vec<AnyCode>> = LazyLock::new(|| (0..ROWS.len()).map(AnyCode).collect());

/// The index of each row, by dialect and code.
static INDEXES: LazyLock<HashMap<(&str, CodeValue), usize>> = LazyLock::new(|| {
    let rows = ROWS.iter().enumerate();
    rows.map(|(index, row)| ((row.dialect, row.code), index))
        .collect()
});

/// A code of any dialect: the index of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnyCode(usize);

impl AnyCode {
    /// Returns the code of a registry's row.
    fn of(row: &CodeRow) -> Self {
        let index = index_by_address(row);
        let index = index.or_else(|| INDEXES.get(&(row.dialect, row.code)).copied());
        AnyCode(index.unwrap_or_default())
    }
}

/// Returns the index of a row that is in the list of its registry, which is quicker to find by its address.
fn index_by_address(row: &CodeRow) -> Option<usize> {
    let mut first = 0;
    for registry in REGISTRIES {
        let start = registry.rows.as_ptr().addr();
        let offset = std::ptr::from_ref(row).addr().wrapping_sub(start) / size_of::<CodeRow>();
        if offset < registry.rows.len() {
            return Some(first + offset);
        }
        first += registry.rows.len();
    }
    None
}

impl Code for AnyCode {
    fn rows() -> &'static [CodeRow] {
        &ROWS
    }

    fn all() -> &'static [Self] {
        &CODES
    }

    fn row(self) -> &'static CodeRow {
        &ROWS[self.0]
    }
}

/// Returns a failure of any dialect as a failure of the playground.
pub(super) fn play(fault: impl Into<AnyFault>) -> Fault<AllDialects> {
    let fault = fault.into();
    let code = AnyCode::of(fault.row());
    let every = Fault::replay(code, fault.retry(), fault.effect());
    every.with_facts(|facts| *facts = Some(fault))
}

/// Makes a failure with this code of this dialect. Returns `None` if there is no such code.
pub(super) fn replay(
    dialect: &str,
    code: &str,
    answers: &ReplayAnswers,
) -> Option<Fault<AllDialects>> {
    let registry = REGISTRIES
        .into_iter()
        .find(|registry| registry.name == dialect)?;
    (registry.replay)(code, answers).map(play)
}

impl Dialect for AllDialects {
    type Code = AnyCode;
    type Facts = Option<AnyFault>;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        play(Neutral::adopt(refusal))
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        match fault.facts() {
            Some(own) => own.answer(call, at),
            None => Neutral::encode_failure(&core::Internal.fault(fault.effect()), call, at),
        }
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        Neutral::encode_success(output, call)
    }
}
