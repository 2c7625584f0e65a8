//! Plans: what a person allows, phase by phase, and the one text in which that is signed.
//!
//! A plan is a TOML file named by the hash of its text. There is exactly one text for a plan
//! ([`render`]), so whoever reads the text has read everything that is enforced.

mod bounds;
pub(crate) mod durable;
mod error;
mod glob;
mod hash;
mod lint;
mod model;
mod schema;
mod scope;
pub mod store;
mod text;

pub use bounds::{
    ARG_BYTES_MAX, ARGS_MAX, COMMANDS_MAX, ENV_MAX, EXCEPTIONS_MAX, GLOB_BYTES_MAX, GLOBS_MAX,
    OBJECTIVE_BYTES_MAX, PHASE_ID_MAX, PHASES_MAX, PLAN_BYTES_MAX, PROFILES_MAX, REASON_BYTES_MAX,
    RULE_BYTES_MAX, TITLE_BYTES_MAX, WRITABLE_MAX,
};
pub use error::PlanError;
pub use glob::{GlobFlaw, Globs};
pub use hash::{PlanHash, PlanRef, hash};
pub use lint::{Lint, LintRule, PROFILES, Severity, lint};
pub use model::{
    BadEnv, BadPhaseId, Env, Operation, Phase, PhaseId, PhasePolicy, Plan, PolicyException,
    Preflight,
};
pub use schema::schema;
pub use scope::{Scope, ScopeError, allows, phase};
pub use text::{parse, render, visible};
