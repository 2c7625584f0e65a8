//! The order system's own text never reaches a client.

use crate::fixture::guarded::ServerBuilder;
use crate::fixture::scripted_adapter::fails;
use candor_fault::Cause;
use candor_orders::{Failure, FinalFailure, RefusalReason};

const SAID: &str = "password hunter2-of-the-backend is wrong for user root";

#[tokio::test(start_paused = true)]
async fn text_of_the_order_system_is_not_passed_on() {
    let response = || Some(Box::new(Cause::from(SAID)));
    let stands = Box::new(FinalFailure::Refusal(RefusalReason::BackendRefused.into()));
    for failure in [
        Failure::Final(stands, response()),
        Failure::Busy(
            Box::new(RefusalReason::BackendRefused.into()),
            None,
            response(),
        ),
        Failure::Limited(std::time::Duration::ZERO, response()),
        Failure::TimedOut(response()),
        Failure::Unavailable(None, response()),
        Failure::Internal("a table", Box::new(Cause::from(SAID))),
    ] {
        let server = ServerBuilder::default()
            .with_one_attempt()
            .with_every_call(fails(failure))
            .build();
        let line = server.create().await.line;
        for word in ["hunter2", "root", "password"] {
            assert!(!line.contains(word), "{line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn secret_that_looks_like_an_identifier_is_not_passed_on() {
    let refused = || fails(RefusalReason::custom("HUNTER_2").unwrap());
    let server = ServerBuilder::default().with_every_call(refused()).build();
    assert_eq!(server.create().await.summary(), "4001 HUNTER_2 none");
    let mut builder = ServerBuilder::default().with_every_call(refused());
    builder.config.secrets = vec![String::from("HUNTER_2")];
    let summary = builder.build().create().await.summary();
    assert_eq!(summary, "4001 BACKEND_REFUSED none");
}
