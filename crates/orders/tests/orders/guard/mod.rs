//! The server around the tools, in front of a scripted adapter.

mod arguments;
mod breaker;
mod codes;
mod deadline;
mod faulty;
mod limits;
mod metrics;
mod new_members;
mod pages;
mod reference;
mod retries;
mod secrets;
mod stages;
mod tool_list;
mod unknown_effects;
