//! Plans: the changes that a person allows, phase by phase, and the one text that the person signs.
//!
//! A plan is a TOML file named by the hash of its text. There is exactly one text for a plan
//! ([`render`]), so a person who has read the text has read everything that is enforced.

mod bounds;
mod command_pattern;
pub(crate) mod durable;
mod error;
mod glob;
mod hash;
mod lint;
mod model;
mod network;
mod placeholder;
mod plan_names;
mod schema;
mod scope;
pub mod store;
mod text;

pub use crate::visible_text::visible_text as visible;
pub use bounds::{
    MAX_ARG_BYTES, MAX_ARGS, MAX_COMMANDS, MAX_ENV, MAX_EXCEPTIONS, MAX_GLOB_BYTES, MAX_GLOBS,
    MAX_GRANTED_COMMANDS, MAX_OBJECTIVE_BYTES, MAX_PHASE_ID, MAX_PHASES, MAX_PLAN_BYTES,
    MAX_PROFILES, MAX_REASON_BYTES, MAX_RULE_BYTES, MAX_TITLE_BYTES, MAX_WRITABLE,
};
pub use command_pattern::{CommandPattern, PatternFlaw, is_granted};
pub use error::PlanError;
pub use glob::{GlobFlaw, Globs};
pub use hash::{PlanHash, PlanRef, hash};
pub use lint::{Lint, LintRule, PROFILES, Severity, lint};
pub use model::{
    BadEnv, BadPhaseId, Env, Operation, Phase, PhaseId, PhasePolicy, Plan, PolicyException,
    Preflight,
};
pub use network::PlanNetwork;
pub(crate) use placeholder::fill_build_dir;
pub use plan_names::PlanNames;
pub use schema::schema;
pub use scope::{Scope, ScopeError, allows, phase};
pub use text::{parse, render};
