//! The work on a repository from the first branch to the revert of the merged pull request.

use super::ERAS;
use super::session::{Session, call, connect};
use crate::clients::external::github_loop::{self, Place, ToolCaller, work};
use crate::clients::target::HttpServer;
use crate::github::fixture::GithubFixture;
use serde_json::Value;
use tokio::runtime::Runtime;

struct RustClient {
    runtime: Runtime,
    session: Session,
}

impl ToolCaller for RustClient {
    fn call(&mut self, tool: &'static str, arguments: Value) -> Value {
        self.runtime.block_on(call(&self.session, tool, &arguments))
    }

    fn finish(mut self: Box<Self>) {
        self.runtime.block_on(self.session.close()).unwrap();
    }
}

#[test]
fn loop_is_done_on_the_local_forge() {
    let place = Place::Local(GithubFixture::new());
    let listening = HttpServer::start(place.args());
    let targets = [place.stdio(), listening.target()];
    let sessions = ERAS
        .iter()
        .flat_map(|era| targets.iter().map(move |target| (era, target)));
    for (number, (era, target)) in sessions.enumerate() {
        let runtime = Runtime::new().unwrap();
        let session = runtime.block_on(connect(target, *era));
        let session = github_loop::Session {
            place: &place,
            client: Box::new(RustClient { runtime, session }),
            name: format!("rmcp {:?}", era.requested),
        };
        work(session, number);
    }
}
