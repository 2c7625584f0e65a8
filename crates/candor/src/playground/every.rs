//! All dialects in one: a failure keeps the dialect it was raised in, and is answered in it.

use candor_fault::codes::{self, candor as core};
use candor_fault::dialects::{Candor, Context, Github, Orders, Wire, Workspace};
use candor_fault::{
    Answer, CallFacts, Code, CodeRow, Dialect, Effect, Fault, Refusal, Retry, Timestamp, ToolOutput,
};
use std::sync::LazyLock;
use std::time::Duration;

/// The neutral dialect without codes of anybody's own.
pub(super) type Neutral = Candor<core::Code>;

/// The dialect of the playground.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Every;

/// Every row of every registry.
static ROWS: LazyLock<Vec<CodeRow>> = LazyLock::new(|| {
    codes::all()
        .iter()
        .flat_map(|(_, rows)| *rows)
        .copied()
        .collect()
});

static CODES: LazyLock<Vec<EveryCode>> = LazyLock::new(|| (0..ROWS.len()).map(EveryCode).collect());

/// A code of any dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EveryCode(usize);

impl EveryCode {
    /// The code of another registry's row.
    fn of(row: &CodeRow) -> Self {
        EveryCode(
            ROWS.iter()
                .position(|known| known.has_key_of(row))
                .unwrap_or_default(),
        )
    }
}

impl Code for EveryCode {
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

/// A failure of one dialect that the playground can raise.
pub(super) trait Playable {
    /// The same failure in the playground's own dialect.
    fn played(self) -> Fault<Every>;
}

/// A failure that can carry a word below its code.
trait Reasoned: Sized {
    fn reasoned(self, reason: Option<&'static str>) -> Self {
        let _ = reason;
        self
    }
}

impl Reasoned for Fault<Context> {}
impl Reasoned for Fault<Github> {}
impl Reasoned for Fault<Wire> {}
impl Reasoned for Fault<Neutral> {}

impl Reasoned for Fault<Workspace> {
    fn reasoned(self, reason: Option<&'static str>) -> Self {
        self.with_facts(|facts| facts.invariant_id = reason)
    }
}

impl Reasoned for Fault<Orders> {
    fn reasoned(self, reason: Option<&'static str>) -> Self {
        self.with_facts(|facts| facts.original_error = reason.map(String::from))
    }
}

/// What a failure to order is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    /// Where the row leaves it open.
    pub(super) retry: Retry,
    /// Where the row leaves it open.
    pub(super) effect: Effect,
    /// The wait, where one makes sense.
    pub(super) wait: Option<Duration>,
    /// The word below the code.
    pub(super) reason: Option<&'static str>,
}

macro_rules! any_fault {
    ($($variant:ident($dialect:ty) = $section:literal),* $(,)?) => {
        /// A failure of one of the dialects.
        #[derive(Debug, Clone)]
        pub(crate) enum AnyFault { $($variant(Fault<$dialect>)),* }

        $(impl Playable for Fault<$dialect> {
            fn played(self) -> Fault<Every> {
                let code = EveryCode::of(self.row());
                let every = Fault::replay(code, self.retry(), self.effect());
                every.with_facts(|facts| *facts = Some(AnyFault::$variant(self)))
            }
        })*

        impl AnyFault {
            fn answer(&self, call: &CallFacts<'_>, at: Timestamp) -> Answer {
                match self { $(AnyFault::$variant(fault) => <$dialect>::failure(fault, call, at)),* }
            }
        }

        /// The failure with this code of this dialect; the row's own answers win over the given ones.
        pub(super) fn replayed(section: &str, code: &str, order: Order) -> Option<Fault<Every>> {
            match section {
                $($section => replay::<$dialect>(code, order)
                    .map(|fault| fault.reasoned(order.reason).played()),)*
                _ => None,
            }
        }
    };
}
any_fault!(
    Context(Context) = "context",
    Github(Github) = "github",
    Workspace(Workspace) = "workspace",
    Orders(Orders) = "orders",
    Wire(Wire) = "wire",
    Neutral(Neutral) = "candor",
);

fn replay<D: Dialect>(code: &str, order: Order) -> Option<Fault<D>> {
    let named = |known: &&D::Code| known.row().code.to_string() == code || known.row().name == code;
    let code = D::Code::all().iter().find(named)?;
    let fault = Fault::replay(*code, order.retry, order.effect);
    Some(match order.wait {
        Some(wait) => fault.after(wait),
        None => fault,
    })
}

impl Dialect for Every {
    type Code = EveryCode;
    type Facts = Option<AnyFault>;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        Neutral::adopt(refusal).played()
    }

    fn failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        match fault.facts() {
            Some(own) => own.answer(call, at),
            None => Neutral::failure(&core::Internal.fault(fault.effect()), call, at),
        }
    }

    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        Neutral::success(output, call)
    }
}
