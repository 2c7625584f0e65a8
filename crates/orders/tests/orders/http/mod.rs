//! The adapter `http` in front of scripted order systems, and the adapter checks against the sample
//! adapter and against order systems that are wrong.

mod capabilities;
mod client_answers;
mod comparison;
mod feature_comparison;
mod honest_store;
mod key_store;
mod mutants;
mod network;
mod protocol_page;
mod requests;
mod sample_adapter;
mod statuses;
mod wrong_systems;
