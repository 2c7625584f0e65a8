//! What holds for every failure: it renders, twice the same, within its schema and its size.

use crate::draw::{Draw, draw};
use crate::support::{body, misfits, published, receipt, text_block};
use crate::weather;
use candor_fault::codes::workspace::INVARIANTS;
use candor_fault::dialects::{Candor, Context, Github, Orders, Wire, Workspace};
use candor_fault::{
    Answer, CallFacts, Dialect, Fault, Form, Refusal, Retry, RowValue, Timestamp, Violation,
    schemas, to_json,
};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// How much an answer may have beyond what the caller sent.
const SLACK: usize = 64 * 1024;

/// A moment between the years 1970 and 9999.
fn moment() -> impl Strategy<Value = Timestamp> {
    (0..253_402_207_200_000_i64).prop_map(|millis| Timestamp::from_millisecond(millis).unwrap())
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Protocol), Just(Form::Result)]
}

/// Renders twice, and checks what holds in every dialect.
fn rendered<D: Dialect>(
    fault: &Fault<D>,
    (form, tool, recorded): (Form, bool, bool),
    at: Timestamp,
) -> Result<Answer, TestCaseError> {
    let receipt = receipt();
    let facts = CallFacts {
        tool: tool.then_some("a_tool"),
        form,
        receipt: recorded.then_some(&receipt),
    };
    let answer = D::failure(fault, &facts, at);
    prop_assert_eq!(&answer, &D::failure(&fault.clone(), &facts, at));
    let text = body(&answer);
    prop_assert!(
        text.bytes().all(|byte| byte >= 0x20),
        "a raw control character"
    );
    prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    let row = fault.row();
    prop_assert_eq!(fault.class(), row.class);
    prop_assert_eq!(fault.effect(), row.effect.or(fault.effect()));
    if let RowValue::Fixed(fixed) = row.retry {
        let narrowed = fixed == Retry::SameCall && fault.retry() == Retry::AfterDelay;
        prop_assert!(fault.retry() == fixed || narrowed);
    }
    Ok(answer)
}

fn fits(validator: &Validator, text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(misfits(validator, text), [""; 0], "{}", text);
    Ok(())
}

/// The size of everything that is wrong, as JSON.
fn size(violations: &[Violation]) -> usize {
    let one = |violation: &Violation| {
        to_json(&violation.path.pointer()).len()
            + to_json(&violation.message).len()
            + to_json(&violation.params).len()
            + violation.value.get().len()
            + to_json(&violation.hint).len()
    };
    violations.iter().map(one).sum()
}

static CONTEXT: LazyLock<[Validator; 2]> =
    LazyLock::new(|| [published("context.result"), published("context.error")]);
static GITHUB: LazyLock<[Validator; 2]> =
    LazyLock::new(|| [published("github.result"), published("github.error")]);
static WORKSPACE: LazyLock<[Validator; 2]> = LazyLock::new(|| {
    [
        published("workspace.result"),
        published("workspace.envelope"),
    ]
});
static ORDERS: LazyLock<[Validator; 3]> = LazyLock::new(|| {
    [
        published("orders.result"),
        published("orders.error"),
        published("orders.failure"),
    ]
});
static WIRE: LazyLock<Validator> = LazyLock::new(|| published("wire.error"));
static WEATHER: LazyLock<[Validator; 2]> = LazyLock::new(|| {
    let rows = Candor::<weather::Code>::rows();
    [
        schemas::candor_result(&rows),
        schemas::candor_failure(&rows),
    ]
    .map(|schema| jsonschema::validator_for(&schema).unwrap())
});

fn github(draw: &Draw) -> Fault<Github> {
    draw.fault::<Github>().with_facts(|facts| {
        facts.status = draw.word(0).map(|_| 422);
        facts.errors = draw.word(1).map(|_| json!([draw.data]));
        facts.mergeable_state = draw.word(2);
        facts.failing_checks = draw.word(3).map(|_| draw.words.clone());
        facts.expected = draw.word(4);
        facts.actual = draw.word(5);
        facts.number = draw.word(6).map(|_| 12);
    })
}

fn workspace(draw: &Draw) -> Fault<Workspace> {
    let roles = ["ANTIGRAVITY", "WINDSURF"];
    draw.fault::<Workspace>().with_facts(|facts| {
        facts.role = draw.word(0).map(|_| roles[draw.code % 2].to_owned());
        facts.session_id = draw.word(1);
        facts.workspace_root = draw.word(2);
        facts.tool_name = draw.word(3).filter(|name| !name.is_empty());
        facts.invariant_id = draw.word(4).map(|_| INVARIANTS[draw.code % 5].name);
        facts.phase_id = draw.word(5);
        facts.plan_hash = draw.word(6);
        facts.stack_trace = draw.word(7);
    })
}

fn orders(draw: &Draw) -> Fault<Orders> {
    draw.fault::<Orders>().with_facts(|facts| {
        facts.field = draw.word(0);
        facts.reason = draw.word(1).map(|_| "crossField");
        facts.original_error = draw.word(2).filter(|word| !word.is_empty());
        let names = draw.words.iter().cloned().chain(["class".to_owned()]);
        facts.context = names.map(|name| (name, draw.data.clone())).collect();
    })
}

/// The way of a call adopts what was drawn, where it can.
fn adopted<D: Dialect>(draw: &Draw) -> Fault<D> {
    let effect = draw.effect;
    let violations = draw.violations.iter().cloned().collect();
    D::adopt(match (draw.code % 6, &draw.cause, draw.wait) {
        (0, _, Some(after)) => Refusal::Limited { after },
        (1, ..) => Refusal::Deadline { effect },
        (2, ..) => Refusal::Cancelled { effect },
        (3, Some(cause), _) => Refusal::Panicked {
            cause: cause.clone(),
            effect,
        },
        (4, Some(cause), _) => Refusal::Unrecorded {
            cause: cause.clone(),
            effect,
        },
        _ => Refusal::Arguments(violations),
    })
}

type How = (Form, bool, bool);

fn context_holds(fault: &Fault<Context>, how: How, at: Timestamp) -> Result<(), TestCaseError> {
    let answer = rendered(fault, how, at)?;
    fits(&CONTEXT[0], &body(&answer))?;
    fits(&CONTEXT[1], &text_block(&answer))?;
    let row = fault.row();
    let canonical = format!(
        "{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"}}}}\n",
        row.code, row.message
    );
    prop_assert_eq!(text_block(&answer), canonical);
    Ok(())
}

fn github_holds(fault: &Fault<Github>, how: How, at: Timestamp) -> Result<(), TestCaseError> {
    let answer = rendered(fault, how, at)?;
    let text = body(&answer);
    prop_assert!(text.len() <= size(fault.violations().shown()) + SLACK);
    if how.0 == Form::Protocol {
        return fits(&GITHUB[1], &text);
    }
    fits(&GITHUB[0], &text)?;
    let block = text_block(&answer);
    let (_, object) = block.split_once('\n').unwrap();
    fits(&GITHUB[1], object)
}

fn workspace_holds(fault: &Fault<Workspace>, how: How, at: Timestamp) -> Result<(), TestCaseError> {
    let answer = rendered(fault, how, at)?;
    fits(&WORKSPACE[0], &body(&answer))?;
    let envelope = text_block(&answer);
    fits(&WORKSPACE[1], &envelope)?;
    let members = serde_json::from_str::<Value>(&envelope).unwrap();
    let stack = usize::from(fault.facts().stack_trace.is_some());
    prop_assert_eq!(
        members.as_object().map(serde_json::Map::len),
        Some(11 + stack)
    );
    Ok(())
}

fn orders_holds(fault: &Fault<Orders>, how: How, at: Timestamp) -> Result<(), TestCaseError> {
    let answer = rendered(fault, how, at)?;
    match &answer {
        Answer::Error(_) => fits(&ORDERS[1], &body(&answer)),
        Answer::Result(text) => {
            fits(&ORDERS[0], text)?;
            fits(&ORDERS[2], &text_block(&answer))
        }
    }
}

fn weather_holds(
    fault: &Fault<Candor<weather::Code>>,
    how: How,
    at: Timestamp,
) -> Result<(), TestCaseError> {
    let answer = rendered(fault, how, at)?;
    fits(&WEATHER[0], &body(&answer))?;
    let block = text_block(&answer);
    let (_, object) = block.split_once('\n').unwrap();
    fits(&WEATHER[1], object)
}

proptest! {
    #[test]
    fn every_context_failure_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        context_holds(&draw.fault(), how, at)?;
        context_holds(&adopted(&draw), how, at)?;
    }

    #[test]
    fn every_github_failure_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        github_holds(&github(&draw), how, at)?;
        github_holds(&adopted(&draw), how, at)?;
    }

    #[test]
    fn every_workspace_failure_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        workspace_holds(&workspace(&draw), how, at)?;
        workspace_holds(&adopted(&draw), how, at)?;
    }

    #[test]
    fn every_orders_failure_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        orders_holds(&orders(&draw), how, at)?;
        orders_holds(&adopted(&draw), how, at)?;
    }

    #[test]
    fn every_wire_failure_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        let fault = draw.fault::<Wire>().with_facts(|facts| {
            facts.data = draw.word(0).map(|_| to_json(&draw.data));
        });
        fits(&WIRE, &body(&rendered(&fault, how, at)?))?;
        fits(&WIRE, &body(&rendered(&adopted::<Wire>(&draw), how, at)?))?;
        let name = draw.word(0).unwrap_or_default();
        let unknown = Wire::unknown_tool(&name, draw.word(1).as_deref());
        let facts = CallFacts { tool: None, form, receipt: None };
        fits(&GITHUB[1], &body(&Github::protocol(&unknown, &facts, at)))?;
    }

    #[test]
    fn every_failure_of_a_server_of_its_own_holds(
        draw in draw(), form in form(), tool in any::<bool>(), recorded in any::<bool>(),
        at in moment(),
    ) {
        let how = (form, tool, recorded);
        weather_holds(&draw.fault(), how, at)?;
        weather_holds(&adopted(&draw), how, at)?;
    }
}
