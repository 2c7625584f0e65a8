//! Sends calls to a server in this process, as a transport does.

use crate::fixture::{CacheFixture, real};
use candor_call_fixtures::{answer, call};
use candor_context::{ChangeDetection, ContextServer, Location};
use candor_fault::Answer;
use candor_street::{Dispatcher, MetricsHub};
use serde_json::Value;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A server whose root is the fixture.
pub(crate) struct TestServer {
    dispatcher: Arc<Dispatcher<ContextServer>>,
    runtime: Runtime,
}

impl TestServer {
    pub(crate) fn new(fixture: &CacheFixture, detection: ChangeDetection) -> TestServer {
        let location = Location::below(&fixture.path("")).unwrap();
        let server = ContextServer::new(location, Arc::new(real), detection);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        TestServer {
            dispatcher: Dispatcher::new(server, Arc::new(real), &MetricsHub::default()).unwrap(),
            runtime: runtime.worker_threads(2).enable_all().build().unwrap(),
        }
    }

    /// Calls a tool and returns the text of its answer.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> String {
        let answer = answer(&self.dispatcher, call(tool, arguments));
        let answer = self.runtime.block_on(answer);
        let Answer::Result(answer) = answer else {
            panic!("{answer:?}");
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }
}
