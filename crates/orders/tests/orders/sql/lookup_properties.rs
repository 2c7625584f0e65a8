//! Lookups by phone and by name find exactly what a plain scan finds, on both databases.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A person as callers write one. Few values, so that many of them match.
#[derive(Debug, Clone, Default)]
struct Person {
    first: Option<String>,
    last: Option<String>,
    phone: Option<String>,
}

/// An order: its customer and both addresses.
type People = [Person; 3];

fn phone() -> impl Strategy<Value = String> {
    let start = prop::sample::select(&["", "0", "00", "+49 ", "+49 (0)", "030/", "0049 30 "][..]);
    let number = prop::sample::select(
        &[
            "1234567",
            "123 45 67",
            "91234567",
            "30 1234567",
            "123456",
            "7654321",
            "0000000",
            "765-43-21",
        ][..],
    );
    (start, number).prop_map(|(start, number)| format!("{start}{number}"))
}

fn first() -> impl Strategy<Value = String> {
    let names = [
        "Ada",
        "ADA",
        "Ada  Maria",
        " grace",
        "\u{c9}mile",
        "stra\u{df}e",
    ];
    prop::sample::select(names.map(String::from).to_vec())
}

fn last() -> impl Strategy<Value = String> {
    let names = [
        "Keller",
        "van der  Berg",
        "VAN DER BERG",
        "Ada",
        "keller ",
        "\u{d6}z",
    ];
    prop::sample::select(names.map(String::from).to_vec())
}

fn person() -> impl Strategy<Value = Person> {
    let of = |weight| prop::option::weighted(weight, first());
    let last = prop::option::weighted(0.8, last());
    (of(0.8), last, prop::option::weighted(0.6, phone())).prop_map(|(first, last, phone)| Person {
        first,
        last,
        phone,
    })
}

/// A searched name: the two forms of a pair of names, or one name.
fn searched_name() -> impl Strategy<Value = String> {
    prop_oneof![
        (first(), last()).prop_map(|(first, last)| format!("{first} {last}")),
        (first(), last()).prop_map(|(first, last)| format!("{last}, {first}")),
        (first(), last()).prop_map(|(first, last)| format!(
            "{} {}",
            first.to_uppercase(),
            last.to_lowercase()
        )),
        last(),
        first(),
        Just(String::from("nobody")),
    ]
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

impl Person {
    fn members(&self) -> Value {
        let mut members = json!({});
        for (name, value) in [
            ("firstName", &self.first),
            ("lastName", &self.last),
            ("phone", &self.phone),
        ] {
            if let Some(value) = value {
                members[name] = value.clone().into();
            }
        }
        members
    }

    /// Compares a name word by word, as the contract describes it.
    fn is_called(&self, searched: &str) -> bool {
        let name = |name: &Option<String>| words(name.as_deref().unwrap_or_default());
        let (first, last) = (name(&self.first), name(&self.last));
        let searched = words(searched);
        let mut comma_form = last.clone();
        if let Some(word) = comma_form.last_mut() {
            word.push(',');
        }
        comma_form.extend(first.clone());
        let forms = [
            [first.clone(), last.clone()].concat(),
            comma_form,
            last.clone(),
        ];
        let is_known = |form: &Vec<String>| !form.is_empty() && *form == searched;
        // The form with a comma needs both names.
        forms.iter().enumerate().any(|(index, form)| {
            is_known(form) && (index != 1 || !(first.is_empty() || last.is_empty()))
        })
    }

    fn has_phone(&self, searched: &str) -> bool {
        let digits = |text: &str| -> Vec<char> {
            let digits = text.chars().filter(char::is_ascii_digit);
            digits.skip_while(|digit| *digit == '0').collect()
        };
        let (own, searched) = (
            digits(self.phone.as_deref().unwrap_or_default()),
            digits(searched),
        );
        let common = own.iter().rev().zip(searched.iter().rev());
        let is_end = common.clone().all(|(one, other)| one == other);
        own.len() >= 7 && searched.len() >= 7 && is_end
    }
}

fn address(person: &Person) -> Value {
    let mut address = person.members();
    address["address1"] = "1 Road".into();
    address["city"] = "Town".into();
    address["country"] = "US".into();
    address
}

/// Returns the names of the orders, or the emails of the customers, that a query finds.
async fn found(fixture: &StoreFixture, tool: &str, member: &str, query: Value) -> BTreeSet<String> {
    let mut query = query;
    query["pageSize"] = 100.into();
    let response = fixture
        .server
        .call_text(None, tool, query.to_string())
        .await;
    let entities = response.at(&format!("/{}", &tool[4..])).as_array();
    let entities = entities.unwrap_or_else(|| panic!("{}", response.whole));
    let names = entities
        .iter()
        .map(|entity| entity[member].as_str().unwrap().to_owned());
    names.collect()
}

async fn same(
    database: TestDatabase,
    orders: &[People],
    names: &[String],
    phones: &[String],
) -> Result<(), TestCaseError> {
    let fixture = StoreFixture::on(database).await;
    for (number, [customer, shipping, billing]) in orders.iter().enumerate() {
        let mut members = customer.members();
        members["email"] = format!("{number}@example.com").into();
        let order = json!({
            "name": number.to_string(), "lineItems": [{ "sku": "PIN", "quantity": 1 }],
            "customer": members, "shippingAddress": address(shipping), "billingAddress": address(billing)
        });
        let created = fixture
            .server
            .call("create-sales-order", json!({ "order": order }))
            .await;
        prop_assert!(!created.is_failure(), "{}", created.whole);
    }
    let scan = |matches: &dyn Fn(&People) -> bool, suffix: &str| -> BTreeSet<String> {
        let orders = orders
            .iter()
            .enumerate()
            .filter(|(_, people)| matches(people));
        orders
            .map(|(number, _)| format!("{number}{suffix}"))
            .collect()
    };
    for name in names {
        let by_order = found(
            &fixture,
            "get-orders",
            "name",
            json!({ "customerNames": [name] }),
        )
        .await;
        prop_assert_eq!(
            by_order,
            scan(&|people| people.iter().any(|one| one.is_called(name)), ""),
            "{}",
            name
        );
        let by_customer = found(
            &fixture,
            "get-customers",
            "email",
            json!({ "names": [name] }),
        )
        .await;
        prop_assert_eq!(
            by_customer,
            scan(&|people| people[0].is_called(name), "@example.com"),
            "{}",
            name
        );
    }
    let searchable = |phone: &&String| {
        let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').len() >= 7
    };
    for phone in phones.iter().filter(searchable) {
        let by_order = found(&fixture, "get-orders", "name", json!({ "phones": [phone] })).await;
        prop_assert_eq!(
            by_order,
            scan(&|people| people.iter().any(|one| one.has_phone(phone)), ""),
            "{}",
            phone
        );
        let by_customer = found(
            &fixture,
            "get-customers",
            "email",
            json!({ "phones": [phone] }),
        )
        .await;
        prop_assert_eq!(
            by_customer,
            scan(&|people| people[0].has_phone(phone), "@example.com"),
            "{}",
            phone
        );
    }
    Ok(())
}

#[test]
fn lookups_find_what_a_plain_scan_finds() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 4,
        failure_persistence: None,
        ..Config::default()
    });
    let people = (person(), person(), person()).prop_map(|(one, two, three)| [one, two, three]);
    let stores = (
        prop::collection::vec(people, 5..20),
        prop::collection::vec(searched_name(), 30),
        prop::collection::vec(phone(), 30),
    );
    let done = runner.run(&stores, |(orders, names, phones)| {
        runtime.block_on(async {
            same(TestDatabase::sqlite(), &orders, &names, &phones).await?;
            match TestDatabase::postgres() {
                Some(database) => same(database, &orders, &names, &phones).await,
                None => Ok(()),
            }
        })
    });
    done.unwrap();
}
