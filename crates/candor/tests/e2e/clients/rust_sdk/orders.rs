//! The order tools on a new store; answers must fit the published schemas.

use super::session::run;
use super::{ERAS, Expected, cases, quirks};
use crate::clients::target::OrderStore;

#[tokio::test]
async fn answers_fit_the_published_schemas() {
    let store = OrderStore::new();
    let listening = store.listening();
    for era in ERAS {
        for target in [store.target(), listening.target()] {
            let expected = Expected {
                session: format!("rmcp, {era:?}, {target:?}"),
                server: ("candor-orders", env!("CARGO_PKG_VERSION")),
                era: *era,
                tools: cases::ORDERS,
                cases: &cases::order_tools(),
                form: era.own_form(),
                quirks,
            };
            expected.check(run(&target, *era, expected.cases).await);
        }
    }
}
