//! The tables: how many rows, how they are worded, and that a failure knows its own.

use candor_fault::dialects::{Candor, Context, Github, Orders, Wire, Workspace};
use candor_fault::{
    Class, Code, CodeRow, Dialect, Effect, Fault, Retry, codes, codes::candor, to_json,
};
use std::collections::BTreeSet;
use std::mem::size_of;
use std::time::Duration;

fn rows() -> impl Iterator<Item = &'static CodeRow> {
    codes::all().into_iter().flat_map(|(_, rows)| rows)
}

#[test]
fn every_section_has_its_number_of_codes() {
    let counts = codes::all().map(|(name, rows)| (name, rows.len()));
    let expected = [
        ("context", 6),
        ("github", 8),
        ("workspace", 35),
        ("orders", 8),
        ("wire", 8),
        ("candor", 6),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn every_row_stands_in_its_section_once() {
    for (name, rows) in codes::all() {
        assert!(rows.iter().all(|row| row.dialect == name));
        let codes: BTreeSet<_> = rows.iter().map(|row| row.code).collect();
        let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
        assert_eq!((codes.len(), names.len()), (rows.len(), rows.len()));
    }
}

#[test]
fn every_remedy_is_one_sentence() {
    for row in rows() {
        let remedy = row.remedy;
        assert!(remedy.starts_with(char::is_uppercase), "{remedy}");
        assert!(remedy.ends_with('.'), "{remedy}");
        assert!(!remedy.contains(". "), "{remedy}");
        assert!(!remedy.contains('\n'), "{remedy}");
    }
}

#[test]
fn every_message_has_no_full_stop_and_every_meaning_has_one() {
    for row in rows() {
        assert!(!row.message.is_empty());
        assert!(!row.message.ends_with(['.', ' ', '\n']), "{}", row.message);
        assert!(row.meaning.ends_with('.'), "{}", row.meaning);
        for reason in row.reasons {
            assert!(reason.meaning.ends_with('.'), "{}", reason.meaning);
        }
    }
}

#[test]
fn every_row_of_ours_is_frozen() {
    assert!(rows().all(|row| row.frozen));
}

#[test]
fn the_exits_of_the_context_dialect_are_two_to_seven() {
    let exits: BTreeSet<_> = codes::context::ROWS
        .iter()
        .filter_map(|row| row.exit)
        .collect();
    assert_eq!(exits.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    let others = rows().filter(|row| row.dialect != "context");
    assert!(others.into_iter().all(|row| row.exit.is_none()));
}

#[test]
fn the_orders_table_is_the_specification_s() {
    let table: Vec<_> = codes::orders::ROWS
        .iter()
        .map(|row| {
            let retry = to_json(&row.retry);
            format!(
                "{} {} {} {retry}",
                row.code,
                row.name,
                row.category.unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r#"
    2001 VALIDATION_ERROR Validation "after_change"
    2002 MISSING_REQUIRED_FIELD Validation "after_change"
    2003 INVALID_FORMAT Validation "after_change"
    3001 RATE_LIMIT_EXCEEDED System "after_delay"
    3002 TIMEOUT System "same_call"
    4001 ADAPTER_ERROR Adapter "said_by_each_failure"
    4002 BACKEND_UNAVAILABLE System "after_delay"
    5001 NOT_IMPLEMENTED Adapter "never"
    "#);
}

fn knows_its_own_code<D: Dialect>() {
    for (place, code) in D::Code::all().iter().enumerate() {
        let fault = Fault::<D>::replay(*code, Retry::Never, Effect::Unknown);
        assert_eq!(fault.code(), Some(*code));
        assert!(std::ptr::eq(fault.row(), &D::Code::rows()[place]));
        assert!(D::rows().iter().any(|row| row.has_key_of(fault.row())));
    }
}

#[test]
fn a_failure_knows_its_own_code() {
    knows_its_own_code::<Context>();
    knows_its_own_code::<Github>();
    knows_its_own_code::<Workspace>();
    knows_its_own_code::<Orders>();
    knows_its_own_code::<Wire>();
    knows_its_own_code::<Candor<candor::Code>>();
    knows_its_own_code::<Candor<crate::weather::Code>>();
}

#[test]
fn a_raised_constant_is_the_row_of_its_table() {
    let raised: Fault<Orders> = codes::orders::AdapterError.fault(Retry::Never, Effect::None);
    assert_eq!(raised.code(), Some(codes::orders::Code::AdapterError));
    assert!(std::ptr::eq(raised.row(), &codes::orders::ROWS[5]));
    assert!(raised.is(codes::orders::AdapterError));
    assert!(!raised.is(codes::orders::Timeout));
}

#[test]
fn a_failure_is_one_word_wide_and_goes_anywhere() {
    fn anywhere<T: Send + Sync + Clone>() {}
    anywhere::<Fault<Workspace>>();
    assert_eq!(size_of::<Fault<Github>>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Fault<Orders>>>(), size_of::<usize>());
}

#[test]
fn codes_are_found_with_and_without_their_dialect() {
    let names = |key| -> Vec<String> {
        let found = codes::find(key);
        found
            .iter()
            .map(|row| format!("{}/{}", row.dialect, row.name))
            .collect()
    };
    assert_eq!(names("orders/3001"), ["orders/RATE_LIMIT_EXCEEDED"]);
    assert_eq!(
        names("-32602"),
        ["github/INVALID_PARAMS", "wire/INVALID_PARAMS"]
    );
    assert_eq!(names("hash_mismatch"), ["workspace/HASH_MISMATCH"]);
    assert_eq!(names("github/hash_mismatch"), [""; 0]);
}

#[test]
fn the_words_on_the_wire_are_the_words_of_the_documentation() {
    let quoted = |word: &str| format!("\"{word}\"");
    assert!(
        Class::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
    assert!(
        Retry::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
    assert!(
        Effect::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
}

#[test]
fn a_wait_narrows_only_what_may_be_repeated() {
    let wait = Duration::from_micros(1500);
    let told = |retry| {
        let fault: Fault<Github> = codes::github::Internal
            .fault(retry, Effect::Unknown)
            .after(wait);
        (fault.retry(), fault.five().retry_after_ms)
    };
    assert_eq!(told(Retry::SameCall), (Retry::AfterDelay, Some(2)));
    assert_eq!(told(Retry::AfterDelay), (Retry::AfterDelay, Some(2)));
    assert_eq!(told(Retry::AfterChange), (Retry::AfterChange, None));
    assert_eq!(told(Retry::Never), (Retry::Never, None));
}
