//! The calls in the guide's walk-through for support staff have the answers that the guide shows.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use candor_orders::model::Currency;
use candor_orders::sql::{SeedOptions, invariants, migrate, seed};
use std::collections::BTreeMap;

const GUIDE: &str = include_str!("../../../../../docs/orders.md");

/// Returns the lines of all blocks `calls`.
fn calls() -> Vec<&'static str> {
    let blocks = GUIDE.split("```calls\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn walkthrough_of_the_guide_works_in_under_fifteen_calls() {
    let database = TestDatabase::sqlite();
    let url = database.database_url();
    migrate(&url, Currency::read("USD").unwrap()).await.unwrap();
    seed(&url, SeedOptions::default(), &mut |_, _| ())
        .await
        .unwrap();
    let fixture = StoreFixture::of_existing(database, StoreOptions::default()).await;
    let (mut answer, mut kept, mut count) = (None, BTreeMap::new(), 0);
    for line in calls() {
        let (sign, rest) = line.split_once(' ').unwrap();
        match sign {
            ">" => {
                let (tool, arguments) = rest.split_once(' ').unwrap();
                let arguments = kept.iter().fold(
                    arguments.to_owned(),
                    |text, (name, value): (&String, &String)| {
                        text.replace(&format!("${name}"), value)
                    },
                );
                let response = fixture.server.call_text(None, tool, arguments).await;
                assert!(!response.is_failure(), "{line}: {}", response.whole);
                answer = Some(response);
                count += 1;
            }
            "~" => {
                let text = &answer.as_ref().unwrap().text;
                assert!(text.contains(rest), "{line}: {text}");
            }
            name => {
                let pointer = rest.strip_prefix("= ").unwrap();
                let value = answer.as_ref().unwrap().at(pointer).as_str().unwrap();
                kept.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    assert!((8..15).contains(&count), "{count}");
    assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
}
