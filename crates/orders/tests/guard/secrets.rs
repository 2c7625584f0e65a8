//! Nothing that an order system says in its own words reaches a client.

use crate::house::Plan;
use crate::scripted::fails;
use candor_fault::Cause;
use candor_orders::{Failure, FinalFailure, RefusalReason};

const SAID: &str = "password hunter2-of-the-backend is wrong for user root";

#[tokio::test(start_paused = true)]
async fn the_words_of_an_order_system_stay_here() {
    let said = || Some(Box::new(Cause::from(SAID)));
    let stands = Box::new(FinalFailure::Refusal(RefusalReason::BackendRefused.into()));
    for failure in [
        Failure::Final(stands, said()),
        Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, said()),
        Failure::Limited(std::time::Duration::ZERO, said()),
        Failure::TimedOut(said()),
        Failure::Unavailable(None, said()),
        Failure::Internal("a table", Box::new(Cause::from(SAID))),
    ] {
        let house = Plan::default().once().always(fails(failure)).house();
        let line = house.create().await.line();
        for word in ["hunter2", "root", "password"] {
            assert!(!line.contains(word), "{line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_looks_like_an_identifier_is_not_passed_on() {
    let refused = || fails(RefusalReason::custom("HUNTER_2").unwrap());
    let house = Plan::default().always(refused()).house();
    assert_eq!(house.create().await.told(), "4001 HUNTER_2 none");
    let mut plan = Plan::default().always(refused());
    plan.config.secrets = vec![String::from("HUNTER_2")];
    let told = plan.house().create().await.told();
    assert_eq!(told, "4001 BACKEND_REFUSED none");
}
